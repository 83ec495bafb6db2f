/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_QUEUE_MAKE_CQ_H
#define TEST_UNIT_QUEUE_MAKE_CQ_H

/**
 * @file
 * Completion queues for tests, in memory of their own.
 */

#include <stdint.h>

#include "queue/cq.h"

/** Create an empty CQ of `nb_cqe` entries. Its memory is filled with a pattern before. */
struct uroce_cq *make_cq(uint32_t nb_cqe);

void free_cq(struct uroce_cq *cq);

/** Set both indexes of an empty CQ to `idx`. */
void start_at(struct uroce_cq *cq, uint32_t idx);

#endif /* TEST_UNIT_QUEUE_MAKE_CQ_H */
