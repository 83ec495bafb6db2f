/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The open file /dev/infiniband/rdma_cm: the effect of poll(), fcntl(), dup(), close(), fork(),
 * exec and signals on it. The file must behave like a device file of the kernel. Run under
 * uroce-run with the device `loopback`.
 *
 *	test-ibverbs-ucma_file [is-closed FD]   with FD: status 0 if the descriptor is not open
 */

#include "ucma.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define UID 0x1234567890ull

/* Create an id with the cookie `uid`, and wait until an event of the id is pending. */
static uint32_t
id_with_event(int fd, uint64_t uid)
{
	uint32_t id;

	assert_int_equal(ucma_create_id(fd, uid, RDMA_PS_TCP, &id), 0);
	assert_int_equal(ucma_resolve_ip(fd, id, ADDRESS, 7), 0);
	assert_true(ucma_is_ready(fd, TIMEOUT_MS));
	return id;
}

/*
 * Check whether an id exists that belongs to another open file than `fd`. All files of a process
 * share the numbers of ids, so a command through `fd` has another error for such an id.
 */
static bool
exists_elsewhere(int fd, uint32_t id)
{
	const int err = ucma_destroy_id(fd, id, NULL);

	assert_true(err == EINVAL || err == ENOENT);
	return err == EINVAL;
}

/* --- the device file, and writes to it ------------------------------------------------------------- */

static void
file__is_a_character_device(void **state)
{
	const int fd = ucma_open(O_CLOEXEC);
	struct stat file;
	char byte;

	(void)state;
	assert_int_equal(stat(UCMA_PATH, &file), 0);
	assert_true(S_ISCHR(file.st_mode));
	assert_int_equal(fstat(fd, &file), 0);
	assert_true(S_ISCHR(file.st_mode));
	assert_int_equal(access(UCMA_PATH, R_OK | W_OK), 0);
	errno = 0;
	assert_int_equal(read(fd, &byte, sizeof(byte)), -1);
	assert_int_equal(errno, EINVAL);
	ucma_expect_none(fd);
	close(fd);
}

static void
file__has_the_abi_version_of_the_kernel(void **state)
{
	FILE *const file = fopen("/sys/class/misc/rdma_cm/abi_version", "re");
	char text[8];

	(void)state;
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_int_equal((int)strtol(text, NULL, 10), RDMA_USER_CM_ABI_VERSION);
	fclose(file);
}

static void
open__gives_the_smallest_number_with_its_flags(void **state)
{
	const int expected = dup(0),
		  fds[] = { (close(expected), ucma_open(O_CLOEXEC)), ucma_open(O_NONBLOCK) };

	(void)state;
	assert_int_equal(fds[0], expected);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fds[0], F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(fcntl(fds[1], F_GETFD), 0);
	assert_int_equal(fcntl(fds[1], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	close(fds[0]);
	close(fds[1]);
}

static void
write__of_parts_is_a_command_each(void **state)
{
	const int fd = ucma_open(0);
	struct rdma_ucm_create_id_resp resp[2] = { { .id = UNKNOWN_ID }, { .id = UNKNOWN_ID } };
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_create_id cmd;
	} create[2];
	struct iovec parts[3];

	(void)state;
	memset(create, 0, sizeof(create));
	for (unsigned i = 0; i < 2; i++) {
		create[i].hdr.cmd = RDMA_USER_CM_CMD_CREATE_ID;
		create[i].hdr.in = sizeof(create[i].cmd);
		create[i].hdr.out = sizeof(resp[i]);
		create[i].cmd.response = (uintptr_t)&resp[i];
		create[i].cmd.ps = RDMA_PS_UDP;
		parts[i] = (struct iovec){ &create[i], sizeof(create[i]) };
	}
	parts[2] = (struct iovec){ &create[0], 1 };
	/* the third part is too short for a command, so only two parts are written */
	assert_int_equal(writev(fd, parts, 3), 2 * sizeof(create[0]));
	assert_int_not_equal(resp[0].id, resp[1].id);
	assert_int_equal(ucma_destroy_id(fd, resp[1].id, NULL), 0);
	assert_int_equal(ucma_destroy_id(fd, resp[0].id, NULL), 0);
	assert_int_equal(writev(fd, parts + 2, 1), -1);
	assert_int_equal(errno, EINVAL);
	close(fd);
}

/* --- waiting for events --------------------------------------------------------------------------- */

static void
poll__tells_whether_an_event_waits(void **state)
{
	const int fd = ucma_open(0), epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.fd = fd };
	uint32_t ids[2];
	fd_set set;

	(void)state;
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
	ids[0] = id_with_event(fd, UID);
	assert_int_equal(epoll_wait(epoll, &event, 1, TIMEOUT_MS), 1);
	assert_int_equal(event.data.fd, fd);
	FD_ZERO(&set);
	FD_SET(fd, &set);
	assert_int_equal(select(fd + 1, &set, NULL, NULL, NULL), 1);
	ids[1] = id_with_event(fd, UID + 1);
	(void)ucma_expect(fd, EVENT_ADDR_RESOLVED, UID);
	assert_true(ucma_is_ready(fd, TIMEOUT_MS));
	(void)ucma_expect(fd, EVENT_ADDR_RESOLVED, UID + 1);
	ucma_expect_none(fd);
	assert_int_equal(ucma_resolve_route(fd, ids[0]), 0);
	assert_int_equal(epoll_wait(epoll, &event, 1, TIMEOUT_MS), 1);
	/* the pending event is dropped with the id ids[0], and the file is no longer readable */
	assert_int_equal(ucma_destroy_id(fd, ids[0], NULL), 0);
	ucma_expect_none(fd);
	assert_int_equal(ucma_destroy_id(fd, ids[1], NULL), 0);
	close(epoll);
	close(fd);
}

