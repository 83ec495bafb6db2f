/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_RC_H
#define TEST_UNIT_TRANSPORT_RC_H

/**
 * @file
 * A pair of RC QPs with default attributes. It is created before each test and freed after the
 * test.
 */

#include "pair.h"

extern struct pair pair;

/** Setup and teardown functions for cmocka. */
int open_pair(void **state);
int close_pair(void **state);

/** Post `nb` WRITEs of `len` bytes each at side A. */
void post_writes(unsigned nb, uint32_t len);

void post_read(uint32_t len);

#endif /* TEST_UNIT_TRANSPORT_RC_H */
