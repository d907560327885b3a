// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_terms.h - what a tile of gemm_steps.h does to its sums before it stores them: fovea_gemm_terms.
//
// In registers a term is an operation on each sum, for all of them as much as one k step. A second pass over C loads
// and stores as many vectors again, and waits for the residual's lines (Emerald Rapids, 64 steps, packed B of 768
// columns, 512 rows, over the plain product: bias 20 and now 2 %, residual 44 and 16).
//
// One routine for each number of rows and panels serves the tiles of all kinds, whose assembly calls it: a copy in each
// is as fast, and 0.3 MB more.
#ifndef FOVEA_KERNELS_AVX512_GEMM_TERMS_H
#define FOVEA_KERNELS_AVX512_GEMM_TERMS_H

#include "kernels/avx512/gemm_rows.h"
#include "kernels/fault.h"
#include "kernels/kernel.h"

#include <immintrin.h>
#include <stdbool.h>

/// The terms as the routines read them, at the offsets that stand in them, of the tile whose turn it is. A routine
/// moves them on to the next one.
struct gemm_terms {
    uint32_t any;            // 0: there are none, and nothing else here is set
    uint32_t kc;             // 4: the lanes of the last panel that exist
    float alpha, beta;       // 8, 12
    const float *c;          // 16
    const float *bias;       // 24
    const float *residual;   // 32
    ptrdiff_t c_row, c_next; // 40, 48: these and the following in bytes
    ptrdiff_t bias_next;     // 56
    ptrdiff_t residual_row;  // 64
    ptrdiff_t residual_next; // 72
    uint32_t relu;           // 80
    uint32_t more;           // 84: tiles after this one
};
#define GEMM_TERMS_AT(member, place) _Static_assert(offsetof(struct gemm_terms, member) == (place), #member)
GEMM_TERMS_AT(any, 0);
GEMM_TERMS_AT(kc, 4);
GEMM_TERMS_AT(alpha, 8);
GEMM_TERMS_AT(beta, 12);
GEMM_TERMS_AT(c, 16);
GEMM_TERMS_AT(bias, 24);
GEMM_TERMS_AT(residual, 32);
GEMM_TERMS_AT(c_row, 40);
GEMM_TERMS_AT(c_next, 48);
GEMM_TERMS_AT(bias_next, 56);
GEMM_TERMS_AT(residual_row, 64);
GEMM_TERMS_AT(residual_next, 72);
GEMM_TERMS_AT(relu, 80);
GEMM_TERMS_AT(more, 84);
#undef GEMM_TERMS_AT

/// The lines of a tile come while its steps run.
static inline void gemm_fetch_rows(const float *first, ptrdiff_t bytes, size_t rows, size_t panels)
{
    const char *row = (const char *)first;
    for (size_t i = 0; i < rows; i++, row += bytes) {
        for (size_t j = 0; j < panels; j++) {
            _mm_prefetch(row + j * FOVEA_PANEL * sizeof(float), _MM_HINT_T0);
        }
    }
}

/// Those of the first tile, which has so many rows and panels. Not inlined, as most tiles have none.
static __attribute__((noinline)) void gemm_set_terms(struct gemm_terms *terms, const struct fovea_gemm_tile *t,
                                                     uint32_t kc, size_t rows, size_t panels)
{
    const struct fovea_gemm_terms *const from = t->terms;
    const ptrdiff_t size = sizeof(float);
    const bool moves = !FOVEA_FAULT_IS(GEMM_TERMS_STAY);
    terms->any = 1;
    terms->kc = FOVEA_FAULT_IS(GEMM_TERMS_PAST_N) ? 0xFFFF : kc;
    terms->alpha = from->alpha;
    terms->beta = from->beta;
    terms->c = t->c;
    terms->bias = from->bias;
    terms->residual = from->residual;
    terms->c_row = t->c_row * size;
    terms->c_next = t->c_next * size;
    terms->bias_next = from->bias != NULL && moves ? from->bias_next * size : 0;
    terms->residual_row = from->residual_row * size;
    terms->residual_next = from->residual != NULL && moves ? from->residual_next * size : 0;
    terms->relu = from->relu;
    terms->more = (uint32_t)t->more;
    if (terms->residual != NULL) {
        gemm_fetch_rows(terms->residual, terms->residual_row, rows, panels);
    }
    if (terms->beta != 0.0f) {
        gemm_fetch_rows(terms->c, terms->c_row, rows, panels);
    }
    __asm__ volatile("" : : "r"(terms) : "memory"); // that of tiles, too, reads and changes what lies there
}

