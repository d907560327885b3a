// SPDX-License-Identifier: Apache-2.0
// cli/tune_explain.c - why a problem gets what it gets: its class, what that is given, and the plan.
#include "cli/tune.h"
#include "ops/facts.h"

#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: fovea tune --explain gemm [Bx]MxNxK\n"
                           "             [nt|nn|tn|tt|packed|packed-{bf16,f16,s8}] [OPTIONS]\n"
                           "       fovea tune --explain attention B,H,Hkv,Sq,Skv,D\n"
                           "             [full|causal|decode|decode-bf16|decode-f16] [OPTIONS]\n\n"
                           "Says of which class a problem is and why, what its class is given, and the plan.\n"
                           "B: a batch of products, of one B where it is packed. Without a form: nt, as\n"
                           "weights of a Linear lie; full. In place of sizes and form also a line of fovea\n"
                           "bench: plain/nt/128x768x768.\n\n"
                           "  --threads N   workers that it is planned for, 1 to 64 (default 1, as it is\n"
                           "                tuned)\n"
                           "  --all         every number of the class, too\n"
                           "  --json        all of it as a JSON object\n\n"
                           "examples:\n"
                           "  fovea tune --explain gemm 128x768x768 nt\n"
                           "  fovea tune --explain attention 1,12,12,512,512,64 causal --threads 8\n";

// What is explained, of so many sizes with a mark between them.
enum { SIZES_MAX = 6 };
struct problem {
    const struct fovea_engine *engine;
    size_t sizes[SIZES_MAX];
    const char *form;
    bool all, json;
};

// "128x768x768": digits, and nothing else but the marks.
static bool read_sizes(const char *text, char mark, size_t count, size_t *sizes)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        if (!cli_whole(&text, &value) || value > SIZE_MAX || *text++ != (i + 1 < count ? mark : '\0'))
            return false;
        sizes[i] = (size_t)value;
    }
    return true;
}

// The end of the part of a list that begins here: behind a comma or semicolon before a blank, or of all.
static const char *part_end(const char *text)
{
    while (*text && !((*text == ',' || *text == ';') && text[1] == ' '))
        text++;
    return text + (*text != '\0');
}

// "name     part, part; part" in lines of at most 100 columns, where parts have columns of `width`.
static void print_list(const char *name, const char *text, int width)
{
    enum { INDENT = 9, COLUMNS = 100 };
    int column = printf("%-*s", INDENT, name), blanks = 0;
    for (const char *end; *text; text = end + (*end == ' ')) {
        end = part_end(text);
        const int length = (int)(end - text);
        if (column > INDENT && column + blanks + length > COLUMNS) {
            column = printf("\n%*s", INDENT, "") - 1;
            blanks = 0;
        }
        column += printf("%*s%.*s", blanks, "", length, text);
        blanks = length < width ? width - length + 1 : 1;
    }
    putchar('\n');
}

// Of which class a problem is, and because of what; which kernel it runs; the plan, in words; what its class is given,
// and what the model would give it.
struct answer {
    uint32_t class;
    const char *because, *runs, *plan;
    struct fovea_tuned chosen, model;
};

// Appends the kernel that runs if it is of a slot of its own, not of the class, and not the default there.
static void add_slot(const struct fovea_engine *engine, const char *runs, char *words, size_t size)
{
    const int32_t variant = fovea_variant_find(runs, strlen(runs));
    const enum fovea_slot slot = fovea_variant_facts[variant].slot;
    const struct fovea_tuned model =
        tune_default(engine, fovea_slot_number(slot), fovea_engine_choice(engine)->quarantined);
    const size_t used = strlen(words);
    if (slot != FOVEA_SLOT_gemm && model.kernel != variant)
        snprintf(words + used, size - used, "%s%s -> %s", used ? ", " : "", fovea_variant_facts[model.kernel].name,
                 runs);
}

