/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_IBVERBS_PAIR_H
#define UROCE_TEST_IBVERBS_PAIR_H

/**
 * @file
 * Two connected RC QPs of one device, by ibv_ calls alone: these programs are built for libibverbs
 * and know nothing of uroce. Any failure ends the program with a line.
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
	uint8_t *buf; /* PAIR_LEN bytes to send, and as many to receive */
};

/** End the program unless `is_so`. */
void check(bool is_so, const char *what);

/** Open the first device, and connect two QPs on it. */
void pair_open(struct pair *pair);

/** Send a message from QP 0 to QP 1 and compare its bytes. */
void pair_exchange(struct pair *pair, uint8_t value);

void pair_close(struct pair *pair);

#endif /* UROCE_TEST_IBVERBS_PAIR_H */
