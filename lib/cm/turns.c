/* SPDX-License-Identifier: BSD-3-Clause */

/* The accounts that have CM messages to transmit, in a ring: the accounts transmit in turn. */

#include "cm/turns.h"

#include "cm/queue.h"

void
uroce_cm_turns_init(struct uroce_cm_turns *turns)
{
	for (unsigned i = 0; i < UROCE_CM_NB_ACCOUNTS; i++)
		uroce_cm_queue_init(&turns->of[i].ids);
}

/*
 * Add an account to the end of the ring of accounts, so that its turn comes after those of all
 * other accounts.
 */
static void
enter_ring(struct uroce_cm_turns *turns, uint16_t account)
{
	struct uroce_cm_turn *const turn = &turns->of[account];

	if (turns->nb == 0) {
		turns->next_account = turn->prev = turn->next = account;
		return;
	}
	turn->next = turns->next_account;
	turn->prev = turns->of[turn->next].prev;
	turns->of[turn->prev].next = account;
	turns->of[turn->next].prev = account;
}

static void
leave_ring(struct uroce_cm_turns *turns, uint16_t account)
{
	const struct uroce_cm_turn *const turn = &turns->of[account];

	turns->of[turn->prev].next = turn->next;
	turns->of[turn->next].prev = turn->prev;
	if (turns->next_account == account)
		turns->next_account = turn->next;
}

void
uroce_cm_turns_push(struct uroce_cm *cm, struct uroce_cm_turns *turns, struct uroce_cm_conn *conn)
{
	struct uroce_cm_turn *const turn = &turns->of[conn->account_idx];

	/*
	 * record the account in whose queue the message waits, because the account of the CM id may
	 * change while the message waits
	 */
	conn->tx_account_idx = conn->account_idx;
	if (turn->ids.nb == 0)
		enter_ring(turns, conn->account_idx);
	uroce_cm_queue_push(cm, &turn->ids, UROCE_CM_LINK_TX, uroce_cm_id_of(cm, conn));
	turns->nb++;
}

void
uroce_cm_turns_remove(struct uroce_cm *cm, struct uroce_cm_turns *turns, struct uroce_cm_conn *conn)
{
	struct uroce_cm_turn *const turn = &turns->of[conn->tx_account_idx];

	uroce_cm_queue_remove(cm, &turn->ids, UROCE_CM_LINK_TX, uroce_cm_id_of(cm, conn));
	turns->nb--;
	if (turn->ids.nb == 0)
		leave_ring(turns, conn->tx_account_idx);
}

struct uroce_cm_conn *
uroce_cm_turns_pop(struct uroce_cm *cm, struct uroce_cm_turns *turns)
{
	const struct uroce_cm_turn *const turn = &turns->of[turns->next_account];
	struct uroce_cm_conn *conn;

	if (turns->nb == 0)
		return NULL;
	turns->next_account = turn->next;
	conn = &cm->conns[turn->ids.first];
	uroce_cm_turns_remove(cm, turns, conn);
	return conn;
}
