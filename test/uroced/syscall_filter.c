/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests the filter of system calls: which calls fail, and that the calls which uroced needs do not
 * fail. A filter cannot be removed, so each test runs in a child.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "uroced/syscall_filter.h"

#define GOOD 42 /* the exit status of a child whose checks passed */

/* Run a function in a child with the filter. @return whether its checks passed */
static bool
is_good_in_child(bool (*what)(void), enum syscall_filter filter)
{
	int status;
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    syscall_filter_install(filter) < 0)
			_exit(1);
		_exit(what() ? GOOD : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == GOOD;
}

static bool
is_refused(long ret, const char *what)
{
	if (ret == -1 && errno == EPERM)
		return true;
	print_message("# %s: returned %ld, errno %d\n", what, ret, errno);
	return false;
}

#define REFUSED(call) is_refused((long)(call), #call)

static bool
processes_are_refused(void)
{
	char *const args[] = { (char *)(uintptr_t) "true", NULL };

	return REFUSED(execve("/bin/true", args, NULL)) &&
	       REFUSED(syscall(SYS_execveat, AT_FDCWD, "/bin/true", args, NULL, 0)) &&
	       REFUSED(fork()) && REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) &&
	       REFUSED(kill(getppid(), 0)) &&
	       REFUSED(syscall(SYS_tgkill, getppid(), getppid(), 0)) &&
	       REFUSED(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)) &&
	       REFUSED(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0)) &&
	       REFUSED(syscall(SYS_pidfd_open, getppid(), 0));
}

/* Without the filter, the kernel would send the signals to the parent of this process. */
static bool
signals_of_descriptors_are_refused(void)
{
	const struct f_owner_ex owner = { F_OWNER_PID, getppid() };
	const int parent = getppid(), on = 1;
	int ends[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 &&
	       REFUSED(fcntl(ends[0], F_SETSIG, SIGURG)) &&
	       REFUSED(fcntl(ends[0], F_SETOWN, parent)) &&
	       REFUSED(fcntl(ends[0], F_SETOWN_EX, &owner)) &&
	       REFUSED(fcntl(ends[0], F_SETFL, O_ASYNC)) &&
	       REFUSED(fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK)) &&
	       REFUSED(fcntl(ends[0], F_SETLEASE, F_UNLCK)) &&
	       REFUSED(fcntl(ends[0], F_NOTIFY, 0)) &&
	       REFUSED(ioctl(ends[0], FIOSETOWN, &parent)) &&
	       REFUSED(ioctl(ends[0], SIOCSPGRP, &parent)) &&
	       REFUSED(ioctl(ends[0], FIOASYNC, &on));
}

/* Get memory at an address whose lower half is 0. Sanitizers use some of these addresses. */
static void *
at_lower_half_0(void)
{
	void *memory = MAP_FAILED;

	for (unsigned bit = 32; memory == MAP_FAILED && bit < 47; bit++)
		memory = mmap((void *)(uintptr_t)(UINT64_C(1) << bit), 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return memory;
}

/*
 * Neither limits nor the CPUs of another process are changed. The limits are at an address whose
 * lower half is 0, as the lower half of NULL is.
 */
static bool
other_processes_are_left_alone(void)
{
	struct rlimit *limits = at_lower_half_0();
	cpu_set_t set;

	return limits != MAP_FAILED && prlimit(0, RLIMIT_CORE, NULL, limits) == 0 &&
	       REFUSED(prlimit(getppid(), RLIMIT_CORE, limits, NULL)) &&
	       REFUSED(prlimit(0, RLIMIT_CORE, limits, NULL)) &&
	       REFUSED(prlimit(getppid(), RLIMIT_CORE, NULL, limits)) &&
	       sched_getaffinity(0, sizeof(set), &set) == 0 &&
	       REFUSED(sched_setaffinity(getppid(), sizeof(set), &set)) &&
	       sched_setaffinity(0, sizeof(set), &set) == 0 &&
	       REFUSED(setpriority(PRIO_PROCESS, (id_t)getppid(), 0)) &&
	       REFUSED(syscall(SYS_ioprio_set, 1, getppid(), 0)) &&
	       REFUSED(syscall(SYS_rt_sigqueueinfo, getppid(), 0, NULL)) &&
	       REFUSED(syscall(SYS_rt_tgsigqueueinfo, getppid(), getppid(), 0, NULL)) &&
	       REFUSED(syscall(SYS_pidfd_send_signal, 0, 0, NULL, 0)) &&
	       REFUSED(syscall(SYS_tkill, getppid(), 0)) &&
	       REFUSED(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, NULL)) &&
	       REFUSED(syscall(SYS_mq_notify, 0, NULL)) &&
	       REFUSED(syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0)) &&
	       REFUSED(syscall(SYS_migrate_pages, getppid(), 0, NULL, NULL));
}