static void
get_event__does_not_wait_if_non_blocking(void **state)
{
	const int fd = ucma_open(O_NONBLOCK);
	struct rdma_ucm_event_resp resp;

	(void)state;
	assert_int_equal(ucma_get_event(fd, &resp), EAGAIN);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(ucma_get_event(fd, &resp), EAGAIN);
	(void)id_with_event(fd, UID);
	assert_int_equal(ucma_get_event(fd, &resp), 0);
	assert_int_equal(ucma_get_event(fd, &resp), EAGAIN);
	close(fd);
}

static void
get_event__keeps_the_event_if_the_pointer_is_bad(void **state)
{
	const int fd = ucma_open(O_NONBLOCK);
	const struct rdma_ucm_get_event cmd = { .response = UNMAPPED };

	(void)state;
	(void)id_with_event(fd, UID);
	assert_int_equal(UCMA_CMD(fd, GET_EVENT, cmd, sizeof(struct rdma_ucm_event_resp)), EFAULT);
	(void)ucma_expect(fd, EVENT_ADDR_RESOLVED, UID);
	close(fd);
}

/* A thread that waits for an event by GET_EVENT, and the result of that command. */
struct waiter {
	pthread_t thread;
	int fd;
	pid_t tid;
	int err;
	struct rdma_ucm_event_resp resp;
};

static void *
wait_for_event(void *arg)
{
	struct waiter *const waiter = arg;

	__atomic_store_n(&waiter->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	waiter->err = ucma_get_event(waiter->fd, &waiter->resp);
	return NULL;
}

/*
 * Start a thread that waits for an event. Return when the thread sleeps in a system call: the state
 * S of proc(5).
 */
static void
start(struct waiter *waiter, int fd)
{
	char path[64], text[256], mode = 'R';
	const char *behind_name;
	FILE *file;

	*waiter = (struct waiter){ .fd = fd };
	assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_event, waiter), 0);
	while (__atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", waiter->tid);
	while (mode != 'S') {
		sched_yield();
		file = fopen(path, "re");
		assert_non_null(file);
		assert_non_null(fgets(text, sizeof(text), file));
		fclose(file);
		behind_name = strrchr(text, ')');
		mode = behind_name != NULL ? behind_name[2] : 'R';
	}
}

static void
get_event__waits_for_an_event(void **state)
{
	const int fd = ucma_open(0);
	struct waiter waiters[2];
	uint32_t id;

	(void)state;
	start(&waiters[0], fd);
	start(&waiters[1], fd);
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &id), 0);
	assert_int_equal(ucma_resolve_ip(fd, id, ADDRESS, 7), 0);
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &id), 0);
	assert_int_equal(ucma_resolve_ip(fd, id, ADDRESS, 7), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(waiters[i].thread, NULL), 0);
		assert_int_equal(waiters[i].err, 0);
		assert_int_equal(waiters[i].resp.event, EVENT_ADDR_RESOLVED);
	}
	ucma_expect_none(fd);
	close(fd);
}

