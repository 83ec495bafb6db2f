/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of memory with the help of the kernel. No memory is pinned, so a result may be outdated a
 * moment later. The program has promised that the memory stays as it is.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/range.h"

#include "datapath/madvise.h"

#define POPULATE_READ_MAX ((size_t)256 << 20)

/* Whether every page of a range of memory is mapped. `first` and `len` describe whole pages. */
static bool
is_mapped(uintptr_t first, size_t len)
{
	unsigned char resident[4096]; /* array that mincore() requires; its contents are not used */
	const size_t step = sizeof(resident) * (size_t)sysconf(_SC_PAGESIZE);

	for (size_t done = 0; done < len; done += step) {
		const size_t part = len - done < step ? len - done : step;

		if (mincore((void *)(first + done), part, resident) != 0)
			return false;
	}
	return true;
}

/*
 * An access right to memory, as a line of /proc/self/maps shows it: a letter, and the letter's
 * position in the column of rights.
 */
struct right {
	unsigned at;
	char letter;
	int advice; /* advice for madvise() that makes pages resident for this access */
};

static const struct right to_read = { 0, 'r', MADV_POPULATE_READ };
static const struct right to_write = { 1, 'w', MADV_POPULATE_WRITE };

/*
 * Whether the process has the access right `right` to all of a range, according to
 * /proc/self/maps. The lines of this file are sorted by address. Reading it takes long in a
 * process with many mappings. If /proc/self/maps cannot be opened, the result is true.
 */
static bool
is_listed(uintptr_t first, size_t len, const struct right *right)
{
	const uintptr_t end = first + len;
	uintptr_t from, to;
	char line[512], perms[5];
	FILE *const maps = fopen("/proc/self/maps", "re");

	if (maps == NULL)
		return true;
	while (first < end && fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, perms) != 3)
			/*
			 * `line` has the rest of a line of /proc/self/maps that is longer than
			 * `line`, so it is skipped
			 */
			continue;
		if (to <= first)
			continue;
		if (from > first || perms[right->at] != right->letter)
			break;
		first = to;
	}
	fclose(maps);
	return first >= end;
}

/*
 * Whether the process has an access right to every page of the range. The function asks the kernel
 * to make the pages resident, as a NIC that pins pages does. The request fails if a page is not
 * mapped or lacks the right. A request that succeeds saves workers page faults later. The kernel
 * does not support the request for memory of a device, and before Linux 5.14. In these cases the
 * function reads the list of mappings. It also reads the list for a large range that the process
 * only reads, because the program may never touch all of its pages.
 */
static bool
has_right(uintptr_t first, size_t len, const struct right *right)
{
	const bool is_asked = right == &to_write || len <= POPULATE_READ_MAX;

	if (is_asked && uroce_madvise((void *)first, len, right->advice) == 0)
		return true;
	if (is_asked && errno != EINVAL)
		return false;
	return is_mapped(first, len) && is_listed(first, len, right);
}

/*
 * Extend a range to whole pages.
 * @return false: the range ends beyond the address space
 */
static bool
round_out(const void *addr, size_t len, uintptr_t *first, size_t *whole_len)
{
	const uintptr_t page_mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	const uintptr_t end = ((uintptr_t)addr + len + page_mask) & ~page_mask;

	*first = (uintptr_t)addr & ~page_mask;
	*whole_len = end - *first;
	return end >= *first;
}

bool
uroce_range_is_good(const void *addr, size_t len, bool is_written)
{
	uintptr_t first;
	size_t whole_len;

	return round_out(addr, len, &first, &whole_len) &&
	       has_right(first, whole_len, is_written ? &to_write : &to_read);
}

bool
uroce_range_is_mapped(const void *addr, size_t len)
{
	uintptr_t first;
	size_t whole_len;

	return round_out(addr, len, &first, &whole_len) && is_mapped(first, whole_len);
}
