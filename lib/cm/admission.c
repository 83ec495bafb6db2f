/* SPDX-License-Identifier: BSD-3-Clause */

/* Admission control of the CM engine: it decides which requests of peers get a CM id. */

#include "cm/admission.h"

#include <assert.h>
#include <string.h>

#include "cm/owner.h"
#include "cm/queue.h"

/*
 * One of every RESERVED_SHARE CM ids of the engine is reserved for calls of the local user.
 * Connection requests of peers do not get the reserved ids.
 */
#define RESERVED_SHARE 8

/*
 * Minimum number of counters in each of the arrays nb_half_open_of and nb_waiting_of (context.h),
 * which count the requests of each peer host; a power of two. Even an engine with few CM ids may
 * have many hosts as peers.
 */
#define MIN_COUNTS 1024u

uint32_t
uroce_cm_admission_nb_counts(uint32_t max_ids)
{
	uint32_t nb = MIN_COUNTS;

	while (nb < max_ids)
		nb *= 2;
	return nb;
}

/*
 * Compute the index of a counter of the host with the GID `gid`. The counter is for the requests of
 * the host that wait at `listener`, or, if `listener` is UROCE_CM_NO_ID, for all half open CM ids
 * of the host.
 */
static uint32_t
count_index(const struct uroce_cm *cm, uint32_t listener, const uint8_t gid[16])
{
	uint64_t words[3] = { listener };

	memcpy(&words[1], gid, 16);
	return (uint32_t)uroce_siphash(&cm->hash_key, words, 3) & cm->count_mask;
}

static uint32_t *
waiting_count(struct uroce_cm *cm, uint32_t listener, const uint8_t gid[16])
{
	return &cm->nb_waiting_of[count_index(cm, listener, gid)];
}

static uint32_t *
half_open_count(struct uroce_cm *cm, const uint8_t gid[16])
{
	return &cm->nb_half_open_of[count_index(cm, UROCE_CM_NO_ID, gid)];
}

/*
 * Whether the half open CM ids of the host that sends a request are limited. An id is half open if
 * a request of a peer has created it, and the connection is not established yet. If the engine has
 * accounts (uroce_cme_set_account()), a request that this host sends to itself is not limited by
 * host, because its id counts for the account of the listener's owner.
 */
static bool
is_limited_host(const struct uroce_cm *cm, const struct uroce_cm_av *from)
{
	return !cm->conf.has_accounts || memcmp(from->local_gid, from->remote_gid, 16) != 0;
}

bool
uroce_cm_admission_check(struct uroce_cm *cm, uint32_t listener, const struct uroce_cm_av *from)
{
	const uint8_t *gid = from->remote_gid;
	const struct uroce_cm_conn *asked = &cm->conns[listener];
	const uint32_t nb_free = uroce_cm_owner_nb_free(cm);
	const uint32_t nb_reserved = cm->conf.max_ids / RESERVED_SHARE;

	if (*waiting_count(cm, listener, gid) + asked->waiting.nb >= 2 * asked->max_backlog) {
		cm->stats.nb_backlog_full++;
		return false;
	}
	if ((is_limited_host(cm, from) && *half_open_count(cm, gid) + nb_reserved >= nb_free) ||
	    !uroce_cm_owner_may_add(cm, asked->owner, nb_reserved)) {
		cm->stats.nb_no_id++;
		return false;
	}
	return true;
}

void
uroce_cm_admission_begin(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	uroce_cm_queue_push(cm, &cm->conns[conn->listener].waiting, UROCE_CM_LINK_WAITING,
			    uroce_cm_id_of(cm, conn));
	++*waiting_count(cm, conn->listener, conn->av.remote_gid);
	++*half_open_count(cm, conn->av.remote_gid);
	conn->is_half_open = true;
}

void
uroce_cm_admission_end_waiting(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	assert(conn->listener != UROCE_CM_NO_ID);
	uroce_cm_queue_remove(cm, &cm->conns[conn->listener].waiting, UROCE_CM_LINK_WAITING,
			      uroce_cm_id_of(cm, conn));
	--*waiting_count(cm, conn->listener, conn->av.remote_gid);
	conn->listener = UROCE_CM_NO_ID;
}

void
uroce_cm_admission_end_half_open(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (conn->is_half_open)
		--*half_open_count(cm, conn->av.remote_gid);
	conn->is_half_open = false;
}
