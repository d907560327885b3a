// SPDX-License-Identifier: Apache-2.0
// cli/tune_explain.c - why a problem gets what it gets: its class, what that is given, and the plan.
#include "cli/tune.h"

#include <string.h>

static void tell_choice(const struct fovea_engine *engine, uint32_t class)
{
    const struct fovea_tuned tuned = fovea_tuned_get(fovea_engine_kernels(engine), class);
    char words[CLI_TUNE_WORDS];
    cli_tune_words(class, &tuned, words, sizeof words);
    printf("profile  %s\nchosen   %s\n", fovea_engine_profile(engine), words);
}

static int explain_gemm(const struct fovea_engine *engine, const size_t s[3], const char *how)
{
    const size_t m = s[0], n = s[1], k = s[2];
    const enum fovea_gemm_form form = strcmp(how, "packed") == 0 ? FOVEA_FORM_PACKED
                                      : strcmp(how, "nn") == 0   ? FOVEA_FORM_NN
                                                                 : FOVEA_FORM_NT;
    const struct fovea_tuning *const tuning = &fovea_engine_kernels(engine)->tuning;
    const uint32_t class = fovea_gemm_class(tuning, m, n, k, form);
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    char text[512];
    d.m = m;
    d.n = d.ldc = n;
    d.k = d.lda = k;
    d.ldb = form == FOVEA_FORM_NT ? k : n;
    d.trans_b = form == FOVEA_FORM_NT ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.b_packed = form == FOVEA_FORM_PACKED;
    printf("class    gemm %s\n", fovea_tuned_classes[class].name);
    printf("because  %zu rows are %s; B has %.1f KiB, which %s the %zu KiB that they are taken to find in L2; %s\n", m,
           m <= FOVEA_FEW_ROWS       ? "few (at most 8)"
           : m <= FOVEA_SEVERAL_ROWS ? "several (9 to 32)"
           : m <= FOVEA_SOME_ROWS    ? "some (33 to 192)"
                                     : "many (more than 192)",
           (double)n * (double)k / 256, class / 3 % 2 ? "exceeds" : "fits", (size_t)fovea_near_of(tuning, m, form),
           form == FOVEA_FORM_PACKED ? "B is packed beforehand"
           : form == FOVEA_FORM_NN   ? "B lies as k x n"
                                     : "B lies as n x k");
    tell_choice(engine, class);
    const enum fovea_status status = fovea_explain_gemm(engine, &d, text, sizeof text);
    printf("plan     %s\n", text);
    return status == FOVEA_OK ? CLI_OK : CLI_USAGE;
}

// Tensors as a layer has them; decoding reads a cache, K in panels.
static int explain_attention(const struct fovea_engine *engine, const size_t s[6], const char *how)
{
    const bool decode = strcmp(how, "decode") == 0;
    struct fovea_attention_desc d;
    char text[512];
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = s[0], d.heads = s[1], d.kv_heads = s[2], d.q_len = s[3], d.kv_len = s[4], d.qk_dim = d.v_dim = s[5];
    d.causal = decode || strcmp(how, "causal") == 0;
    d.q = d.out = (struct fovea_strides){d.q_len * d.heads * d.v_dim, d.v_dim, d.heads * d.v_dim};
    d.k = d.v = (struct fovea_strides){d.kv_len * d.kv_heads * d.v_dim, d.v_dim, d.kv_heads * d.v_dim};
    if (decode) {
        const struct fovea_kv_cache cache = {.struct_size = sizeof cache,
                                             .batch = s[0],
                                             .kv_heads = s[2],
                                             .capacity = s[4],
                                             .qk_dim = s[5],
                                             .v_dim = s[5]};
        d.k_layout = FOVEA_K_PANELS;
        if (fovea_kv_cache_strides(&cache, &d.k, &d.v) != FOVEA_OK)
            return cli_error("tune: --explain attention: sizes that overflow");
    }
    const uint32_t class = FOVEA_CLASS_ATTENTION + fovea_attention_class(d.qk_dim, d.v_dim);
    printf("class    attention %s\n", fovea_tuned_classes[class].name);
    printf("because  a head has %zu elements: %s\n", d.v_dim,
           d.v_dim <= 64    ? "at most 64"
           : d.v_dim <= 128 ? "65 to 128"
                            : "more than 128");
    tell_choice(engine, class);
    const enum fovea_status status = fovea_explain_attention(engine, &d, text, sizeof text);
    printf("plan     %s\n", text);
    return status == FOVEA_OK ? CLI_OK : CLI_USAGE;
}

int cli_tune_explain(int argc, char **argv)
{
    static const char *const gemm[] = {"nt", "nn", "packed"}, *const attention[] = {"full", "causal", "decode"};
    enum { FORMS = 3 };
    size_t s[6];
    char more;
    const bool is_gemm =
        argc > 2 && strcmp(argv[1], "gemm") == 0 && sscanf(argv[2], "%zux%zux%zu%c", &s[0], &s[1], &s[2], &more) == 3;
    const bool is_attention =
        argc > 2 && strcmp(argv[1], "attention") == 0 &&
        sscanf(argv[2], "%zu,%zu,%zu,%zu,%zu,%zu%c", &s[0], &s[1], &s[2], &s[3], &s[4], &s[5], &more) == 6;
    const char *const *const forms = is_gemm ? gemm : attention, *how = argc == 4 ? NULL : forms[0];
    for (int i = 0; i < FORMS && argc == 4; i++)
        how = strcmp(argv[3], forms[i]) == 0 ? forms[i] : how;
    if ((!is_gemm && !is_attention) || argc > 4 || !how)
        return cli_error("tune: --explain takes gemm MxNxK [nt|nn|packed] or attention B,H,Hkv,Sq,Skv,D "
                         "[full|causal|decode]");
    struct fovea_engine *const engine = cli_engine(0);
    if (!engine)
        return CLI_USAGE;
    const int code = is_gemm ? explain_gemm(engine, s, how) : explain_attention(engine, s, how);
    fovea_engine_destroy(engine);
    return code;
}
