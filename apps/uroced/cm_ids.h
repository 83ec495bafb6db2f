/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CM_IDS_H
#define UROCED_CM_IDS_H

/**
 * @file
 * Which client of the connection manager owns which id of the engine. Only the thread of
 * cm_server.h uses the table.
 */

#include <stdbool.h>
#include <stdint.h>

struct cm_id {
	uint16_t owner_plus_one; /* slot of the client plus one; 0: no client owns the id */
	bool is_datagram;
	bool is_v6only; /* the id is bound to addresses of IPv6 only */
	uint16_t space; /* port space (cm/service_id.h); 0: the id does not bind a port */
};

struct cm_ids {
	struct cm_id *id;
	uint32_t max; /* ids of the engine are smaller than this number */
};

/** Make a table in which no client owns an id. @return 0, or -ENOMEM */
int cm_ids_init(struct cm_ids *ids, uint32_t max);
void cm_ids_fini(struct cm_ids *ids);

/** Whether a client may own an id: the id is in range, and no client owns it. */
bool cm_ids_is_free(const struct cm_ids *ids, uint32_t id);

/** Make a client the owner of an id that is free. */
void cm_ids_own(struct cm_ids *ids, uint32_t id, uint16_t slot, bool is_datagram);

/** Slot of the client that owns an id; -1: no client owns it. `id` may be any number. */
int cm_ids_owner(const struct cm_ids *ids, uint32_t id);

bool cm_ids_is_of(const struct cm_ids *ids, uint32_t id, uint16_t slot);

/** Whether an id that a client owns is for a datagram service. */
bool cm_ids_is_datagram(const struct cm_ids *ids, uint32_t id);

void cm_ids_disown(struct cm_ids *ids, uint32_t id);

/** Disown all ids of a client. */
void cm_ids_disown_all(struct cm_ids *ids, uint16_t slot);

#endif /* UROCED_CM_IDS_H */
