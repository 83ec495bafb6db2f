/* SPDX-License-Identifier: BSD-3-Clause */
/* Transmission of messages of communication management by QP 1. */

#include "verbs/cm/sender.h"

#include <errno.h>
#include <string.h>
#include <rte_common.h>

#define SEND_BATCH 32u

/* Time between two look-ups of the destinations whose addresses are being resolved. */
#define RETRY_NS UINT64_C(1000000)

/* Maximum time for which a message waits for the resolution of its destination. */
#define WAIT_NS UINT64_C(100000000)

int
uroce_cm_sender_init(struct uroce_cm_sender *sender, struct uroce_gsi *gsi, struct uroce_dev *dev)
{
	sender->gsi = gsi;
	sender->nb_unresolved = 0;
	sender->nb_dropped = 0;
	memset(&sender->shares, 0, sizeof(sender->shares));
	return uroce_cm_path_cache_init(&sender->paths, dev);
}

static bool
is_waiting(const struct uroce_cm_sender *sender, const struct uroce_cm_tx *tx)
{
	for (unsigned i = 0; i < sender->nb_unresolved; i++)
		if (memcmp(sender->unresolved[i].tx.mad, tx->mad, sizeof(tx->mad)) == 0)
			return true;
	return false;
}

/*
 * Find the message that a new message replaces first, if the list of messages with unresolved
 * destinations is full.
 */
static struct uroce_cm_unresolved *
find_replaced(struct uroce_cm_sender *sender)
{
	struct uroce_cm_unresolved *replaced = &sender->unresolved[0];

	for (unsigned i = 1; i < sender->nb_unresolved; i++) {
		struct uroce_cm_unresolved *const one = &sender->unresolved[i];

		if (uroce_cm_shares_is_before(&sender->shares, uroce_cm_shares_party(&one->tx),
					      one->end_ns, uroce_cm_shares_party(&replaced->tx),
					      replaced->end_ns))
			replaced = one;
	}
	return replaced;
}

/*
 * Get an entry for another message of a party (verbs/cm/shares.h) in the list of messages with
 * unresolved destinations. If the list is full, the new message replaces a message of another party
 * that has more messages in the list.
 * @return the entry; NULL: the party must not get another entry
 */
static struct uroce_cm_unresolved *
get_place(struct uroce_cm_sender *sender, unsigned party)
{
	struct uroce_cm_unresolved *replaced;

	if (party == UROCE_CM_PARTY_WIRE &&
	    sender->shares.nb_of[party] >= UROCE_CM_UNRESOLVED_WIRE_MAX)
		return NULL;
	if (sender->nb_unresolved < UROCE_CM_UNRESOLVED_MAX)
		return &sender->unresolved[sender->nb_unresolved++];
	replaced = find_replaced(sender);
	if (!uroce_cm_shares_yields(&sender->shares, uroce_cm_shares_party(&replaced->tx), party))
		return NULL;
	sender->shares.nb_of[uroce_cm_shares_party(&replaced->tx)]--;
	sender->nb_dropped++;
	return replaced;
}

/*
 * Let a message wait until its destination is resolved. If a waiting message has the same bytes,
 * the new message is a repetition of it, and is not added.
 */
static void
add_unresolved(struct uroce_cm_sender *sender, const struct uroce_cm_tx *tx, uint64_t now_ns)
{
	const unsigned party = uroce_cm_shares_party(tx);
	struct uroce_cm_unresolved *place;

	if (is_waiting(sender, tx))
		return;
	if (sender->nb_unresolved == 0)
		sender->retry_ns = now_ns + RETRY_NS;
	place = get_place(sender, party);
	if (place == NULL) {
		sender->nb_dropped++;
		return;
	}
	sender->shares.nb_of[party]++;
	*place = (struct uroce_cm_unresolved){ .end_ns = now_ns + WAIT_NS, .tx = *tx };
}

/*
 * Send a message if its path is known.
 * @return whether the message waits for the resolution of its destination
 */
static bool
send_or_wait(struct uroce_cm_sender *sender, const struct uroce_cm_tx *tx, uint64_t now_ns)
{
	const struct uroce_path *path;
	const int ret = uroce_cm_path_cache_find(&sender->paths, tx, now_ns, &path);

	if (ret == 0)
		uroce_gsi_send(sender->gsi, path, tx->mad);
	else if (ret != -EAGAIN)
		sender->nb_dropped++;
	return ret == -EAGAIN;
}

/*
 * Look up the destination of a message that waits for the resolution of its destination.
 * @return whether the message still waits
 */
static bool
retry_one(struct uroce_cm_sender *sender, const struct uroce_cm_unresolved *one, uint64_t now_ns)
{
	const bool has_room = uroce_gsi_room(sender->gsi) > 0;

	if (has_room && !send_or_wait(sender, &one->tx, now_ns))
		return false;
	if (now_ns >= one->end_ns)
		sender->nb_dropped++;
	return now_ns < one->end_ns;
}

static void
retry_unresolved(struct uroce_cm_sender *sender, uint64_t now_ns)
{
	unsigned nb_kept = 0;

	for (unsigned i = 0; i < sender->nb_unresolved; i++) {
		const struct uroce_cm_unresolved *const one = &sender->unresolved[i];

		if (retry_one(sender, one, now_ns))
			sender->unresolved[nb_kept++] = *one;
		else
			sender->shares.nb_of[uroce_cm_shares_party(&one->tx)]--;
	}
	sender->nb_unresolved = nb_kept;
	sender->retry_ns = now_ns + RETRY_NS;
}

bool
uroce_cm_sender_run(struct uroce_cm_sender *sender, struct uroce_cm *cm, uint64_t now_ns)
{
	struct uroce_cm_tx tx[SEND_BATCH];
	unsigned nb;

	if (sender->nb_unresolved > 0 && now_ns >= sender->retry_ns)
		retry_unresolved(sender, now_ns);
	nb = RTE_MIN(uroce_gsi_room(sender->gsi), SEND_BATCH);
	nb = nb > 0 ? uroce_cme_send(cm, tx, nb, now_ns) : 0;
	for (unsigned i = 0; i < nb; i++)
		if (send_or_wait(sender, &tx[i], now_ns))
			add_unresolved(sender, &tx[i], now_ns);
	return uroce_cme_has_tx(cm) && uroce_gsi_room(sender->gsi) > 0;
}
