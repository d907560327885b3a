// SPDX-License-Identifier: Apache-2.0
// ops/kv_put.c - puts keys into panels or rows and values into rows, rounded to the type of a cache.
#include "ops/kv_put.h"
#include "ops/check.h"
#include <string.h>

enum { SOME = 64 }; // elements of a key that are rounded at a time

void fovea_kv_strides(const struct fovea_kv_units *u, struct fovea_strides *k, struct fovea_strides *v)
{
    const size_t k_head = (u->k_rows ? u->keys : fovea_round_up(u->keys, FOVEA_PANEL)) * u->qk_dim;
    const size_t v_head = u->keys * u->v_dim;
    *k = (struct fovea_strides){u->heads * k_head, k_head, u->k_rows ? u->qk_dim : 0};
    *v = (struct fovea_strides){u->heads * v_head, v_head, u->v_dim};
}

// Element i of K or V, or of a part of it.
static void *element(const struct fovea_kv_units *u, void *first, size_t i)
{
    return (char *)first + i * fovea_type_bytes(u->type);
}

// Without kernels the scalar one: a cache may have no engine.
static fovea_narrow_fn *narrow_of(const struct fovea_kernels *kernels, const struct fovea_kv_units *u)
{
    if (u->type == FOVEA_BF16) {
        return kernels != NULL ? kernels->narrow_bf16.run : fovea_narrow_bf16_f32_scalar;
    }
    return kernels != NULL ? kernels->narrow_f16.run : fovea_narrow_f16_f32_scalar;
}

// A row of n elements, as K or V has them.
static void write_row(const struct fovea_kernels *kernels, const struct fovea_kv_units *u, size_t n, const float *row,
                      void *to)
{
    if (u->type == FOVEA_F32) {
        memcpy(to, row, n * sizeof *row);
    } else {
        narrow_of(kernels, u)(n, row, to);
    }
}

// Rows of `dim` elements to one after the other; at once if they lie so, too.
static void write_rows(const struct fovea_kernels *kernels, const struct fovea_kv_units *u, size_t len, size_t dim,
                       const float *from, size_t row, void *to)
{
    const size_t some = row == dim ? len : 1;
    for (size_t j = 0; j < len; j += some) {
        write_row(kernels, u, some * dim, from + j * row, element(u, to, j * dim));
    }
}

// A key in the column of its panel.
static void write_column(const struct fovea_kernels *kernels, const struct fovea_kv_units *u, const float *key,
                         void *column)
{
    if (u->type == FOVEA_F32) {
        for (size_t c = 0; c < u->qk_dim; c++) {
            ((float *)column)[c * FOVEA_PANEL] = key[c];
        }
        return;
    }
    uint16_t some[SOME];
    for (size_t c = 0; c < u->qk_dim; c += SOME) {
        const size_t n = fovea_min(u->qk_dim - c, SOME);
        write_row(kernels, u, n, key + c, some);
        for (size_t i = 0; i < n; i++) {
            ((uint16_t *)column)[(c + i) * FOVEA_PANEL] = some[i];
        }
    }
}

// Keys that fill panels, from the first of these on. What is rounded is transposed before, on the stack.
static void write_panels(const struct fovea_kernels *kernels, const struct fovea_kv_units *u, size_t keys,
                         const float *k, size_t row, void *panels)
{
    if (u->type == FOVEA_F32) {
        kernels->pack_bt.run(u->qk_dim, keys, k, (ptrdiff_t)row, panels, (ptrdiff_t)(FOVEA_PANEL * u->qk_dim));
        return;
    }
    float some[SOME * FOVEA_PANEL];
    for (size_t j = 0; j < keys; j += FOVEA_PANEL) {
        for (size_t c = 0; c < u->qk_dim; c += SOME) {
            const size_t n = fovea_min(u->qk_dim - c, SOME);
            kernels->pack_bt.run(n, FOVEA_PANEL, k + j * row + c, (ptrdiff_t)row, some, (ptrdiff_t)(FOVEA_PANEL * n));
            write_row(kernels, u, n * FOVEA_PANEL, some, element(u, panels, j * u->qk_dim + c * FOVEA_PANEL));
        }
    }
}

// Keys at positions [pos, pos + len) of a head, in columns one after the other.
static void write_columns(const struct fovea_kernels *kernels, const struct fovea_kv_units *u, size_t pos, size_t len,
                          const float *k, size_t row, void *head)
{
    for (size_t j = 0, at = pos; j < len; j++, at++) {
        const size_t lane = at % FOVEA_PANEL;
        write_column(kernels, u, k + j * row, element(u, head, (at - lane) * u->qk_dim + lane));
    }
}

// Keys at these positions, however K lies. Panels that they fill are written by a kernel, where there is one.
static void write_keys(const struct fovea_kernels *kernels, const struct fovea_kv_units *u, size_t pos, size_t len,
                       const float *k, size_t row, void *head)
{
    const size_t before = fovea_min((FOVEA_PANEL - pos % FOVEA_PANEL) % FOVEA_PANEL, len);
    const size_t whole = kernels == NULL ? 0 : (len - before) / FOVEA_PANEL * FOVEA_PANEL, end = before + whole;
    if (u->k_rows) {
        write_rows(kernels, u, len, u->qk_dim, k, row, element(u, head, pos * u->qk_dim));
    } else if (whole == 0) {
        write_columns(kernels, u, pos, len, k, row, head);
    } else {
        write_columns(kernels, u, pos, before, k, row, head);
        write_panels(kernels, u, whole, k + before * row, row, element(u, head, (pos + before) * u->qk_dim));
        write_columns(kernels, u, pos + end, len - end, k + end * row, row, head);
    }
}

void fovea_kv_put(const struct fovea_kernels *kernels, const struct fovea_kv_units *u, size_t unit, size_t pos,
                  size_t len, const float *k, const struct fovea_strides *ks, const float *v,
                  const struct fovea_strides *vs)
{
    struct fovea_strides to_k = {0, 0, 0}, to_v = {0, 0, 0};
    fovea_kv_strides(u, &to_k, &to_v);
    for (size_t h = 0; h < u->heads && len != 0; h++) { // without news there may be no memory
        void *const keys = element(u, u->k, unit * to_k.batch + h * to_k.head);
        void *const values = element(u, u->v, unit * to_v.batch + h * to_v.head + pos * u->v_dim);
        write_keys(kernels, u, pos, len, k + h * ks->head, ks->row, keys);
        write_rows(kernels, u, len, u->v_dim, v + h * vs->head, vs->row, values);
    }
}

void fovea_kv_put_pages(const struct fovea_kernels *kernels, const struct fovea_kv_units *u, const uint32_t *table,
                        size_t pos, size_t len, const float *k, const struct fovea_strides *ks, const float *v,
                        const struct fovea_strides *vs)
{
    for (size_t done = 0, n; done < len; done += n) {
        const size_t at = pos + done;
        n = fovea_min(len - done, u->keys - at % u->keys);
        fovea_kv_put(kernels, u, table[at / u->keys], at % u->keys, n, k + done * ks->row, ks, v + done * vs->row, vs);
    }
}
