// SPDX-License-Identifier: Apache-2.0
// dispatch/profile.c - parses the text of a tuning profile; any error rejects all of it.
#include "dispatch/profile.h"

#include <stdio.h>
#include <string.h>

const char *const fovea_profile_levels[FOVEA_LEVELS] = {"estimate", "quick", "install", "exhaustive"};
const char *const fovea_quarantine_names[FOVEA_QUARANTINES] = {"none", "differs", "crashes", "hangs"};

// The rest of the text. A parsing function returns whether the text has what it expects.
struct reader {
    const char *at, *end;
    uint32_t line;
};

static bool literal(struct reader *r, const char *text)
{
    const size_t length = strlen(text);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, text, length) != 0)
        return false;
    r->at += length;
    return true;
}

static bool end_of_line(struct reader *r)
{
    const bool ok = literal(r, "\n");
    r->line += (uint32_t)ok;
    return ok;
}

// A number of at most 16 digits.
static bool number(struct reader *r, uint32_t base, uint64_t most, uint64_t *value)
{
    static const char digits[] = "0123456789abcdef";
    const char *const begin = r->at;
    *value = 0;
    while (r->at < r->end && r->at - begin < 16) {
        const char *const digit = memchr(digits, *r->at, base);
        if (!digit)
            break;
        *value = *value * base + (uint64_t)(digit - digits);
        r->at++;
    }
    return r->at > begin && *value <= most;
}

static bool number32(struct reader *r, uint32_t base, uint32_t most, uint32_t *value)
{
    uint64_t wide;
    const bool ok = number(r, base, most, &wide);
    *value = ok ? (uint32_t)wide : 0;
    return ok;
}

// name=1.234567, in millionths.
static bool millionths(struct reader *r, const char *name, uint32_t *value)
{
    uint64_t whole, fraction;
    if (!literal(r, " ") || !literal(r, name) || !literal(r, "=") || !number(r, 10, 4000, &whole) || !literal(r, "."))
        return false;
    const char *const begin = r->at;
    if (!number(r, 10, 999999, &fraction) || r->at - begin != 6)
        return false;
    *value = (uint32_t)(whole * 1000000 + fraction);
    return true;
}

// A word: everything up to the next blank, newline or end.
static size_t word(const struct reader *r)
{
    size_t length = 0;
    while (r->at + length < r->end && r->at[length] != ' ' && r->at[length] != '\n')
        length++;
    return length;
}

// One of `count` words; returns its index, or -1.
static int32_t one_of(struct reader *r, const char *const *names, int32_t count)
{
    const size_t length = word(r);
    for (int32_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], r->at, length) == 0) {
            r->at += length;
            return i;
        }
    return -1;
}

static int32_t variant(struct reader *r)
{
    const size_t length = word(r);
    const int32_t found = fovea_variant_find(r->at, length);
    r->at += found >= 0 ? length : 0;
    return found;
}

static bool same_key(const struct fovea_profile_key *a, const struct fovea_profile_key *b, char *why)
{
    const char *const what = strcmp(a->cpu, b->cpu) != 0 || a->signature != b->signature ? "another CPU"
                             : a->features != b->features                                ? "other CPU features"
                             : a->l1d_bytes != b->l1d_bytes || a->l2_bytes != b->l2_bytes || a->l3_bytes != b->l3_bytes
                                 ? "other caches"
                                 : NULL;
    if (what)
        snprintf(why, FOVEA_PROFILE_WHY, "made on %s (%s, signature %x, features %x, caches %u %u %u)", what, a->cpu,
                 a->signature, a->features, a->l1d_bytes, a->l2_bytes, a->l3_bytes);
    return what == NULL;
}

static bool bad(const struct reader *r, char *why)
{
    snprintf(why, FOVEA_PROFILE_WHY, "line %u is not of a profile", r->line);
    return false;
}

// The rest of a line as text.
static bool rest(struct reader *r, char *text, size_t size)
{
    size_t length = 0;
    while (r->at + length < r->end && r->at[length] != '\n')
        length++;
    if (length >= size)
        return false;
    memcpy(text, r->at, length);
    text[length] = '\0';
    r->at += length;
    return memchr(text, 0, length) == NULL;
}

// Format, library and registers, on which the meaning of the rest depends.
static bool read_head(struct reader *r, struct fovea_profile *out, char *why)
{
    const struct fovea_machine none = {0};
    const struct fovea_profile_key here = fovea_profile_key(&none);
    if (!literal(r, "fovea-profile 1") || !end_of_line(r) || !literal(r, "library ") ||
        !rest(r, out->key.library, sizeof out->key.library) || !end_of_line(r) || !literal(r, "registers ") ||
        !number(r, 16, UINT64_MAX, &out->key.registers) || !end_of_line(r))
        return bad(r, why);
    if (strcmp(out->key.library, here.library) != 0) {
        snprintf(why, FOVEA_PROFILE_WHY, "made by fovea %s", out->key.library);
        return false;
    }
    if (out->key.registers != here.registers) {
        snprintf(why, FOVEA_PROFILE_WHY, "made with other kernels (a build of this version with other registers)");
        return false;
    }
    return true;
}

