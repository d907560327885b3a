// SPDX-License-Identifier: Apache-2.0
// ops/attention_mask.c - which keys of a chunk the rows of a tile see: ranges, segments, block map, boolean mask.
//
// Keys are classified before anything of K or V is read. One word per key says which rows see it. Masks that differ
// between rows are only read for keys that earlier conditions leave visible to some row, and if the words turn out all
// or nothing the kernel does not receive them.
#include "ops/attention.h"
#include <string.h>

// visible[j] = the rows whose range contains key + j. A row's bit is toggled where its range begins and ends.
static void see_ranges(const struct fovea_attention_tile *tile, size_t key, size_t keys, uint64_t *visible)
{
    memset(visible, 0, keys * sizeof *visible);
    uint64_t rows = 0;
    for (size_t r = 0; r < tile->rows; r++) {
        const uint64_t bit = UINT64_C(1) << r;
        const size_t begin = tile->begin[r], end = tile->end[r];
        if (end <= key || begin >= key + keys) {
            continue;
        }
        if (begin <= key) {
            rows |= bit;
        } else {
            visible[begin - key] ^= bit;
        }
        if (end - key < keys) {
            visible[end - key] ^= bit;
        }
    }
    for (size_t j = 0; j < keys; j++) {
        rows ^= visible[j];
        visible[j] = rows;
    }
}

void fovea_attention_segments(struct fovea_attention_tile *tile)
{
    const uint32_t *const ids = tile->args->q_segments + fovea_attention_first_query(tile->args, tile->batch);
    for (size_t r = 0; r < tile->rows; r++) {
        const uint32_t id = ids[(tile->first + r) % tile->args->q_len];
        size_t i = 0;
        while (i < tile->segments && tile->segment[i] < id) {
            i++;
        }
        if (i == tile->segments || tile->segment[i] != id) {
            const size_t later = tile->segments++ - i;
            memmove(tile->segment + i + 1, tile->segment + i, later * sizeof *tile->segment);
            memmove(tile->segment_rows + i + 1, tile->segment_rows + i, later * sizeof *tile->segment_rows);
            tile->segment[i] = id;
            tile->segment_rows[i] = 0;
        }
        tile->segment_rows[i] |= UINT64_C(1) << r;
    }
}

// The number of keys whose segment is within the range of the rows' segments; without a branch, so that compilers
// vectorise it.
static uint32_t count_near(const uint32_t *ids, size_t keys, uint32_t least, uint32_t span)
{
    uint32_t near = 0;
    for (size_t j = 0; j < keys; j++) {
        near += ids[j] - least <= span;
    }
    return near;
}

// Clears the bits of rows that are not in the segment of the key.
static void hide_segments(const struct fovea_attention_tile *tile, const uint32_t *ids, size_t keys, uint64_t *visible)
{
    size_t at = 0;
    for (size_t j = 0; j < keys; j++) {
        if (tile->segment[at] != ids[j]) { // rare, as segments are runs of keys
            for (at = 0; at + 1 < tile->segments && tile->segment[at] < ids[j]; at++) {
            }
        }
        visible[j] &= tile->segment[at] == ids[j] ? tile->segment_rows[at] : 0;
    }
}

// Clears the bits of rows whose block in the map is 0.
static void hide_blocks(const struct fovea_attention_tile *tile, size_t key, size_t keys, uint64_t *visible)
{
    const size_t block_keys = tile->plan->desc.block_keys;
    for (size_t j = 0, end; j < keys; j = end) {
        const size_t block = (key + j) / block_keys;
        uint64_t attend = 0;
        end = fovea_min(keys, (block + 1) * block_keys - key);
        for (size_t r = 0; r < tile->rows; r++) {
            attend |= (uint64_t)(tile->args->blocks[tile->blocks[r] + block] != 0) << r;
        }
        for (size_t i = j; i < end; i++) {
            visible[i] &= attend;
        }
    }
}

// Turns nonzero bytes into 1.
static uint64_t to_ones(uint64_t x)
{
    const uint64_t low = UINT64_C(0x7F7F7F7F7F7F7F7F);
    return (((x & low) + low) | x) >> 7 & UINT64_C(0x0101010101010101);
}

// Reads eight mask bytes, of which n exist, as bytes of 0 and 1.
static uint64_t mask_bytes(const uint8_t *mask, size_t stride, size_t n)
{
    uint64_t x = 0;
    if (n == sizeof x && stride == 1) {
        memcpy(&x, mask, sizeof x);
    } else {
        uint8_t byte[sizeof x] = {0};
        for (size_t i = 0; i < n; i++) {
            byte[i] = mask[i * stride];
        }
        memcpy(&x, byte, sizeof x);
    }
    return to_ones(x);
}

