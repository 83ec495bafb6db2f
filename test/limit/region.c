/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Allocates the region on huge pages if the kernel has some, as uroce-perf does for its buffer.
 * Otherwise page table walks would dominate the cost of a large working set.
 */

#include "region.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

uint8_t *
region_create(uint32_t len)
{
	const size_t room = (len + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	uint8_t *region = aligned_alloc(HUGE_PAGE, room);

	if (!region) {
		fprintf(stderr, "limit: no memory for a region of %u bytes\n", len);
		return NULL;
	}
	(void)madvise(region, room, MADV_HUGEPAGE);
	for (size_t i = 0; i < len; i++)
		region[i] = (uint8_t)(i * 7 + (i >> 8));
	return region;
}

void
region_destroy(uint8_t *region)
{
	free(region);
}
