/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A benchmark: the time that an ATTACH takes while processes of a hostile user attach large shared
 * memory and leave.
 *
 *     bench-uroced-attach UROCED [PROCESSES [MIB]]
 *
 * The hostile processes share the CPUs with uroced and the honest client. So the benchmark also
 * measures the time while processes create the same shared memory without attaching it. The
 * benchmark checks no limits; test/uroced/mapper.c checks the order of service.
 */

#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "peer.h"

#define HOSTILE   65534u
#define HONEST    65533u
#define NB_ATTACH 40u
#define NB_MAX    64u
#define LOAD_S    2u
#define SLOTS     64u

static struct daemon daemon_;
static unsigned nb_hostile = 32;
static uint64_t hostile_size = UINT64_C(128) << 20;

static double
now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void
become(uid_t uid)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setgroups(0, NULL) != 0 || setresgid(uid, uid, uid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		_exit(1);
	/* set the parent-death signal again, because setresuid() has cleared it */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* --- hostile processes --------------------------------------------------------------------------- */

enum attack {
	MEMORY_ALONE, /* shared memory is made and not attached */
	FULL_AREAS,
	/*
	 * the largest shared memory, in a file without pages: the file costs the attacker no
	 * memory, and uroced finds late that it has a hole
	 */
	SPARSE_AREAS,
};

static int
make_sparse(uint64_t size)
{
	const int fd = memfd_create("sparse", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, (off_t)size) < 0 ||
			fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0))
		_exit(1);
	return fd;
}

static void
attack(enum attack attack)
{
	struct uroce_shm_layout plan = { .nb_pairs = 1,
					 .nb_slots = SLOTS,
					 .nb_bindings = UROCE_BINDINGS_MIN,
					 .down = { 4096 },
					 .bindings = 8192,
					 .size = hostile_size };
	struct peer eve;

	for (;;) {
		memset(&eve, 0, sizeof(eve));
		eve.doorbell = eve.socket = -1;
		plan.frame_max = 4400;
		if (attack == SPARSE_AREAS) {
			plan.size = UROCE_SHM_SIZE_MAX;
			eve.area.plan = plan;
			eve.area_fd = make_sparse(plan.size);
		} else if (uroce_shm_create(&eve.area, &plan, &eve.area_fd) < 0) {
			continue;
		}
		if (attack != MEMORY_ALONE) {
			peer_connect(&eve, daemon_.socket);
			peer_ask_attach(&eve);
			/* the call also returns when uroced refuses the ATTACH */
			(void)peer_hear(&eve, UROCE_MUX_ATTACHED);
		}
		if (attack == SPARSE_AREAS)
			(void)close(eve.area_fd);
		peer_close(&eve);
	}
}

static void
start_attack(pid_t *pids, enum attack how)
{
	for (unsigned i = 0; i < nb_hostile; i++) {
		pids[i] = fork();
		if (pids[i] != 0)
			continue;
		become(HOSTILE);
		(void)!freopen("/dev/null", "w", stdout);
		(void)!freopen("/dev/null", "w", stderr);
		attack(how);
		_exit(0);
	}
	(void)sleep(LOAD_S);
}

static void
end_attack(const pid_t *pids)
{
	for (unsigned i = 0; i < nb_hostile; i++)
		(void)kill(pids[i], SIGKILL);
	for (unsigned i = 0; i < nb_hostile; i++)
		(void)waitpid(pids[i], NULL, 0);
}

/* --- the honest client --------------------------------------------------------------------------- */

static int
compare(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Print the time from connect() to HOST, and from ATTACH to ATTACHED. */
static void
measure(const char *name, uid_t uid)
{
	double hello_ms[NB_ATTACH], attach_ms[NB_ATTACH];
	const pid_t pid = fork();
	struct peer good;

	if (pid != 0) {
		(void)waitpid(pid, NULL, 0);
		return;
	}
	become(uid);
	for (unsigned i = 0; i < NB_ATTACH; i++) {
		double begin = now_ms();

		memset(&good, 0, sizeof(good));
		peer_connect(&good, daemon_.socket);
		hello_ms[i] = now_ms() - begin;
		peer_make_area(&good, 1, SLOTS);
		begin = now_ms();
		peer_attach(&good);
		attach_ms[i] = now_ms() - begin;
		peer_close(&good);
		(void)usleep(20000);
	}
	qsort(hello_ms, NB_ATTACH, sizeof(hello_ms[0]), compare);
	qsort(attach_ms, NB_ATTACH, sizeof(attach_ms[0]), compare);
	printf("%-34s HELLO %8.2f ms, at most %8.2f   ATTACH %8.2f ms, at most %8.2f\n", name,
	       hello_ms[NB_ATTACH / 2], hello_ms[NB_ATTACH - 1], attach_ms[NB_ATTACH / 2],
	       attach_ms[NB_ATTACH - 1]);
	(void)fflush(stdout);
	_exit(0);
}

static void
attaches__beside_large_ones(void **state)
{
	static pid_t pids[NB_MAX];

	(void)state;
	if (geteuid() != 0) {
		print_message("# not root\n");
		skip();
	}
	measure("alone", HONEST);
	start_attack(pids, MEMORY_ALONE);
	measure("beside memory work alone", HONEST);
	end_attack(pids);
	start_attack(pids, FULL_AREAS);
	measure("beside attaches of another user", HONEST);
	measure("beside attaches of its own user", HOSTILE);
	end_attack(pids);
	measure("just after", HONEST);
	start_attack(pids, SPARSE_AREAS);
	measure("beside sparse areas of another user", HONEST);
	measure("beside sparse areas of its own user", HOSTILE);
	end_attack(pids);
	measure("just after", HONEST);
}

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	daemon_start(&daemon_);
	assert_int_equal(chmod(daemon_.folder, 0711), 0);
	assert_int_equal(chmod(daemon_.socket, 0666), 0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	daemon_end(&daemon_);
	daemon_remove(&daemon_);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(attaches__beside_large_ones) };

	daemon_program = argc > 1 ? argv[1] : "uroced";
	if (argc > 2)
		nb_hostile = (unsigned)strtoul(argv[2], NULL, 10) % (NB_MAX + 1);
	if (argc > 3)
		hostile_size = strtoull(argv[3], NULL, 10) << 20;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
