/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_IBVERBS_PAIR_H
#define UROCE_TEST_IBVERBS_PAIR_H

/**
 * @file
 * Two connected RC QPs of one device, made by ibv_ calls alone: programs with this file are built
 * for libibverbs and know nothing of uroce. If a call fails, the program prints a line and ends.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#define PAIR_LEN 4096u

struct pair {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr; /* region over `buf` */
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	uint8_t *buf; /* first PAIR_LEN bytes: data to send; next PAIR_LEN bytes: received data */
};

/** If `is_so` is false, print `what` and end the program. */
void check(bool is_so, const char *what);

/** Open the first device, and connect two QPs on it. */
void pair_open(struct pair *pair);

/** Send a message from QP 0 to QP 1 and compare its bytes. */
void pair_exchange(struct pair *pair, uint8_t value);

void pair_close(struct pair *pair);

#endif /* UROCE_TEST_IBVERBS_PAIR_H */
