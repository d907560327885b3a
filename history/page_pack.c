// SPDX-License-Identifier: Apache-2.0
// history/page_pack.c - columns of numbers: differences in steps, variable length, base64.
#include "history/page_pack.h"
#include "bench/stats.h"

#include <math.h>

struct page_pack page_pack_begin(FILE *file, double step)
{
    fputc('"', file);
    return (struct page_pack){.file = file, .step = step};
}

static void put_group(struct page_pack *pack)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint32_t bits = pack->bits << (8 * (3 - pack->bytes));
    for (int i = 0; i <= pack->bytes; i++)
        fputc(digits[bits >> (18 - 6 * i) & 63], pack->file);
    for (int i = pack->bytes; i < 3; i++)
        fputc('=', pack->file);
    pack->bits = 0;
    pack->bytes = 0;
}

static void put_byte(struct page_pack *pack, uint32_t byte)
{
    pack->bits = pack->bits << 8 | byte;
    if (++pack->bytes == 3)
        put_group(pack);
}

void page_pack_add(struct page_pack *pack, double value)
{
    const double steps = value / pack->step, limit = 0x1p52; // what the script's numbers hold
    const int64_t number = steps > limit ? (int64_t)limit : steps < -limit ? -(int64_t)limit : llround(steps);
    const int64_t difference = number - pack->last;
    uint64_t rest = difference < 0 ? ~((uint64_t)difference << 1) : (uint64_t)difference << 1;
    pack->last = number;
    for (; rest > 127; rest >>= 7)
        put_byte(pack, (uint32_t)(rest & 127) | 128);
    put_byte(pack, (uint32_t)rest);
}

void page_pack_end(struct page_pack *pack)
{
    if (pack->bytes)
        put_group(pack);
    fputc('"', pack->file);
}

double page_pack_step(const double *values, size_t n, double *work)
{
    int whole = 1;
    for (size_t i = 0; i < n; i++) {
        work[i] = fabs(values[i]);
        whole &= values[i] == floor(values[i]);
    }
    const double size = n ? bench_quantile(work, n, 0.5) : 0;
    size_t differences = 0;
    for (size_t i = 1; i < n; i++)
        if (values[i] != values[i - 1])
            work[differences++] = fabs(values[i] - values[i - 1]);
    const double noise = differences ? bench_quantile(work, differences, 0.5) / 64 : 0;
    const double low = size > 0 ? size * 1e-9 : noise, high = size > 0 ? size * 1e-4 : noise;
    const double step = noise < low ? low : noise > high ? high : noise;
    if (!(step > 0) || !isfinite(step) || (whole && step < 1))
        return 1;
    const double digits = pow(10, floor(log10(step)) - 1);
    return floor(step / digits) * digits;
}
