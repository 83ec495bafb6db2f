/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_TEST_H
#define PERF_TEST_H

/**
 * @file
 * The two kinds of test: bandwidth and latency. Both sides call test_bw() or test_lat(), for the
 * kind of their test. Each call tests one message size and reports the result.
 */

#include <stdint.h>

struct session;

/**
 * Run a test for one message size: bandwidth, or latency by test_lat(). Wrong bytes are added to
 * session->wrong.
 * @return 0, or -1 after a line on stderr
 */
int test_bw(struct session *session, uint64_t size);
int test_lat(struct session *session, uint64_t size);

#endif /* PERF_TEST_H */
