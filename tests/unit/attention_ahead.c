// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_ahead.c - what decoding prefetches of a cache that comes from memory, on AVX-512: every line of
// the next K and V, in time, and once, but for one of each page, which may be asked for three times. Of one that is
// thought to be in L2, rows of K alone, 16 or 32 keys ahead, and for halves some of them once before that.
#include "tests/unit/attention_ahead.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { CHUNKS = 3, LAST_KEYS = 120, DIMS_MAX = 128, LINE = 16, PAGE = 64, ROWS_MAX = 8, SIDES = 2 };
enum { ALL = CHUNKS * FOVEA_CHUNK * DIMS_MAX, SKIPPED = 77 };

static _Alignas(4096) float cache[SIDES][ALL];    // K, then V
static unsigned asked[SIDES][CHUNKS][ALL / LINE]; // by lines, the call in which it was
static unsigned into_l2[SIDES][ALL / LINE];       // of these, in all calls
static size_t calls, elsewhere;

void attention_ahead_ask(const void *line, int level)
{
    const ptrdiff_t i = ((const float *)line - cache[0]) / LINE;
    if (i >= 0 && i < (ptrdiff_t)(SIDES * ALL / LINE)) {
        asked[i / (ALL / LINE)][calls][i % (ALL / LINE)]++;
        into_l2[i / (ALL / LINE)][i % (ALL / LINE)] += level != 3;
    } else {
        elsewhere++;
    }
}

struct form {
    size_t rows, dims, pitch; ///< pitch: between rows of K; 0: dims
    bool panels, near;
    uint32_t into;
    fovea_decode_fn *kernel;
};

// Three chunks of one task, the last of which is not whole, and has nothing behind it.
static void run(const struct form *f)
{
    static _Alignas(64) float q[ROWS_MAX * DIMS_MAX], m[16], l[16], o[16 * DIMS_MAX];
    static _Alignas(64) float scratch[1 << 17];
    CHECK(fovea_attention_scratch(f->dims, f->dims) <= sizeof scratch / sizeof *scratch, "room");
    memset(asked, 0, sizeof asked);
    memset(into_l2, 0, sizeof into_l2);
    uint32_t begun = 0;
    elsewhere = 0;
    for (int r = 0; r < 16; r++)
        m[r] = -INFINITY, l[r] = 0;
    for (calls = 0; calls < CHUNKS; calls++) {
        const size_t chunk = FOVEA_CHUNK * (f->pitch ? f->pitch : f->dims), at = calls * chunk;
        const bool more = calls + 1 < CHUNKS;
        const struct fovea_decode_chunk decode = {
            .chunk = {.keys = more ? FOVEA_CHUNK : LAST_KEYS,
                      .qk_dim = f->dims,
                      .q = q,
                      .k = cache[0] + at,
                      .k_row = f->panels ? 0 : (ptrdiff_t)(f->pitch ? f->pitch : f->dims),
                      .v = cache[1] + at,
                      .v_row = (ptrdiff_t)f->dims,
                      .state = {f->rows, f->dims, m, l, o, .o_row = (ptrdiff_t)f->dims, .o_col = 1},
                      .fresh = calls == 0,
                      .scratch = scratch},
            .q_row = (ptrdiff_t)f->dims,
            .hints = {.far = !f->near,
                      .into = f->into,
                      .k_ahead = more && !f->near ? cache[0] + at + chunk : NULL,
                      .v_ahead = more && !f->near ? cache[1] + at + chunk : NULL},
            .k_next = f->near && calls + 2 < CHUNKS ? cache[0] + at + chunk : NULL,
            .begun = &begun,
        };
        f->kernel(&decode);
    }
}

// Of the lines [begin, end) of K or V those not asked for in calls up to `call`, and those asked for more than `most`
// times.
static void look(const struct form *f, int side, size_t begin, size_t end, size_t call, unsigned most)
{
    size_t late = 0, often = 0;
    for (size_t i = begin; i < end; i++) {
        unsigned before = 0, all = 0;
        for (size_t c = 0; c < CHUNKS; c++) {
            before += c <= call ? asked[side][c][i] : 0;
            all += asked[side][c][i];
        }
        late += before == 0;
        often += all > most + (i % PAGE == 0 ? 2 : 0);
    }
    CHECK(late == 0 && often == 0, "%s %zu rows of %zu, into %u, lines %zu to %zu of %s: %zu late, %zu too often",
          f->panels ? "panels," : "natural,", f->rows, f->dims, (unsigned)f->into, begin, end, side ? "V" : "K", late,
          often);
}

