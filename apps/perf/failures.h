/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_FAILURES_H
#define PERF_FAILURES_H

/**
 * @file
 * Counts completions in error by their status, and describes the first of these completions in
 * full.
 */

#include <stdint.h>
#include <infiniband/verbs.h>

#define FAILURES_STATUSES 32u

struct failures {
	/* number of failed send requests for each enum ibv_wc_status */
	uint64_t sends[FAILURES_STATUSES];
	uint64_t recvs[FAILURES_STATUSES];
	/* number of completions in error, of which the first are described on stderr */
	uint64_t nb_reported;
};

/**
 * Count a completion in error.
 * @param request  name of the failed request, such as "RDMA WRITE"; NULL for a receive request
 */
void failures_add(struct failures *failures, const struct ibv_wc *wc, const char *request);

/**
 * Print the counts of failures in one line on stderr. Nothing is printed if there are no failures.
 */
void failures_print(const struct failures *failures);

#endif /* PERF_FAILURES_H */
