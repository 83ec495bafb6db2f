/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A table of the clients that own ids of the CM engine, indexed by the id, with a list of the ids
 * of each client.
 */

#include "cm_ids.h"

#include <errno.h>
#include <stdlib.h>

int
cm_ids_init(struct cm_ids *ids, uint32_t max)
{
	*ids = (struct cm_ids){ .id = calloc(max, sizeof(ids->id[0])), .max = max };
	for (unsigned slot = 0; slot < CLIENTS_MAX; slot++)
		ids->first[slot] = UROCE_CM_NO_ID;
	return ids->id ? 0 : -ENOMEM;
}

void
cm_ids_fini(struct cm_ids *ids)
{
	free(ids->id);
	*ids = (struct cm_ids){ .id = NULL };
}

bool
cm_ids_is_free(const struct cm_ids *ids, uint32_t id)
{
	return id < ids->max && ids->id[id].owner_plus_one == 0;
}

void
cm_ids_own(struct cm_ids *ids, uint32_t id, uint16_t slot, bool is_datagram)
{
	const uint32_t next = ids->first[slot];

	ids->id[id] = (struct cm_id){ .owner_plus_one = (uint16_t)(slot + 1u),
				      .is_datagram = is_datagram,
				      .next = next,
				      .prev = UROCE_CM_NO_ID };
	if (next != UROCE_CM_NO_ID)
		ids->id[next].prev = id;
	ids->first[slot] = id;
}

int
cm_ids_owner(const struct cm_ids *ids, uint32_t id)
{
	return id < ids->max ? ids->id[id].owner_plus_one - 1 : -1;
}

bool
cm_ids_is_of(const struct cm_ids *ids, uint32_t id, uint16_t slot)
{
	return id < ids->max && ids->id[id].owner_plus_one == slot + 1u;
}

bool
cm_ids_is_datagram(const struct cm_ids *ids, uint32_t id)
{
	return ids->id[id].is_datagram;
}

void
cm_ids_disown(struct cm_ids *ids, uint32_t id)
{
	const struct cm_id was = ids->id[id];

	if (was.prev != UROCE_CM_NO_ID)
		ids->id[was.prev].next = was.next;
	else
		ids->first[was.owner_plus_one - 1] = was.next;
	if (was.next != UROCE_CM_NO_ID)
		ids->id[was.next].prev = was.prev;
	ids->id[id] = (struct cm_id){ .owner_plus_one = 0 };
}

uint32_t
cm_ids_last_of(const struct cm_ids *ids, uint16_t slot)
{
	return ids->first[slot];
}
