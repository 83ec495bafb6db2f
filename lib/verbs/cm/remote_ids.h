/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_REMOTE_IDS_H
#define UROCE_VERBS_CM_REMOTE_IDS_H

/**
 * @file
 * The ids of a process at the connection manager of uroced. The process has numbers of its own for
 * them, since a connection manager that is started again has other ids. The table knows what is
 * needed to create an id again. The caller serializes all calls.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"

/** What has happened to an id, as far as the end of its connection manager is concerned. */
enum uroce_remote_phase {
	UROCE_REMOTE_FREE, /* the number is not in use */
	/* no peer knows the id; a new connection manager creates and binds it again */
	UROCE_REMOTE_LOCAL,
	UROCE_REMOTE_LISTEN,      /* a new connection manager listens again */
	UROCE_REMOTE_PENDING,     /* a peer knows it, and there is no connection yet */
	UROCE_REMOTE_ESTABLISHED, /* the connection has begun */
	UROCE_REMOTE_ENDED,       /* no event is missing if the connection manager ends */
	UROCE_REMOTE_LOST,        /* its connection manager has ended */
};

struct uroce_remote_id {
	uint8_t phase;      /* enum uroce_remote_phase */
	uint8_t lost_event; /* event of a lost id that was not taken, plus one; 0: none */
	bool is_datagram;
	bool is_bound;
	bool is_v6only;
	bool is_shared;
	uint16_t space;
	uint32_t server_id; /* number at the connection manager */
	uint32_t backlog;
	uint64_t user;
	struct uroce_cm_addr addr; /* that the id is bound to, with the port that was chosen */
};

struct uroce_remote_ids {
	struct uroce_remote_id *id; /* indexed by the number in this process */
	uint32_t nb;                /* entries of `id` */
	uint32_t *local_of;         /* number in this process, plus one, by that of the manager */
	uint32_t nb_local_of;
	uint32_t nb_lost_events;
};

void uroce_remote_ids_fini(struct uroce_remote_ids *ids);

/**
 * Add an id.
 * @param server_id  its number at the connection manager, less than 2^24
 * @return its number in this process; UROCE_CM_NO_ID: there is no memory
 */
uint32_t uroce_remote_ids_add(struct uroce_remote_ids *ids, uint32_t server_id);

/** Find an id that exists. @return NULL: there is none */
struct uroce_remote_id *uroce_remote_ids_get(const struct uroce_remote_ids *ids, uint32_t local);

/** Find an id by its number at the connection manager. @return UROCE_CM_NO_ID: there is none */
uint32_t uroce_remote_ids_find(const struct uroce_remote_ids *ids, uint32_t server_id);

/** Give an id another number at the connection manager. @return 0, or -ENOMEM */
int uroce_remote_ids_rename(struct uroce_remote_ids *ids, uint32_t local, uint32_t server_id);

void uroce_remote_ids_remove(struct uroce_remote_ids *ids, uint32_t local);

/** Note an event of an id. */
void uroce_remote_ids_on_event(struct uroce_remote_id *id, enum uroce_cm_event_kind kind);

/**
 * Note the end of the connection manager. Ids that peers know are lost. Each of them has an event:
 * DISCONNECTED if there was a connection, else UNREACHABLE.
 */
void uroce_remote_ids_lose(struct uroce_remote_ids *ids);

/** An id is lost. @param kind  event that the user gets; UROCE_CM_EVENT_NB: none */
void uroce_remote_ids_lose_one(struct uroce_remote_ids *ids, uint32_t local,
			       enum uroce_cm_event_kind kind);

/** Take an event of a lost id. @return false: there is none */
bool uroce_remote_ids_take_lost(struct uroce_remote_ids *ids, struct uroce_cm_event *event);

#endif /* UROCE_VERBS_CM_REMOTE_IDS_H */
