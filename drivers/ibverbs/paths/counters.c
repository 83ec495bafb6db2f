/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and updates the files of RDMA devices' counters, which replace files of the kernel in
 * sysfs. An open counter is a file in memory (memfd) whose name is the path of the counter. So its
 * descriptor alone identifies the counter. counters_opened has a bit for each such descriptor, so
 * that a read of another descriptor needs no look-up of the name.
 */

#include "counters.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "counted.h"

#define CLASS "/sys/class/infiniband/"
/* prefix that the kernel puts before the name of a memfd in /proc/self/fd */
#define MEMORY "/memfd:"

_Atomic(unsigned long) counters_opened[COUNTERS_FDS_MAX / COUNTERS_WORD];

/* The device and the counter that the path of a counter's file names. */
struct counter {
	char device[IBV_SYSFS_NAME_MAX];
	const char *name;
};

/* --- names ---------------------------------------------------------------------------------------- */

/*
 * The files in the directory "counters" of a port: those counters of the kernel that uroce counts,
 * under the names of the kernel.
 */
static const char *const port_names[] = {
	"port_xmit_data",         "port_rcv_data",         "port_xmit_packets",
	"port_rcv_packets",       "unicast_xmit_packets",  "unicast_rcv_packets",
	"multicast_xmit_packets", "multicast_rcv_packets", "port_rcv_errors",
	"port_xmit_discards",     "link_downed",
};

/*
 * The files in the directory "hw_counters" of a port, under the names of the drivers rxe and mlx5.
 */
static const char *const hw_names[] = {
	"sent_pkts",
	"rcvd_pkts",
	"rdma_sends",
	"rdma_recvs",
	"rx_write_requests",
	"rx_read_requests",
	"rx_atomic_requests",
	"duplicate_request",
	"out_of_sequence",
	"out_of_seq_request",
	"out_of_buffer",
	"send_rnr_err",
	"resp_local_length_error",
	"resp_remote_access_errors",
	"resp_cqe_error",
	"resp_cqe_flush_error",
	"packet_seq_err",
	"rcvd_seq_err",
	"implied_nak_seq_err",
	"rcvd_rnr_err",
	"rnr_nak_retry_err",
	"local_ack_timeout_err",
	"retry_exceeded_err",
	"retry_rnr_exceeded_err",
	"req_remote_invalid_request",
	"req_remote_access_errors",
	"req_cqe_error",
	"req_cqe_flush_error",
	"np_ecn_marked_roce_packets",
	"np_cnp_sent",
	"rp_cnp_handled",
	"rp_cnp_ignored",
	"rx_icrc_encapsulated",
	"link_downed",
};

const char *
counters_name(bool is_hw, unsigned idx)
{
	const size_t nb = is_hw ? sizeof(hw_names) / sizeof(hw_names[0])
				: sizeof(port_names) / sizeof(port_names[0]);

	return idx < nb ? (is_hw ? hw_names : port_names)[idx] : NULL;
}

static const char *
find_name(bool is_hw, const char *name)
{
	const char *known;

	for (unsigned i = 0; (known = counters_name(is_hw, i)) != NULL; i++)
		if (strcmp(known, name) == 0)
			return known;
	return NULL;
}

/* --- paths ---------------------------------------------------------------------------------------- */

static bool
parse(const char *path, struct counter *counter)
{
	char name[64], folder[16];
	int end = 0;

	if (strncmp(path, CLASS, strlen(CLASS)) != 0 ||
	    sscanf(path + strlen(CLASS), "%63[^/]/ports/1/%15[^/]/%63[^/]%n", counter->device,
		   folder, name, &end) != 3 ||
	    path[strlen(CLASS) + (size_t)end] != '\0')
		return false;
	counter->name = NULL;
	if (strcmp(folder, "counters") == 0 || strcmp(folder, "hw_counters") == 0)
		counter->name = find_name(folder[0] == 'h', name);
	return counter->name != NULL;
}

/*
 * Get the absolute path of a counter from a relative path and the directory `dir`, which may be a
 * directory of the private tree of files (tree.h).
 */
