// SPDX-License-Identifier: Apache-2.0
// tests/check/check.h - what the families of `check` share: variants, cases, generators, guarded buffers, verdicts.
//
// A case is one call of one variant beside the scalar variant of its slot. It is a function of (seed, variant, number)
// alone, so the one line a failure prints repeats it exactly. A family (gemm.c, rowwise.c, ...) makes the case: it
// draws shapes and values from c->rng, takes its memory from check_buffer, calls both variants and hands the outputs to
// check_outputs (the same bits as scalar) and check_bound (close enough to the float64 oracle).
#ifndef FOVEA_TESTS_CHECK_H
#define FOVEA_TESTS_CHECK_H

#include "kernels/kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_PRINTF __attribute__((format(printf, 2, 3)))

struct check_case;

/// A family of kernels with one function type: how to make a case of it, how many by default, and how to time it.
struct check_family {
    unsigned cases;
    void (*run)(struct check_case *c);
    /// Sets up a typical problem, sets c->started, calls c->variant `calls` times; returns the flops of a call, or
    /// its elements negated.
    double (*bench)(struct check_case *c, size_t calls);
};

/// One line of kernels/registers.def.
struct check_variant {
    const char *slot, *isa, *name;
    const struct check_family *family;
    uint32_t required; ///< FOVEA_CPU_* bits
    uint16_t mr, nr, masks, ahead, packs, lead, touch, side_rows, quiet_rows;
    uint16_t queries, l1_queries, fetches, copies, last_queries, beside_rows, near_rows, busy_rows; ///< of attention
    union {
        fovea_gemm_fn *gemm;
        fovea_gemm_bt_fn *gemm_bt;
        fovea_gemm_bn_fn *gemm_bn;
        fovea_gemm_edge_fn *gemm_edge;
        fovea_gemm_few_fn *gemm_few;
        fovea_pack_fn *pack;
        fovea_widen_fn *widen;
        fovea_widen_s8_fn *widen_s8;
        fovea_narrow_fn *narrow;
        fovea_transpose_fn *transpose;
        fovea_epilogue_fn *epilogue;
        fovea_unary_fn *unary;
        fovea_binary_fn *binary;
        fovea_norm_fn *norm;
        fovea_dropout_fn *dropout;
        fovea_rotary_fn *rotary;
        fovea_prefill_fn *prefill;
        fovea_decode_fn *decode;
        fovea_keep_fn *keep;
        fovea_merge_fn *merge;
        fovea_finish_fn *finish;
    } run;
};
extern const struct check_variant check_variants[];
extern const size_t check_variants_count;
/// The scalar variant of a slot: the definition.
const struct check_variant *check_scalar(const char *slot);

extern const struct check_family check_family_gemm, check_family_gemm_bt, check_family_gemm_bn, check_family_gemm_edge,
    check_family_gemm_few, check_family_pack, check_family_widen, check_family_widen_s8, check_family_narrow,
    check_family_transpose, check_family_epilogue, check_family_unary, check_family_binary, check_family_norm,
    check_family_dropout, check_family_rotary, check_family_prefill, check_family_decode, check_family_keep,
    check_family_merge, check_family_finish;

// ---- Random numbers and values (values.c) ------------------------------------------------------------------------

struct check_rng {
    uint64_t state;
};
uint64_t check_next(struct check_rng *rng);                 ///< splitmix64
size_t check_below(struct check_rng *rng, size_t n);        ///< 0 .. n-1
bool check_chance(struct check_rng *rng, unsigned percent); ///< true in so many of a hundred
size_t check_size(struct check_rng *rng, size_t limit);     ///< 0 .. limit: often a tile edge or a prime
float check_uniform(struct check_rng *rng);                 ///< [-1, 1)

/// Where the elements of one operand come from.
enum check_values {
    CHECK_UNIFORM,  ///< [-scale, scale): the only kind the oracle is asked about
    CHECK_EQUAL,    ///< one number everywhere; half the time an infinity, a NaN or -0
    CHECK_HIDDEN,   ///< -inf, one in eight uniform: the scores of a masked row
    CHECK_MAX,      ///< +-FLT_MAX
    CHECK_ZERO,     ///< +0 and -0
    CHECK_DENORMAL, ///< denormals of both signs
    CHECK_WIDE,     ///< any exponent
    CHECK_BITS,     ///< any bits
    CHECK_NAN,      ///< uniform, one in eight a NaN
    CHECK_INF,      ///< uniform, one in eight an infinity
    CHECK_MIXED,    ///< any of the above, element by element
    CHECK_VALUES
};
struct check_source {
    enum check_values kind;
    float scale, constant;
};
/// Uniform in two cases of five, otherwise any kind.
struct check_source check_source(struct check_rng *rng, float scale);
float check_draw(struct check_rng *rng, const struct check_source *source);
void check_fill(struct check_rng *rng, const struct check_source *source, float *x, size_t n);

