// SPDX-License-Identifier: Apache-2.0
// kernels/panel.h - constants that all kernels share and no tuning profile changes.
#ifndef FOVEA_KERNELS_PANEL_H
#define FOVEA_KERNELS_PANEL_H

enum {
    FOVEA_PANEL = 16,         ///< columns of a packed panel: layout f32-p16, the same on every ISA
    FOVEA_GROUP = 64,         ///< k steps of a panel of 8-bit integers that have the same scales: layout s8-p16
    FOVEA_LINE = 16,          ///< floats of a cache line
    FOVEA_PAGE = 1024,        ///< floats of a page of memory, the smallest there is: 64 k steps of a panel
    FOVEA_BN_STEPS = 16,      ///< the most rows of a natural B that are read side by side
    FOVEA_CHUNK = 128,        ///< keys between two rescalings of the attention state, at absolute key positions
    FOVEA_SPLIT = 1024,       ///< keys between two merges of attention states, at absolute key positions
    FOVEA_TILE_ROWS_MAX = 64, ///< queries of an attention tile: one bit each in fovea_attention_chunk.visible
};

#endif
