/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CM_IDS_H
#define UROCED_CM_IDS_H

/**
 * @file
 * Which client of the connection manager owns which id of the CM engine. The ids of each client are
 * in a list, so that the end of a client does not need a search through all ids. Only the thread of
 * cm_server.h uses the table.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"
#include "user_limits.h"

struct cm_id {
	/* cm_client.slot of the client that owns the id, plus one; 0 if no client owns the id */
	uint16_t owner_plus_one;
	bool is_datagram;
	bool is_v6only; /* the id is bound to IPv6 addresses only */
	/* port space of the id (cm/service_id.h); 0 if the id is not bound to a port */
	uint16_t space;
	/*
	 * next and previous id in the list of the ids of the client; UROCE_CM_NO_ID if there is
	 * none
	 */
	uint32_t next, prev;
};

struct cm_ids {
	struct cm_id *id;
	/* number of entries of the table of ids; the ids of the CM engine are smaller */
	uint32_t max;
	/*
	 * for each client, indexed by cm_client.slot: first id in the list of its ids, or
	 * UROCE_CM_NO_ID
	 */
	uint32_t first[CLIENTS_MAX];
};

/** Make a table in which no client owns an id of the CM engine. @return 0, or -ENOMEM */
int cm_ids_init(struct cm_ids *ids, uint32_t max);
void cm_ids_fini(struct cm_ids *ids);

/**
 * Whether an id of the CM engine can be given to a client: the id is in range, and no client owns
 * it.
 */
bool cm_ids_is_free(const struct cm_ids *ids, uint32_t id);

/** Make a client the owner of an id of the CM engine that no client owns. */
void cm_ids_own(struct cm_ids *ids, uint32_t id, uint16_t slot, bool is_datagram);

/**
 * Get the slot of the client that owns an id of the CM engine; -1 if no client owns it. The number
 * `id` may have any value.
 */
int cm_ids_owner(const struct cm_ids *ids, uint32_t id);

bool cm_ids_is_of(const struct cm_ids *ids, uint32_t id, uint16_t slot);

/** Whether an id that a client owns is for UD datagrams, not for connections. */
bool cm_ids_is_datagram(const struct cm_ids *ids, uint32_t id);

void cm_ids_disown(struct cm_ids *ids, uint32_t id);

/**
 * Get the id that a client of the connection manager got last.
 * @return UROCE_CM_NO_ID if the client owns no id
 */
uint32_t cm_ids_last_of(const struct cm_ids *ids, uint16_t slot);

#endif /* UROCED_CM_IDS_H */
