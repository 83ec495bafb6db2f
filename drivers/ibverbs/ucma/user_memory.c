/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between this library and memory of the program, by process_vm_readv() and
 * process_vm_writev(). They copy memory within this process. They return EFAULT for memory that is
 * not mapped or not writable, and raise no signal.
 */

#include "user_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

typedef ssize_t copy_fn(pid_t pid, const struct iovec *local, unsigned long nb_local,
			const struct iovec *remote, unsigned long nb_remote, unsigned long flags);

/*
 * Copy between memory of this library, `own`, and memory of the program, `user`.
 * @return 0; -EFAULT; another -errno if the kernel refuses the system call itself
 */
static int
copy(copy_fn *copy_memory, void *own, void *user, size_t len)
{
	const struct iovec local = { .iov_base = own, .iov_len = len };
	const struct iovec remote = { .iov_base = user, .iov_len = len };
	const int err = errno;
	const ssize_t nb = len != 0 ? copy_memory(getpid(), &local, 1, &remote, 1, 0) : 0;
	const int ret = nb == (ssize_t)len ? 0 : nb >= 0 ? -EFAULT : -errno;

	errno = err;
	return ret;
}

int
user_memory_read(void *to, const void *from, size_t len)
{
	const int ret = copy(process_vm_readv, to, (void *)(uintptr_t)from, len);

	if (ret == 0 || ret == -EFAULT)
		return ret;
	memcpy(to, from, len);
	return 0;
}

int
user_memory_write(uint64_t to, const void *from, size_t len)
{
	void *const user = (void *)(uintptr_t)to;
	const int ret = copy(process_vm_writev, (void *)(uintptr_t)from, user, len);

	if (ret == 0 || ret == -EFAULT)
		return ret;
	memcpy(user, from, len);
	return 0;
}
