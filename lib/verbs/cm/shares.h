/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_SHARES_H
#define UROCE_VERBS_CM_SHARES_H

/**
 * @file
 * The shares of a bounded table: how many of its entries each party has. A party is whoever causes
 * messages: an account with its requests, an account with its responses, or the wire. All other
 * hosts together are one party, the wire, because they may invent addresses. The messages of the
 * wire belong to no id.
 *
 * A new entry of one party may replace an entry of another that has more. So a party that floods a
 * table does not keep other parties out of the table. A party never replaces its own entries.
 * Otherwise the number of entries that it begins in a second would not be bounded by the size of
 * the table.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"

/** The wire: the party of all messages that belong to no id. Other hosts cause these messages. */
#define UROCE_CM_PARTY_WIRE 0u

#define UROCE_CM_NB_PARTIES (1u + 2u * UROCE_CM_NB_ACCOUNTS)

struct uroce_cm_shares {
	uint16_t nb_of[UROCE_CM_NB_PARTIES];
};

/**
 * Get the party that causes a message: the wire (all other hosts) if the message belongs to no id,
 * otherwise the account of the id, which is one party for requests and another for responses.
 */
static inline unsigned
uroce_cm_shares_party(const struct uroce_cm_tx *tx)
{
	return tx->has_id ? 1u + 2u * tx->account_idx + tx->is_request : UROCE_CM_PARTY_WIRE;
}

/**
 * Whether a new entry of `party` in a bounded table may replace an entry of `other`. This needs at
 * least two more entries of `other`: with a difference of one, two parties would replace each
 * other's entries alternately. The wire (UROCE_CM_PARTY_WIRE, all other hosts) replaces no entry,
 * and its entries are replaced by all other parties.
 */
static inline bool
uroce_cm_shares_yields(const struct uroce_cm_shares *shares, unsigned other, unsigned party)
{
	if (party == UROCE_CM_PARTY_WIRE || other == UROCE_CM_PARTY_WIRE)
		return party != other && other == UROCE_CM_PARTY_WIRE;
	return shares->nb_of[other] >= shares->nb_of[party] + 2u;
}

/**
 * Whether an entry of party `a` in a bounded table is replaced before an entry of party `b`.
 * Entries of the wire (UROCE_CM_PARTY_WIRE, all other hosts) are replaced first, then those of the
 * party that has more entries, then the older entry.
 */
static inline bool
uroce_cm_shares_is_before(const struct uroce_cm_shares *shares, unsigned a, uint64_t a_end_ns,
			  unsigned b, uint64_t b_end_ns)
{
	if ((a == UROCE_CM_PARTY_WIRE) != (b == UROCE_CM_PARTY_WIRE))
		return a == UROCE_CM_PARTY_WIRE;
	if (shares->nb_of[a] != shares->nb_of[b])
		return shares->nb_of[a] > shares->nb_of[b];
	return a_end_ns < b_end_ns;
}

#endif /* UROCE_VERBS_CM_SHARES_H */
