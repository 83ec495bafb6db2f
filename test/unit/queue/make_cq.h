/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_QUEUE_MAKE_CQ_H
#define TEST_UNIT_QUEUE_MAKE_CQ_H

/**
 * @file
 * Completion queues in memory of their own, for tests.
 */

#include <stdint.h>

#include "queue/cq.h"

/** An empty CQ of `nb_cqe` entries, its memory full of rubbish before. */
struct uroce_cq *make_cq(uint32_t nb_cqe);

void free_cq(struct uroce_cq *cq);

/** Put both indices of an empty CQ at `idx`. */
void start_at(struct uroce_cq *cq, uint32_t idx);

#endif /* TEST_UNIT_QUEUE_MAKE_CQ_H */
