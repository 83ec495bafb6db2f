/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * On-demand paging by madvise(). MADV_POPULATE_READ and MADV_POPULATE_WRITE behave like an access
 * to each page, but a bad access returns an error instead of raising a signal.
 */

#include "datapath/device/odp.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "datapath/madvise.h"

bool
uroce_odp_is_possible(void)
{
	const uint8_t here = 0;

	/*
	 * An emulator or a sandbox may accept any advice of madvise() and do nothing. So an invalid
	 * address is tried too, for which madvise() must fail.
	 */
	return uroce_odp_page_in(&here, sizeof(here), true) == 0 &&
	       uroce_odp_page_in(NULL, sizeof(here), false) != 0;
}

int
uroce_odp_page_in(const void *addr, uint64_t len, bool is_written)
{
	const uintptr_t page_mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	const uintptr_t first = (uintptr_t)addr & ~page_mask;
	const uintptr_t end = ((uintptr_t)addr + len + page_mask) & ~page_mask;
	const int advice = is_written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	if (end < first)
		return -EFAULT;
	/*
	 * madvise() is not repeated after EINTR: after a signal the kernel itself continues the
	 * call, unless the signal ends the process.
	 */
	if (first == end || uroce_madvise((void *)first, end - first, advice) == 0)
		return 0;
	/*
	 * ENOMEM of madvise() is reported as -EFAULT, because madvise() returns ENOMEM also for a
	 * range without a mapping.
	 */
	return errno == EHWPOISON || errno == EAGAIN ? -ENOMEM : -EFAULT;
}