static void print_text(const struct problem *problem, const struct answer *answer)
{
    const struct fovea_engine *const engine = problem->engine;
    const uint32_t class = answer->class;
    const char *const runs = answer->runs;
    const struct fovea_tuned *const tuned = &answer->chosen;
    char words[CLI_TUNE_WORDS];
    printf("class    %s %s\n", fovea_class_names[class].of, fovea_class_names[class].name);
    print_list("because", answer->because, 0);
    printf("profile  %s\n", fovea_engine_profile(engine));
    if (tuned->kernel >= 0) {
        const char *const chosen = fovea_variant_facts[tuned->kernel].name;
        const bool other = strcmp(runs, chosen) != 0;
        printf("chosen   %s%s%s\n", chosen, other ? ", the class's kernel; this shape runs " : "", other ? runs : "");
    }
    cli_tune_changes(class, &answer->model, tuned, words, sizeof words);
    add_slot(engine, runs, words, sizeof words);
    print_list("changed", *words ? words : "nothing of the defaults", 0);
    if (problem->all) {
        enum { WIDTH = 20 };
        cli_tune_words(class, tuned, words, sizeof words);
        const char *const numbers = tuned->kernel >= 0 ? part_end(words) : words; // behind the kernel's name
        print_list("all", numbers + (*numbers == ' '), WIDTH);
    }
    printf("threads  %u\n", fovea_engine_kernels(engine)->workers);
    printf("plan     %s\n", answer->plan);
}

static void print_json(const struct problem *problem, const struct answer *answer)
{
    const uint32_t class = answer->class;
    printf("{\"operator\": \"%s\", \"class\": \"%s\",\n \"because\": ", fovea_class_names[class].of,
           fovea_class_names[class].name);
    cli_json_string(stdout, answer->because);
    printf(",\n \"profile\": ");
    cli_json_string(stdout, fovea_engine_profile(problem->engine));
    printf(",\n \"chosen\": {");
    cli_tune_json_choice(class, &answer->chosen);
    printf("},\n \"default\": {");
    cli_tune_json_choice(class, &answer->model);
    printf("},\n");
    printf(" \"runs\": \"%s\",\n \"threads\": %u,\n \"plan\": ", answer->runs,
           fovea_engine_kernels(problem->engine)->workers);
    cli_json_string(stdout, answer->plan);
    printf("}\n");
}

static void print_answer(const struct problem *problem, struct answer answer)
{
    const struct fovea_engine *const engine = problem->engine;
    answer.chosen = fovea_tuned_get(fovea_engine_kernels(engine), answer.class);
    answer.model = tune_default(engine, answer.class, fovea_engine_choice(engine)->quarantined);
    (problem->json ? print_json : print_text)(problem, &answer);
}

// The type of elements that a form names behind this word; f32 if it names none.
static enum fovea_type type_of(const char *form, const char *word)
{
    const char *const type = strncmp(form, word, strlen(word)) == 0 ? form + strlen(word) : "";
    return strcmp(type, "bf16") == 0  ? FOVEA_BF16
           : strcmp(type, "f16") == 0 ? FOVEA_F16
           : strcmp(type, "s8") == 0  ? FOVEA_S8
                                      : FOVEA_F32;
}

