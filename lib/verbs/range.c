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

#define POPULATE_READ_MAX ((size_t)256 << 20)

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

/* A place and a letter of the rights in the kernel's list of mappings. */
struct right {
	unsigned at;
	char letter;
	int advice; /* to have the pages ready for it */
};

static const struct right to_read = { 0, 'r', MADV_POPULATE_READ };
static const struct right to_write = { 1, 'w', MADV_POPULATE_WRITE };

/*
 * Whether the range has a right, by the kernel's list of mappings, which is sorted; a process with a
 * thousand of them waits for a millisecond. Where there is no /proc the answer is yes: the program
 * knows its memory.
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
			continue; /* the tail of a long path */
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
 * The kernel is asked to have the pages ready, as it must for a NIC that pins them: that finds out,
 * and later no worker stops for a page fault. Memory of a device, and a kernel older than 5.14,
 * refuse the question itself. What is only read may be large and never touched: it is looked up.
 */
static bool
has_right(uintptr_t first, size_t len, const struct right *right)
{
	const bool is_asked = right == &to_write || len <= POPULATE_READ_MAX;

	if (is_asked && madvise((void *)first, len, right->advice) == 0)
		return true;
	if (is_asked && errno != EINVAL)
		return false;
	return is_mapped(first, len) && is_listed(first, len, right);
}

/* The whole pages of a range. @return false: it is longer than the address space */
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
