// SPDX-License-Identifier: Apache-2.0
// history/duel.h - two builds of the library in one process, taking turns.
//
// A build of today against a figure of last week says as much about the machine as about the code. Two builds that do
// the same work by turns, on the same operands, see the same neighbours: their paired ratios hold where times do not.
#ifndef FOVEA_HISTORY_DUEL_H
#define FOVEA_HISTORY_DUEL_H

#include "fovea/fovea.h"

#include <stdbool.h>

/// The functions of one build. Those an older build lacks are NULL.
struct library {
    void *handle;
    int fd; ///< of the copy
    struct fovea_engine *engine;
    __typeof__(fovea_version) *version;
    __typeof__(fovea_engine_create) *engine_create;
    __typeof__(fovea_engine_destroy) *engine_destroy;
    __typeof__(fovea_pack_size) *pack_size;
    __typeof__(fovea_pack) *pack;
    __typeof__(fovea_gemm_plan_size) *gemm_plan_size;
    __typeof__(fovea_gemm_plan) *gemm_plan;
    __typeof__(fovea_gemm) *gemm;
    __typeof__(fovea_attention_desc_init) *attention_desc_init;
    __typeof__(fovea_attention_plan_size) *attention_plan_size;
    __typeof__(fovea_attention_plan) *attention_plan;
    __typeof__(fovea_attention) *attention;
    __typeof__(fovea_rowwise_plan_size) *rowwise_plan_size;
    __typeof__(fovea_rowwise_plan) *rowwise_plan;
    __typeof__(fovea_rowwise) *rowwise;
};
/// Loads a copy of a shared library, so that even the same file is loaded twice, and makes an engine. False with one
/// line in message.
bool library_open(struct library *library, const char *path, char *message, size_t message_size);
/// Closes it. One of zeros is legal.
void library_close(struct library *library);

/// Memory for a case that both builds read, and where both write.
struct duel_operands {
    const float *in; ///< DUEL_IN floats in [-1, 1)
    float *out;      ///< DUEL_OUT floats
};
enum { DUEL_IN = 3 << 20, DUEL_OUT = 1 << 20 };

/// What a build has prepared for a case.
struct duel_state;
/// A case: what is computed.
struct duel_case {
    const char *name;
    /// Plans and allocates. NULL where this build cannot.
    struct duel_state *(*prepare)(const struct duel_case *self, const struct library *library,
                                  const struct duel_operands *operands);
    size_t size[4]; ///< as the kind of case reads them
    unsigned flags;
};
extern const struct duel_case duel_cases[];
extern const size_t duel_cases_count;

/// A prepared case begins with these; its memory is one block.
struct duel_state {
    bool (*run)(struct duel_state *self); ///< false: refused
    void (*release)(struct duel_state *self);
};

/// How a case went.
struct duel_result {
    double seconds[2];       ///< of a call, old and new: medians
    double ratio, low, high; ///< of the new one's time to the old one's: the median of pairs, its 95 % interval
    size_t pairs;
    bool same_bits; ///< both wrote the same
};
/// Runs a case for about `seconds`. False where a build cannot do it.
bool duel_run(const struct duel_case *self, const struct library libraries[2], const struct duel_operands *operands,
              double seconds, struct duel_result *result);

#endif