static bool
resolve(int dir, const char *path, char where[TREE_PATH_MAX])
{
	char link[32], real[PATH_MAX];
	const char *name;
	ssize_t len;

	if (dir == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/self/cwd");
	else
		snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	len = readlink(link, real, sizeof(real) - 2);
	if (len < 0)
		return false;
	/*
	 * a slash is appended to the directory's path, so that the directory of all RDMA devices
	 * (CLASS) also matches
	 */
	real[len++] = '/';
	real[len] = '\0';
	name = strstr(real, CLASS);
	return name != NULL && name != real &&
	       snprintf(where, TREE_PATH_MAX, "%s%s", name, path) < TREE_PATH_MAX;
}

bool
counters_find(int dir, const char *path, char where[TREE_PATH_MAX])
{
	const int err = errno;
	struct counter counter;
	const char *slash;
	bool is_found;

	if (path == NULL)
		return false;
	if (path[0] == '/') {
		char there[TREE_PATH_MAX];

		return parse(path, &counter) && tree_redirect(path, there) == there &&
		       access(there, F_OK) == 0 &&
		       snprintf(where, TREE_PATH_MAX, "%s", path) < TREE_PATH_MAX;
	}
	/*
	 * most relative paths that programs use do not end with the name of a counter, so no system
	 * call is needed for them
	 */
	slash = strrchr(path, '/');
	slash = slash != NULL ? slash + 1 : path;
	if (find_name(false, slash) == NULL && find_name(true, slash) == NULL)
		return false;
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	is_found = resolve(dir, path, where) && parse(where, &counter);
	errno = err;
	return is_found;
}

/* --- files ---------------------------------------------------------------------------------------- */

static bool
put_number(int fd, const struct counter *counter)
{
	char text[32];
	const int len = snprintf(text, sizeof(text), "%" PRIu64 "\n",
				 counted(counter->device, counter->name));

	return pwrite(fd, text, (size_t)len, 0) == len && ftruncate(fd, len) == 0;
}

/*
 * Open the memfd of a counter again, with other access rights and with a file position of its own.
 */
static int
open_again(int fd, int flags)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags);
}

int
counters_open(const char *where, int flags)
{
	struct counter counter;
	int memory, fd = -1;

	if ((flags & O_ACCMODE) != O_RDONLY) {
		errno = EACCES;
		return -1;
	}
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) || (flags & O_DIRECTORY) != 0) {
		errno = (flags & O_DIRECTORY) != 0 ? ENOTDIR : EEXIST;
		return -1;
	}
	memory = memfd_create(where, MFD_CLOEXEC);
	if (memory < 0)
		return -1;
	if (parse(where, &counter) && put_number(memory, &counter))
		fd = open_again(memory, O_RDONLY | (flags & (O_CLOEXEC | O_NONBLOCK)));
	close(memory);
	if (fd >= 0 && (unsigned)fd < COUNTERS_FDS_MAX)
		atomic_fetch_or(&counters_opened[(unsigned)fd / COUNTERS_WORD],
				1ul << (unsigned)fd % COUNTERS_WORD);
	return fd;
}

/* Find the counter to which an open file belongs, by the name of its memfd. */
static bool
parse_file(int fd, struct counter *counter)
{
	static const char suffix[] = " (deleted)";
	char link[32], path[PATH_MAX], *end;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	end = strstr(path, suffix);
	if (end != NULL)
		*end = '\0';
	return strncmp(path, MEMORY, strlen(MEMORY)) == 0 && parse(path + strlen(MEMORY), counter);
}

void
counters_renew(int fd, off_t at)
{
	const int err = errno;
	struct counter counter;
	int write_fd;

	if ((at < 0 ? lseek(fd, 0, SEEK_CUR) : at) == 0 && parse_file(fd, &counter)) {
		write_fd = open_again(fd, O_WRONLY | O_CLOEXEC);
		if (write_fd >= 0) {
			(void)put_number(write_fd, &counter);
			close(write_fd);
		}
	}
	errno = err;
}
