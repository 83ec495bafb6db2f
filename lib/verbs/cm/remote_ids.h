/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_REMOTE_IDS_H
#define UROCE_VERBS_CM_REMOTE_IDS_H

/**
 * @file
 * The ids of a process at the connection manager of uroced. When the connection manager is started
 * again, ids get other numbers there. So the process has its own number for each id. The table of
 * ids has the data with which an id is created again. The caller serializes all calls.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"

/** Phase of an id. The phase determines what happens to the id when the connection manager ends. */
enum uroce_remote_phase {
	UROCE_REMOTE_FREE, /* the number of the id is not in use */
	/*
	 * no peer knows the id; if the connection manager is started again, the id is created and
	 * bound again
	 */
	UROCE_REMOTE_LOCAL,
	/*
	 * the id listens; if the connection manager is started again, the id is created and bound,
	 * and listens again
	 */
	UROCE_REMOTE_LISTEN,
	/* a peer knows the id, and the connection is not established yet */
	UROCE_REMOTE_PENDING,
	UROCE_REMOTE_ESTABLISHED, /* the connection of the id is established */
	/* the connection of the id has ended: no event is raised if the connection manager ends */
	UROCE_REMOTE_ENDED,
	UROCE_REMOTE_LOST, /* the id is lost: the connection manager that had it has ended */
};

struct uroce_remote_id {
	uint8_t phase; /* phase of the id (enum uroce_remote_phase) */
	/*
	 * if the id is lost: kind of the event that the user has not taken, plus one; 0: there is
	 * no such event
	 */
	uint8_t lost_event;
	bool is_datagram;
	bool is_bound;
	bool is_v6only;
	bool is_shared;
	uint16_t space;
	uint32_t server_id; /* number of the id at the connection manager */
	uint32_t backlog;
	uint64_t user;
	/* address to which the id is bound, with the port that was chosen */
	struct uroce_cm_addr addr;
};

struct uroce_remote_ids {
	struct uroce_remote_id *id; /* table of ids, indexed by the number in this process */
	uint32_t nb;                /* number of entries of the table `id` */
	/*
	 * for each number of the connection manager: number of the id in this process plus one; 0:
	 * the process has no id with this number
	 */
	uint32_t *local_of;
	uint32_t nb_local_of;
	uint32_t nb_lost_events;
};

void uroce_remote_ids_fini(struct uroce_remote_ids *ids);

/**
 * Add an id to the tables.
 * @param server_id  number of the id at the connection manager, less than 2^24
 * @return number of the id in this process; UROCE_CM_NO_ID: there is no memory
 */
uint32_t uroce_remote_ids_add(struct uroce_remote_ids *ids, uint32_t server_id);

/** Find an id by its number in this process. @return NULL: there is no such id */
struct uroce_remote_id *uroce_remote_ids_get(const struct uroce_remote_ids *ids, uint32_t local);

/** Find an id by its number at the connection manager. @return UROCE_CM_NO_ID: there is none */
uint32_t uroce_remote_ids_find(const struct uroce_remote_ids *ids, uint32_t server_id);

/** Give an id another number at the connection manager. @return 0, or -ENOMEM */
int uroce_remote_ids_rename(struct uroce_remote_ids *ids, uint32_t local, uint32_t server_id);

void uroce_remote_ids_remove(struct uroce_remote_ids *ids, uint32_t local);

/** Change the phase of an id as an event of the id requires. */
void uroce_remote_ids_on_event(struct uroce_remote_id *id, enum uroce_cm_event_kind kind);

/**
 * Handle the end of uroced's connection manager. An id becomes lost if it has a peer (phases
 * PENDING, ESTABLISHED and ENDED). A lost id gets an event: DISCONNECTED if it had a connection,
 * UNREACHABLE if it was connecting, and none if it had ended.
 */
void uroce_remote_ids_lose(struct uroce_remote_ids *ids);

/**
 * Mark an id as lost.
 * @param kind  event that the user gets for the id; UROCE_CM_EVENT_NB: the user gets no event
 */
void uroce_remote_ids_lose_one(struct uroce_remote_ids *ids, uint32_t local,
			       enum uroce_cm_event_kind kind);

/**
 * Take an event of any lost id, which is an id whose connection manager has ended.
 * @return false: no lost id has an event
 */
bool uroce_remote_ids_take_lost(struct uroce_remote_ids *ids, struct uroce_cm_event *event);

#endif /* UROCE_VERBS_CM_REMOTE_IDS_H */