_Static_assert(FOVEA_FAULT_GEMM_TERMS_DROP_NAN == 115, "GEMM_TERM_RELU has the number");

// clang-format off
// rcx: struct gemm_terms; rax: a row of what is added; k1: the lanes of a row's last panel.
#define GEMM_TERM_SCALED(s) "vmulps 8(%rcx){1to16}, %zmm" s ", %zmm" s "\n\t"
#if FOVEA_FAULT != 115 // FOVEA_FAULT_IS(GEMM_TERMS_DROP_NAN), which the preprocessor cannot read
#define GEMM_TERM_RELU(s) "vmaxps %zmm" s ", %zmm31, %zmm" s "\n\t" // of 0 and NaN, or -0, the latter
#else
#define GEMM_TERM_RELU(s) "vmaxps %zmm31, %zmm" s ", %zmm" s "\n\t"
#endif
#define GEMM_TERM_OLD(at, s, mask) "vfmadd231ps " at "(%rax), %zmm31, %zmm" s mask "\n\t"
#define GEMM_TERM_REST(at, s, mask) "vaddps " at "(%rax), %zmm" s ", %zmm" s mask "\n\t"
#define GEMM_TERM_BIAS(b, s) "vaddps %zmm" b ", %zmm" s ", %zmm" s "\n\t"
#define GEMM_TERM_FETCH(at, s, mask) "prefetcht0 " at "(%rax)\n\t"
#define GEMM_TERM_LOAD(at, s, mask) "vmovups " at "(%rax), %zmm" s mask "\n\t"

// X(s) for each sum of a row, X(at, s, mask) with where its panel lies, and X(b, s) with a register of that panel.
#define GEMM_EACH_1(X, s0) X(s0)
#define GEMM_EACH_2(X, s0, s1) X(s0) X(s1)
#define GEMM_EACH_3(X, s0, s1, s2) X(s0) X(s1) X(s2)
#define GEMM_EACH_4(X, s0, s1, s2, s3) X(s0) X(s1) X(s2) X(s3)
#define GEMM_AT_1(X, z, s0) X("", s0, "{%k1}" z)
#define GEMM_AT_2(X, z, s0, s1) X("", s0, "") X("64", s1, "{%k1}" z)
#define GEMM_AT_3(X, z, s0, s1, s2) X("", s0, "") X("64", s1, "") X("128", s2, "{%k1}" z)
#define GEMM_AT_4(X, z, s0, s1, s2, s3) X("", s0, "") X("64", s1, "") X("128", s2, "") X("192", s3, "{%k1}" z)
#define GEMM_BESIDE_1(X, s0) X("27", s0)
#define GEMM_BESIDE_2(X, s0, s1) GEMM_BESIDE_1(X, s0) X("28", s1)
#define GEMM_BESIDE_3(X, s0, s1, s2) GEMM_BESIDE_2(X, s0, s1) X("29", s2)
#define GEMM_BESIDE_4(X, s0, s1, s2, s3) GEMM_BESIDE_3(X, s0, s1, s2) X("26", s3)

// For GEMM_ROWS of gemm_rows.h, of which it is the sums that matter.
#define GEMM_SCALE(V, last, A, ...) GEMM_EACH_##V(GEMM_TERM_SCALED, __VA_ARGS__)
#define GEMM_OLD(V, last, A, ...) GEMM_AT_##V(GEMM_TERM_OLD, "", __VA_ARGS__) "add 40(%rcx), %rax\n\t"
#define GEMM_BIAS(V, last, A, ...) GEMM_BESIDE_##V(GEMM_TERM_BIAS, __VA_ARGS__)
#define GEMM_RELU(V, last, A, ...) GEMM_EACH_##V(GEMM_TERM_RELU, __VA_ARGS__)
#define GEMM_RESIDUAL(V, last, A, ...) GEMM_AT_##V(GEMM_TERM_REST, "", __VA_ARGS__) "add 64(%rcx), %rax\n\t"
#define GEMM_FETCH_OLD(V, last, A, ...) GEMM_AT_##V(GEMM_TERM_FETCH, "", __VA_ARGS__) "add 40(%rcx), %rax\n\t"
#define GEMM_FETCH_RESIDUAL(V, last, A, ...) GEMM_AT_##V(GEMM_TERM_FETCH, "", __VA_ARGS__) "add 64(%rcx), %rax\n\t"
#define GEMM_SCALE_OWN GEMM_SCALE
#define GEMM_OLD_OWN GEMM_OLD
#define GEMM_BIAS_OWN GEMM_BIAS
#define GEMM_RELU_OWN GEMM_RELU
#define GEMM_RESIDUAL_OWN GEMM_RESIDUAL
#define GEMM_FETCH_OLD_OWN GEMM_FETCH_OLD
#define GEMM_FETCH_RESIDUAL_OWN GEMM_FETCH_RESIDUAL
#define GEMM_BIAS_IN_1 GEMM_AT_1(GEMM_TERM_LOAD, "{z}", "27")
#define GEMM_BIAS_IN_2 GEMM_AT_2(GEMM_TERM_LOAD, "{z}", "27", "28")
#define GEMM_BIAS_IN_3 GEMM_AT_3(GEMM_TERM_LOAD, "{z}", "27", "28", "29")
#define GEMM_BIAS_IN_4 GEMM_AT_4(GEMM_TERM_LOAD, "{z}", "27", "28", "29", "26")

