/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that reads files of counters by descriptors that stay open, as perftest does. Run under
 * uroce-run without telemetry, which a program's own counters do not need.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pair.h"

#define FOLDER   "/sys/class/infiniband/uroce0/ports/1/hw_counters"
#define MESSAGES 7

static long
read_all(int fd)
{
	char text[32] = "";
	const ssize_t len = read(fd, text, sizeof(text) - 1);

	check(len > 1 && text[len - 1] == '\n', "a line with a number");
	check(read(fd, text + len, 1) == 0, "its end");
	return strtol(text, NULL, 10);
}

static long
read_once(int fd)
{
	const long value = fd >= 0 ? read_all(fd) : -1;

	close(fd);
	return value;
}

static long
read_stream(const char *path)
{
	FILE *const file = fopen(path, "r");
	char text[32] = "";

	check(file != NULL && fgets(text, sizeof(text), file) != NULL, "a stream");
	fclose(file);
	return strtol(text, NULL, 10);
}

/*
 * Check that the file of a counter has the number `wanted`, if it is opened by each kind of path.
 */
static void
check_ways(long wanted)
{
	const int dir = open(FOLDER, O_RDONLY | O_DIRECTORY);
	char cwd[256];

	check(read_once(open(FOLDER "/rdma_sends", O_RDONLY)) == wanted, "open");
	check(read_once(openat(dir, "rdma_sends", O_RDONLY)) == wanted, "openat");
	check(read_once(openat(dir, "./rdma_sends", O_RDONLY)) == wanted, "openat, from here");
	check(read_stream(FOLDER "/rdma_sends") == wanted, "fopen");
	check(chdir(FOLDER) == 0 && getcwd(cwd, sizeof(cwd)) != NULL, "chdir");
	check(strcmp(cwd, FOLDER) == 0, "it is where it went");
	check(read_once(open("rdma_sends", O_RDONLY)) == wanted, "open, from there");
	check(read_stream("rdma_sends") == wanted, "fopen, from there");
	check(chdir("/") == 0, "chdir to the root");
	close(dir);
}

static void
check_refusals(void)
{
	const int dir = open("/", O_RDONLY | O_DIRECTORY);

	check(open(FOLDER "/rdma_sends", O_WRONLY) < 0 && errno == EACCES, "it is not written");
	check(open(FOLDER "/rdma_sends", O_RDONLY | O_DIRECTORY) < 0 && errno == ENOTDIR,
	      "it is no directory");
	check(fopen(FOLDER "/rdma_sends", "r+") == NULL && errno == EACCES, "nor written to");
	check(open(FOLDER "/rounds", O_RDONLY) < 0 && errno == ENOENT, "names of ours alone");
	check(open(FOLDER "/port_xmit_data", O_RDONLY) < 0 && errno == ENOENT, "another folder's");
	check(openat(dir, "rdma_sends", O_RDONLY) < 0 && errno == ENOENT, "another directory's");
	close(dir);
}

int
main(void)
{
	struct pair pair;
	char text[8] = "";
	int fd;

	pair_open(&pair);
	fd = open(FOLDER "/rdma_sends", O_RDONLY);
	check(fd >= 0 && read_all(fd) == 0, "nothing is counted yet");
	for (uint8_t i = 0; i < MESSAGES; i++)
		pair_exchange(&pair, i);
	check(lseek(fd, 0, SEEK_SET) == 0 && read_all(fd) == MESSAGES, "what was counted since");
	pair_exchange(&pair, MESSAGES);
	check(pread(fd, text, sizeof(text), 0) == 2 && strcmp(text, "8\n") == 0, "pread");
	check_ways(MESSAGES + 1);
	check_refusals();
	/*
	 * after dup2() the descriptor refers to another file, and a read returns the bytes of that
	 * file
	 */
	check(dup2(open("/etc/passwd", O_RDONLY), fd) == fd, "dup2");
	check(read(fd, text, 4) == 4 && memcmp(text, "root", 4) == 0, "another file as it is");
	pair_close(&pair);
	return 0;
}
