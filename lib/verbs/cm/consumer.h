/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CONSUMER_H
#define UROCE_VERBS_CM_CONSUMER_H

/**
 * @file
 * A consumer: a user of the agent of a device (verbs/cm/agent.h) in this process. It implements the
 * calls of verbs/cm/manager.h.
 *
 * A consumer cannot use the ids of other consumers: its calls with such an id return -EINVAL.
 */

#include "verbs/cm/manager.h"

/**
 * Make a consumer of the agent of the context's device. If the device has no agent, the agent is
 * created.
 * @return 0, or -errno of uroce_cm_agent_get() and uroce_cm_agent_add()
 */
int uroce_cm_consumer_open(struct ibv_context *context, void (*notify)(void *arg), void *arg,
			   struct uroce_cm_manager **manager);

/**
 * Assign a consumer to an account: ids of one account, such as those of one user, are limited
 * together, see uroce_cme_set_account(). The function must not be called in a child of fork().
 * @param manager  a consumer
 */
void uroce_cm_consumer_set_account(struct uroce_cm_manager *manager, uint32_t account);

#endif /* UROCE_VERBS_CM_CONSUMER_H */