static int explain_gemm(const struct problem *problem)
{
    const size_t batch = problem->sizes[0], m = problem->sizes[1], n = problem->sizes[2], k = problem->sizes[3];
    const char *const form = problem->form;
    const bool packed = form[0] == 'p', a = !packed && form[0] == 't', b = !packed && form[1] == 't';
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    char text[FOVEA_EXPLAIN_BYTES], because[320];
    d.m = m;
    d.n = d.ldc = n;
    d.k = k;
    d.lda = a ? m : k;
    d.ldb = b ? k : n;
    d.trans_a = a ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.trans_b = b ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.b_packed = packed;
    d.b_type = type_of(form, "packed-");
    d.batch = batch;
    if (batch > 1 && (__builtin_mul_overflow(m, k, &d.batch_a) || __builtin_mul_overflow(m, n, &d.batch_c) ||
                      (!packed && __builtin_mul_overflow(n, k, &d.batch_b))))
        return cli_error("tune: --explain: gemm: sizes that overflow");
    void *const plan = aligned_alloc(64, fovea_gemm_plan_size());
    if (!plan || fovea_gemm_plan(problem->engine, &d, plan) != FOVEA_OK) {
        free(plan);
        fovea_explain_gemm(problem->engine, &d, text, sizeof text); // why not
        return cli_error("tune: --explain: %s", text);
    }
    struct fovea_gemm_facts facts;
    fovea_gemm_facts(plan, &facts);
    fovea_gemm_say(plan, text, sizeof text);
    fovea_gemm_reasons(plan, because, sizeof because);
    print_answer(
        problem,
        (struct answer){.class = fovea_gemm_class_of(plan), .because = because, .runs = facts.kernel, .plan = text});
    free(plan);
    return CLI_OK;
}

// A tensor of batch x length x heads x width as layers have them; false where its strides overflow.
static bool lay_out(size_t length, size_t heads, size_t width, struct fovea_strides *out)
{
    *out = (struct fovea_strides){.head = width};
    return !__builtin_mul_overflow(heads, width, &out->row) && !__builtin_mul_overflow(length, out->row, &out->batch);
}

// Tensors as a layer has them; decoding reads a cache, K in panels.
static int explain_attention(const struct problem *problem)
{
    const size_t *const s = problem->sizes;
    const bool decode = strncmp(problem->form, "decode", strlen("decode")) == 0;
    struct fovea_attention_desc d;
    char text[FOVEA_EXPLAIN_BYTES], because[80];
    if (s[2] == 0) // in a descriptor it stands for as many as heads, but not in the strides here
        return cli_error("tune: --explain: attention: 0 key heads");
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = s[0], d.heads = s[1], d.kv_heads = s[2], d.q_len = s[3], d.kv_len = s[4], d.qk_dim = d.v_dim = s[5];
    d.causal = decode || strcmp(problem->form, "causal") == 0;
    bool fits = lay_out(d.q_len, d.heads, d.v_dim, &d.q) && lay_out(d.kv_len, d.kv_heads, d.v_dim, &d.k);
    d.out = d.q, d.v = d.k;
    if (decode) {
        const struct fovea_kv_cache cache = {.struct_size = sizeof cache,
                                             .batch = s[0],
                                             .kv_heads = s[2],
                                             .capacity = s[4],
                                             .qk_dim = s[5],
                                             .v_dim = s[5]};
        d.k_layout = FOVEA_K_PANELS;
        d.kv_type = type_of(problem->form, "decode-");
        fits = fits && fovea_kv_cache_strides(&cache, &d.k, &d.v) == FOVEA_OK;
    }
    if (!fits)
        return cli_error("tune: --explain: attention: sizes that overflow");
    void *const plan = aligned_alloc(64, fovea_attention_plan_size());
    if (!plan || fovea_attention_plan(problem->engine, &d, plan) != FOVEA_OK) {
        free(plan);
        fovea_explain_attention(problem->engine, &d, text, sizeof text); // why not
        return cli_error("tune: --explain: %s", text);
    }
    struct fovea_attention_facts facts;
    fovea_attention_facts(plan, &facts);
    fovea_attention_say(plan, text, sizeof text);
    fovea_attention_reasons(plan, because, sizeof because);
    print_answer(problem,
                 (struct answer){
                     .class = fovea_attention_class_of(plan), .because = because, .runs = facts.kernel, .plan = text});
    free(plan);
    return CLI_OK;
}

