// SPDX-License-Identifier: Apache-2.0
// tests/check/report.c - verdicts: comparing outputs bit by bit and with bounds, and saying what differs.
#include "tests/check/check.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void check_describe(struct check_case *c, const char *format, ...)
{
    const size_t length = strlen(c->shape);
    va_list args;
    va_start(args, format);
    vsnprintf(c->shape + length, sizeof c->shape - length, format, args);
    va_end(args);
}

void check_fail(struct check_case *c, const char *format, ...)
{
    const bool first = !c->failed;
    c->failed = true;
    if (c->quiet)
        return;
    if (first)
        fprintf(stderr, "FAIL %s case %llu:%s\n", c->variant->name, (unsigned long long)c->index, c->shape);
    va_list args;
    va_start(args, format);
    fputs("     ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void check_enter(struct check_case *c, const struct check_variant *who)
{
    check_upper_clear();
    c->running = who;
}

void check_leave(struct check_case *c)
{
    const struct check_variant *const who = c->running;
    const bool upper = check_upper_in_use();
    c->running = NULL;
    volatile float tiny = FLT_MIN;
    tiny *= 0.5f; // a denormal, unless the kernel has left flush-to-zero on
    if (fegetround() != FE_TONEAREST || tiny == 0)
        check_fail(c, "%s changed the floating-point control register", who->name);
    if (upper)
        check_fail(c, "%s left upper halves of vector registers in use", who->name);
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

bool check_same(float a, float b)
{
    return bits_of(a) == bits_of(b) || (a != a && b != b);
}

static bool poisoned(float x)
{
    float poison;
    check_poison(&poison, 1);
    return bits_of(x) == bits_of(poison);
}

/// Everything outside the view is still poison.
static void check_untouched(struct check_case *c, const struct check_buffer *b, struct check_view view,
                            const struct check_variant *who)
{
    const float *const end = b->data + b->count;
    const size_t cols = view.cols > view.loose ? view.cols : view.loose;
    size_t row = 0, col = 0; // of p, once it is in data
    for (const float *p = b->low; p < b->high; p++) {
        const bool inside = p >= b->data && p < end;
        if (!(inside && row < view.rows && col < cols) && !poisoned(*p)) {
            check_fail(c, "%s wrote %s[%td], outside its rows of %zu every %zu", who->name, b->name, p - b->data,
                       view.cols, view.stride);
            return;
        }
        if (inside && ++col == view.stride) {
            row++;
            col = 0;
        }
    }
}

void check_outputs(struct check_case *c, const struct check_buffer *want, const struct check_buffer *got,
                   struct check_view view)
{
    view.stride += view.stride == 0; // an empty row
    size_t differ = 0, row = 0, col = 0;
    for (size_t r = view.rows; r-- > 0;) {
        for (size_t q = view.cols; q-- > 0;) {
            if (!check_same(want->data[r * view.stride + q], got->data[r * view.stride + q])) {
                differ++;
                row = r;
                col = q;
            }
        }
    }
    if (differ != 0) {
        const float w = want->data[row * view.stride + col], g = got->data[row * view.stride + col];
        check_fail(c, "%s[%zu,%zu], the first of %zu that differ: expected %a, got %a", want->name, row, col, differ, w,
                   g);
    }
    check_untouched(c, want, view, c->scalar);
    check_untouched(c, got, view, c->variant);
}

void check_bound(struct check_case *c, const char *name, size_t i, size_t j, float got, double exact, double bound)
{
    if (c->failed || fabs((double)got - exact) <= bound)
        return;
    check_fail(c, "%s[%zu,%zu] is too far from the float64 oracle: exact %a, got %a, error %.3g, bound %.3g", name, i,
               j, exact, got, fabs((double)got - exact), bound);
}
