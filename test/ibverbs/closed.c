/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that closes all descriptors it does not know while its device is in use, as daemons do,
 * and then opens files of its own. The device must continue to work, and the files must not change.
 * Run under uroce-run.
 *
 *	test-ibverbs-closed closefrom|close_range|close|dup2|dup3
 *	test-ibverbs-closed daemon   closefrom(), in a child that uses a device opened before
 *	test-ibverbs-closed kernel   a system call that is not intercepted: the device fails
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"

#define FIRST    3
#define LAST     1023
#define NB_FILES 300
#define LOOK_NS  300000000 /* time in ns in which a thread that does not sleep uses CPU time */

static int file[NB_FILES];

static void
close_each(void)
{
	for (int fd = FIRST; fd <= LAST; fd++)
		(void)close(fd);
}

/* Replace each descriptor by /dev/null. Then close those that are not the library's. */
static void
replace_each(bool is_dup3)
{
	const int null = open("/dev/null", O_RDWR);

	check(null >= 0, "/dev/null");
	for (int fd = FIRST; fd <= LAST; fd++)
		if (fd != null && (is_dup3 ? dup3(null, fd, O_CLOEXEC) : dup2(null, fd)) == fd)
			(void)close(fd);
	(void)close(null);
}

static void
close_all(const char *way)
{
	if (strcmp(way, "closefrom") == 0)
		closefrom(FIRST);
	else if (strcmp(way, "close_range") == 0)
		check(close_range(FIRST, ~0u, 0) == 0, "close_range");
	else if (strcmp(way, "close") == 0)
		close_each();
	else if (strncmp(way, "dup", 3) == 0)
		replace_each(strcmp(way, "dup3") == 0);
	else
		check(syscall(SYS_close_range, FIRST, ~0u, 0) == 0, "close_range of the kernel");
}

/*
 * Open files of the program. They get the lowest free descriptors. check_files() notices if
 * something has read or written them.
 */
static void
open_files(void)
{
	for (unsigned i = 0; i < NB_FILES; i++) {
		file[i] = memfd_create("file", MFD_CLOEXEC);
		check(file[i] >= 0 && pwrite(file[i], "untouched", 9, 0) == 9, "memfd_create");
	}
}

static void
check_files(void)
{
	for (unsigned i = 0; i < NB_FILES; i++) {
		struct stat stat;
		char text[9];

		check(fstat(file[i], &stat) == 0, "a file of the program was closed");
		check(stat.st_size == 9 && lseek(file[i], 0, SEEK_CUR) == 0 &&
			      pread(file[i], text, 9, 0) == 9 && memcmp(text, "untouched", 9) == 0,
		      "a file of the program was written or read");
	}
}

/* Use the device: exchange messages, and create a completion channel. */
static void
use(struct pair *pair)
{
	struct ibv_comp_channel *const channel = ibv_create_comp_channel(pair->context);
	struct ibv_async_event event;

	check(channel != NULL, "ibv_create_comp_channel");
	for (uint8_t i = 0; i < 20; i++)
		pair_exchange(pair, i);
	check(fcntl(pair->context->async_fd, F_SETFL, O_NONBLOCK) == 0, "async_fd");
	check(ibv_get_async_event(pair->context, &event) == -1 && errno == EAGAIN,
	      "ibv_get_async_event");
	check(ibv_destroy_comp_channel(channel) == 0, "ibv_destroy_comp_channel");
}

/* Check that no thread of the library uses CPU time because its waits fail. */
static void
check_rest(void)
{
	const struct timespec time = { .tv_nsec = LOOK_NS };
	struct timespec before, after;

	(void)nanosleep(&time, NULL);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	(void)nanosleep(&time, NULL);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	check((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec <
		      LOOK_NS / 2,
	      "a thread of the library spins");
}

static void
expect_failures(struct pair *pair)
{
	struct ibv_wc wc;

	check_rest();
	errno = 0;
	check(ibv_create_comp_channel(pair->context) == NULL && errno == EIO,
	      "ibv_create_comp_channel of a device without descriptors");
	check(ibv_poll_cq(pair->cq, 1, &wc) < 0, "ibv_poll_cq of one");
	check(ibv_get_device_list(NULL) == NULL && errno == EIO, "ibv_get_device_list after that");
	check(ibv_close_device(pair->context) != 0, "ibv_close_device of one");
}

static void
close_and_use(const char *way)
{
	struct pair pair;

	pair_open(&pair);
	use(&pair);
	close_all(way);
	open_files();
	if (strcmp(way, "kernel") == 0) {
		expect_failures(&pair);
	} else {
		use(&pair);
		pair_close(&pair);
	}
	check_rest();
	check_files();
}

/*
 * Open a device, fork, and let the child close all descriptors and use the device, as daemons do.
 * The child may use the device, because the parent has created no object on it.
 */
static void
become_daemon(void)
{
	struct ibv_device **const list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct ibv_async_event event;
	int status = -1;
	pid_t pid;

	check(list != NULL && list[0] != NULL, "ibv_get_device_list");
	context = ibv_open_device(list[0]);
	check(context != NULL, "ibv_open_device");
	pid = fork();
	check(pid >= 0, "fork");
	if (pid > 0) {
		check(waitpid(pid, &status, 0) == pid && status == 0, "the daemon");
		return;
	}
	closefrom(FIRST);
	open_files();
	check(fcntl(context->async_fd, F_SETFL, O_NONBLOCK) == 0, "async_fd");
	check(ibv_get_async_event(context, &event) == -1 && errno == EAGAIN, "ibv_get_async_event");
	check(ibv_close_device(context) == 0, "ibv_close_device");
	check_files();
	for (unsigned i = 0; i < NB_FILES; i++)
		(void)close(file[i]);
	close_and_use("closefrom");
}

int
main(int argc, char **argv)
{
	check(argc == 2, "a way to close descriptors");
	if (strcmp(argv[1], "daemon") == 0)
		become_daemon();
	else
		close_and_use(argv[1]);
	return 0;
}