// ---- Guarded memory (buffer.c) -----------------------------------------------------------------------------------

/// Floats between two PROT_NONE pages: in even cases they end at the upper one, in odd cases they begin at the lower
/// one. They and the memory around them are poison until filled: a NaN of known bits.
struct check_buffer {
    const char *name;
    float *data;
    size_t count;
    float *low, *high; ///< the accessible window around data that is watched
    bool output;       ///< kernels may write it: set by the family
    uint64_t sum;      ///< of the window, when sealed
};
struct check_buffer *check_buffer(struct check_case *c, const char *name, size_t count);
/// An output buffer like this one: same place relative to its guard pages, same contents. Both become outputs.
struct check_buffer *check_twin(struct check_case *c, struct check_buffer *buffer);
/// rows x cols elements drawn from source at data[r * stride + q]; what lies between rows stays poison.
void check_fill_rows(struct check_case *c, struct check_buffer *b, const struct check_source *source, size_t rows,
                     size_t cols, size_t stride);
/// `count` pages of their own between guard pages, readable and writable again.
float *check_pages(struct check_case *c, const char *name, size_t count);
void check_page_hide(float *page); ///< makes one of those pages inaccessible
size_t check_page_floats(void);
void check_poison(float *x, size_t n);
/// check_sealed fails if a buffer that is not an output has changed since check_seal.
void check_seal(void);
void check_sealed(struct check_case *c);
/// Says in words where an address lies: "4 bytes past the end of b".
void check_locate(const void *address, char *text, size_t size);
void check_buffers_reset(void);
/// Before the first buffer: nothing faults, not even what check_page_hide hides. For emulators that load all of a
/// masked vector (qemu-user does, for AVX2); what a kernel writes out of bounds is found still.
void check_buffers_unguarded(void);

// ---- Cases and verdicts (report.c) -------------------------------------------------------------------------------

enum { CHECK_BUFFERS = 64 };

struct check_case {
    const struct check_variant *variant, *scalar;
    const struct check_variant *volatile running; ///< what a signal is attributed to; NULL: the test itself
    uint64_t seed, index;
    struct check_rng rng;
    char shape[320]; ///< the case in words
    bool failed;
    bool quiet;     ///< enough failures of this variant have been printed
    double started; ///< of the calls to be timed
};
void check_describe(struct check_case *c, const char *format, ...) CHECK_PRINTF;
void check_fail(struct check_case *c, const char *format, ...) CHECK_PRINTF;

/// Seconds since some moment.
double check_seconds(void);

/// Upper halves of vector registers (x86): whether this CPU tells that they are in use, whether each kernel is to leave
/// them unused (false; not where it does not tell), whether they are in use now, and no longer.
bool check_upper_told(void);
void check_upper_watch(bool watch);
bool check_upper_in_use(void);
void check_upper_clear(void);

/// Bracket each call of a kernel: who is to blame for a signal, whether the floating-point controls survive, and on x86
/// whether it leaves the upper halves of vector registers unused (vzeroupper).
void check_enter(struct check_case *c, const struct check_variant *who);
void check_leave(struct check_case *c);

/// Which elements of an output buffer a kernel writes: rows x cols at r * stride + q. The columns from cols to `loose`
/// may hold anything; everything else must still be poison.
struct check_view {
    size_t rows, cols, stride, loose;
};
/// The outputs of the scalar and the tested variant have equal bits (all NaNs equal) in the view and untouched memory
/// outside it (poison still).
void check_outputs(struct check_case *c, const struct check_buffer *want, const struct check_buffer *got,
                   struct check_view view);
/// |got - exact| <= bound, element (i, j) of the named output.
void check_bound(struct check_case *c, const char *name, size_t i, size_t j, float got, double exact, double bound);
bool check_same(float a, float b); ///< equal bits, or both NaN

#endif
