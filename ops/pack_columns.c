// SPDX-License-Identifier: Apache-2.0
// ops/pack_columns.c - makes a blob in pieces of up to 64 steps of a panel, and copies columns of operands into one.
#include "ops/pack.h"

#include <string.h>

// One of the operands in a panel.
struct part {
    const char *first; // its first element there
    size_t row;        // bytes from a row in memory to the next
    size_t columns;    // in this panel
};

static struct part part_of(const struct fovea_columns *c, size_t operand, size_t p, size_t panel, size_t size)
{
    const struct fovea_stored *const from = &c->from[operand];
    const size_t each = FOVEA_PANEL / c->count, j = panel * each;
    const size_t at = from->trans == FOVEA_TRANS ? j * from->ld + p : p * from->ld + j;
    return (struct part){(const char *)from->b + at * size, from->ld * size, fovea_min(each, c->n / c->count - j)};
}

// `count` operands whose rows in memory are steps: a row of each at a time.
static inline __attribute__((always_inline)) void take_steps(const struct part *parts, size_t count, size_t columns,
                                                             size_t steps, char *to, size_t size)
{
    for (size_t s = 0; s < steps; s++, to += FOVEA_PANEL * size) {
        char lines[2][FOVEA_PANEL * sizeof(float)]; // of each its columns
        for (size_t i = 0; i < count; i++) {
            memcpy(lines[i], parts[i].first + s * parts[i].row, columns * size);
        }
        for (size_t j = 0; j < columns * count; j++) {
            memcpy(to + j * size, lines[j % count] + j / count * size, size);
        }
        memset(to + columns * count * size, 0, (FOVEA_PANEL - columns * count) * size);
    }
}

// `count` operands whose rows in memory are columns: 64 steps of each column lie in one or few lines.
static inline __attribute__((always_inline)) void take_columns(const struct part *parts, size_t count, size_t columns,
                                                               size_t steps, char *to, size_t size)
{
    char lines[FOVEA_PANEL][FOVEA_GROUP * sizeof(float)];
    for (size_t j = 0; j < FOVEA_PANEL; j++) {
        if (j < columns * count) {
            memcpy(lines[j], parts[j % count].first + j / count * parts[j % count].row, steps * size);
        } else {
            memset(lines[j], 0, steps * size);
        }
    }
    for (size_t s = 0; s < steps; s++) {
        for (size_t j = 0; j < FOVEA_PANEL; j++) {
            memcpy(to + (s * FOVEA_PANEL + j) * size, lines[j] + s * size, size);
        }
    }
}

// Compilers make vectors of constant sizes and counts, those of whole panels.
static inline __attribute__((always_inline)) void take(const struct part *parts, bool two, bool trans, size_t steps,
                                                       char *to, size_t size)
{
    const size_t columns = parts->columns, count = two ? 2 : 1;
    if (trans) {
        take_columns(parts, count, columns, steps, to, size);
    } else if (columns * count < FOVEA_PANEL) {
        take_steps(parts, count, columns, steps, to, size);
    } else if (two) {
        take_steps(parts, 2, FOVEA_PANEL / 2, steps, to, size);
    } else {
        take_steps(parts, 1, FOVEA_PANEL, steps, to, size);
    }
}

void fovea_columns_take(const struct fovea_columns *c, size_t p, size_t steps, size_t panel, void *to)
{
    const size_t size = fovea_type_bytes(c->from->type);
    const bool trans = c->from->trans == FOVEA_TRANS, two = c->count == 2;
    const struct part parts[] = {part_of(c, 0, p, panel, size), part_of(c, c->count - 1, p, panel, size)};
    if (size == sizeof(float)) {
        take(parts, two, trans, steps, to, sizeof(float));
    } else if (size == sizeof(uint16_t)) {
        take(parts, two, trans, steps, to, sizeof(uint16_t));
    } else {
        take(parts, two, trans, steps, to, sizeof(uint8_t));
    }
}

// Reads along the rows of the source: 64 steps of all panels are 64 streams, or all steps of a panel 16. (Panel by
// panel, rows of B would be far apart: a B of 4096 x 14336 7 times slower.)
enum fovea_status fovea_blob_make(fovea_blob_fill *fill, const void *what, struct fovea_operand operand,
                                  enum fovea_transpose trans, void *blob, size_t bytes)
{
    FOVEA_TRY(fovea_blob_begin(operand, blob, bytes));
    struct fovea_blob *const header = blob;
    const size_t panel_bytes = fovea_panel_bytes(operand.type, operand.k);
    const size_t piece_bytes = fovea_panel_bytes(operand.type, FOVEA_GROUP);
    const size_t panels = fovea_ceil_div(operand.n, FOVEA_PANEL), pieces = fovea_ceil_div(operand.k, FOVEA_GROUP);
    for (size_t i = 0; i < panels * pieces; i++) {
        const size_t panel = trans == FOVEA_TRANS ? i / pieces : i % panels;
        const size_t piece = trans == FOVEA_TRANS ? i % pieces : i / panels, p = piece * FOVEA_GROUP;
        char *const to = (char *)(header + 1) + panel * panel_bytes + piece * piece_bytes;
        if (!fill(what, p, fovea_min(operand.k - p, FOVEA_GROUP), panel, to)) {
            memset(header, 0, sizeof *header); // it is no blob
            return FOVEA_ERR_VALUE;
        }
    }
    fovea_blob_end(header);
    return FOVEA_OK;
}
