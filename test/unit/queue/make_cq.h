/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_QUEUE_MAKE_CQ_H
#define TEST_UNIT_QUEUE_MAKE_CQ_H

/**
 * @file
 * Completion queues for tests, each in memory of its own.
 */

#include <stdint.h>

#include "queue/cq.h"

/**
 * Create an empty CQ of `nb_cqe` entries. Before the initialization its memory is filled with a
 * pattern.
 */
struct uroce_cq *make_cq(uint32_t nb_cqe);

void free_cq(struct uroce_cq *cq);

/** Set both indexes of an empty CQ to `idx`. */
void start_at(struct uroce_cq *cq, uint32_t idx);

#endif /* TEST_UNIT_QUEUE_MAKE_CQ_H */
