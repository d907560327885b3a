// SPDX-License-Identifier: Apache-2.0
// tune/child.h - questions that may crash or hang, asked in a child process.
#ifndef FOVEA_TUNE_CHILD_H
#define FOVEA_TUNE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum tune_verdict {
    TUNE_UNKNOWN, ///< not asked: no process could be made, it was killed by others, or there was no time
    TUNE_SAME,
    TUNE_DIFFERS,
    TUNE_CRASHES,
    TUNE_HANGS
};
extern const char *const tune_verdict_names[];

/// How long answers are waited for.
struct tune_patience {
    double silence; ///< seconds after which a child hangs
    double work;    ///< or seconds of its own on a processor, if these are also 20 times what any answer before took:
                    ///< a loop without an end shows sooner than a sleep, and a busy machine is no hang
    double until;   ///< when nobody waits any more, as tune_now has it: that is no verdict
    double longest; ///< what an answer took so far, on a processor; begins as 0
};

/// Asks question(arg, i) for each i < count, in one child for all, and in another one for the rest after a crash or a
/// hang. Nothing of the asking process changes. stop: NULL, or becomes nonzero where no more answers are wanted.
void tune_ask(uint32_t count, bool (*question)(void *arg, uint32_t i), void *arg, struct tune_patience *patience,
              const volatile sig_atomic_t *stop, enum tune_verdict *verdicts);

#endif
