/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two tables, which grow when needed. One has the ids of the process. The other translates numbers:
 * its index is the number of an id at uroced's connection manager, its entry is the number of the
 * id in this process.
 */

#include "verbs/cm/remote_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NB_MIN 64u

void
uroce_remote_ids_fini(struct uroce_remote_ids *ids)
{
	free(ids->id);
	free(ids->local_of);
	*ids = (struct uroce_remote_ids){ .id = NULL };
}

/*
 * Make a table at least `nb` entries long. `*nb_has` is the length of the table. New entries are
 * zero.
 * @return false: no memory
 */
static bool
grow_table(void **table, uint32_t *nb_has, uint32_t nb, size_t size)
{
	uint32_t nb_new = *nb_has > 0 ? *nb_has : NB_MIN;
	void *grown;

	if (nb <= *nb_has)
		return true;
	while (nb_new < nb)
		nb_new *= 2;
	grown = realloc(*table, nb_new * size);
	if (!grown)
		return false;
	memset((char *)grown + *nb_has * size, 0, (nb_new - *nb_has) * size);
	*table = grown;
	*nb_has = nb_new;
	return true;
}

static bool
grow_local_of(struct uroce_remote_ids *ids, uint32_t nb)
{
	void *table = ids->local_of;
	const bool has_grown = grow_table(&table, &ids->nb_local_of, nb, sizeof(ids->local_of[0]));

	ids->local_of = table;
	return has_grown;
}

static bool
grow_ids(struct uroce_remote_ids *ids, uint32_t nb)
{
	void *table = ids->id;
	const bool has_grown = grow_table(&table, &ids->nb, nb, sizeof(ids->id[0]));

	ids->id = table;
	return has_grown;
}

uint32_t
uroce_remote_ids_add(struct uroce_remote_ids *ids, uint32_t server_id)
{
	uint32_t local = 0;

	while (local < ids->nb && ids->id[local].phase != UROCE_REMOTE_FREE)
		local++;
	if (!grow_ids(ids, local + 1) || !grow_local_of(ids, server_id + 1))
		return UROCE_CM_NO_ID;
	ids->id[local] = (struct uroce_remote_id){
		.phase = UROCE_REMOTE_LOCAL,
		.server_id = server_id,
	};
	ids->local_of[server_id] = local + 1;
	return local;
}

struct uroce_remote_id *
uroce_remote_ids_get(const struct uroce_remote_ids *ids, uint32_t local)
{
	return local < ids->nb && ids->id[local].phase != UROCE_REMOTE_FREE ? &ids->id[local]
									    : NULL;
}

uint32_t
uroce_remote_ids_find(const struct uroce_remote_ids *ids, uint32_t server_id)
{
	return server_id < ids->nb_local_of ? ids->local_of[server_id] - 1 : UROCE_CM_NO_ID;
}

int
uroce_remote_ids_rename(struct uroce_remote_ids *ids, uint32_t local, uint32_t server_id)
{
	if (!grow_local_of(ids, server_id + 1))
		return -ENOMEM;
	ids->id[local].server_id = server_id;
	ids->local_of[server_id] = local + 1;
	return 0;
}

/* Delete the number that an id has at uroced's connection manager. */
static void
forget_server_id(struct uroce_remote_ids *ids, uint32_t local)
{
	const uint32_t server_id = ids->id[local].server_id;

	if (server_id < ids->nb_local_of && ids->local_of[server_id] == local + 1)
		ids->local_of[server_id] = 0;
	ids->id[local].server_id = UROCE_CM_NO_ID;
}

void
uroce_remote_ids_remove(struct uroce_remote_ids *ids, uint32_t local)
{
	struct uroce_remote_id *id = &ids->id[local];

	ids->nb_lost_events -= id->lost_event != 0;
	forget_server_id(ids, local);
	*id = (struct uroce_remote_id){ .phase = UROCE_REMOTE_FREE };
}

void
uroce_remote_ids_on_event(struct uroce_remote_id *id, enum uroce_cm_event_kind kind)
{
	switch (kind) {
	case UROCE_CM_EVENT_CONNECT_REQUEST:
	case UROCE_CM_EVENT_CONNECT_RESPONSE:
		id->phase = UROCE_REMOTE_PENDING;
		break;
	case UROCE_CM_EVENT_ESTABLISHED:
		id->phase = id->is_datagram ? UROCE_REMOTE_ENDED : UROCE_REMOTE_ESTABLISHED;
		break;
	case UROCE_CM_EVENT_UNREACHABLE:
	case UROCE_CM_EVENT_REJECTED:
	case UROCE_CM_EVENT_DISCONNECTED:
	case UROCE_CM_EVENT_TIMEWAIT_EXIT:
	case UROCE_CM_EVENT_NB:
		id->phase = UROCE_REMOTE_ENDED;
		break;
	}
}

void
uroce_remote_ids_lose_one(struct uroce_remote_ids *ids, uint32_t local,
			  enum uroce_cm_event_kind kind)
{
	struct uroce_remote_id *id = &ids->id[local];

	forget_server_id(ids, local);
	id->phase = UROCE_REMOTE_LOST;
	if (kind == UROCE_CM_EVENT_NB)
		return;
	id->lost_event = (uint8_t)(kind + 1);
	ids->nb_lost_events++;
}

void
uroce_remote_ids_lose(struct uroce_remote_ids *ids)
{
	for (uint32_t local = 0; local < ids->nb; local++) {
		switch ((enum uroce_remote_phase)ids->id[local].phase) {
		case UROCE_REMOTE_PENDING:
			uroce_remote_ids_lose_one(ids, local, UROCE_CM_EVENT_UNREACHABLE);
			break;
		case UROCE_REMOTE_ESTABLISHED:
			uroce_remote_ids_lose_one(ids, local, UROCE_CM_EVENT_DISCONNECTED);
			break;
		case UROCE_REMOTE_ENDED:
			uroce_remote_ids_lose_one(ids, local, UROCE_CM_EVENT_NB);
			break;
		case UROCE_REMOTE_LOCAL:
		case UROCE_REMOTE_LISTEN:
			forget_server_id(ids, local);
			break;
		case UROCE_REMOTE_FREE:
		case UROCE_REMOTE_LOST:
			break;
		}
	}
}

bool
uroce_remote_ids_take_lost(struct uroce_remote_ids *ids, struct uroce_cm_event *event)
{
	if (ids->nb_lost_events == 0)
		return false;
	for (uint32_t local = 0; local < ids->nb; local++) {
		struct uroce_remote_id *id = &ids->id[local];

		if (id->lost_event == 0)
			continue;
		*event = (struct uroce_cm_event){
			.kind = (enum uroce_cm_event_kind)(id->lost_event - 1),
			.id = local,
			.listener = UROCE_CM_NO_ID,
			.user = id->user,
			.status = -EIO,
		};
		id->lost_event = 0;
		ids->nb_lost_events--;
		return true;
	}
	return false;
}
