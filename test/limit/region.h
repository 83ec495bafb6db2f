/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_REGION_H
#define LIMIT_REGION_H

/**
 * @file
 * The memory for payload. If it is larger than the caches (-r), it is like the working set of a
 * program that uses its data once.
 */

#include <stdint.h>

/** @return `len` bytes, written once so that each page is present; NULL: no memory */
uint8_t *region_create(uint32_t len);

void region_destroy(uint8_t *region);

#endif /* LIMIT_REGION_H */
