/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A plugin of qemu-user that counts instructions. test/arm64/insns compiles and loads it.
 *
 * The program under qemu has counters, of which one is current. A system call whose first argument
 * is MARK makes its second argument the current counter. At the end of the program the plugin
 * prints the counters that are not 0.
 *
 * Debian has no header for plugins of its qemu, so the functions of qemu that are used are declared
 * here [QEMU manual: TCG plugins].
 */

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MARK        0x55724f43
#define NB_COUNTERS 64
#define ADD_U64     0 /* enum qemu_plugin_op: add a number to memory */

struct qemu_plugin_tb; /* a block of instructions that is translated at once */

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*call)(uint64_t id, struct qemu_plugin_tb *tb));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *at,
					      uint64_t number);
void qemu_plugin_register_vcpu_syscall_cb(uint64_t id,
					  void (*call)(uint64_t id, unsigned vcpu, int64_t number,
						       uint64_t a1, uint64_t a2, uint64_t a3,
						       uint64_t a4, uint64_t a5, uint64_t a6,
						       uint64_t a7, uint64_t a8));
void qemu_plugin_register_atexit_cb(uint64_t id, void (*call)(uint64_t id, void *arg), void *arg);
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

/* the version of the interface, which qemu reads */
extern int qemu_plugin_version;
int qemu_plugin_version = 1;

static uint64_t nb_insns;  /* instructions of the program so far */
static uint64_t nb_before; /* their number when the current counter became current */
static uint64_t counters[NB_COUNTERS], current;

static void
count_block(uint64_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD_U64, &nb_insns,
						 qemu_plugin_tb_n_insns(tb));
}

static void
take_syscall(uint64_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
	     uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	(void)id, (void)vcpu, (void)number, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7,
		(void)a8;
	if (a1 != MARK || a2 >= NB_COUNTERS)
		return;
	counters[current] += nb_insns - nb_before;
	nb_before = nb_insns;
	current = a2;
}

static void
print_counters(uint64_t id, void *arg)
{
	(void)id, (void)arg;
	for (unsigned i = 1; i < NB_COUNTERS; i++) {
		if (counters[i] > 0)
			fprintf(stderr, "counter %u %" PRIu64 "\n", i, counters[i]);
	}
}

int
qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info, (void)argc, (void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
	qemu_plugin_register_vcpu_syscall_cb(id, take_syscall);
	qemu_plugin_register_atexit_cb(id, print_counters, NULL);
	return 0;
}
