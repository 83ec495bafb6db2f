/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_REGION_H
#define LIMIT_REGION_H

/**
 * @file
 * The region: the memory for payload. A region that is larger than the processor's caches (option
 * -r) is like the working set of a program that uses its data once.
 */

#include <stdint.h>

/**
 * Allocate a region of `len` bytes, and write it once, so that each page is present.
 * @return the region; NULL: no memory
 */
uint8_t *region_create(uint32_t len);

void region_destroy(uint8_t *region);

#endif /* LIMIT_REGION_H */
