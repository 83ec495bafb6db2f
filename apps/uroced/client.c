/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a client is made of, and its end.
 */

#include "client.h"

#include "areas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct client *
client_create(int socket, uint16_t slot)
{
	struct client *client = aligned_alloc(64, sizeof(*client));
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	if (!client)
		return NULL;
	memset(client, 0, sizeof(*client));
	(void)getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	client->socket = socket;
	client->bell = -1;
	client->reader = -1;
	client->slot = slot;
	client->pid = peer.pid;
	client->uid = peer.uid;
	return client;
}

void
client_destroy(struct client *client, struct areas *areas)
{
	if (client->part)
		areas_remove(areas, client->part);
	if (client->bell >= 0)
		(void)close(client->bell);
	free(client->attaching);
	free(client);
}

/* @return whether the indexes that are there can be */
static bool
take_up_lanes(struct client *client)
{
	const struct uroce_area_plan *plan = &client->area.plan;

	for (uint32_t i = 0; i < plan->nb_pairs; i++) {
		struct uroce_lane *up = uroce_area_up(&client->area, i);
		struct uroce_lane *down = uroce_area_down(&client->area, i);

		client->up[i] =
			(struct uroce_lane_end){ up, plan->nb_slots, atomic_load(&up->tail) };
		client->down[i] = (struct client_down){
			.end = { down, plan->nb_slots, atomic_load(&down->head) },
			.client = client,
		};
		if (uroce_lane_ready(&client->up[i]) < 0 ||
		    uroce_lane_room(&client->down[i].end) < 0)
			return false;
	}
	return true;
}

const char *
client_map(struct client *client, const struct uroce_area_plan *plan, int fd, uint32_t frame_limit)
{
	const char *wrong = uroce_area_judge(plan, fd, frame_limit);
	int ret;

	if (wrong)
		return wrong;
	ret = uroce_area_map(&client->area, plan, fd);
	if (ret < 0)
		return strerror(-ret);
	client->part = areas_add(&client->area);
	if (!client->part) {
		uroce_area_unmap(&client->area);
		return strerror(ENOMEM);
	}
	return NULL;
}

const char *
client_take_up(struct client *client, struct areas *areas)
{
	areas_populate(areas, client->part);
	client->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->bell < 0)
		return strerror(errno);
	return take_up_lanes(client) ? NULL : "the indexes in a lane of it cannot be";
}
