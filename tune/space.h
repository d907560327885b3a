// SPDX-License-Identifier: Apache-2.0
// tune/space.h - what may be chosen for a class, from the registers of kernels and numbers.
#ifndef FOVEA_TUNE_SPACE_H
#define FOVEA_TUNE_SPACE_H

#include "dispatch/adopt.h"

#include <stdbool.h>

enum { TUNE_CANDIDATES_MAX = 128 };

/// Stages of a class: 0 its kernel (with the numbers the model gives for it, and with those of `from` that are not the
/// model's), then those of kernels/tuning.def.
uint32_t tune_stages(uint32_t class);

/// The candidates of a stage beside `from`, those nearest to the model first; at most TUNE_CANDIDATES_MAX. Kernels that
/// this CPU or its cap lacks, or that are excluded or in `banned` (FOVEA_VARIANTS marks), are not among them; scalar
/// ones only where there is nothing else. l2: bytes that really stay in L2 (tune_measure_l2), or 0; where that is at
/// least twice what the machine says, or half of it at most, what the model makes of it is among them, too.
uint32_t tune_space(const struct fovea_engine *engine, uint32_t class, uint32_t stage, const struct fovea_tuned *from,
                    const uint8_t *banned, size_t l2, struct fovea_tuned *out);

/// The default of a class in this engine: the best kernel of its slot that is not banned, the numbers of the model.
struct fovea_tuned tune_default(const struct fovea_engine *engine, uint32_t class, const uint8_t *banned);

/// The default of a machine whose L2 is as large as it was measured; false where that is the same, or the machine says
/// more: what else runs on the core takes lines away from what is measured, and adds none.
bool tune_measured_default(const struct fovea_engine *engine, uint32_t class, const uint8_t *banned, size_t l2,
                           struct fovea_tuned *out);

#endif