/// Defines the routine of M rows and V panels. It changes rax, rcx, k1, zmm31, the registers of B, and the sums. To who
/// unwinds the stack it is the 128 bytes that its caller leaves and the return address.
#define GEMM_TERMS(M, V)                                                                                              \
    __asm__(".text\n\t.p2align 4\n\t.type gemm_terms_" #M "x" #V ", @function\n"                                      \
            "gemm_terms_" #M "x" #V ":\n\t"                                                                           \
            ".cfi_startproc\n\t.cfi_def_cfa_offset 136\n\t.cfi_offset 16, -136\n\t"                                   \
            "kmovw 4(%rcx), %k1\n\tcmpl $0x3f800000, 8(%rcx)\n\tje 1f\n\t"                                            \
            GEMM_ROWS_##M(GEMM_SCALE, V, zmm, "")                                                                     \
            "1:\tmov 12(%rcx), %eax\n\tadd %eax, %eax\n\tjz 2f\n\t"                                                   \
            "vbroadcastss 12(%rcx), %zmm31\n\tmov 16(%rcx), %rax\n\t" GEMM_ROWS_##M(GEMM_OLD, V, zmm, "")             \
            "2:\tmov 24(%rcx), %rax\n\ttest %rax, %rax\n\tjz 3f\n\t"                                                  \
            GEMM_BIAS_IN_##V GEMM_ROWS_##M(GEMM_BIAS, V, zmm, "")                                                     \
            "3:\tcmpl $0, 80(%rcx)\n\tje 4f\n\tvpxord %zmm31, %zmm31, %zmm31\n\t"                                     \
            GEMM_ROWS_##M(GEMM_RELU, V, zmm, "")                                                                      \
            "4:\tmov 32(%rcx), %rax\n\ttest %rax, %rax\n\tjz 5f\n\t"                                                  \
            GEMM_ROWS_##M(GEMM_RESIDUAL, V, zmm, "")                                                                  \
            "5:\tmov 48(%rcx), %rax\n\tadd %rax, 16(%rcx)\n\tmov 56(%rcx), %rax\n\tadd %rax, 24(%rcx)\n\t"            \
            "mov 72(%rcx), %rax\n\tadd %rax, 32(%rcx)\n\tsubl $1, 84(%rcx)\n\tjb 7f\n\t"                              \
            "mov 32(%rcx), %rax\n\ttest %rax, %rax\n\tjz 6f\n\t"                                                      \
            GEMM_ROWS_##M(GEMM_FETCH_RESIDUAL, V, zmm, "")                                                            \
            "6:\tmov 12(%rcx), %eax\n\tadd %eax, %eax\n\tjz 7f\n\tmov 16(%rcx), %rax\n\t"                             \
            GEMM_ROWS_##M(GEMM_FETCH_OLD, V, zmm, "")                                                                 \
            "7:\tret\n\t.cfi_endproc\n\t"                                                                             \
            ".size gemm_terms_" #M "x" #V ", . - gemm_terms_" #M "x" #V "\n");

/// Calls it from a tile's assembly, where there are terms. What gcc keeps below the stack pointer stays.
#define GEMM_ADD_TERMS(M, V)                                                                                          \
    "cmpl $0, %[terms]\n\tje 9f\n\tlea %[terms], %%rcx\n\tlea -128(%%rsp), %%rsp\n\t"                                 \
    "call gemm_terms_" #M "x" #V "\n\tlea 128(%%rsp), %%rsp\n9:\t"
// clang-format on

#endif