static bool
privileges_are_refused(void)
{
	const struct rlimit none = { 0, 0 };

	return REFUSED(setuid(0)) && REFUSED(setgid(0)) &&
	       REFUSED(syscall(SYS_setresuid, 0, 0, 0)) &&
	       REFUSED(syscall(SYS_capset, NULL, NULL)) && REFUSED(unshare(CLONE_NEWUSER)) &&
	       REFUSED(syscall(SYS_setns, 0, 0)) && REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)) &&
	       REFUSED(setrlimit(RLIMIT_CORE, &none)) &&
	       REFUSED(syscall(SYS_mount, 0, 0, 0, 0, 0)) &&
	       REFUSED(syscall(SYS_bpf, 0, NULL, 0)) &&
	       REFUSED(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0)) &&
	       REFUSED(syscall(SYS_io_uring_setup, 1, NULL)) &&
	       REFUSED(syscall(SYS_userfaultfd, 0)) &&
	       REFUSED(syscall(SYS_keyctl, 0, 0, 0, 0, 0)) &&
	       REFUSED(syscall(SYS_init_module, NULL, 0, NULL));
}

static bool
files_are_left_as_they_are(void)
{
	return REFUSED(chmod("/tmp", 0777)) && REFUSED(chown("/tmp", 0, 0)) &&
	       REFUSED(rename("/nowhere/a", "/nowhere/b")) && REFUSED(mkdir("/nowhere/a", 0700)) &&
	       REFUSED(symlink("/", "/nowhere/a")) && REFUSED(link("/nowhere/a", "/nowhere/b")) &&
	       REFUSED(chroot("/")) && REFUSED(mknod("/nowhere/a", S_IFIFO, 0)) &&
	       REFUSED(ioctl(0, TIOCSTI, "x"));
}

static bool
other_sockets_are_refused(void)
{
	return REFUSED(socket(AF_PACKET, SOCK_RAW, 0)) &&
	       REFUSED(socket(AF_VSOCK, SOCK_STREAM, 0)) &&
	       REFUSED(socket(AF_ALG, SOCK_SEQPACKET, 0)) && REFUSED(socket(AF_XDP, SOCK_RAW, 0)) &&
	       REFUSED(socket(AF_BLUETOOTH, SOCK_RAW, 0));
}

static bool
code_is_not_made(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page != MAP_FAILED && REFUSED(mprotect(page, 4096, PROT_READ | PROT_EXEC)) &&
	       REFUSED(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void *
come_and_go(void *arg)
{
	return arg;
}

static bool
needs_are_met(void)
{
	int byte, fds[2];
	pthread_t thread;
	void *back = NULL;
	const int one = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	return one >= 0 && read(one, &byte, sizeof(byte)) == sizeof(byte) && close(one) == 0 &&
	       socket(AF_UNIX, SOCK_SEQPACKET, 0) >= 0 && socket(AF_NETLINK, SOCK_RAW, 0) >= 0 &&
	       socket(AF_INET, SOCK_DGRAM, 0) >= 0 &&
	       pthread_create(&thread, NULL, come_and_go, fds) == 0 &&
	       pthread_join(thread, &back) == 0 && back == fds &&
	       pthread_setname_np(pthread_self(), "name") == 0 && raise(0) == 0;
}

static bool
descriptors_are_controlled(void)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const int file = memfd_create("file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const int copy = fcntl(file, F_DUPFD_CLOEXEC, 100);

	return copy >= 100 && fcntl(copy, F_GETFD) == FD_CLOEXEC && fcntl(copy, F_SETFD, 0) == 0 &&
	       fcntl(copy, F_SETFL, O_NONBLOCK) == 0 && (fcntl(copy, F_GETFL) & O_NONBLOCK) != 0 &&
	       fcntl(copy, F_SETFL, 0) == 0 && fcntl(copy, F_SETLK, &all) == 0 &&
	       fcntl(copy, F_SETLKW, &all) == 0 && fcntl(copy, F_GETLK, &all) == 0 &&
	       fcntl(copy, F_ADD_SEALS, F_SEAL_GROW) == 0 &&
	       fcntl(copy, F_GET_SEALS) == F_SEAL_GROW && fcntl(copy, F_DUPFD, 0) >= 0;
}

static bool
xdp_is_let(void)
{
	const int fd = socket(AF_XDP, SOCK_RAW, 0);

	/* an error other than EPERM comes from the kernel and not from the filter */
	return (fd >= 0 || errno != EPERM || geteuid() != 0) &&
	       syscall(SYS_bpf, 9999, NULL, 0) == -1 && (errno != EPERM || geteuid() != 0) &&
	       REFUSED(socket(AF_PACKET, SOCK_RAW, 0));
}

/*
 * The connection manager accepts clients and requests readers. It can open no file, and it cannot
 * connect to other processes.
 */
static bool
manager_opens_nothing(void)
{
	int ends[2], byte = 0;

	return REFUSED(open("/proc/self/status", O_RDONLY | O_CLOEXEC)) &&
	       REFUSED(unlink("/nowhere/a")) && REFUSED(socket(AF_UNIX, SOCK_SEQPACKET, 0)) &&
	       REFUSED(socket(AF_INET, SOCK_DGRAM, 0)) && REFUSED(connect(-1, NULL, 0)) &&
	       REFUSED(bind(-1, NULL, 0)) && REFUSED(fork()) &&
	       REFUSED(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends)) &&
	       REFUSED(ioctl(0, FIONREAD, &byte)) &&
	       socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0 &&
	       send(ends[0], &byte, sizeof(byte), 0) == sizeof(byte) &&
	       recv(ends[1], &byte, sizeof(byte), 0) == sizeof(byte) &&
	       accept(-1, NULL, NULL) == -1 && errno == EBADF;
}

#define TEST_IN_CHILD(name, what, filter)                                                          \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		assert_true(is_good_in_child(what, filter));                                       \
	}

