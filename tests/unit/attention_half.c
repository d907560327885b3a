// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_half.c - keys and values of bf16 and f16 give the bits of the same numbers as f32, in all that a
// call, returned weights and states make of them, whatever the layout, masks, ISA and threads. Those that nobody sees
// are NaNs.
#include "tests/unit/attention_half.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"
#include "tests/unit/attention_results.h"

static struct fovea_engine *engines[TEST_ISAS];

static void run_case(uint64_t number)
{
    const enum fovea_type type = number % 2 != 0 ? FOVEA_BF16 : FOVEA_F16;
    struct attention_case c;
    attention_draw(&c, number, number % 4 < 2, 400000);
    attention_round_case(&c, type);
    const struct attention_result expected = attention_run(&c, engines[0], TEST_SERIAL);
    c.args.k = attention_halves(type, c.args.k, attention_extent(&c, true));
    c.args.v = attention_halves(type, c.args.v, attention_extent(&c, false));
    c.desc.kv_type = type;
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        const enum test_way way = (enum test_way)check_below(&c.rng, TEST_WAYS);
        const struct attention_result got = attention_run(&c, engines[e], way);
        attention_compare(&c, &expected, &got, ATTENTION_KEY_SUMS, test_isas[e]);
        const struct attention_result streamed = attention_stream(&c, engines[e]);
        attention_compare(&c, &expected, &streamed, ATTENTION_LSE, "a state");
    }
    test_memory_reset();
}

int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    test_engines(engines);
    for (uint64_t number = 90001; number <= (small ? 90080 : 90500); number++)
        run_case(number);
    attention_compared();
    test_engines_free(engines);
    return test_done();
}
