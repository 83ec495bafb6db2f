/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_IBVERBS_PAIR_H
#define UROCE_TEST_IBVERBS_PAIR_H

/**
 * @file
 * Two RC QPs of one device that are connected with one another, by ibv_ calls alone: these programs are built for
 * libibverbs, and know nothing of uroce. Whatever fails ends the program with a line.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#define PAIR_LEN 4096u

struct pair {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr; /* over buf */
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	uint8_t *buf; /* PAIR_LEN bytes to send, and as many to receive */
};

/** End the program unless `is_so`. */
void check(bool is_so, const char *what);

/** Of the first device that there is. */
void pair_open(struct pair *pair);

/** A message from QP 0 to QP 1, whose bytes are compared. */
void pair_exchange(struct pair *pair, uint8_t value);

void pair_close(struct pair *pair);

#endif /* UROCE_TEST_IBVERBS_PAIR_H */