static bool read_key(struct reader *r, struct fovea_profile *out, char *why)
{
    struct fovea_profile_key *const key = &out->key;
    if (!literal(r, "cpu ") || !rest(r, key->cpu, sizeof key->cpu) || !end_of_line(r) || !literal(r, "signature ") ||
        !number32(r, 16, UINT32_MAX, &key->signature) || !end_of_line(r) || !literal(r, "features ") ||
        !number32(r, 16, UINT32_MAX, &key->features) || !end_of_line(r) || !literal(r, "caches ") ||
        !number32(r, 10, UINT32_MAX, &key->l1d_bytes) || !literal(r, " ") ||
        !number32(r, 10, UINT32_MAX, &key->l2_bytes) || !literal(r, " ") ||
        !number32(r, 10, UINT32_MAX, &key->l3_bytes) || !end_of_line(r) || !literal(r, "isa ") ||
        !number32(r, 16, UINT32_MAX, &out->isa) || !end_of_line(r) || !literal(r, "level "))
        return bad(r, why);
    const int32_t level = one_of(r, fovea_profile_levels, FOVEA_LEVELS);
    out->level = level < 0 ? FOVEA_LEVEL_ESTIMATE : (enum fovea_profile_level)level;
    return (level >= 0 && end_of_line(r)) || bad(r, why);
}

static bool read_l2(struct reader *r, struct fovea_profile *out)
{
    return out->l2_measured_bytes == 0 && number32(r, 10, FOVEA_PROFILE_L2_MAX, &out->l2_measured_bytes) &&
           out->l2_measured_bytes > out->key.l2_bytes;
}

static bool read_quarantine(struct reader *r, struct fovea_profile *out)
{
    const int32_t which = variant(r);
    if (which < 0 || !literal(r, " ") || fovea_variant_facts[which].required == 0 || out->quarantine[which])
        return false;
    const int32_t why = one_of(r, fovea_quarantine_names, FOVEA_QUARANTINES);
    if (why <= 0)
        return false;
    out->quarantine[which] = (uint8_t)why;
    return true;
}

static bool read_evidence(struct reader *r, struct fovea_evidence *e)
{
    return millionths(r, "gain", &e->gain) && millionths(r, "low", &e->low) && millionths(r, "high", &e->high) &&
           millionths(r, "p", &e->p) && literal(r, " pairs=") && number32(r, 10, 1000000, &e->pairs);
}

static bool read_class(struct reader *r, enum fovea_tuned_operator kind, struct fovea_profile *out)
{
    uint32_t class = 0, count;
    const size_t length = word(r);
    while (class < FOVEA_TUNED_CLASSES &&
           !(fovea_class(class).kind == kind && strlen(fovea_class_names[class].name) == length &&
             memcmp(fovea_class_names[class].name, r->at, length) == 0))
        class ++;
    if (class == FOVEA_TUNED_CLASSES || !fovea_class_is_tuned(class) || out->has[class])
        return false;
    r->at += length;
    struct fovea_tuned *const tuned = &out->tuned[class];
    *tuned = (struct fovea_tuned){.kernel = -1};
    if (fovea_class_slot(class) != FOVEA_SLOTS) {
        tuned->kernel = literal(r, " ") ? variant(r) : -1;
        if (tuned->kernel < 0 || fovea_variant_facts[tuned->kernel].slot != fovea_class_slot(class) ||
            (fovea_variant_facts[tuned->kernel].required & ~out->isa))
            return false;
    }
    const struct fovea_tunable *const tunables = fovea_tunables(kind, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!literal(r, " ") || !literal(r, tunables[i].name) || !literal(r, "=") ||
            !number32(r, 10, tunables[i].largest, &tuned->values[i]) || tuned->values[i] < tunables[i].smallest)
            return false;
    out->has[class] = 1;
    return read_evidence(r, &out->evidence[class]);
}

static bool read_lines(struct reader *r, struct fovea_profile *out, char *why)
{
    while (r->at < r->end) {
        const bool ok = literal(r, "l2 ")           ? read_l2(r, out)
                        : literal(r, "quarantine ") ? read_quarantine(r, out)
                        : literal(r, "gemm ")       ? read_class(r, FOVEA_TUNED_GEMM, out)
                        : literal(r, "attention ")  ? read_class(r, FOVEA_TUNED_ATTENTION, out)
                        : literal(r, "cache ")      ? read_class(r, FOVEA_TUNED_CACHE, out)
                        : literal(r, "slot ")       ? read_class(r, FOVEA_TUNED_SLOT, out)
                                                    : false;
        if (!ok || !end_of_line(r))
            return bad(r, why);
    }
    return true;
}

// Strips the last line, which must be the checksum of the others.
static bool check_sum(struct reader *r, char *why)
{
    static const char last[] = "checksum 0123456789abcdef\n";
    const size_t length = sizeof last - 1, size = (size_t)(r->end - r->at);
    if (size > length && r->end[-(ptrdiff_t)length - 1] == '\n') {
        struct reader sum = {r->end - length, r->end, 0};
        uint64_t want = 0;
        if (literal(&sum, "checksum ") && number(&sum, 16, UINT64_MAX, &want) && sum.at == r->end - 1 &&
            literal(&sum, "\n") && want == fovea_fnv(FOVEA_FNV, r->at, size - length)) {
            r->end -= length;
            return true;
        }
    }
    snprintf(why, FOVEA_PROFILE_WHY, "damaged: its checksum is wrong or missing");
    return false;
}

uint64_t fovea_fnv(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

bool fovea_profile_parse(const char *text, size_t size, const struct fovea_profile_key *expected,
                         struct fovea_profile *out, char why[FOVEA_PROFILE_WHY])
{
    struct reader r = {text, text + size, 1};
    memset(out, 0, sizeof *out);
    return check_sum(&r, why) && read_head(&r, out, why) && read_key(&r, out, why) &&
           (!expected || same_key(&out->key, expected, why)) && read_lines(&r, out, why);
}
