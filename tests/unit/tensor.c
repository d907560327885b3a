// SPDX-License-Identifier: Apache-2.0
// tests/unit/tensor.c - the types of a file's tensors, and their elements as f32: every bit pattern, every length, in
// memory that ends where the file ends, on every ISA.
#include "fovea/safetensors.h"
#include "tests/check/half.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"

enum { PATTERNS = 1 << 16, LONGEST = 40, OFFSETS = 3 };

static const char *const names[] = {[FOVEA_F32] = "F32", [FOVEA_BF16] = "BF16", [FOVEA_F16] = "F16"};

// A file whose one tensor has n elements of `size` bytes; its last byte is the last that is readable.
static struct fovea_safetensors *file_of(const char *dtype, size_t size, size_t n, const void *elements)
{
    static const char form[] = "{\"t\":{\"dtype\":\"%s\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}";
    char header[200], message[200] = "";
    struct fovea_safetensors *file = NULL;
    size_t length = (size_t)snprintf(header, sizeof header, form, dtype, n, n * size);
    for (; length % 8 != 0; length++)
        header[length] = ' ';
    unsigned char *const bytes = test_memory(8 + length + n * size, TEST_HIGH);
    memset(bytes, 0, 8);
    bytes[0] = (unsigned char)length;
    memcpy(bytes + 8, header, length);
    if (n != 0)
        memcpy(bytes + 8 + length, elements, n * size);
    CHECK(!fovea_safetensors_from_memory(bytes, 8 + length + n * size, &file, message, sizeof message), "%s", message);
    return file;
}

static void test_patterns(const struct fovea_engine *engine, const char *isa, enum fovea_type type)
{
    uint16_t element[PATTERNS];
    float *const want = test_floats(PATTERNS, TEST_HIGH), *const got = test_floats(PATTERNS, TEST_HIGH);
    for (size_t i = 0; i < PATTERNS; i++) {
        element[i] = (uint16_t)i;
        want[i] = half_value(type, element[i]);
    }
    struct fovea_safetensors *const file = file_of(names[type], sizeof element[0], PATTERNS, element);
    CHECK(!fovea_tensor_f32(engine, fovea_safetensors_at(file, 0), 0, PATTERNS, got), "%s", isa);
    CHECK_SAME(want, got, PATTERNS, "%s, %s", isa, names[type]);
    fovea_safetensors_close(file);
    test_memory_reset();
}

// F32 keeps every bit, those of a NaN, too.
static void test_copied(const struct fovea_engine *engine)
{
    uint32_t bits[LONGEST], got[LONGEST];
    for (uint32_t i = 0; i < LONGEST; i++)
        bits[i] = 0x7f800000u + i * 0x04000001u;
    struct fovea_safetensors *const file = file_of("F32", sizeof bits[0], LONGEST, bits);
    CHECK(!fovea_tensor_f32(engine, fovea_safetensors_at(file, 0), 0, LONGEST, (float *)(void *)got), "F32");
    CHECK(memcmp(bits, got, sizeof bits) == 0, "F32 is not what the file has");
    fovea_safetensors_close(file);
    test_memory_reset();
}

// The last n elements of a tensor that has `first` more before them.
static void test_length(const struct fovea_engine *engine, const char *isa, enum fovea_type type, size_t first,
                        size_t n)
{
    const size_t size = fovea_type_bytes(type);
    float whole[LONGEST + OFFSETS], want[LONGEST + OFFSETS];
    uint16_t halves[LONGEST + OFFSETS];
    uint64_t seed = n + 1;
    for (size_t i = 0; i < first + n; i++) {
        want[i] = whole[i] = test_float(&seed);
        if (type != FOVEA_F32)
            want[i] = half_value(type, halves[i] = half_of(type, whole[i]));
    }
    struct fovea_safetensors *const file =
        file_of(names[type], size, first + n, type == FOVEA_F32 ? (void *)whole : halves);
    const struct fovea_tensor *const t = fovea_safetensors_at(file, 0);
    for (int side = TEST_HIGH; side <= TEST_LOW; side++) {
        float *const got = test_floats(n, (enum test_side)side);
        CHECK(!fovea_tensor_f32(engine, t, first, n, got), "%s: %s, %zu", isa, names[type], n);
        CHECK_SAME(want + first, got, n, "%s: %s, %zu from %zu on", isa, names[type], n, first);
    }
    CHECK(!fovea_tensor_f32(engine, t, first, 0, NULL), "no elements need no memory");
    fovea_safetensors_close(file);
    test_memory_reset();
}

