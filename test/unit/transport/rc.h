/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_RC_H
#define TEST_UNIT_TRANSPORT_RC_H

/**
 * @file
 * One pair of RC QPs with sensible attributes, made before each test and freed after it.
 */

#include "pair.h"

extern struct pair pair;

/** cmocka's set-up and tear-down. */
int open_pair(void **state);
int close_pair(void **state);

/** A posts `nb` WRITEs of `len` bytes, or a READ. */
void post_writes(unsigned nb, uint32_t len);

void post_read(uint32_t len);

#endif /* TEST_UNIT_TRANSPORT_RC_H */
