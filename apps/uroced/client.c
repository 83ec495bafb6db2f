/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Creates and frees the records of uroced's clients, and maps and takes over their shared memory.
 */

#include "client.h"

#include "creds.h"
#include "mapper.h"

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
	const struct ucred peer = creds_of(socket);

	if (!client)
		return NULL;
	memset(client, 0, sizeof(*client));
	client->socket = socket;
	client->doorbell = -1;
	client->reader = -1;
	client->slot = slot;
	client->pid = peer.pid;
	client->uid = peer.uid;
	return client;
}

void
client_destroy(struct client *client, struct mapper *mapper)
{
	if (client->part)
		mapper_remove(mapper, client->part);
	if (client->doorbell >= 0)
		(void)close(client->doorbell);
	free(client->attaching);
	free(client);
}

bool
client_take_rings(struct client *client)
{
	const struct uroce_shm_layout *plan = &client->shm.plan;

	for (uint32_t i = 0; i < plan->nb_pairs; i++) {
		struct uroce_spsc_ring *up = uroce_shm_up(&client->shm, i);
		struct uroce_spsc_ring *down = uroce_shm_down(&client->shm, i);

		client->up[i] =
			(struct uroce_spsc_end){ up, plan->nb_slots, atomic_load(&up->tail) };
		client->down[i] = (struct client_down){
			.end = { down, plan->nb_slots, atomic_load(&down->head) },
			.client = client,
		};
		if (uroce_spsc_ready(&client->up[i]) < 0 ||
		    uroce_spsc_room(&client->down[i].end) < 0)
			return false;
	}
	return true;
}

const char *
client_map(struct client *client, struct mapper *mapper, const struct uroce_shm_layout *plan,
	   int fd, uint32_t frame_limit)
{
	const char *wrong = uroce_shm_check(plan, fd, frame_limit);
	int ret;

	if (wrong)
		return wrong;
	ret = uroce_shm_map(&client->shm, plan, fd);
	if (ret < 0)
		return strerror(-ret);
	client->part = mapper_add(mapper, client->uid, &client->shm);
	if (!client->part) {
		uroce_shm_unmap(&client->shm);
		return strerror(ENOMEM);
	}
	return NULL;
}

const char *
client_take_up(struct client *client, struct mapper *mapper)
{
	mapper_populate(mapper, client->part);
	client->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->doorbell < 0)
		return strerror(errno);
	return client_take_rings(client) ? NULL : "the indexes of an SPSC ring are invalid";
}