static const struct kind {
    const char *name, *sizes;
    char mark;
    size_t count;
    bool batched;         // one more may stand in front: a batch, which is first of the sizes
    const char *forms[9]; // the first is the default
    int (*explain)(const struct problem *problem);
} kinds[] = {
    {"gemm",
     "[Bx]MxNxK",
     'x',
     3,
     true,
     {"nt", "nn", "tn", "tt", "packed", "packed-bf16", "packed-f16", "packed-s8"},
     explain_gemm},
    {"attention",
     "B,H,Hkv,Sq,Skv,D",
     ',',
     6,
     false,
     {"full", "causal", "decode", "decode-bf16", "decode-f16"},
     explain_attention},
};

// The sizes of a line of the benchmarks, gemm/f32/plain/nt/1x2x3 or packed/nt/1x2x3, and in `form` what stands before
// them; text itself, and no form, where there is no slash.
static const char *split_line(const struct kind *kind, const char *text, char *form, size_t size)
{
    static const char *const before[] = {"/f32/", "plain/"};
    const char *const slash = strrchr(text, '/');
    *form = '\0';
    if (!slash)
        return text;
    if (strncmp(text, kind->name, strlen(kind->name)) == 0)
        text += strlen(kind->name);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(text, before[i], strlen(before[i])) == 0)
            text += strlen(before[i]);
    if (text < slash)
        snprintf(form, size, "%.*s", (int)(slash - text < 32 ? slash - text : 32), text);
    if (strncmp(form, "packed", strlen("packed")) == 0) // how B lay before is no matter
        form[strcspn(form, "/")] = '\0';
    return slash + 1;
}

// The sizes of a problem as its kind has them, behind a batch of 1 where it may have one and has not.
static bool read_problem(const struct kind *kind, const char *text, size_t *sizes)
{
    if (kind->batched && read_sizes(text, kind->mark, kind->count + 1, sizes))
        return true;
    *sizes = 1;
    return read_sizes(text, kind->mark, kind->count, sizes + kind->batched);
}

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

static const char *find_form(const struct kind *kind, const char *name)
{
    for (size_t i = 0; kind->forms[i]; i++)
        if (strcmp(kind->forms[i], name) == 0)
            return kind->forms[i];
    return NULL;
}

int cli_tune_explain(int argc, char **argv)
{
    enum { THREADS_MAX = 64 };
    uint64_t threads = 1;
    struct problem problem = {.all = false};
    const struct cli_option options[] = {
        {.name = "--threads", .whole = &threads, .low = 1, .high = THREADS_MAX},
        {.name = "--all", .flag = &problem.all},
        {.name = "--json", .flag = &problem.json},
        {.name = NULL},
    };
    const int left = cli_options("tune --explain", help, options, argc, argv);
    if (left <= 0)
        return left < 0 ? CLI_OK : CLI_USAGE;
    const struct kind *const kind = left >= 3 && left <= 4 ? find_kind(argv[1]) : NULL;
    if (!kind)
        return cli_error("tune: --explain takes gemm [Bx]MxNxK [nt|nn|tn|tt|packed|...] or attention B,H,Hkv,Sq,Skv,D "
                         "[full|causal|decode|...]; --explain --help lists the forms");
    char of_line[40];
    const char *const sizes = split_line(kind, argv[2], of_line, sizeof of_line);
    const char *const form = left == 4 ? argv[3] : *of_line ? of_line : kind->forms[0];
    if (!read_problem(kind, sizes, problem.sizes) || (left == 4 && *of_line))
        return cli_error("tune: --explain %s takes %s, whole numbers, not \"%s\"", kind->name, kind->sizes, argv[2]);
    problem.form = find_form(kind, form);
    if (!problem.form)
        return cli_error("tune: --explain %s has no form \"%s\"; --explain --help lists them", kind->name, form);
    struct fovea_engine *const engine = cli_engine((uint32_t)threads);
    if (!engine)
        return CLI_USAGE;
    problem.engine = engine;
    const int code = kind->explain(&problem);
    fovea_engine_destroy(engine);
    return code;
}
