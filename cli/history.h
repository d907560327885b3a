// SPDX-License-Identifier: Apache-2.0
// cli/history.h - what the parts of fovea history share.
#ifndef FOVEA_CLI_HISTORY_H
#define FOVEA_CLI_HISTORY_H

#include "cli/cli.h"
#include "history/history.h"

/// Exit code where there is too little data to say anything.
enum { CLI_TOO_LITTLE = 3 };

/// A part gets the arguments behind its name, argv[0] being the name.
cli_command cli_history_import, cli_history_check, cli_history_compare, cli_history_report, cli_history_acknowledge;

/// The metrics that are judged unless others are asked for.
#define CLI_HISTORY_METRICS "^(real_time|instructions|of_peak)$"

/// fovea history compare --lib.
struct cli_builds {
    const char *filter; ///< NULL: all
    double effect, seconds;
    bool json;
};
/// Loads two builds, measures them by turns, prints. Returns an exit code.
int cli_compare_builds(const struct cli_builds *builds, char **paths);

/// The database of the option, else of FOVEA_HISTORY, else history.db.
const char *cli_history_path(const char *option);
/// Opens that database, or says why not.
struct history *cli_history_open(const char *option, enum history_mode mode);

/// How much of a commit's name is printed: of a hash CLI_COMMIT digits, of another name all, as what tells names apart
/// often stands at their end.
int cli_commit_width(const char *commit);
enum { CLI_COMMIT = 12 };
/// The commit of the book that a name means: the one of this name, else the only one whose hash begins with it (four
/// digits at least), else the name itself. False having said that several begin so. A name of
/// NULL stays.
bool cli_commit(const struct history_book *book, const char **name);

enum { CLI_FIGURE = 32 };
/// A value with its unit, in CLI_FIGURE bytes: "1.234 ms", "87.3 %", "45120".
const char *cli_figure(char *text, double value, const char *metric, const char *unit);

#endif
