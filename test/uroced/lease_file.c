/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The file of leases: which files are refused, that one uroced uses a file at a time, and that a
 * record is complete, or marks its block as held by nobody, at whatever point its writer is killed.
 */

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "uroced/lease_file.h"

#define NB_KILLS 200u
/* the token of a record is its user times this number */
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

static char folder[] = "/tmp/uroced-leases-XXXXXX";
static char path[64], other[64];

static int
make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/leases", folder);
	(void)snprintf(other, sizeof(other), "%s/other", folder);
	return 0;
}

static int
remove_folder(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

static void
open_file(struct lease_file *file)
{
	const char *wrong = lease_file_open(file, path);

	if (wrong)
		fail_msg("%s", wrong);
}

static void
expect_refusal(const char *of, const char *why)
{
	struct lease_file file;
	const char *wrong = lease_file_open(&file, of);

	assert_non_null(wrong);
	assert_string_equal(wrong, why);
	lease_file_close(&file);
}

static void
file__is_made_once_and_stays(void **state)
{
	struct lease_file file;
	struct stat st;
	uint64_t seed;
	uint32_t uid;

	(void)state;
	open_file(&file);
	assert_true(file.is_new);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(st.st_blocks * 512 >= st.st_size);
	seed = file.mac_seed;
	lease_record_hold(&file.record[7], 1000, 11);
	lease_record_hold(&file.record[8], 1000, 12);
	lease_record_release(&file.record[8]);
	lease_file_close(&file);
	open_file(&file);
	assert_false(file.is_new);
	assert_true(file.mac_seed == seed);
	assert_true(lease_record_is_held(&file.record[7], &uid));
	assert_int_equal(uid, 1000);
	assert_true(lease_record_is_of(&file.record[7], 1000, 11));
	assert_false(lease_record_is_of(&file.record[7], 1001, 11));
	assert_false(lease_record_is_of(&file.record[7], 1000, 12));
	assert_false(lease_record_is_held(&file.record[8], &uid));
	assert_false(lease_record_is_of(&file.record[8], 1000, 12));
	assert_false(lease_record_is_held(&file.record[9], &uid));
	assert_false(lease_record_is_of(&file.record[9], 0, 0));
	lease_file_close(&file);
}

/* A file is made again if the process that made it was killed before the file was complete. */
static void
file__that_is_not_complete_is_made_anew(void **state)
{
	struct lease_file file;

	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	open_file(&file);
	assert_true(file.is_new);
	lease_file_close(&file);
	open_file(&file);
	assert_false(file.is_new);
	lease_file_close(&file);
}

static void
file__that_is_not_ours_alone_is_refused(void **state)
{
	struct lease_file file;
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(symlink(path, other), 0);
	expect_refusal(other, "it is a link");
	assert_int_equal(unlink(other), 0);
	assert_int_equal(chmod(path, 0640), 0);
	expect_refusal(path, "it belongs to another user, or other users may access it");
	assert_int_equal(chmod(path, 0600), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		expect_refusal(path, "it belongs to another user, or other users may access it");
		assert_int_equal(chown(path, 0, 0), 0);
	}
	assert_int_equal(truncate(path, st.st_size - 1), 0);
	expect_refusal(path, "it is no file of leases");
	assert_int_equal(truncate(path, st.st_size), 0);
	open_file(&file);
	lease_file_close(&file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "!", 1, 0), 1);
	assert_int_equal(close(fd), 0);
	expect_refusal(path, "it is no file of leases");
	assert_int_equal(unlink(path), 0);
	expect_refusal(folder, "Is a directory");
	expect_refusal("/nowhere/leases", "No such file or directory");
	assert_int_equal(mkfifo(other, 0600), 0);
	expect_refusal(other, "it is no regular file");
	assert_int_equal(unlink(other), 0);
}

/* Fork a child that opens the file, reports that by a byte, and writes records for ever. */
static pid_t
start_writer(int *ends)
{
	struct lease_file file;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (lease_file_open(&file, path) || write(ends[1], "", 1) != 1)
		_exit(1);
	for (uint32_t uid = 1;; uid++) {
		lease_record_hold(&file.record[uid % 4], uid, uid * FACTOR);
		if (uid % 8 == 0)
			lease_record_release(&file.record[uid % 4]);
	}
}

static void
file__is_one_daemons_at_a_time(void **state)
{
	char byte;
	int ends[2];
	pid_t pid;
	struct lease_file file;

	(void)state;
	pid = start_writer(ends);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	expect_refusal(path, "another uroced uses it");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(ends[0]);
	(void)close(ends[1]);
	open_file(&file);
	lease_file_close(&file);
}

/* When the writer is killed at a random moment, a record is complete or belongs to nobody. */
static void
record__that_is_torn_is_nobodys(void **state)
{
	unsigned nb_torn = 0, nb_whole = 0;

	(void)state;
	for (unsigned i = 0; i < NB_KILLS; i++) {
		struct lease_file file;
		char byte;
		int ends[2];
		const pid_t pid = start_writer(ends);

		assert_int_equal(read(ends[0], &byte, 1), 1);
		(void)usleep(i);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		(void)close(ends[0]);
		(void)close(ends[1]);
		open_file(&file);
		for (unsigned block = 0; block < 4; block++) {
			uint32_t uid;

			if (!lease_record_is_held(&file.record[block], &uid)) {
				nb_torn++;
				continue;
			}
			assert_true(lease_record_is_of(&file.record[block], uid, uid * FACTOR));
			nb_whole++;
		}
		lease_file_close(&file);
	}
	print_message("# %u records held, %u nobody's\n", nb_whole, nb_torn);
	assert_true(nb_torn > 0 && nb_whole > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file__is_made_once_and_stays),
		cmocka_unit_test(file__that_is_not_complete_is_made_anew),
		cmocka_unit_test(file__that_is_not_ours_alone_is_refused),
		cmocka_unit_test(file__is_one_daemons_at_a_time),
		cmocka_unit_test(record__that_is_torn_is_nobodys),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
