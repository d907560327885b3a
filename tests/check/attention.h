// SPDX-License-Identifier: Apache-2.0
// tests/check/attention.h - an attention case: one tile of queries, a few chunks of keys one after another.
#ifndef FOVEA_TESTS_CHECK_ATTENTION_H
#define FOVEA_TESTS_CHECK_ATTENTION_H

#include "fovea/type.h"
#include "tests/check/check.h"

struct attention_case {
    struct check_case *c;
    bool prefill, panels, own_pages;
    enum fovea_type type; ///< decode: of the elements of K and V. chunk.k and chunk.v are the same numbers as f32.
    /// The largest comes first, so that an initialiser clears all of it.
    union {
        struct fovea_decode_chunk decode_chunk;   ///< decode
        struct fovea_prefill_chunk prefill_chunk; ///< prefill
        struct fovea_attention_chunk chunk; ///< q, k, v, masks of the chunk at hand; state and scratch of whoever runs
    };
    struct check_source q_values, k_values, v_values, bias_values;
    struct check_buffer *scores[2]; ///< decode, or NULL: the scores are returned, and nothing else is done
    bool ordered;                   ///< decode: the kernel may know K of the chunk that comes next
    float *next;                    ///< that K, or NULL
    uint32_t begun[2];              ///< what the scalar and the tested variant made of it
    struct fovea_attention_blocks blocks;
    bool additive;                     ///< scores are those of chunk.additive
    bool plain;                        ///< every value uniform: the oracle is asked
    struct fovea_attention_copy *copy; ///< prefill, or NULL: keys are copied, perhaps by another tile
    struct fovea_fetch_list *fetch;    ///< prefill, or NULL
    struct check_buffer *shared[2];    ///< the memory of copy; the second is not used
};

/// Draws keys, values, mask and bias of the next chunk. Keys that no row sees stay poison, or unmapped pages.
void attention_draw_chunk(struct attention_case *a);
/// Rounds elements to numbers of a->type, of 16 bits, and returns a copy as such.
const uint16_t *attention_halve(struct attention_case *a, const char *name, float *x, size_t elements);
/// Whether row r sees key j of the chunk: mask and bias.
bool attention_sees(const struct attention_case *a, size_t r, size_t j);

/// Two states of the same shape and contents, for the scalar and the tested variant.
struct attention_states {
    struct check_buffer *m[2], *l[2], *o[2];
    struct check_buffer *spread[2], *top[2], *largest[2]; ///< NULL: no statistics
    size_t rows, v_dim;
    ptrdiff_t o_row, o_col;
};
/// Empty rows, or rows of any contents. Lanes along the unit stride are padded to 16 with poison.
struct attention_states attention_draw_states(struct check_case *c, size_t rows, size_t v_dim, ptrdiff_t o_row,
                                              ptrdiff_t o_col, unsigned percent_empty,
                                              const struct check_source *values);
/// Adds statistics to states that were just drawn.
void attention_draw_statistics(struct check_case *c, struct attention_states *states);
struct fovea_attention_state attention_state(const struct attention_states *states, size_t which);
/// Bits of m (but for the sign of a zero), l and O, and the memory around them.
void attention_compare_states(struct check_case *c, const struct attention_states *states);

#endif
