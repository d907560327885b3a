// SPDX-License-Identifier: Apache-2.0
// ops/gemm_follow.h - how few rows of C read B once, and what they prefetch of it.
#ifndef FOVEA_OPS_GEMM_FOLLOW_H
#define FOVEA_OPS_GEMM_FOLLOW_H

#include "ops/facts.h"
#include "ops/gemm.h"

/// Whether the panels of a packed B are read as one stream: strips of one panel, by a micro-kernel for few rows.
static inline bool fovea_gemm_streams(const struct fovea_gemm_layout *plan)
{
    return plan->desc.b_packed && plan->kernel->nr == FOVEA_PANEL && fovea_gemm_is_thin(plan->kernel);
}

/// How many lines ahead tiles prefetch a B that they follow, or 0.
static inline uint32_t fovea_gemm_lead(const struct fovea_gemm_layout *plan)
{
    return plan->kernel->lead ? plan->tuning->lead : 0;
}

/// Whether a packed B is read once for this few rows and nothing of it is prefetched, which takes precedence over
/// following it.
static inline bool fovea_gemm_is_alone(const struct fovea_gemm_layout *plan, size_t rows)
{
    return plan->desc.b_packed && rows <= plan->tuning->alone && rows <= plan->mr;
}

/// Whether this many rows of a class, which a micro-kernel takes at once, follow B (fovea_gemm_follows).
static inline bool fovea_gemm_may_follow(const struct fovea_gemm_tuning *tuning, enum fovea_gemm_form form,
                                         bool b_aliases, size_t rows, uint32_t mr)
{
    const bool in_order = form == FOVEA_FORM_PACKED || (form == FOVEA_FORM_NN && !b_aliases);
    return in_order && rows <= tuning->follow_rows && rows <= mr;
}

/// How tiles in blocks prefetch the B that they read, apart from the next group of strips.
struct fovea_gemm_fetch {
    enum fovea_gemm_fetches how; ///< NOTHING, FOLLOWED and LED: one tile reads B once
    uint32_t lead;               ///< LED: lines ahead, which a tile that adds to C cannot use
    uint32_t touch;              ///< pages ahead of which a line of each panel is prefetched, too, or 0
};

/// That of so many rows. packs: B is packed on the way. Alone, only tiles of one panel touch pages.
static inline struct fovea_gemm_fetch fovea_gemm_fetch_of(const struct fovea_gemm_layout *plan, size_t rows, bool packs)
{
    const enum fovea_gemm_form form = fovea_gemm_form_of(&plan->desc);
    const uint32_t lead = fovea_gemm_lead(plan), touch = plan->kernel->touch ? plan->tuning->touch : 0;
    if (fovea_gemm_is_alone(plan, rows)) {
        return (struct fovea_gemm_fetch){FOVEA_FETCHES_OFF, 0, plan->kernel->nr == FOVEA_PANEL ? touch : 0};
    }
    if (fovea_gemm_may_follow(plan->tuning, form, plan->b_aliases, rows, (uint32_t)plan->mr) &&
        (lead == 0 || plan->blocks.count == 1)) {
        return lead != 0 && !packs ? (struct fovea_gemm_fetch){FOVEA_FETCHES_LED, lead, plan->desc.b_packed ? touch : 0}
                                   : (struct fovea_gemm_fetch){FOVEA_FETCHES_FOLLOWED, 0, 0};
    }
    const bool streams = fovea_gemm_streams(plan) && rows <= plan->mr && plan->kernel->ahead;
    return (struct fovea_gemm_fetch){streams ? FOVEA_FETCHES_STREAM : FOVEA_FETCHES_UNSAID, 0, 0};
}

/// Whether one tile reads B once, without prefetches of other strips than its own.
static inline bool fovea_gemm_follows(const struct fovea_gemm_fetch *fetch)
{
    return fetch->how == FOVEA_FETCHES_OFF || fetch->how == FOVEA_FETCHES_FOLLOWED || fetch->how == FOVEA_FETCHES_LED;
}

/// Pages ahead of which a line is prefetched of a transposed B, read in place by one row of C `side` rows at a time, or
/// of an A by one column; or 0.
static inline uint32_t fovea_gemm_touch_rows(const struct fovea_gemm_layout *plan, size_t rows, uint32_t side)
{
    return plan->kernels->gemm_bt.touch && rows == 1 && side >= FOVEA_PANEL ? plan->tuning->touch : 0;
}

/// Lines of a segment of the rows that one row of C prefetches twice, or 0: of up to 16 lines that leave the last
/// segment the least short (Zen 4, k of 384, 16 and eight lines in place of twice twelve, 0.79; k of 1600 0.95).
static inline uint32_t fovea_gemm_twice(const struct fovea_gemm_layout *plan, size_t rows)
{
    enum { MOST = 16, LEAST = 8 };
    const size_t lines = fovea_ceil_div(plan->k, FOVEA_LINE);
    size_t best = MOST;
    for (size_t i = MOST; i >= LEAST; i -= 2) {
        best = fovea_round_up(lines, i) < fovea_round_up(lines, best) ? i : best;
    }
    return rows == 1 && plan->tuning->twice ? (uint32_t)best : 0;
}

/// Steps before the first line that begins in each row of the transposed B at b, if all rows are in one set of L1:
/// loads that cross lines need two lines of each row at a time, which evict one another (Zen 4, B from memory, 16 bytes
/// behind a line, one row of C 1.4 to 1.5 times as fast, four to six 1.05 to 1.18, eight and more 1.19 to 1.5; two and
/// three 0.95).
static inline uint32_t fovea_gemm_head(size_t ldb, size_t k, const void *b, size_t rows)
{
    const size_t head = -((uintptr_t)b / sizeof(float)) % FOVEA_LINE;
    const bool pays = ldb % FOVEA_L1_WAY == 0 && rows != 2 && rows != 3;
    return pays && head < k ? (uint32_t)head : 0;
}

/// Pages ahead of which one row of C prefetches a line of each row of a natural B, or 0.
static inline uint32_t fovea_gemm_touch_steps(const struct fovea_gemm_layout *plan, size_t rows)
{
    return plan->kernels->gemm_bn.touch && rows == 1 ? plan->tuning->touch : 0;
}

#endif
