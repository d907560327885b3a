// SPDX-License-Identifier: Apache-2.0
// tune/walk.c - one area of memory for all cases of a process, with the same contents for all of them.
//
// With an area per case, creating areas took most of level `quick`: touching a page first costs a guest 2 to 10 us, 192
// MiB 0.1 to 0.6 s, six times an L3 of 260 MiB 4 s. A search whose budget has no room for that skips what comes from
// memory; reading from L3 instead, it might choose what is slower from memory. Results computed from the area are never
// examined, so only a blob's header has to be that of the case. Both halves of each f32 in it are the same, so that
// elements of 16 bits are ordinary numbers, too, no infinities or NaNs.
#include "tune/walk.h"

#include "bench/memory.h"
#include "tune/measure.h"
#include "tune/memory.h"

#include <math.h>
#include <string.h>

// A block of malloc begins within a line, an array of NumPy or PyTorch with one. What gains from one kind alone is not
// chosen: ten to twelve rows over a natural B by 12x32 were 1.0 to 1.25 times as fast where B begins with a line, and
// 0.65 to 1.3 where it does not. So matrices begin WITHIN one in half of the pairs.
enum { LINE = 64, WITHIN = 16 };
enum { PATTERN = 1 << 20 }; // a line is a blob's header, the only part of a blob that a call examines

static struct {
    char *memory;
    size_t bytes;
    struct tune_walk owner; // the walk whose headers are in it; count 0: none
} area;

// Based on an L3 of at least 32 MiB, whatever the machine reports.
static size_t walk_bytes(const struct fovea_engine *engine)
{
    const size_t least = (size_t)32 << 20, machine = fovea_engine_machine(engine)->l3_bytes;
    return bench_walk_bytes(machine > least ? machine : least);
}

static double allowed = INFINITY; // most seconds that creating the area may take

// Estimates the time to create it from a small one: most of it is touching pages first.
static double seconds_for(size_t bytes)
{
    enum { SMALL = 16 << 20, PASSES = 2 }; // zeros, then numbers
    static double small;
    if (small == 0) {
        const double begin = tune_now();
        bench_free(bench_alloc(SMALL), SMALL);
        small = tune_now() - begin;
    }
    return PASSES * small * ((double)bytes / SMALL);
}

void tune_walk_allow(double seconds)
{
    allowed = seconds;
}

static bool make_area(size_t bytes)
{
    if (bytes <= area.bytes)
        return true;
    if (bytes > tune_memory_left() / 2 || seconds_for(bytes) > allowed)
        return false;
    char *const memory = bench_alloc(bytes); // before the old one is freed: other walks have their places there
    if (!memory)
        return false;
    tune_walk_end();
    area.memory = memory;
    area.bytes = bytes;
    uint32_t state = 1;
    for (size_t i = 0; i < PATTERN / sizeof(float); i++) {
        state = state * 1664525 + 1013904223;
        const float x = (float)((int32_t)(state >> 8) - (1 << 23)) * 0x1p-23f;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        bits = (bits & 0xFFFF0000) | bits >> 16;
        memcpy(area.memory + i * sizeof bits, &bits, sizeof bits);
    }
    for (size_t at = PATTERN; at < bytes; at += PATTERN)
        memcpy(area.memory + at, area.memory, bytes - at < PATTERN ? bytes - at : PATTERN);
    return true;
}

// A prime number of places. Two candidates alternate every few calls, and if the number of calls divides the count each
// of them sees the same places every time: with 128 places, located well and badly in memory, one was 0.92 to 1.14
// times as fast as the other depending only on that number of calls.
static size_t prime_below(size_t count)
{
    for (; count > 3; count--) {
        size_t divisor = 2;
        while (divisor * divisor <= count && count % divisor != 0)
            divisor++;
        if (divisor * divisor > count)
            break;
    }
    return count;
}

bool tune_walk_make(struct tune_walk *walk, const struct fovea_engine *engine, size_t bytes, bool far, bool header)
{
    const size_t stride = (bytes + LINE - 1) / LINE * LINE, all = far ? walk_bytes(engine) : 0;
    *walk = (struct tune_walk){.own = bench_alloc(bytes + LINE), .bytes = bytes, .stride = stride, .header = header};
    if (far && stride)
        walk->count = prime_below(all / stride); // 0: one operand is more than the walk
    if (walk->own && (walk->count == 0 || make_area(all + LINE)))
        return true;
    tune_walk_free(walk);
    return false;
}

// Writes the first line of each place: a header, or numbers again (a header read as numbers has denormals).
static void write_heads(const struct tune_walk *walk, const void *line)
{
    for (size_t i = 0; i < walk->count; i++)
        memcpy(area.memory + i * walk->stride, line, LINE);
}

static void disown(void)
{
    float numbers[LINE / sizeof(float)];
    for (size_t i = 0; i < LINE / sizeof(float); i++)
        numbers[i] = (float)i * 0x1p-5f - 0.25f;
    write_heads(&area.owner, numbers);
    area.owner = (struct tune_walk){0};
}

void tune_walk_begin(struct tune_walk *walk, bool within)
{
    walk->within = within && tune_walk_shifts(walk);
    if (walk->count == 0 || !walk->header || walk->own == area.owner.own)
        return;
    disown();
    write_heads(walk, walk->own);
    area.owner = *walk;
}

const void *tune_walk_next(struct tune_walk *walk)
{
    if (walk->count == 0)
        return walk->own;
    walk->next = walk->next + 1 < walk->count ? walk->next + 1 : 0;
    return area.memory + walk->next * walk->stride + (walk->within ? WITHIN : 0);
}

bool tune_walk_shifts(const struct tune_walk *walk)
{
    return walk->count != 0 && !walk->header;
}

void *tune_walk_shift(struct tune_walk *walk, bool within)
{
    char *const shifted = (char *)walk->own + WITHIN;
    if (!tune_walk_shifts(walk))
        return walk->own;
    memmove(within ? shifted : walk->own, within ? walk->own : shifted, walk->bytes);
    return within ? shifted : walk->own;
}

void tune_walk_free(struct tune_walk *walk)
{
    if (walk->own && walk->own == area.owner.own)
        disown();
    bench_free(walk->own, walk->bytes + LINE);
    *walk = (struct tune_walk){0};
}

void tune_walk_end(void)
{
    bench_free(area.memory, area.bytes);
    memset(&area, 0, sizeof area);
}