// The same for eight mask bits: byte i keeps bit i of its copy of the byte.
static uint64_t mask_bits(uint8_t bits)
{
    return to_ones(bits * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201));
}

// The mask of row r for 8 keys from `key`, a multiple of 8, of which n exist.
static uint64_t mask_row(const struct fovea_attention_tile *tile, size_t r, size_t key, size_t n)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const uint8_t *const mask = tile->args->mask + tile->mask[r];
    return d->mask == FOVEA_MASK_BITS ? mask_bits(mask[key / 8]) : mask_bytes(mask + key * d->mask_key, d->mask_key, n);
}

// Clears the bits of what args.mask hides. Blocks of 8 rows x 8 keys are transposed, bytes to bits, in one word: about
// one operation per pair; a byte at a time would cost as much as a third of the attention itself.
static void hide_masked(const struct fovea_attention_tile *tile, size_t key, size_t keys, uint64_t *visible)
{
    enum { BLOCK = 8 };
    const size_t rows = tile->rows;
    for (size_t j = 0; j < keys; j += BLOCK) {
        const size_t n = fovea_min(BLOCK, keys - j);
        uint64_t attend[BLOCK] = {0}, seen = 0;
        for (size_t i = 0; i < n; i++) {
            seen |= visible[j + i];
        }
        for (size_t r = 0; r < rows && seen != 0; r += BLOCK) {
            uint64_t block = 0; // bit s of byte i: row r + s, key j + i
            for (size_t s = 0; s < BLOCK && r + s < rows; s++) {
                block |= mask_row(tile, r + s, key + j, n) << s;
            }
            uint8_t byte[BLOCK];
            memcpy(byte, &block, sizeof byte);
            for (size_t i = 0; i < BLOCK; i++) {
                attend[i] |= (uint64_t)byte[i] << r;
            }
        }
        for (size_t i = 0; i < n; i++) {
            visible[j + i] &= attend[i];
        }
    }
}

// The same if all rows have the same mask, as for padding.
static void hide_alike(const struct fovea_attention_tile *tile, size_t key, size_t keys, uint64_t *visible)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const uint8_t *const mask = tile->args->mask + tile->mask[0];
    const size_t stride = d->mask_key;
    if (d->mask == FOVEA_MASK_BITS) {
        for (size_t j = 0; j < keys; j++) {
            visible[j] &= 0 - (uint64_t)(mask[(key + j) / 8] >> (key + j) % 8 & 1);
        }
    } else if (stride == 1) { // compilers vectorise this
        for (size_t j = 0; j < keys; j++) {
            visible[j] &= 0 - (uint64_t)(mask[key + j] != 0);
        }
    } else {
        for (size_t j = 0; j < keys; j++) {
            visible[j] &= 0 - (uint64_t)(mask[(key + j) * stride] != 0);
        }
    }
}

enum fovea_attention_sight fovea_attention_see(const struct fovea_attention_tile *tile, size_t key, size_t keys,
                                               uint64_t *visible)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    if (key >= tile->end_most || key + keys <= tile->begin_least) {
        return FOVEA_SEE_NOTHING;
    }
    const bool in_range = key >= tile->begin_most && key + keys <= tile->end_least;
    bool segments = d->segments;
    const uint32_t *const ids =
        segments ? tile->args->kv_segments + fovea_attention_first_key(tile->args, tile->batch) + key : NULL;
    if (segments) {
        const uint32_t span = tile->segment[tile->segments - 1] - tile->segment[0];
        const uint32_t near = count_near(ids, keys, tile->segment[0], span);
        if (near == 0) {
            return FOVEA_SEE_NOTHING;
        }
        segments = near != keys || span != 0;
    }
    if (in_range && !segments && !d->blocks && !d->mask) {
        return FOVEA_SEE_ALL;
    }
    const uint64_t rows = ~UINT64_C(0) >> (FOVEA_TILE_ROWS_MAX - tile->rows);
    if (in_range) {
        for (size_t j = 0; j < keys; j++) {
            visible[j] = rows;
        }
    } else {
        see_ranges(tile, key, keys, visible);
    }
    if (segments) {
        hide_segments(tile, ids, keys, visible);
    }
    if (d->blocks) {
        hide_blocks(tile, key, keys, visible);
    }
    if (d->mask) {
        (tile->one_mask ? hide_alike : hide_masked)(tile, key, keys, visible);
    }
    uint64_t any = 0, all = rows;
    for (size_t j = 0; j < keys; j++) {
        any |= visible[j];
        all &= visible[j];
    }
    return any == 0 ? FOVEA_SEE_NOTHING : all == rows ? FOVEA_SEE_ALL : FOVEA_SEE_SOME;
}
