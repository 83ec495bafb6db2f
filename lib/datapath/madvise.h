/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_MADVISE_H
#define UROCE_DATAPATH_MADVISE_H

/**
 * @file
 * madvise() for threads of the library. libfabric and UCX watch the address space of a process:
 * they replace the first instructions of libc's madvise() by a jump while the process runs. A
 * thread that is inside the function then returns from the kernel into the middle of the jump. The
 * request to populate memory stays in the kernel for milliseconds. So the library makes the system
 * call itself.
 *
 * Any thread may call the function.
 */

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/** As madvise(2). @return 0, or -1 with errno */
static inline int
uroce_madvise(void *addr, size_t len, int advice)
{
	return (int)syscall(SYS_madvise, addr, len, advice);
}

#endif /* UROCE_DATAPATH_MADVISE_H */
