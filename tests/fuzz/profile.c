// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/profile.c - any bytes as a tuning profile: refused with a reason, or read, and then what is written from
// it is the same text again and an engine takes it.
//
// The checksum is repaired in most inputs, so that what lies behind it is reached.
#include "dispatch/adopt.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tune/random_profile.h"

static struct fovea_profile profile;
static char text[FOVEA_PROFILE_BYTES_MAX], again[FOVEA_PROFILE_BYTES_MAX];

static size_t repaired(const uint8_t *data, size_t size)
{
    enum { LINE = 26 }; // "checksum 0123456789abcdef\n"
    memcpy(text, data, size);
    if (size > LINE) {
        snprintf(text + size - LINE, LINE + 1, "checksum %016llx\n",
                 (unsigned long long)fovea_fnv(FOVEA_FNV, text, size - LINE));
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[FOVEA_PROFILE_WHY] = "";
    if (size > FUZZ_SEED_MAX)
        return 0;
    FUZZ_CHECK(fovea_profile_parse((const char *)data, size, NULL, &profile, why) || *why);
    const size_t length = repaired(data, size);
    if (!fovea_profile_parse(text, length, NULL, &profile, why)) {
        FUZZ_CHECK(*why && strlen(why) < sizeof why && !strchr(why, '\n'));
        return 0;
    }
    // Equal but for leading zeros of numbers, so it is compared once written.
    const size_t first = tune_write(&profile, text);
    FUZZ_CHECK(fovea_profile_parse(text, first, NULL, &profile, why));
    FUZZ_CHECK(tune_write(&profile, again) == first && memcmp(text, again, first) == 0);
    struct fovea_engine *engine = NULL;
    FUZZ_CHECK(!fovea_engine_create_with(NULL, &profile, &engine));
    fovea_engine_destroy(engine);
    return 0;
}

size_t fuzz_seed(uint32_t index, uint8_t *out)
{
    if (index >= 6)
        return 0;
    random_profile(fovea_engine_machine(fuzz_engine(0)), fovea_engine_machine(fuzz_engine(0))->cpu, index, &profile);
    const size_t size = tune_write(&profile, text);
    memcpy(out, text, size);
    return size;
}
