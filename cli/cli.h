// SPDX-License-Identifier: Apache-2.0
// cli/cli.h - what the commands of the fovea program share.
#ifndef FOVEA_CLI_CLI_H
#define FOVEA_CLI_CLI_H

#include "fovea/fovea.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/// Exit codes: 0 done, 1 it did not hold (a kernel differs, ...), 2 wrong usage or input.
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/// A command gets the arguments behind its name, argv[0] being the name.
typedef int cli_command(int argc, char **argv);
cli_command cli_info, cli_verify, cli_tune, cli_bench, cli_history, cli_run, cli_run_g2p;

/// Says "fovea: ..." on stderr and returns CLI_USAGE.
__attribute__((format(printf, 1, 2))) int cli_error(const char *format, ...);

/// What an option that may be repeated was given.
enum { CLI_LIST = 32 };
struct cli_list {
    const char *items[CLI_LIST];
    size_t count;
};

/// An option, and where what it says goes: one of the pointers is set. A value is the next argument or stands behind an
/// equals sign: --db FILE, --db=FILE. A text that has a flag too may be left out, and has but the second form.
struct cli_option {
    const char *name;           ///< "--db"
    bool *flag;                 ///< it was given
    const char **text;          ///< anything
    struct cli_list *list;      ///< texts, up to CLI_LIST times
    uint64_t *whole;            ///< digits, from low to high
    double *number;             ///< from low to high
    bool percent;               ///< of a number: 5% is 0.05, and 5 is refused
    double low, high;           ///< of these two
    unsigned *choice;           ///< one of these words: its place among them
    const char *const *choices; ///< ended by NULL
};
/// Takes the options out of the arguments, and leaves the others in argv[1] ...; one that begins with a dash and a
/// digit is a wrong number, and no option. `command` is what the user called ("history check"), `options` are ended by
/// one without a name. Returns 1 + how many are left; 0 having said what is wrong, -1 having printed help.
int cli_options(const char *command, const char *help, const struct cli_option *options, int argc, char **argv);
/// The same where nothing else is taken: 1, 0 or -1.
int cli_only_options(const char *command, const char *help, const struct cli_option *options, int argc, char **argv);
/// --help or -h.
bool cli_wants_help(const char *argument);
/// Reads digits from *text on, and goes behind them. False where there are none, or more than 64 bits hold.
bool cli_whole(const char **text, uint64_t *value);

/// Makes an engine from the environment for so many workers (0: the processors), or says why not and returns NULL.
struct fovea_engine *cli_engine(uint32_t workers);

/// The variables that change how this machine computes, ended by NULL, and the value of one; NULL where it is not set,
/// or empty.
extern const char *const cli_settings[];
const char *cli_setting(const char *name);

enum { CLI_THINGS = 64 };
/// So many things, in CLI_THINGS bytes: "1 class", "2 classes", "0 kernels".
const char *cli_things(char text[CLI_THINGS], uint64_t count, const char *thing);

/// Writes text as a JSON string; bytes that are no UTF-8 become U+FFFD.
void cli_json_string(FILE *file, const char *text);

/// Fills a file; false without memory.
typedef bool cli_fill(FILE *file, const void *arg);
/// Writes beside `path` and renames, so that a reader sees the old file or the new one, and a failure leaves the old
/// one. The new one has the rights of the old one. A link to a file stays a link; what is no file (a pipe, a device) is
/// written where it is; - is standard output. Returns an exit code, having said what is wrong.
int cli_replace(const char *command, const char *path, cli_fill *fill, const void *arg);
/// Whether that could be done, to be asked before the minutes that its content takes; false having said why not.
bool cli_can_replace(const char *command, const char *path);
/// Whether what an option names is another file than `other` (NULL: nothing is there); false having said what that is.
bool cli_are_apart(const char *command, const char *option, const char *path, const char *other, const char *what);

/// From now on Ctrl-C, SIGTERM and a terminal that is closed only set cli_stop, so that the command can keep what it
/// has; Ctrl-C or SIGTERM once more ends the program. A pipe that nobody reads fails instead of ending it. `said`
/// (NULL: nothing) goes to stderr at once. Under nohup a closed terminal stays ignored.
void cli_catch_stops(const char *said);
extern volatile sig_atomic_t cli_stop; ///< the signal's number, or 0
/// Where there was one, ends the program by it, as it would have ended: a script's loop stops, too.
void cli_end_as_asked(void);

/// Columns of the terminal that stderr is; CLI_COLUMNS where it does not tell.
int cli_columns(void);
enum { CLI_COLUMNS = 80 };

/// A progress bar on stderr, within its columns, while it is a terminal; nothing elsewhere. Ends its line when done ==
/// total.
void cli_progress(const char *what, size_t done, size_t total);

#endif