TEST_IN_CHILD(process__is_neither_made_nor_reached, processes_are_refused, SYSCALL_FILTER_UROCED)
TEST_IN_CHILD(process__gets_no_signal_of_a_descriptor, signals_of_descriptors_are_refused,
	      SYSCALL_FILTER_UROCED)
TEST_IN_CHILD(process__gets_no_signal_of_the_managers_descriptor,
	      signals_of_descriptors_are_refused, SYSCALL_FILTER_CM)
TEST_IN_CHILD(process__keeps_its_limits_and_cpus, other_processes_are_left_alone,
	      SYSCALL_FILTER_UROCED)
TEST_IN_CHILD(descriptor__is_controlled, descriptors_are_controlled, SYSCALL_FILTER_UROCED)
TEST_IN_CHILD(privilege__is_not_to_be_had, privileges_are_refused, SYSCALL_FILTER_UROCED)
TEST_IN_CHILD(file__is_not_given_away, files_are_left_as_they_are, SYSCALL_FILTER_UROCED)
TEST_IN_CHILD(socket__of_another_family_is_refused, other_sockets_are_refused,
	      SYSCALL_FILTER_UROCED)
TEST_IN_CHILD(memory__that_is_written_is_not_executed, code_is_not_made, SYSCALL_FILTER_UROCED)
TEST_IN_CHILD(thread__file_and_socket_are_let, needs_are_met, SYSCALL_FILTER_UROCED)
TEST_IN_CHILD(xdp__is_let_where_it_is_needed, xdp_is_let, SYSCALL_FILTER_XDP)

TEST_IN_CHILD(manager__opens_nothing, manager_opens_nothing, SYSCALL_FILTER_CM)

static atomic_int is_filtered;

static void *
try_in_thread(void *arg)
{
	(void)arg;
	while (!is_filtered)
		(void)sched_yield();
	return REFUSED(socket(AF_PACKET, SOCK_RAW, 0)) ? &is_filtered : NULL;
}

/*
 * The filter applies to all threads of a process, also to threads that started before it was
 * installed, such as EAL's.
 */
static void
filter__is_all_threads(void **state)
{
	int status;
	const pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		pthread_t thread;
		void *good = NULL;

		if (pthread_create(&thread, NULL, try_in_thread, NULL) != 0 ||
		    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    syscall_filter_install(SYSCALL_FILTER_UROCED) < 0)
			_exit(1);
		is_filtered = 1;
		(void)pthread_join(thread, &good);
		_exit(good ? GOOD : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), GOOD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process__is_neither_made_nor_reached),
		cmocka_unit_test(process__gets_no_signal_of_a_descriptor),
		cmocka_unit_test(process__gets_no_signal_of_the_managers_descriptor),
		cmocka_unit_test(process__keeps_its_limits_and_cpus),
		cmocka_unit_test(descriptor__is_controlled),
		cmocka_unit_test(privilege__is_not_to_be_had),
		cmocka_unit_test(file__is_not_given_away),
		cmocka_unit_test(socket__of_another_family_is_refused),
		cmocka_unit_test(memory__that_is_written_is_not_executed),
		cmocka_unit_test(thread__file_and_socket_are_let),
		cmocka_unit_test(xdp__is_let_where_it_is_needed),
		cmocka_unit_test(manager__opens_nothing),
		cmocka_unit_test(filter__is_all_threads),
	};

	if (getenv("UROCE_EMULATED")) {
		printf("1..0 # SKIP the filter would be that of qemu-user itself\n");
		return 0;
	}

	return cmocka_run_group_tests(tests, NULL, NULL);
}