static void test_form(const struct form *f)
{
    const size_t lines = FOVEA_CHUNK * f->dims / LINE;
    // Where prefetches lead by 16 keys, these alone of the next K are asked for beside V, and some of V before the
    // softmax, too.
    const bool leads = f->into == FOVEA_INTO_L1 && f->panels && f->rows <= 2;
    const size_t first = leads ? FOVEA_PANEL * f->dims / LINE : lines;
    run(f);
    look(f, 0, lines, lines + first, 0, 1);
    look(f, 0, lines + first, 2 * lines, 1, 1);
    look(f, 1, lines, 2 * lines, 1, leads ? 2 : 1);
    look(f, 1, 2 * lines, 2 * lines + LAST_KEYS * f->dims / LINE, 2, leads ? 2 : 1);
    CHECK(elsewhere == 0, "%zu rows of %zu, into %u: %zu lines of neither", f->rows, f->dims, (unsigned)f->into,
          elsewhere);
}

// Near rows of K are prefetched a group of keys ahead, those of the next chunk that come first, too: 16 keys by the
// kernel for halves, 32 by the other one, not for one row. What halves ask for
// before that, up to 32 keys further, may lie behind K, here in V.
static void test_near(const struct form *f)
{
    const bool halves = f->kernel == attention_ahead_halves, asks = !f->panels && (halves || f->rows > 1);
    const size_t group = (halves ? 1 : 2) * FOVEA_PANEL * f->dims / LINE, lines = FOVEA_CHUNK * f->dims / LINE;
    run(f);
    if (asks) {
        look(f, 0, group, 2 * lines, 1, halves ? 2 : 1);
        look(f, 0, group, lines + group, 0, halves ? 2 : 1);
        look(f, 0, 2 * lines + group, 2 * lines + LAST_KEYS * f->dims / LINE, 2,
             halves ? 3 : 1); // beside the chunk before, too
    }
    // Into L2 before that: by the loop beside V every second line, otherwise all.
    const bool beside = f->rows == 1 || (f->rows == 2 && f->dims == 64);
    size_t wrong = 0;
    for (size_t i = halves ? lines + 3 * group : 0; i < 2 * lines; i++)
        wrong += into_l2[0][i] != (asks && halves && (!beside || i % 2 == 0));
    CHECK(wrong == 0, "near, %zu rows of %zu: %zu lines of K were asked for wrongly into L2", f->rows, f->dims, wrong);
    unsigned of[SIDES] = {0};
    for (int side = 0; side < SIDES; side++)
        for (size_t i = halves ? side * 2 * group : 0; i < CHUNKS * lines; i++)
            for (size_t c = 0; c < CHUNKS; c++)
                of[side] += asked[side][c][i];
    CHECK((of[0] != 0) == asks && of[1] == 0 && elsewhere == 0,
          "near, %s %zu rows of %zu: %u lines of K, %u of V, %zu of neither", f->panels ? "panels," : "natural,",
          f->rows, f->dims, of[0], of[1], elsewhere);
}

// Near rows that do not follow one another: every line of theirs once, nothing between them.
static void test_pitch(const struct form *f)
{
    const size_t keys = f->kernel == attention_ahead_halves ? 16 : 32, line = f->pitch / LINE, of_key = f->dims / LINE;
    size_t wrong = 0;
    run(f);
    for (size_t i = keys * line; i < 2 * FOVEA_CHUNK * line; i++) {
        unsigned all = 0;
        for (size_t c = 0; c < CHUNKS; c++)
            all += asked[0][c][i];
        // Those of the next chunk that come first may also be asked for beside the chunk before.
        const bool twice = i / line % FOVEA_CHUNK < keys && f->kernel == attention_ahead_halves;
        wrong += i % line < of_key ? all == 0 || all > 1u + twice : all != 0;
    }
    CHECK(wrong == 0, "near, %zu rows of %zu, %zu apart: %zu lines", f->rows, f->dims, f->pitch, wrong);
}

int main(void)
{
    struct fovea_engine *const engine = test_engine("avx512", NULL);
    if (engine == NULL) {
        printf("skip avx512: this CPU or build lacks it\n");
        return SKIPPED;
    }
    fovea_engine_destroy(engine);
    enum { REGISTER_ROWS = 6 }; // more rows are transposed in scratch
    static fovea_decode_fn *const kernels[] = {attention_ahead_kernel, attention_ahead_halves};
    for (int i = 0; i < 4; i++) {
        struct form f = {.panels = i % 2 != 0, .kernel = kernels[i / 2]};
        for (f.rows = 1; f.rows <= ROWS_MAX; f.rows++) {
            for (f.dims = 64; f.dims <= DIMS_MAX; f.dims *= 2) {
                f.near = false;
                for (f.into = FOVEA_INTO_L2; f.into <= FOVEA_INTO_L2_PARTS; f.into++)
                    test_form(&f);
                f.into = FOVEA_INTO_L2;
                f.near = true;
                if (f.rows <= REGISTER_ROWS)
                    test_near(&f);
                f.pitch = DIMS_MAX;
                if (f.rows > 1 && f.rows <= REGISTER_ROWS && f.dims < DIMS_MAX && !f.panels)
                    test_pitch(&f);
                f.pitch = 0;
            }
        }
    }
    return test_done();
}
