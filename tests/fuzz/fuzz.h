// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/fuzz.h - what a fuzz target defines, and input bytes as numbers.
//
// A target is linked with libFuzzer, or with driver.c as an ordinary deterministic test.
#ifndef FOVEA_TESTS_FUZZ_FUZZ_H
#define FOVEA_TESTS_FUZZ_FUZZ_H

#include "fovea/engine.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

/// One input; anything wrong ends the program.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Seed `index` of the corpus, at most FUZZ_SEED_MAX bytes; returns its size, 0 where there are no more.
enum { FUZZ_SEED_MAX = 1 << 14 };
size_t fuzz_seed(uint32_t index, uint8_t *out);

/// Ends the program unless cond holds.
#define FUZZ_CHECK(cond)                                                                                               \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fprintf(stderr, "FAIL %s:%d: %s\n", __FILE__, __LINE__, #cond);                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/// The rest of an input, byte by byte; zeros behind its end.
struct fuzz_input {
    const uint8_t *data;
    size_t size;
};

static inline uint8_t fuzz_byte(struct fuzz_input *in)
{
    if (in->size == 0)
        return 0;
    in->size--;
    return *in->data++;
}

static inline uint32_t fuzz_below(struct fuzz_input *in, uint32_t n)
{
    const uint32_t high = fuzz_byte(in);
    return (high << 8 | fuzz_byte(in)) % n;
}

/// Any size: mostly small, else a power of two, all ones, or one beside them.
static inline size_t fuzz_size(struct fuzz_input *in)
{
    const uint8_t kind = fuzz_byte(in), value = fuzz_byte(in);
    const size_t power = (size_t)1 << value % 64;
    return kind < 128 ? value : kind < 160 ? power : kind < 190 ? power - 1 : kind < 220 ? power + 1 : SIZE_MAX - value;
}

/// Any bits.
static inline uint32_t fuzz_bits(struct fuzz_input *in)
{
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++)
        bits = bits << 8 | fuzz_byte(in);
    return bits;
}

static inline float fuzz_float(struct fuzz_input *in)
{
    const uint32_t bits = fuzz_bits(in);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/// 0 or 1, seldom something else: a flag or an enum.
static inline uint32_t fuzz_flag(struct fuzz_input *in, uint32_t values)
{
    const uint8_t byte = fuzz_byte(in);
    return byte < 250 ? byte % values : byte;
}

/// Fills n floats: of about 1, now and then NaN, infinite, denormal, huge or -0.
static inline void fuzz_fill(float *x, size_t n, uint64_t seed, int specials)
{
    static const float special[] = {NAN, INFINITY, -INFINITY, 0x1p-140f, 3e38f, -0.0f, 0.0f};
    for (size_t i = 0; i < n; i++)
        x[i] = specials && test_below(&seed, 50) == 0 ? special[test_below(&seed, 7)] : test_float(&seed);
}

/// The engines of this machine, made once; the scalar one first. choice picks any of them.
static inline const struct fovea_engine *fuzz_engine(uint32_t choice)
{
    static struct fovea_engine *engines[TEST_ISAS];
    static uint32_t count;
    if (count == 0)
        for (int i = 0; i < TEST_ISAS; i++)
            if ((engines[count] = test_engine(test_isas[i], NULL)) != NULL)
                count++;
    return engines[choice % count];
}

#endif
