// SPDX-License-Identifier: Apache-2.0
// tune/space.h - the choices of a class, from the registers of kernels and numbers.
#ifndef FOVEA_TUNE_SPACE_H
#define FOVEA_TUNE_SPACE_H

#include "dispatch/adopt.h"

#include <stdbool.h>

enum { TUNE_CANDIDATES_MAX = 128 };

/// The stages of a class: 0 is its kernel (with the model's numbers for it, and with those of `from` that are not the
/// model's), then those of kernels/tuning.def.
uint32_t tune_stages(uint32_t class);

/// The candidates of a stage other than `from`, those nearest to the model first; at most TUNE_CANDIDATES_MAX. Excluded
/// are kernels that this CPU or its cap does not allow, that are excluded by name, or that are in `banned`
/// (FOVEA_VARIANTS marks); scalar ones are only used if there is nothing else. l2: bytes that really stay in L2
/// (tune_measure_l2), or 0; if that is at most half of what the engine assumes, the model's numbers for it are
/// candidates, too.
uint32_t tune_space(const struct fovea_engine *engine, uint32_t class, uint32_t stage, const struct fovea_tuned *from,
                    const uint8_t *banned, size_t l2, struct fovea_tuned *out);

/// Whether an engine has more than one vectorized kernel for the slot of a class.
bool tune_has_choice(const struct fovea_engine *engine, uint32_t class);

/// The default of a class in this engine: the best kernel of its slot that is not banned, with the model's numbers.
struct fovea_tuned tune_default(const struct fovea_engine *engine, uint32_t class, const uint8_t *banned);

#endif
