/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests the filter of system calls: which calls fail, and that the calls which uroced needs do not
 * fail. A filter cannot be removed, so each test runs in a child.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
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
xdp_is_let(void)
{
	const int fd = socket(AF_XDP, SOCK_RAW, 0);

	/* other errors than EPERM are the kernel's, not the filter's */
	return (fd >= 0 || errno != EPERM || geteuid() != 0) &&
	       syscall(SYS_bpf, 9999, NULL, 0) == -1 && (errno != EPERM || geteuid() != 0) &&
	       REFUSED(socket(AF_PACKET, SOCK_RAW, 0));
}

/* The connection manager accepts clients and asks for readers. It opens and reaches nothing else. */
static bool
manager_opens_nothing(void)
{
	int ends[2], byte = 0;

	return REFUSED(open("/proc/self/status", O_RDONLY | O_CLOEXEC)) &&
	       REFUSED(unlink("/nowhere/a")) && REFUSED(socket(AF_UNIX, SOCK_SEQPACKET, 0)) &&
	       REFUSED(socket(AF_INET, SOCK_DGRAM, 0)) && REFUSED(connect(-1, NULL, 0)) &&
	       REFUSED(bind(-1, NULL, 0)) && REFUSED(fork()) &&
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
		cmocka_unit_test(privilege__is_not_to_be_had),
		cmocka_unit_test(file__is_not_given_away),
		cmocka_unit_test(socket__of_another_family_is_refused),
		cmocka_unit_test(memory__that_is_written_is_not_executed),
		cmocka_unit_test(thread__file_and_socket_are_let),
		cmocka_unit_test(xdp__is_let_where_it_is_needed),
		cmocka_unit_test(manager__opens_nothing),
		cmocka_unit_test(filter__is_all_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
