// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_terms.h - applies the epilogue (struct fovea_gemm_terms) to the sums of x86 tiles in assembly,
// before the tiles store them.
//
// In registers a term is one operation on each sum; for all sums of a tile it costs as much as one k step. A second
// pass over C loads and stores as many vectors again, and waits for the residual's lines (Emerald Rapids, 64 steps,
// packed B of 768 columns, 512 rows, over the plain product: bias 20 % that way and 2 % this way, residual 44 and 16).
//
// One routine for each size of a tile serves tiles of all kinds, whose assembly calls it: a copy in each is as fast,
// and 0.3 MB more of AVX-512 alone.
#ifndef FOVEA_KERNELS_COMMON_GEMM_TERMS_H
#define FOVEA_KERNELS_COMMON_GEMM_TERMS_H

#include "kernels/fault.h"
#include "kernels/kernel.h"

#include <stdbool.h>

/// The terms as the routines read them, at the offsets that stand in them, of the tile whose turn it is. A routine
/// moves them on to the next one.
struct gemm_terms {
    uint32_t any;            // 0: there are none, and nothing else here is set
    uint32_t kc;             // 4: AVX-512, the lanes of the last panel that exist
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

/// Prefetches the lines of a tile's rows, so that they arrive while its steps run.
static inline void gemm_fetch_rows(const float *first, ptrdiff_t bytes, size_t rows, size_t panels)
{
    const char *row = (const char *)first;
    for (size_t i = 0; i < rows; i++, row += bytes) {
        for (size_t j = 0; j < panels; j++) {
            __builtin_prefetch(row + j * FOVEA_PANEL * sizeof(float), 0, 3);
        }
    }
}

/// Sets the terms of the first tile, of `rows` rows and `panels` panels. Not inlined, as most tiles have none.
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
    __asm__ volatile("" : : "r"(terms) : "memory"); // the assembly of tiles reads and changes *terms
}

// clang-format off
/// Defines the routine gemm_terms_<size>. rcx: struct gemm_terms. Each part is for all sums: BEGIN; SCALE, times alpha;
/// OLD, plus beta times the rows of C from rax on; BIAS, plus those from rax on; RELU; RESIDUAL, plus rows from rax on;
/// and the prefetches of the next tile's. The unwind information covers the return address and the 128 bytes
/// that the caller leaves below its stack pointer.
#define GEMM_TERMS_ROUTINE(size, BEGIN, SCALE, OLD, BIAS, RELU, RESIDUAL, FETCH_OLD, FETCH_RESIDUAL)                   \
    __asm__(".pushsection .text\n\t.p2align 4\n\t.type gemm_terms_" size ", @function\n"                              \
            "gemm_terms_" size ":\n\t"                                                                                \
            ".cfi_startproc\n\t.cfi_def_cfa_offset 136\n\t.cfi_offset 16, -136\n\t"                                   \
            BEGIN "cmpl $0x3f800000, 8(%rcx)\n\tje 1f\n\t" SCALE                                                      \
            "1:\tmov 12(%rcx), %eax\n\tadd %eax, %eax\n\tjz 2f\n\tmov 16(%rcx), %rax\n\t" OLD                         \
            "2:\tmov 24(%rcx), %rax\n\ttest %rax, %rax\n\tjz 3f\n\t" BIAS                                             \
            "3:\tcmpl $0, 80(%rcx)\n\tje 4f\n\t" RELU                                                                 \
            "4:\tmov 32(%rcx), %rax\n\ttest %rax, %rax\n\tjz 5f\n\t" RESIDUAL                                         \
            "5:\tmov 48(%rcx), %rax\n\tadd %rax, 16(%rcx)\n\tmov 56(%rcx), %rax\n\tadd %rax, 24(%rcx)\n\t"            \
            "mov 72(%rcx), %rax\n\tadd %rax, 32(%rcx)\n\tsubl $1, 84(%rcx)\n\tjb 7f\n\t"                              \
            "mov 32(%rcx), %rax\n\ttest %rax, %rax\n\tjz 6f\n\t" FETCH_RESIDUAL                                       \
            "6:\tmov 12(%rcx), %eax\n\tadd %eax, %eax\n\tjz 7f\n\tmov 16(%rcx), %rax\n\t" FETCH_OLD                   \
            "7:\tret\n\t.cfi_endproc\n\t"                                                                             \
            ".size gemm_terms_" size ", . - gemm_terms_" size "\n\t.popsection\n");

/// Calls it from a tile's assembly, where there are terms; rax and rcx are free there. What gcc keeps below the stack
/// pointer stays.
#define GEMM_ADD_TERMS(size)                                                                                          \
    "cmpl $0, %[terms]\n\tje 9f\n\tlea %[terms], %%rcx\n\tlea -128(%%rsp), %%rsp\n\t"                                 \
    "call gemm_terms_" size "\n\tlea 128(%%rsp), %%rsp\n9:\t"
// clang-format on

#endif
