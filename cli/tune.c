// SPDX-License-Identifier: Apache-2.0
// cli/tune.c - fovea tune: asks the tuner, shows what it does, keeps what it proved.
#include "cli/tune.h"
#include "tune/measure.h"
#include "tune/report.h"

#include <string.h>
#include <sys/stat.h>

static const char help[] = "usage: fovea tune [OPTIONS]\n"
                           "       fovea tune --show [FILE] | --diff A B\n"
                           "       fovea tune --explain gemm [Bx]MxNxK [nt|nn|tn|tt|packed|...]\n"
                           "       fovea tune --explain attention B,H,Hkv,Sq,Skv,D [full|causal|decode|...]\n\n"
                           "Chooses kernels, tile sizes and crossovers for this machine and writes them as a\n"
                           "profile, which every program with fovea then reads. Each candidate is compared\n"
                           "with the scalar path bit for bit, in a child process, before it is timed; it is\n"
                           "adopted only where it beats the default by 1.5 % or more with p < 0.01. No\n"
                           "result changes by a bit. Ctrl-C, SIGTERM or a closed terminal ends it and keeps\n"
                           "what is proved so far.\n\n"
                           "  --level L      estimate (the model, no timing), quick (2 s), install (60 s,\n"
                           "                 the default) or exhaustive\n"
                           "  --budget S     seconds, hard, from the program's begin on\n"
                           "  --only TEXT    classes whose name has TEXT: gemm, many-far, \"slot softmax\"\n"
                           "  --output FILE  where the profile goes (default: FOVEA_PROFILE, else\n"
                           "                 $XDG_CONFIG_HOME/fovea/profile)\n"
                           "  --system       to /var/lib/fovea/profile, for all users of this machine\n"
                           "  --force        replace a profile of a higher level, or for another ISA cap\n"
                           "  --if-needed    do nothing where the profile there fits this machine and is of\n"
                           "                 that level or a higher one: for every boot, or each upgrade\n"
                           "  --from FILE    begin with the choices of another profile\n"
                           "  --set C.N=V    begin with a number or the kernel of a class by hand, up to 32\n"
                           "                 times, also with --level estimate: --set some-far-nt.kc=512\n"
                           "                 --set all.kernel=gemm_f32_6x64_avx512 (all: every GEMM class)\n"
                           "  --report FILE  a page (HTML, self-contained) of what was tried\n"
                           "  --json         the profile as JSON\n"
                           "  --quiet        say nothing before the end\n"
                           "  --show [FILE]  the classes whose choice differs from the default, the gain and\n"
                           "                 its 95 % interval; with --all every class\n"
                           "  --diff A B     what two profiles choose differently\n"
                           "  --explain ...  which class a shape is of, why, and what runs; --explain --help\n"
                           "                 tells more\n\n"
                           "examples:\n"
                           "  fovea tune --report search.html\n"
                           "  fovea tune --system                    as root, once for the machine\n"
                           "  fovea tune --explain gemm 128x768x768 nt\n"
                           "  FOVEA_ISA=avx2 fovea tune --output p   a profile for that cap\n";

struct fovea_engine *cli_tune_engine(void)
{
    char message[200] = "";
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.message = message;
    options.message_size = sizeof message;
    options.profile = "none";
    options.workers = 1; // the cases have no executor
    struct fovea_engine *engine = NULL;
    const enum fovea_status status = fovea_engine_create(&options, &engine);
    if (status)
        cli_error("%s", *message ? message : fovea_status_string(status));
    return engine;
}

// Whether a profile says anything. One of a run that was stopped at once would keep a first boot from tuning.
static bool says_something(const struct fovea_profile *profile)
{
    static const struct fovea_profile nothing;
    return memcmp(profile->has, nothing.has, sizeof nothing.has) != 0 ||
           memcmp(profile->quarantine, nothing.quarantine, sizeof nothing.quarantine) != 0;
}

