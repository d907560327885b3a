// SPDX-License-Identifier: Apache-2.0
// ops/attention_ragged.c - ragged batches: each entry as a call of its own, and finding the entry of a task.
//
// The number of tasks of an entry depends on its lengths. If each task searched for its entry from the first one on, a
// call of n entries would take n^2 steps. Therefore a first phase stores the number of tasks before every 8th entry.
#include "ops/attention.h"

// Continues from `at` to the entry of a task, and stores the landmarks after it if they are not NULL. An entry as long
// as the one before it, as in decoding, costs no more than a comparison.
static struct fovea_attention_at walk(const struct fovea_attention_layout *plan,
                                      const struct fovea_attention_args *args, enum fovea_attention_phase phase,
                                      size_t task, struct fovea_attention_at at, uint32_t *landmarks)
{
    size_t queries = SIZE_MAX, keys = SIZE_MAX, tasks = 0;
    for (; at.number < args->batch; at.number++, at.before += tasks) {
        const size_t b = at.number, q_len = args->q_starts[b + 1] - args->q_starts[b];
        const size_t kv_len = args->kv_starts ? args->kv_starts[b + 1] - args->kv_starts[b] : args->kv_len;
        if (landmarks != NULL && b != 0 && b % FOVEA_ATTENTION_LANDMARK == 0) {
            landmarks[b / FOVEA_ATTENTION_LANDMARK - 1] = (uint32_t)at.before;
        }
        if (q_len != queries || kv_len != keys) {
            queries = q_len;
            keys = kv_len;
            at.grid = fovea_attention_grid(plan, args->batch, q_len, kv_len);
            tasks = fovea_attention_grid_tasks(&at.grid, 1, phase);
        }
        if (task - at.before < tasks) {
            break;
        }
    }
    return at;
}

// Number of landmarks per phase in a call, which may have fewer entries than its plan.
static size_t count_landmarks(const struct fovea_attention_args *args)
{
    return args->batch == 0 ? 0 : (args->batch - 1) / FOVEA_ATTENTION_LANDMARK;
}

struct fovea_attention_at fovea_attention_seek(const struct fovea_attention_layout *plan,
                                               const struct fovea_attention_args *args, const uint32_t *landmarks,
                                               enum fovea_attention_phase phase, size_t task)
{
    struct fovea_attention_at at = {0};
    if (landmarks != NULL) {
        const uint32_t *const first = landmarks + (phase == FOVEA_ATTENTION_JOIN ? plan->landmarks : 0);
        // Landmarks below low are not after the task, those from high on are.
        size_t low = 0, high = count_landmarks(args);
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (first[middle] <= task) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        at.number = low * FOVEA_ATTENTION_LANDMARK;
        at.before = low == 0 ? 0 : first[low - 1];
    }
    return walk(plan, args, phase, task, at, NULL);
}

void fovea_attention_set_landmarks(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                                   uint32_t *landmarks)
{
    const struct fovea_attention_at begin = {0};
    walk(plan, args, FOVEA_ATTENTION_COMPUTE, SIZE_MAX, begin, landmarks);
    walk(plan, args, FOVEA_ATTENTION_JOIN, SIZE_MAX, begin, landmarks + plan->landmarks);
}

struct fovea_attention_args fovea_attention_entry(const struct fovea_attention_layout *plan,
                                                  const struct fovea_attention_args *args, size_t b,
                                                  size_t *batch_strides)
{
    struct fovea_attention_desc call = fovea_attention_call(plan, args);
    struct fovea_attention_args entry = *args;
    const size_t first = args->q_starts[b];
    entry.batch = 1;
    entry.q_len = args->q_starts[b + 1] - first;
    if (entry.q_len != 0) {
        entry.q = args->q != NULL ? args->q + first * call.q.row : NULL; // finishing a state has no q
        entry.out = args->out != NULL ? args->out + first * call.out.row : NULL;
        entry.lse = args->lse != NULL ? args->lse + first * call.heads : NULL;
        entry.entropy = args->entropy != NULL ? args->entropy + first * call.heads : NULL;
        entry.max_weight = args->max_weight != NULL ? args->max_weight + first * call.heads : NULL;
        entry.max_key = args->max_key != NULL ? args->max_key + first * call.heads : NULL;
    }
    if (args->kv_starts != NULL) {
        const size_t first_key = args->kv_starts[b];
        entry.kv_len = args->kv_starts[b + 1] - first_key;
        if (entry.kv_len != 0) {
            const size_t size = fovea_type_bytes(call.kv_type);
            entry.k = (const char *)args->k + first_key * call.k.row * size;
            entry.v = (const char *)args->v + first_key * call.v.row * size;
        }
        call.k.batch = call.v.batch = 0;
    }
    batch_strides[0] = batch_strides[3] = 0;
    batch_strides[1] = call.k.batch;
    batch_strides[2] = call.v.batch;
    entry.batch_strides = batch_strides;
    return entry;
}
