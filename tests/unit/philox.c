// SPDX-License-Identifier: Apache-2.0
// tests/unit/philox.c - Philox4x32-10 gives the words of the known-answer file of Random123.
#include "kernels/scalar/philox.h"
#include "tests/support/test.h"

static const struct {
    uint32_t counter[4], key[2], words[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

int main(void)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t words[4];
        scalar_philox(known[i].counter, known[i].key, words);
        for (int w = 0; w < 4; w++)
            CHECK(words[w] == known[i].words[w], "answer %zu, word %d: %08x, expected %08x", i, w, (unsigned)words[w],
                  (unsigned)known[i].words[w]);
    }
    return test_done();
}
