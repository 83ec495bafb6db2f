/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel is asked about memory. Nothing is pinned, so what it says may be wrong a moment later; the
 * program promised that it will not be.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/range.h"

/* Whether every page of the range is mapped; `first` and `len` are of whole pages. */
static bool
is_mapped(uintptr_t first, size_t len)
{
	unsigned char resident[4096]; /* of no interest */
	const size_t step = sizeof(resident) * (size_t)sysconf(_SC_PAGESIZE);

	for (size_t done = 0; done < len; done += step) {
		const size_t part = len - done < step ? len - done : step;

		if (mincore((void *)(first + done), part, resident) != 0)
			return false;
	}
	return true;
}

/*
 * Whether the range may be written, by the kernel's list of mappings, which is sorted; a process
 * with a thousand of them waits for a millisecond. Where there is no /proc the answer is yes: the
 * program knows its memory.
 */
static bool
is_listed_writable(uintptr_t first, size_t len)
{
	const uintptr_t end = first + len;
	uintptr_t from, to;
	char line[512], perms[5];
	FILE *const maps = fopen("/proc/self/maps", "re");

	if (maps == NULL)
		return true;
	while (first < end && fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, perms) != 3)
			continue; /* the tail of a long path */
		if (to <= first)
			continue;
		if (from > first || perms[1] != 'w')
			break;
		first = to;
	}
	fclose(maps);
	return first >= end;
}

/*
 * Whether the range may be written. The kernel is asked to have its pages ready for it, as it must
 * for a NIC that pins them: that finds out, and later no worker stops for a page fault. Memory of a
 * device, and a kernel older than 5.14, refuse the question itself.
 */
static bool
is_writable(uintptr_t first, size_t len)
{
	if (madvise((void *)first, len, MADV_POPULATE_WRITE) == 0)
		return true;
	return errno == EINVAL && is_mapped(first, len) && is_listed_writable(first, len);
}

bool
uroce_range_is_good(const void *addr, size_t len, bool is_written)
{
	const uintptr_t page_mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	const uintptr_t first = (uintptr_t)addr & ~page_mask;
	const uintptr_t end = ((uintptr_t)addr + len + page_mask) & ~page_mask;

	if (end < first)
		return false;
	return is_written ? is_writable(first, end - first) : is_mapped(first, end - first);
}
