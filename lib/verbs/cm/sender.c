/* SPDX-License-Identifier: BSD-3-Clause */
/* Transmission of messages of communication management by QP 1. */

#include "verbs/cm/sender.h"

#include <errno.h>
#include <string.h>
#include <rte_common.h>

#define SEND_BATCH 32u

/* Time between two look-ups of the destinations that are being resolved. */
#define RETRY_NS UINT64_C(1000000)

/* Maximum time for which a message waits for the resolution of its destination. */
#define WAIT_NS UINT64_C(100000000)

int
uroce_cm_sender_init(struct uroce_cm_sender *sender, struct uroce_gsi *gsi, struct uroce_dev *dev)
{
	sender->gsi = gsi;
	sender->nb_unresolved = 0;
	sender->nb_dropped = 0;
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
 * Let a message wait for the resolution of its destination. If a message with the same bytes waits
 * already, the new one is its repetition, and is not added. Replies use only half of the list,
 * because peers cause them, and may invent the hosts to which the replies go.
 */
static void
add_unresolved(struct uroce_cm_sender *sender, const struct uroce_cm_tx *tx, uint64_t now_ns)
{
	const unsigned max = tx->is_request ? UROCE_CM_UNRESOLVED_MAX : UROCE_CM_UNRESOLVED_MAX / 2;

	if (is_waiting(sender, tx))
		return;
	if (sender->nb_unresolved >= max) {
		sender->nb_dropped++;
		return;
	}
	if (sender->nb_unresolved == 0)
		sender->retry_ns = now_ns + RETRY_NS;
	sender->unresolved[sender->nb_unresolved++] = (struct uroce_cm_unresolved){
		.end_ns = now_ns + WAIT_NS,
		.tx = *tx,
	};
}

/*
 * Send a message if its path is known.
 * @return whether the message waits for the resolution of its destination
 */
static bool
send_or_wait(struct uroce_cm_sender *sender, const struct uroce_cm_tx *tx, uint64_t now_ns)
{
	const struct uroce_path *path;
	const int ret = uroce_cm_path_cache_find(&sender->paths, &tx->av, now_ns, &path);

	if (ret == 0)
		uroce_gsi_send(sender->gsi, path, tx->mad);
	else if (ret != -EAGAIN)
		sender->nb_dropped++;
	return ret == -EAGAIN;
}

static void
retry_unresolved(struct uroce_cm_sender *sender, uint64_t now_ns)
{
	unsigned nb_kept = 0;

	for (unsigned i = 0; i < sender->nb_unresolved; i++) {
		struct uroce_cm_unresolved *const one = &sender->unresolved[i];
		const bool has_room = uroce_gsi_room(sender->gsi) > 0;

		if (has_room && !send_or_wait(sender, &one->tx, now_ns))
			continue;
		if (now_ns >= one->end_ns)
			sender->nb_dropped++;
		else
			sender->unresolved[nb_kept++] = *one;
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
