// SPDX-License-Identifier: Apache-2.0
// nn/parts.c - plans the operators that a composite is made of, and checks the fields that composites have in common.
#include "nn/parts.h"

#include <math.h>

// Makes the reason of a part that of the whole.
static enum fovea_status tell(const struct fovea_part_of *of, const char *part, enum fovea_status status,
                              const char *reason)
{
    FOVEA_REQUIRE(!status, status, of->why, "%s: %s%s", of->whole, part, reason);
    return FOVEA_OK;
}

enum fovea_status fovea_part_gemm(const struct fovea_part_of *of, const char *part, const struct fovea_gemm_desc *desc,
                                  struct fovea_gemm_layout *plan)
{
    char reason[FOVEA_EXPLAIN_BYTES] = "";
    const struct fovea_why why = {reason, sizeof reason};
    return tell(of, part, fovea_gemm_make(of->engine, desc, plan, &why), reason);
}

enum fovea_status fovea_part_rowwise(const struct fovea_part_of *of, const char *part,
                                     const struct fovea_rowwise_desc *desc, struct fovea_rowwise_layout *plan)
{
    char reason[FOVEA_EXPLAIN_BYTES] = "";
    const struct fovea_why why = {reason, sizeof reason};
    return tell(of, part, fovea_rowwise_make(of->engine, desc, plan, &why), reason);
}

enum fovea_status fovea_part_attention(const struct fovea_part_of *of, const struct fovea_attention_desc *desc,
                                       struct fovea_attention_layout *plan)
{
    char reason[FOVEA_EXPLAIN_BYTES] = "";
    const struct fovea_why why = {reason, sizeof reason};
    return tell(of, "", fovea_attention_make(of->engine, desc, plan, &why), reason);
}

enum fovea_status fovea_heads_check(size_t heads, size_t kv_heads, size_t qk_dim, size_t v_dim, const char *whole,
                                    const struct fovea_why *why)
{
    const struct fovea_size dims[] = {{"qk_dim", qk_dim}, {"v_dim", v_dim}};
    FOVEA_REQUIRE(heads >= 1, FOVEA_ERR_SHAPE, why, "%s: heads is 0", whole);
    FOVEA_REQUIRE(kv_heads == 0 || heads % kv_heads == 0, FOVEA_ERR_SHAPE, why,
                  "%s: heads %zu is no multiple of kv_heads %zu", whole, heads, kv_heads);
    return fovea_check_within(dims, FOVEA_COUNT(dims), 1, FOVEA_ATTENTION_DIM_MAX, FOVEA_ERR_SHAPE, whole, why);
}

enum fovea_status fovea_rotary_check(size_t rotary_dim, size_t qk_dim, size_t positions, size_t most, const char *whole,
                                     const struct fovea_why *why)
{
    FOVEA_REQUIRE(rotary_dim % 2 == 0 && rotary_dim <= qk_dim, FOVEA_ERR_SHAPE, why,
                  "%s: rotary_dim %zu is odd or more than qk_dim %zu", whole, rotary_dim, qk_dim);
    FOVEA_REQUIRE(rotary_dim == 0 || positions >= most, FOVEA_ERR_SHAPE, why,
                  "%s: rotary_positions is %zu, but a call may have %zu positions", whole, positions, most);
    return FOVEA_OK;
}

void fovea_say_positions(size_t position, const size_t *positions, size_t batch, const struct fovea_why *why)
{
    if (!positions || batch == 0) {
        fovea_say_more(why, ", position %zu", position);
        return;
    }
    size_t least = positions[0], most = positions[0];
    for (size_t b = 1; b < batch; b++) {
        least = fovea_min(least, positions[b]);
        most = fovea_max(most, positions[b]);
    }
    fovea_say_more(why, ", positions %zu to %zu", least, most);
}

enum fovea_status fovea_eps_check(float eps, const char *name, const char *whole, const struct fovea_why *why)
{
    FOVEA_REQUIRE(isfinite(eps) && eps >= 0, FOVEA_ERR_VALUE, why, "%s: %s is %g, negative or not finite", whole, name,
                  (double)eps);
    return FOVEA_OK;
}

enum fovea_status fovea_dropout_check(float dropout, const char *name, const char *whole, const struct fovea_why *why)
{
    FOVEA_REQUIRE(dropout >= 0 && dropout < 1, FOVEA_ERR_VALUE, why, "%s: %s is %g, not at least 0 and below 1", whole,
                  name, (double)dropout);
    return FOVEA_OK;
}