static _Atomic int nb_signals;

static void
count_signal(int signal)
{
	(void)signal;
	nb_signals++;
}

static void
get_event__is_interrupted_by_a_signal(void **state)
{
	const struct sigaction action = { .sa_handler = count_signal };
	const int fd = ucma_open(0);
	struct waiter waiter;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	start(&waiter, fd);
	assert_int_equal(pthread_kill(waiter.thread, SIGUSR1), 0);
	assert_int_equal(pthread_join(waiter.thread, NULL), 0);
	assert_int_equal(waiter.err, EINTR);
	close(fd);
}

/*
 * If a signal handler with SA_RESTART interrupts GET_EVENT, the command continues to wait, as if
 * the kernel restarted a system call.
 */
static void
get_event__is_restarted_if_the_handler_says_so(void **state)
{
	const struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
	const int fd = ucma_open(0), before = nb_signals;
	struct waiter waiter;
	uint32_t id;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	start(&waiter, fd);
	assert_int_equal(pthread_kill(waiter.thread, SIGUSR1), 0);
	while (nb_signals == before)
		sched_yield();
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &id), 0);
	assert_int_equal(ucma_resolve_ip(fd, id, ADDRESS, 7), 0);
	assert_int_equal(pthread_join(waiter.thread, NULL), 0);
	assert_int_equal(waiter.err, 0);
	assert_int_equal(waiter.resp.uid, UID);
	close(fd);
}

/* If a thread is cancelled while it waits for an event, the file remains usable. */
static void
get_event__may_be_cancelled(void **state)
{
	const int fd = ucma_open(0), other = ucma_open(0);
	struct waiter waiter;
	uint32_t id;

	(void)state;
	start(&waiter, fd);
	assert_int_equal(pthread_cancel(waiter.thread), 0);
	assert_int_equal(pthread_join(waiter.thread, NULL), 0);
	id = id_with_event(fd, UID);
	(void)ucma_expect(fd, EVENT_ADDR_RESOLVED, UID);
	ucma_expect_none(fd);
	close(fd);
	assert_false(exists_elsewhere(other, id));
	close(other);
}

/* --- copies of the descriptor, and close() -------------------------------------------------------- */

static void
copies__lead_to_the_same_file(void **state)
{
	const int fd = ucma_open(O_CLOEXEC);
	const int copies[] = { dup(fd), dup2(fd, 200), dup3(fd, 201, O_CLOEXEC),
			       fcntl(fd, F_DUPFD, 210), fcntl(fd, F_DUPFD_CLOEXEC, 210) };
	const int other = ucma_open(0);
	uint32_t id;

	(void)state;
	assert_int_equal(ucma_create_id(fd, UID, RDMA_PS_TCP, &id), 0);
	close(fd);
	for (unsigned i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		assert_true(copies[i] >= 0);
		assert_true(exists_elsewhere(other, id));
		assert_int_equal(ucma_destroy_id(copies[i], id, NULL), 0);
		assert_int_equal(ucma_create_id(copies[i], UID, RDMA_PS_TCP, &id), 0);
		close(copies[i]);
	}
	assert_false(exists_elsewhere(other, id));
	close(other);
}

/* Close a descriptor in one of the ways in which programs do. */
static void
close_by(unsigned way, int fd)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	switch (way) {
	case 0:
		close(fd);
		break;
	case 1:
		dup2(null, fd);
		break;
	case 2:
		dup3(null, fd, O_CLOEXEC);
		break;
	case 3:
		close_range((unsigned)fd, (unsigned)fd, 0);
		break;
	default:
		closefrom(fd);
		return;
	}
	close(null);
}

static void
close__destroys_the_ids(void **state)
{
	const int other = ucma_open(0);

	(void)state;
	for (unsigned way = 0; way < 5; way++) {
		const int low = ucma_open(0), fd = fcntl(low, F_DUPFD, 300);
		uint32_t id;

		close(low);
		id = id_with_event(fd, UID);
		assert_true(exists_elsewhere(other, id));
		close_by(way, fd);
		assert_false(exists_elsewhere(other, id));
		if (way == 1 || way == 2)
			close(fd);
	}
	close(other);
}