bool cli_tune_place(const char *command, const char *option, bool system, char path[4096])
{
    if (system)
        umask(022); // folders that are made, too, are for all users
    if (tune_destination(system, path, 4096))
        return true;
    if (*path)
        cli_error("%s: no place for the profile: %s is below HOME, which does not exist: give %sFILE or set "
                  "XDG_CONFIG_HOME",
                  command, path, option);
    else
        cli_error("%s: no place for the profile: give %sFILE%s", command, option,
                  cli_setting("FOVEA_PROFILE") ? "; FOVEA_PROFILE names none" : " or set HOME");
    return false;
}

// What a report is made of.
struct page {
    const struct fovea_engine *engine;
    const struct tune_result *result;
};

static bool write_page(FILE *file, const void *arg)
{
    const struct page *const page = arg;
    tune_report(file, page->engine, page->result); // the stream remembers what went wrong
    return true;
}

static int finish(const struct fovea_engine *engine, const struct cli_tune_arguments *a,
                  const struct tune_result *result, const char *path)
{
    char why[FOVEA_PROFILE_WHY];
    const bool searched = a->tune.level == FOVEA_LEVEL_ESTIMATE || (!result->interrupted && result->classes_done != 0);
    const bool writes = searched || says_something(&result->profile);
    if (writes && !tune_save(path, !a->output, &result->profile, why))
        return cli_error("tune: %s: cannot be written: %s", path, why);
    cli_tune_end(result, writes ? path : NULL);
    const struct page page = {engine, result};
    if (a->report && cli_replace("tune", a->report, write_page, &page) != CLI_OK)
        return CLI_USAGE;
    if (a->json)
        cli_tune_json(engine, &result->profile);
    return CLI_OK;
}

// Whether nothing is to be done: a search of that level has made the profile that is there, for this machine.
static bool is_there(const struct fovea_engine *engine, const struct cli_tune_arguments *a, const char *path,
                     struct fovea_profile *profile)
{
    char why[FOVEA_PROFILE_WHY];
    const struct fovea_profile_key key = fovea_profile_key(fovea_engine_machine(engine));
    if (!tune_load(path, &key, profile, why) || !cli_tune_in_force(engine, profile) || profile->level < a->tune.level)
        return false;
    if (!a->quiet)
        fprintf(stderr, "tune: %s is of level %s and serves this machine: nothing to do\n", path,
                fovea_profile_levels[profile->level]);
    if (a->json)
        cli_tune_json(engine, profile);
    return true;
}

static int tune(struct cli_tune_arguments *a)
{
    char path[4096], why[FOVEA_PROFILE_WHY];
    static struct fovea_profile start;
    if (a->output)
        snprintf(path, sizeof path, "%s", a->output);
    else if (!cli_tune_place("tune", "--output ", a->system, path))
        return CLI_USAGE;
    if (!cli_are_apart("tune", "--report", a->report, path, "the profile goes there") ||
        !cli_are_apart("tune", "--report", a->report, a->from, "it is the profile to begin with"))
        return CLI_USAGE;
    struct fovea_engine *const engine = cli_tune_engine();
    if (!engine)
        return CLI_USAGE;
    struct tune_result result;
    int code;
    if (a->if_needed && is_there(engine, a, path, &start)) {
        code = CLI_OK;
    } else if (!cli_tune_begin(engine, a, path, &start)) {
        code = CLI_USAGE;
    } else if (!tune_can_save(path, !a->output, why)) { // after a minute it would be late to say so
        code = cli_error("tune: %s: cannot be written: %s", path, why);
    } else if (a->report && !cli_can_replace("tune", a->report)) {
        code = CLI_USAGE;
    } else {
        a->tune.engine = engine;
        a->tune.stop = &cli_stop;
        a->tune.tell = a->quiet ? NULL : cli_tune_tell;
        cli_catch_stops(NULL);
        if (!tune_run(&a->tune, &result)) {
            code = cli_error("tune: no memory");
        } else {
            if (a->tune.level == FOVEA_LEVEL_ESTIMATE && (a->from || a->set.count)) { // written as it was given
                memcpy(result.profile.has, start.has, sizeof start.has);
                memcpy(result.profile.tuned, start.tuned, sizeof start.tuned);
                memcpy(result.profile.evidence, start.evidence, sizeof start.evidence);
            }
            code = finish(engine, a, &result, path);
            tune_result_free(&result);
        }
    }
    fovea_engine_destroy(engine);
    return code;
}

