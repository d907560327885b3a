// SPDX-License-Identifier: Apache-2.0
// tests/unit/safetensors.c - well-formed files are read; every malformed one gets a status and a line that says why.
#include "fovea/safetensors.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"

#include <unistd.h>

// A file in memory: length, header padded with blanks to a multiple of 8, `data` bytes of data.
static size_t build(unsigned char *to, const char *header, size_t data)
{
    const size_t length = (strlen(header) + 7) / 8 * 8;
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)((uint64_t)length >> (8 * i));
    memset(to + 8, ' ', length);
    memcpy(to + 8, header, strlen(header));
    for (size_t i = 0; i < data; i++)
        to[8 + length + i] = (unsigned char)i;
    return 8 + length + data;
}

static _Alignas(64) unsigned char file[4096];

static void refuse(const char *what, const char *header, size_t data, const char *must_say)
{
    struct fovea_safetensors *out = NULL;
    char message[200] = "";
    const size_t size = build(file, header, data);
    const enum fovea_status status = fovea_safetensors_from_memory(file, size, &out, message, sizeof message);
    CHECK(status == FOVEA_ERR_FORMAT && out == NULL, "%s: %s", what, fovea_status_string(status));
    CHECK(strstr(message, must_say), "%s: the message is \"%s\", without \"%s\"", what, message, must_say);
}

static void test_good(void)
{
    static const char header[] = "{ \"__metadata__\" : {\"a\":\"b c\", \"u\":\"\xc3\xa9\xed\x9f\xbf\xf4\x8f\xbf\xbf\", "
                                 "\"q\":\"\\\"\\u00e9\\ud83d\\ude00\\n\",\"a\":\"d\"},"
                                 "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                                 "\"empty\":{\"shape\":[0,5],\"data_offsets\":[24,24],\"dtype\":\"F32\"},"
                                 "\"s\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[24,32]}}       ";
    struct fovea_safetensors *st = NULL;
    char message[200] = "old";
    const size_t size = build(file, header, 32);
    CHECK(!fovea_safetensors_from_memory(file, size, &st, message, sizeof message) && !*message, "%s", message);
    if (!st)
        return;
    CHECK(fovea_safetensors_count(st) == 3, "%zu tensors", fovea_safetensors_count(st));
    const struct fovea_tensor *const w = fovea_safetensors_find(st, "w");
    CHECK(w && w->dims == 2 && w->shape[1] == 3 && w->bytes == 24 && w == fovea_safetensors_at(st, 0), "tensor w");
    const struct fovea_tensor *const s = fovea_safetensors_find(st, "s");
    CHECK(s && s->dims == 0 && s->bytes == 8 && ((const unsigned char *)s->data)[0] == 24, "tensor s");
    CHECK(!fovea_safetensors_find(st, "x") && !fovea_safetensors_at(st, 3), "tensors that are not there");
    const char *const q = fovea_safetensors_metadata(st, "q");
    CHECK(q && strcmp(q, "\"\xc3\xa9\xf0\x9f\x98\x80\n") == 0, "escapes give \"%s\"", q);
    const char *const u = fovea_safetensors_metadata(st, "u");
    CHECK(u && strcmp(u, "\xc3\xa9\xed\x9f\xbf\xf4\x8f\xbf\xbf") == 0, "UTF-8 gives \"%s\"", u);
    const char *const last = fovea_safetensors_metadata(st, "a");
    CHECK(last && strcmp(last, "d") == 0, "of a key that is there twice it is \"%s\"", last);
    CHECK(!fovea_safetensors_metadata(st, "b"), "metadata that is not there");
    fovea_safetensors_close(st);
}