// What is refused is not written.
static void test_refused(const struct fovea_engine *engine)
{
    enum { N = 3 };
    static const struct {
        const char *dtype;
        size_t size;
    } others[] = {{"I64", 8}, {"F64", 8}, {"I32", 4}, {"U16", 2}, {"I16", 2}, {"F8_E4M3", 1}, {"BOOL", 1}};
    const uint64_t zeros[N] = {0};
    float out[N] = {5, 5, 5};
    enum fovea_type type = (enum fovea_type)77;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct fovea_safetensors *const file = file_of(others[i].dtype, others[i].size, N, zeros);
        const struct fovea_tensor *const t = fovea_safetensors_at(file, 0);
        CHECK(fovea_tensor_type(t, &type) == FOVEA_ERR_UNSUPPORTED && type == (enum fovea_type)77, "%s", t->dtype);
        CHECK(fovea_tensor_f32(engine, t, 0, N, out) == FOVEA_ERR_UNSUPPORTED, "%s", t->dtype);
        fovea_safetensors_close(file);
    }
    for (int i = FOVEA_F32; i <= FOVEA_F16; i++) {
        struct fovea_safetensors *const file = file_of(names[i], i == FOVEA_F32 ? 4 : 2, N, zeros);
        const struct fovea_tensor *const t = fovea_safetensors_at(file, 0);
        CHECK(fovea_tensor_f32(engine, t, 0, N + 1, out) == FOVEA_ERR_SHAPE, "one too many");
        CHECK(fovea_tensor_f32(engine, t, 1, N, out) == FOVEA_ERR_SHAPE, "one too far");
        CHECK(fovea_tensor_f32(engine, t, N + 1, 0, out) == FOVEA_ERR_SHAPE, "behind the end");
        CHECK(fovea_tensor_f32(engine, t, SIZE_MAX, 2, out) == FOVEA_ERR_SHAPE, "a sum that overflows");
        CHECK(fovea_tensor_f32(engine, t, 1, SIZE_MAX, out) == FOVEA_ERR_SHAPE, "a sum that overflows");
        CHECK(fovea_tensor_f32(NULL, t, 0, N, out) == FOVEA_ERR_NULL, "no engine");
        CHECK(fovea_tensor_f32(engine, NULL, 0, N, out) == FOVEA_ERR_NULL, "no tensor");
        CHECK(fovea_tensor_f32(engine, t, 0, N, NULL) == FOVEA_ERR_NULL, "nowhere to write to");
        CHECK(fovea_tensor_type(NULL, &type) == FOVEA_ERR_NULL && fovea_tensor_type(t, NULL) == FOVEA_ERR_NULL, "type");
        CHECK(!fovea_tensor_type(t, &type) && type == (enum fovea_type)i, "%s is type %d", names[i], (int)type);
        fovea_safetensors_close(file);
    }
    CHECK(out[0] == 5 && out[1] == 5 && out[2] == 5, "a refused call wrote");
    test_memory_reset();
}

static void test_isa(const struct fovea_engine *engine, const char *isa)
{
    for (int type = FOVEA_F32; type <= FOVEA_F16; type++) {
        if (type != FOVEA_F32)
            test_patterns(engine, isa, (enum fovea_type)type);
        for (size_t n = 0; n <= LONGEST; n++)
            test_length(engine, isa, (enum fovea_type)type, n % (OFFSETS + 1), n);
    }
    test_copied(engine);
    test_refused(engine);
}

int main(void)
{
    test_each_engine(test_isa);
    return test_done();
}
