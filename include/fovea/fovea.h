// SPDX-License-Identifier: Apache-2.0
// fovea/fovea.h - all of fovea.
#ifndef FOVEA_FOVEA_H
#define FOVEA_FOVEA_H

#include "fovea/attention.h"
#include "fovea/attention_state.h"
#include "fovea/attention_weights.h"
#include "fovea/engine.h"
#include "fovea/executor.h"
#include "fovea/gemm.h"
#include "fovea/kv_cache.h"
#include "fovea/layer.h"
#include "fovea/mha.h"
#include "fovea/rowwise.h"
#include "fovea/safetensors.h"
#include "fovea/status.h"
#include "fovea/transformer.h"
#include "fovea/type.h"

#endif
