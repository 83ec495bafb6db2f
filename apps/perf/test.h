/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_TEST_H
#define PERF_TEST_H

/**
 * @file
 * The two kinds of test. Both sides call the same; each call runs one message size, and reports it.
 */

#include <stdint.h>

struct session;

/** @return 0, or -1 after a line on stderr; wrong bytes are added to session->wrong */
int test_bw(struct session *session, uint64_t size);
int test_lat(struct session *session, uint64_t size);

#endif /* PERF_TEST_H */
