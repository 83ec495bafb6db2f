/* SPDX-License-Identifier: BSD-3-Clause */

/* Owners of CM ids, and their accounts (groups of owners whose ids are limited together). */

#include "cm/owner.h"

#include <errno.h>

#include "cm/queue.h"

static struct uroce_cm_owner *
owner_of(struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	return &cm->owners[conn->owner];
}

static uint16_t
account_index(const struct uroce_cm *cm, uint32_t account)
{
	const uint64_t word = account;

	return (uint16_t)(uroce_siphash(&cm->hash_key, &word, 1) % UROCE_CM_NB_ACCOUNTS);
}

void
uroce_cm_owner_init(struct uroce_cm *cm)
{
	const uint32_t nb = cm->conf.max_owners ? cm->conf.max_owners : 1;

	for (uint32_t i = 0; i < nb; i++) {
		uroce_cm_queue_init(&cm->owners[i].events);
		uroce_cm_queue_init(&cm->owners[i].ids);
		cm->owners[i].account_idx = account_index(cm, 0);
	}
}

void
uroce_cme_set_account(struct uroce_cm *cm, uint16_t owner, uint32_t account)
{
	cm->owners[owner].account_idx = account_index(cm, account);
}

void
uroce_cm_owner_take(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint16_t owner)
{
	uroce_cm_owner_leave(cm, conn);
	uroce_cm_owner_discount(cm, conn);
	conn->owner = owner;
	conn->has_owner = true;
	uroce_cm_queue_push(cm, &owner_of(cm, conn)->ids, UROCE_CM_LINK_OWNED,
			    uroce_cm_id_of(cm, conn));
	conn->account_idx = owner_of(cm, conn)->account_idx;
	conn->is_counted = true;
	cm->nb_ids_of[conn->account_idx]++;
}

void
uroce_cm_owner_leave(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (conn->has_owner)
		uroce_cm_queue_remove(cm, &owner_of(cm, conn)->ids, UROCE_CM_LINK_OWNED,
				      uroce_cm_id_of(cm, conn));
	conn->has_owner = false;
}

void
uroce_cm_owner_discount(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (conn->is_counted)
		cm->nb_ids_of[conn->account_idx]--;
	conn->is_counted = false;
}

uint32_t
uroce_cm_owner_nb_free(const struct uroce_cm *cm)
{
	return cm->free_ids.nb + cm->conf.max_ids - cm->nb_begun + cm->lingering.nb;
}

bool
uroce_cm_owner_may_add(const struct uroce_cm *cm, uint16_t owner, uint32_t nb_reserved)
{
	return !cm->conf.has_accounts ||
	       cm->nb_ids_of[cm->owners[owner].account_idx] + nb_reserved <
		       uroce_cm_owner_nb_free(cm);
}

int
uroce_cme_check_account(const struct uroce_cm *cm, uint16_t owner)
{
	return uroce_cm_owner_may_add(cm, owner, 0) ? 0 : -EDQUOT;
}