#define T(name, dtype, shape, offsets)                                                                                 \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_bad(void)
{
    refuse("no object", "[]", 0, "does not begin with {");
    refuse("blank in front", " {}", 0, "does not begin with {");
    refuse("a byte that is no UTF-8", "{\"a\xff\":0}", 0, "damaged at byte 3");
    refuse("overlong UTF-8", "{\"\xc0\xaf\":0}", 0, "damaged at byte 2");
    refuse("a surrogate as UTF-8", "{\"\xed\xa0\x80\":0}", 0, "damaged at byte 2");
    refuse("beyond Unicode", "{\"\xf4\x90\x80\x80\":0}", 0, "damaged at byte 2");
    refuse("cut UTF-8", "{\"\xe2\x82", 0, "damaged at byte 2");
    refuse("cut header", "{\"w\":{\"dtype\":\"F32\"", 0, "\"w\"");
    refuse("text behind", "{} x", 0, "behind the header");
    refuse("unknown dtype", "{" T("w", "F31", "[1]", "[0,4]") "}", 4, "\"w\": unknown dtype \"F31\"");
    refuse("wrong size", "{" T("w", "F32", "[2]", "[0,4]") "}", 4, "\"w\": 4 bytes of data, but its shape needs 8");
    refuse("out of range", "{" T("w", "F32", "[2]", "[0,8]") "}", 4, "\"w\": offsets [0, 8] are outside");
    refuse("backwards", "{" T("w", "F32", "[1]", "[4,0]") "}", 4, "\"w\": offsets [4, 0] are outside");
    refuse("overflow", "{" T("w", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0, "\"w\": its shape overflows");
    refuse("huge number", "{" T("w", "F32", "[99999999999999999999]", "[0,0]") "}", 0, "\"w\": its entry is damaged");
    refuse("negative", "{" T("w", "F32", "[-1]", "[0,4]") "}", 4, "\"w\": its entry is damaged");
    refuse("fraction", "{" T("w", "F32", "[1.5]", "[0,4]") "}", 4, "\"w\": its entry is damaged");
    refuse("nine dimensions", "{" T("w", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "\"w\": 9 dimensions");
    refuse("three offsets", "{" T("w", "F32", "[1]", "[0,4,4]") "}", 4, "\"w\": its entry is damaged");
    refuse("offsets twice", "{\"w\":{\"data_offsets\":[],\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
           "\"w\": its entry is damaged");
    refuse("overlap", "{" T("a", "F32", "[2]", "[0,8]") "," T("b", "F32", "[2]", "[4,12]") "}", 12, "overlaps");
    refuse("hole", "{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[8,12]") "}", 12, "hole");
    refuse("rest", "{" T("a", "F32", "[1]", "[0,4]") "}", 8, "belong to no tensor");
    refuse("twice", "{" T("a", "F32", "[1]", "[0,4]") "," T("a", "F32", "[1]", "[4,8]") "}", 8, "\"a\" is there twice");
    refuse("no dtype", "{\"w\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "\"w\": its entry is damaged");
    refuse("metadata", "{\"__metadata__\":{\"a\":1}}", 0, "__metadata__");
    refuse("metadata twice, empty at first", "{\"__metadata__\":{},\"__metadata__\":{\"a\":\"2\"}}", 0,
           "is there twice");
    refuse("metadata twice", "{\"__metadata__\":{\"a\":\"1\"},\"__metadata__\":{\"a\":\"2\"}}", 0, "is there twice");
    refuse("a name of two lines", "{" T("a\\n\\u001b[2Jb", "F31", "[1]", "[0,4]") "}", 4, "\"a??[2Jb\": unknown");
    refuse("raw control character", "{" T("a\nb", "F32", "[1]", "[0,4]") "}", 4, "damaged");
    refuse("NUL in a name", "{" T("a\\u0000b", "F32", "[1]", "[0,4]") "}", 4, "damaged");
    refuse("half a surrogate", "{" T("a\\ud800b", "F32", "[1]", "[0,4]") "}", 4, "damaged");
    refuse("the other half alone", "{" T("a\\udc00b", "F32", "[1]", "[0,4]") "}", 4, "damaged");
    refuse("two first halves", "{" T("a\\ud800\\ud800", "F32", "[1]", "[0,4]") "}", 4, "damaged");
    refuse("no backslash before the other half", "{" T("a\\ud83dxude00", "F32", "[1]", "[0,4]") "}", 4, "damaged");
    refuse("another escape for the other half", "{" T("a\\ud83d\\nde00", "F32", "[1]", "[0,4]") "}", 4, "damaged");
    refuse("no hexadecimal digit", "{" T("a\\u00g0", "F32", "[1]", "[0,4]") "}", 4, "damaged");
    refuse("no escape", "{" T("a\\x", "F32", "[1]", "[0,4]") "}", 4, "damaged");
    refuse("misaligned F32", "{" T("a", "U8", "[1]", "[0,1]") "," T("b", "F32", "[1]", "[1,5]") "}", 5, "4-byte al");
    refuse("half of it", "{" T("a", "F16", "[1]", "[0,2]") "," T("b", "F32", "[1]", "[2,6]") "}", 6, "4-byte aligned");
    refuse("odd BF16", "{" T("a", "U8", "[1]", "[0,1]") "," T("b", "BF16", "[1]", "[1,3]") "}", 3, "2-byte aligned");
    refuse("odd F16", "{" T("a", "I8", "[3]", "[0,3]") "," T("b", "F16", "[1]", "[3,5]") "}", 5, "2-byte aligned");
}

// Every truncation of a good file, and every single damaged byte of its header, is refused or read: never a crash.
static void test_damage(void)
{
    static const char header[] = "{\"__metadata__\":{\"k\":\"v\"}," T("a", "F32", "[2,1]", "[0,8]") "}";
    unsigned char good[512];
    const size_t size = build(good, header, 8);
    size_t accepted = 0;
    for (size_t n = 0; n < size; n++) {
        struct fovea_safetensors *out = NULL;
        memcpy(file, good, n);
        accepted += !fovea_safetensors_from_memory(file, n, &out, NULL, 0);
        fovea_safetensors_close(out);
    }
    CHECK(accepted == 0, "%zu truncated files were accepted", accepted);
    for (size_t at = 0; at < size - 8; at++)
        for (int value = 0; value < 256; value += 5) {
            struct fovea_safetensors *out = NULL;
            memcpy(file, good, size);
            file[at] = (unsigned char)value;
            fovea_safetensors_from_memory(file, size, &out, NULL, 0);
            fovea_safetensors_close(out);
        }
    test_passed++;
}

// A header may end anywhere, behind a backslash, within an escape or within a character, too: nothing behind the file
// is read.
static void test_cut_headers(void)
{
    static const char header[] =
        "{\"__metadata__\":{\"k\":\"\\n\\ud83d\\ude00\xf0\x9f\x98\x80\"}," T("a", "F32", "[12]", "[0,48]") "}";
    size_t accepted = 0;
    for (size_t n = 0; n < sizeof header - 1; n++) {
        struct fovea_safetensors *out = NULL;
        unsigned char *const cut = test_memory(8 + n, TEST_HIGH);
        memset(cut, 0, 8);
        cut[0] = (unsigned char)n;
        memcpy(cut + 8, header, n);
        accepted += !fovea_safetensors_from_memory(cut, 8 + n, &out, NULL, 0);
        fovea_safetensors_close(out);
    }
    CHECK(accepted == 0, "%zu cut headers were accepted", accepted);
    test_memory_reset();
}

// The number of mappings of files that have no name any more.
static size_t nameless(void)
{
    char line[400];
    size_t count = 0;
    FILE *const maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, "(deleted)") != NULL;
    CHECK(maps && fclose(maps) == 0, "/proc/self/maps");
    return count;
}