// Standard output is no place for a profile, which is renamed into its place, nor for a page beside --json.
static bool is_stream(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

// What takes arguments of its own, and stands first.
static const struct {
    const char *name;
    cli_command *command;
} others[] = {{"--show", cli_tune_show}, {"--diff", cli_tune_diff}, {"--explain", cli_tune_explain}};

// --show, or --show=FILE.
static bool names(const char *argument, const char *option)
{
    const size_t length = strcspn(argument, "=");
    return strlen(option) == length && memcmp(argument, option, length) == 0;
}

// The first argument is the option. What it says behind an equals sign is the first argument of the command.
static int run_other(cli_command *command, int argc, char **argv)
{
    char *const equals = strchr(argv[1], '=');
    if (!equals)
        return command(argc - 1, argv + 1);
    argv[1] = equals + 1;
    return command(argc, argv);
}

int cli_tune(int argc, char **argv)
{
    struct cli_tune_arguments a = {.tune.begun = tune_now()};
    const char *levels[FOVEA_LEVELS + 1] = {NULL};
    unsigned level = FOVEA_LEVEL_INSTALL;
    memcpy(levels, fovea_profile_levels, sizeof fovea_profile_levels);
    const struct cli_option options[] = {{.name = "--level", .choice = &level, .choices = levels},
                                         {.name = "--budget", .number = &a.tune.budget, .low = 0.001, .high = 1e6},
                                         {.name = "--only", .text = &a.tune.only},
                                         {.name = "--output", .text = &a.output},
                                         {.name = "--system", .flag = &a.system},
                                         {.name = "--force", .flag = &a.force},
                                         {.name = "--if-needed", .flag = &a.if_needed},
                                         {.name = "--from", .text = &a.from},
                                         {.name = "--set", .list = &a.set},
                                         {.name = "--report", .text = &a.report},
                                         {.name = "--json", .flag = &a.json},
                                         {.name = "--quiet", .flag = &a.quiet},
                                         {.name = NULL}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int at = 1; at < argc; at++)
            if (names(argv[at], others[i].name))
                return at == 1 ? run_other(others[i].command, argc, argv)
                               : cli_error("tune: %s comes first: fovea tune %s --help tells more", others[i].name,
                                           others[i].name);
    const int taken = cli_only_options("tune", help, options, argc, argv);
    if (taken != 1)
        return taken < 0 ? CLI_OK : CLI_USAGE;
    if (a.system && a.output)
        return cli_error("tune: --system and --output name two places");
    if (a.if_needed && (a.force || a.from || a.set.count || a.tune.only))
        return cli_error("tune: --if-needed asks for a whole search that is missing, without --force, --from, --set "
                         "and --only");
    if (cli_setting("FOVEA_PIN"))
        return cli_error("tune: FOVEA_PIN is set: a profile that fits pinned kernels would serve programs without it");
    if (is_stream(a.report) || is_stream(a.output))
        return cli_error("tune: %s wants a file", is_stream(a.report) ? "--report" : "--output");
    if (a.tune.only && tune_classes_of(a.tune.only) == 0)
        return cli_error("tune: --only %s: no class has that in its name; fovea tune --show --all lists them",
                         a.tune.only);
    a.tune.level = (enum fovea_profile_level)level;
    return tune(&a);
}
