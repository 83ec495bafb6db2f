/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Serves the file system of fuse.h. The server reads requests from /dev/fuse and writes replies
 * [linux/fuse.h]. It replies to INIT, LOOKUP, GETATTR and OPEN, which open the file, and to FLUSH
 * of the process that opened the file. It reads all other requests without a reply: SIGKILL does
 * not end a process that waits for the reply to a request which was read.
 */

#include "fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_NODE 2u
#define VALID_S   3600u
/* length of the buffer of a request; the kernel requires room for a WRITE */
#define BUFFER_LEN 65536u

static struct fuse_attr
get_attr(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0777 : S_IFREG | 0666,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void
reply(int device, uint64_t unique, const void *body, size_t len)
{
	const struct fuse_out_header header = { (uint32_t)(sizeof(header) + len), 0, unique };
	const struct iovec parts[2] = { { (void *)(uintptr_t)&header, sizeof(header) },
					{ (void *)(uintptr_t)body, len } };

	(void)!writev(device, parts, 2);
}

/* Remember a process that gets no reply. */
static void
add_waiting(struct fuse_waiting *waiting, pid_t pid)
{
	const unsigned nb = atomic_load(&waiting->nb);

	if (nb == FUSE_WAITING_MAX)
		return;
	waiting->pid[nb] = pid;
	atomic_store(&waiting->nb, nb + 1);
}

static void
handle_request(int device, const struct fuse_in_header *request, struct fuse_waiting *waiting)
{
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
					    .minor = FUSE_KERNEL_MINOR_VERSION,
					    .max_write = 4096 };
	const struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					      .entry_valid = VALID_S,
					      .attr_valid = VALID_S,
					      .attr = get_attr(FILE_NODE) };
	const struct fuse_attr_out attr = { .attr_valid = VALID_S,
					    .attr = get_attr(request->nodeid) };
	const struct fuse_open_out opened = { .fh = 1 };

	switch (request->opcode) {
	case FUSE_INIT:
		reply(device, request->unique, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		reply(device, request->unique, &entry, sizeof(entry));
		return;
	case FUSE_GETATTR:
		reply(device, request->unique, &attr, sizeof(attr));
		return;
	case FUSE_OPEN:
		reply(device, request->unique, &opened, sizeof(opened));
		return;
	case FUSE_FLUSH:
		/*
		 * reply to the process that opened the file, so that this process can end; the
		 * server ends after this process
		 */
		if (request->pid == (uint32_t)getppid())
			reply(device, request->unique, NULL, 0);
		else
			add_waiting(waiting, (pid_t)request->pid);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
	case FUSE_RELEASE:
		/* no process waits for a reply */
		return;
	default:
		add_waiting(waiting, (pid_t)request->pid);
		return;
	}
}

static void
serve(int device, struct fuse_waiting *waiting)
{
	static union {
		struct fuse_in_header request;
		char bytes[BUFFER_LEN];
	} in;
	ssize_t len;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	do {
		len = read(device, in.bytes, sizeof(in.bytes));
		if (len >= (ssize_t)sizeof(in.request))
			handle_request(device, &in.request, waiting);
	} while (len > 0 || errno == EINTR || errno == ENOENT || errno == EAGAIN);
	_exit(0);
}

static bool
mount_device(const char *folder, int device)
{
	char options[128];

	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
	return unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("uroced-test", folder, "fuse", MS_NOSUID | MS_NODEV, options) == 0;
}

int
fuse_open_file(const char *folder, struct fuse_waiting *waiting, const char **why)
{
	const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char path[256];
	pid_t server;

	*why = "no /dev/fuse";
	if (device < 0)
		return -1;
	*why = "FUSE cannot be mounted";
	server = mount_device(folder, device) ? fork() : -1;
	if (server == 0)
		serve(device, waiting);
	/*
	 * leave the only descriptor to the server, so that all requests are aborted when the server
	 * ends
	 */
	(void)close(device);
	if (server < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/file", folder);
	*why = "a file of FUSE cannot be opened";
	return open(path, O_RDWR | O_CLOEXEC);
}
