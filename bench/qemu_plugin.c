// SPDX-License-Identifier: Apache-2.0
// bench/qemu_plugin.c - a plugin of qemu-user that counts the guest's instructions, for guests that ask.
//
//   qemu-aarch64 -plugin libfovea_count.so PROGRAM
//
// Translated blocks are counted as they are entered, each by its length, so the figure does not depend on where qemu
// cuts them; one thread. Debian packages no qemu-plugin.h: what is used of qemu's interface (version 1: qemu 4.2
// to 8.1, docs/devel/tcg-plugins.rst there) is declared here.
#include "bench/qemu_question.h"

#include <stddef.h>
#include <unistd.h>

struct qemu_plugin_tb;
struct qemu_info_t;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef uint64_t qemu_plugin_id_t;

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*translated)(qemu_plugin_id_t id, struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, void (*entered)(unsigned cpu, void *user),
                                          enum qemu_plugin_cb_flags flags, void *user);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
                                          void (*called)(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1,
                                                         uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5,
                                                         uint64_t a6, uint64_t a7, uint64_t a8));

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv);
extern EXPORTED int qemu_plugin_version;
int qemu_plugin_version = 1;

static uint64_t instructions;

static void entered(unsigned cpu, void *user)
{
    (void)cpu;
    instructions += (uintptr_t)user;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, entered, QEMU_PLUGIN_CB_NO_REGS, (void *)qemu_plugin_tb_n_insns(block));
}

static void called(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                   uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id, (void)cpu, (void)number, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    // A pipe that is full or gone: the guest finds no answer.
    if (a2 == (uint64_t)BENCH_QEMU_QUESTION && write((int)a1, &instructions, sizeof instructions) < 0)
        return;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, called);
    return 0;
}
