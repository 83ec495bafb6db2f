/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A replacement of mmap64() for EAL. In the engine of drivers/ibverbs, which contains EAL, the
 * linker binds the calls of EAL to this function. In a program with the shared libraries of DPDK
 * the dynamic loader binds these calls. The function changes only a mapping of a hugepage that
 * fails: ordinary memory is mapped instead.
 *
 * EAL keeps the file descriptor of a page, and memif and vhost pass the descriptor to another
 * process to share the page. So the descriptor is replaced by one of the ordinary memory.
 */

#include "eal/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include <rte_eal.h>

/* mask of the flag bits in which MAP_HUGE_2MB and others give the page size */
#define HUGE_SIZE_FLAGS (63 << 26)

void *uroce_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset) __asm__("mmap");
void *uroce_mmap64(void *addr, size_t len, int prot, int flags, int fd,
		   off_t offset) __asm__("mmap64");

static atomic_size_t left; /* number of bytes of ordinary memory that may still replace hugepages */

void
pages_allow(size_t len)
{
	atomic_store(&left, len);
}

static void *
map_as_asked(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

static bool
is_hugepage(int flags, int fd)
{
	struct statfs fs;

	if (fd < 0)
		return (flags & MAP_HUGETLB) != 0;
	return fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC;
}

static bool
take_from_left(size_t len)
{
	size_t now = atomic_load(&left);

	while (now >= len)
		if (atomic_compare_exchange_weak(&left, &now, now - len))
			return true;
	return false;
}

/* Make the descriptor `fd` refer to a new file of ordinary memory. */
static bool
replace_file(int fd, size_t len)
{
	const int memory = memfd_create("ordinary", MFD_CLOEXEC);
	const bool is_done = memory >= 0 && ftruncate(memory, (off_t)len) == 0 &&
			     dup3(memory, fd, O_CLOEXEC) == fd;

	if (memory >= 0)
		close(memory);
	return is_done;
}

/*
 * Check whether ordinary memory is to replace a hugepage that could not be mapped. If so, `len` is
 * subtracted from `left`, and `fd`, the descriptor of the page, refers to ordinary memory
 * afterwards.
 */
static bool
is_replaced(size_t len, int flags, int fd, off_t offset)
{
	return atomic_load(&left) != 0 && (flags & MAP_FIXED) != 0 && offset == 0 &&
	       rte_eal_iova_mode() != RTE_IOVA_PA && is_hugepage(flags, fd) &&
	       take_from_left(len) && (fd < 0 || replace_file(fd, len));
}

void *
uroce_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *const mapped = map_as_asked(addr, len, prot, flags, fd, offset);
	const int err = errno;

	if (mapped == MAP_FAILED && err == ENOMEM && is_replaced(len, flags, fd, offset)) {
		flags &= ~(MAP_HUGETLB | MAP_POPULATE | HUGE_SIZE_FLAGS);
		return map_as_asked(addr, len, prot, flags, fd, 0);
	}
	errno = err;
	return mapped;
}

void *
uroce_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return uroce_mmap64(addr, len, prot, flags, fd, offset);
}
