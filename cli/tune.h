// SPDX-License-Identifier: Apache-2.0
// cli/tune.h - the parts of `fovea tune`.
#ifndef FOVEA_CLI_TUNE_H
#define FOVEA_CLI_TUNE_H

#include "cli/cli.h"
#include "tune/tune.h"
#include "tune/write.h"

/// An engine without any profile, as the environment else wants it; NULL having said why not.
struct fovea_engine *cli_tune_engine(void);

/// Where a command writes the profile unless its option names a file: for all users of this machine, or for this one.
/// False, having said why and named the option, where there is no such place.
bool cli_tune_place(const char *command, const char *option, bool system, char path[4096]);

/// What `fovea tune` is asked for.
struct cli_tune_arguments {
    struct tune_options tune;
    const char *output, *from, *report;
    struct cli_list set;
    bool system, force, if_needed, json, quiet;
};
/// Fills in what the search begins with (tune.start, tune.keep): another profile, what is set by hand, or the profile
/// at `path` that is to be replaced, whose quarantine stays in each case. False, having said why, where it must not be
/// replaced or something given is wrong.
bool cli_tune_begin(const struct fovea_engine *engine, struct cli_tune_arguments *a, const char *path,
                    struct fovea_profile *start);

/// A tune_tell: a bar on a terminal, elsewhere lines.
void cli_tune_tell(void *arg, const struct tune_progress *progress);
/// What a search came to, and where the profile is; or NULL, where none is written.
void cli_tune_end(const struct tune_result *result, const char *path);

enum { CLI_TUNE_WORDS = 1024 }; ///< bytes that hold all words of a class

/// What a class is given, in words: "gemm_f32_9x48_avx512, kc 512, mc 216".
void cli_tune_words(uint32_t class, const struct fovea_tuned *tuned, char *text, size_t size);
/// What differs between two choices for a class: "kc 512 -> 768, mc 216 -> 108"; empty where nothing does.
void cli_tune_changes(uint32_t class, const struct fovea_tuned *from, const struct fovea_tuned *to, char *text,
                      size_t size);
/// "gemm some-far-nt"; the longest, "slot attention_decode_bf16", is a column wide.
enum { CLI_TUNE_NAME = 26 };
void cli_tune_name(uint32_t class, char *text, size_t size);
/// What a class would get without the profile, but for its quarantine, with the caches it was made for.
struct fovea_tuned cli_tune_default(const struct fovea_engine *engine, const struct fovea_profile *profile,
                                    uint32_t class);
/// "1.034x", or "-" where nothing was measured: it has the default, or was given.
enum { CLI_TUNE_GAIN = 16 };
void cli_tune_gain(const struct fovea_profile *profile, uint32_t class, char text[CLI_TUNE_GAIN]);
/// Whether its choices are for this engine's ISA cap; those of another are not used, and not compared with their own
/// defaults here.
bool cli_tune_in_force(const struct fovea_engine *engine, const struct fovea_profile *profile);
/// The kernel and the numbers of a choice as members of a JSON object: "kernel": "...", "kc": 512.
void cli_tune_json_choice(uint32_t class, const struct fovea_tuned *tuned);
/// A profile as a JSON object.
void cli_tune_json(const struct fovea_engine *engine, const struct fovea_profile *profile);

/// `fovea tune --show [FILE]`, `--diff A B`, `--explain gemm [Bx]MxNxK [nt|nn|tn|tt|packed|...]` or `--explain
/// attention B,H,Hkv,Sq,Skv,D [full|causal|decode|...]`: the arguments behind the option.
cli_command cli_tune_show, cli_tune_diff, cli_tune_explain;
/// `fovea bench tune`: the arguments behind it.
cli_command cli_bench_tune;

#endif
