// SPDX-License-Identifier: Apache-2.0
// tune/child.h - questions that may crash or hang, asked in a child process.
#ifndef FOVEA_TUNE_CHILD_H
#define FOVEA_TUNE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum tune_verdict {
    TUNE_UNKNOWN, ///< not answered: no process could be created, it was killed by others, or there was no time
    TUNE_SAME,
    TUNE_DIFFERS,
    TUNE_CRASHES,
    TUNE_HANGS
};
extern const char *const tune_verdict_names[];

/// How long to wait for answers.
struct tune_patience {
    double silence; ///< seconds of silence after which a child counts as hanging, if it has worked for a tenth of
                    ///< `work` meanwhile; otherwise it did not get a core, and there is no verdict
    double work;    ///< or CPU seconds of its own, if these are also 20 times what any earlier answer took: an endless
                    ///< loop is detected sooner than a sleep, and a busy machine is not taken for a hang
    double until;   ///< time (tune_now) at which waiting ends, without a verdict
    double longest; ///< longest CPU time of an answer so far; initially 0
};

/// Asks question(arg, i) for each i < count in one child, and after a crash or a hang the rest in another one. Nothing
/// in the asking process changes. stop: NULL, or becomes nonzero when no more answers are wanted.
void tune_ask(uint32_t count, bool (*question)(void *arg, uint32_t i), void *arg, struct tune_patience *patience,
              const volatile sig_atomic_t *stop, enum tune_verdict *verdicts);

#endif
