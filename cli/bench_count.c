// SPDX-License-Identifier: Apache-2.0
// cli/bench_count.c - fovea bench --count: starts the program again in callgrind, and knows who counts otherwise.
#include "cli/bench_count.h"

#if FOVEA_HAVE_BENCH

#include "bench/instructions.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool cli_bench_wants_callgrind(const char *way)
{
    return way && strcmp(way, "callgrind") == 0 && !getenv(BENCH_CALLGRIND);
}

bool cli_bench_way_here(const char *way)
{
    const char *const here = bench_instructions_way();
    if (strcmp(way, here) == 0)
        return true;
    if (strcmp(way, "qemu") == 0)
        cli_error(
            "bench: --count qemu wants qemu-user with its plugin: qemu-aarch64 -plugin libfovea_count.so fovea ...");
    else if (strcmp(way, "callgrind") == 0 || strcmp(way, "steps") == 0)
        cli_error("bench: --count %s: here %s counts", way, here);
    else
        cli_error("bench: --count takes callgrind, qemu or steps");
    return false;
}

enum { PATH_BYTES = 4096 };

// The option that names the dumps, in which valgrind reads a % as the beginning of something to put in.
static void name_dumps(const char *folder, char *option)
{
    option += sprintf(option, "--callgrind-out-file=");
    for (; *folder; folder++)
        option += sprintf(option, *folder == '%' ? "%%%%" : "%c", *folder);
    sprintf(option, "/out");
}

// What valgrind is told, for a folder of dumps.
static void exec_callgrind(const char *folder, int argc, char **argv)
{
    enum { OWN = 6 };
    char self[PATH_BYTES], out[2 * PATH_BYTES + 100];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char **const all = calloc((size_t)argc + OWN + 2, sizeof *all);
    if (length < 0 || !all || setenv(BENCH_CALLGRIND, folder, 1) != 0)
        return;
    self[length] = '\0';
    name_dumps(folder, out);
    char *const own[OWN + 1] = {(char[]){"valgrind"},
                                (char[]){"-q"},
                                (char[]){"--tool=callgrind"},
                                out,
                                (char[]){"--toggle-collect=" BENCH_CALLGRIND_TOGGLE},
                                (char[]){"--dump-after=" BENCH_CALLGRIND_TOGGLE},
                                self};
    memcpy(all, own, sizeof own);
    memcpy(all + OWN + 1, argv, (size_t)argc * sizeof *all);
    execvp(all[0], all);
}

// A folder with nothing but files in it.
static void remove_folder(const char *path)
{
    DIR *const folder = opendir(path);
    if (folder) {
        for (const struct dirent *entry; (entry = readdir(folder));)
            unlinkat(dirfd(folder), entry->d_name, 0); // but for . and .., which stay
        closedir(folder);
    }
    rmdir(path);
}

int cli_bench_callgrind(int argc, char **argv)
{
    enum { NO_VALGRIND = 127 };
    const char *const set = getenv("TMPDIR"), *const temporary = set && *set ? set : "/tmp";
    char folder[PATH_BYTES];
    const int length = snprintf(folder, sizeof folder, "%s/fovea-XXXXXX", temporary);
    if (length >= (int)sizeof folder || !mkdtemp(folder))
        return cli_error("bench: no folder for callgrind in %s", temporary);
    fflush(stdout);
    cli_catch_stops(NULL); // to tidy up: Ctrl-C goes to both processes, but kill to this one alone
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        exec_callgrind(folder, argc, argv);
        _exit(NO_VALGRIND);
    }
    pid_t got = -1;
    while (child > 0 && (got = waitpid(child, &status, WNOHANG)) == 0) { // to block would miss a signal just before
        if (cli_stop)
            kill(child, SIGTERM);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    remove_folder(folder);
    cli_end_as_asked();
    const bool ended = got > 0 && WIFEXITED(status);
    if (!ended)
        return cli_error("bench: callgrind did not come to an end");
    if (WEXITSTATUS(status) == NO_VALGRIND)
        return cli_error("bench: --count callgrind wants valgrind (Debian's package has that name)");
    return WEXITSTATUS(status);
}

#endif