// A file that was opened, or refused, leaves neither a mapping nor a descriptor behind.
static void test_closed(void)
{
    static const char *const headers[] = {"{" T("w", "F32", "[1]", "[0,4]") "}", "{" T("w", "F32", "[2]", "[0,4]") "}"};
    for (int bad = 0; bad < 2; bad++) {
        FILE *const named = tmpfile();
        const size_t size = build(file, headers[bad], 4), before = nameless();
        CHECK(named && fwrite(file, 1, size, named) == size && fflush(named) == 0, "a file");
        char path[40];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(named));
        const int next = dup(0);
        close(next);
        struct fovea_safetensors *st = NULL;
        CHECK(fovea_safetensors_open(path, &st, NULL, 0) == (bad ? FOVEA_ERR_FORMAT : FOVEA_OK), "%d", bad);
        CHECK(nameless() == before + !bad, "%zu mappings while it is open, before %zu", nameless(), before);
        fovea_safetensors_close(st);
        CHECK(nameless() == before, "%zu mappings, before %zu", nameless(), before);
        const int again = dup(0);
        CHECK(again == next, "descriptor %d is used", next);
        close(again);
        fclose(named);
    }
}

static void test_files(void)
{
    struct fovea_safetensors *out = NULL;
    char message[200] = "";
    CHECK(fovea_safetensors_open("/nonexistent/x", &out, message, sizeof message) == FOVEA_ERR_IO, "missing file");
    CHECK(strstr(message, "/nonexistent/x: cannot be opened: No such file"), "the message is \"%s\"", message);
    CHECK(fovea_safetensors_open("/", &out, NULL, 0) == FOVEA_ERR_IO, "a directory");
    CHECK(fovea_safetensors_open("/dev/null", &out, NULL, 0) == FOVEA_ERR_IO, "a device");
    CHECK(fovea_safetensors_open(NULL, &out, NULL, 0) == FOVEA_ERR_NULL, "no path");
    CHECK(fovea_safetensors_from_memory(file, 8, NULL, NULL, 0) == FOVEA_ERR_NULL, "nowhere to put it");
    fovea_safetensors_close(NULL);
}

int main(void)
{
    test_good();
    test_bad();
    test_damage();
    test_cut_headers();
    test_files();
    test_closed();
    return test_done();
}