/*
 * The program closes the descriptor by the system call itself, which is not intercepted, and opens
 * a file that gets the same number. Calls on that number must go to the new file.
 */
static void
number__that_is_used_for_something_else_is_not_the_file(void **state)
{
	const int fd = ucma_open(0);
	struct stat file;
	char text[8] = "";
	int memory;

	(void)state;
	assert_int_equal(syscall(SYS_close, fd), 0);
	memory = memfd_create("file", MFD_CLOEXEC);
	assert_int_equal(memory, fd);
	assert_int_equal(write(memory, "written", 7), 7);
	assert_int_equal(fstat(memory, &file), 0);
	assert_true(S_ISREG(file.st_mode));
	assert_int_equal(lseek(memory, 0, SEEK_SET), 0);
	assert_int_equal(read(memory, text, 7), 7);
	assert_string_equal(text, "written");
	close(memory);
}

/* --- fork() and exec ------------------------------------------------------------------------------ */

static void
expect_status_0(pid_t child)
{
	int status = -1;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int
use_in_child(int fd)
{
	struct rdma_ucm_event_resp resp;
	uint32_t id;
	int own;

	alarm(TIMEOUT_MS / 1000);
	if (ucma_get_event(fd, &resp) != EBADF || ucma_create_id(fd, 1, RDMA_PS_TCP, &id) != EBADF)
		return 1;
	close(fd);
	own = open(UCMA_PATH, O_RDWR);
	if (own < 0 || ucma_create_id(own, UID, RDMA_PS_TCP, &id) != 0)
		return 2;
	return ucma_destroy_id(own, id, NULL) != 0 ? 3 : 0;
}

static void
fork__leaves_the_file_to_the_parent(void **state)
{
	const int fd = ucma_open(O_CLOEXEC);
	uint32_t id;
	pid_t child;

	(void)state;
	id = id_with_event(fd, UID);
	child = fork();
	if (child == 0)
		_exit(use_in_child(fd));
	expect_status_0(child);
	(void)ucma_expect(fd, EVENT_ADDR_RESOLVED, UID);
	assert_int_equal(ucma_destroy_id(fd, id, NULL), 0);
	close(fd);
}

static void
exec__closes_the_file(void **state)
{
	const int fd = ucma_open(O_CLOEXEC);
	char text[16];
	pid_t child;

	(void)state;
	(void)id_with_event(fd, UID);
	(void)snprintf(text, sizeof(text), "%d", fd);
	child = vfork();
	if (child == 0) {
		execl("/proc/self/exe", "ucma_file", "is-closed", text, NULL);
		_exit(1);
	}
	expect_status_0(child);
	/* a child of vfork() has descriptors of its own, although it shares its parent's memory */
	child = vfork();
	if (child == 0) {
		close(fd);
		_exit(0);
	}
	expect_status_0(child);
	(void)ucma_expect(fd, EVENT_ADDR_RESOLVED, UID);
	close(fd);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file__is_a_character_device),
		cmocka_unit_test(file__has_the_abi_version_of_the_kernel),
		cmocka_unit_test(open__gives_the_smallest_number_with_its_flags),
		cmocka_unit_test(write__of_parts_is_a_command_each),
		cmocka_unit_test(poll__tells_whether_an_event_waits),
		cmocka_unit_test(get_event__does_not_wait_if_non_blocking),
		cmocka_unit_test(get_event__keeps_the_event_if_the_pointer_is_bad),
		cmocka_unit_test(get_event__waits_for_an_event),
		cmocka_unit_test(get_event__is_interrupted_by_a_signal),
		cmocka_unit_test(get_event__is_restarted_if_the_handler_says_so),
		cmocka_unit_test(get_event__may_be_cancelled),
		cmocka_unit_test(copies__lead_to_the_same_file),
		cmocka_unit_test(close__destroys_the_ids),
		cmocka_unit_test(number__that_is_used_for_something_else_is_not_the_file),
		cmocka_unit_test(fork__leaves_the_file_to_the_parent),
		cmocka_unit_test(exec__closes_the_file),
	};

	if (argc == 3 && strcmp(argv[1], "is-closed") == 0)
		return fcntl((int)strtol(argv[2], NULL, 10), F_GETFD) >= 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
