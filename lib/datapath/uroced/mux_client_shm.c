/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The shared memory of a client of uroced: its creation, and its replacement when uroced has ended.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "datapath/uroced/mux_client.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "datapath/device/dev.h"
#include "datapath/fds.h"
#include "datapath/log.h"
#include "datapath/worker/round.h"

/* Create shared memory that a child of fork() does not inherit. */
static int
create_shm(const struct uroce_mux_client *client, const struct uroce_shm_layout *plan,
	   struct uroce_shm *shm, int *fd)
{
	int ret;

	uroce_mux_client_prevent_fork();
	ret = uroce_shm_create(shm, plan, fd);
	if (ret == 0)
		(void)madvise(shm->mem, plan->size, MADV_DONTFORK);
	uroce_mux_client_allow_fork();
	if (ret < 0)
		UROCE_LOG(ERR, port, "%s: no memory for %u KiB of shared memory: %s", client->path,
			  (unsigned)(plan->size >> 10), strerror(-ret));
	return ret;
}

static int
make_shm(struct uroce_mux_client *client)
{
	struct uroce_shm_layout plan;
	int ret;

	if (!uroce_shm_lay_out(&plan, client->nb_pairs, UROCE_MUX_CLIENT_SLOTS,
			       client->host.frame_limit, client->nb_bindings)) {
		UROCE_LOG(ERR, port, "%s: shared memory for %u workers exceeds the limit of %u MiB",
			  client->path, client->nb_pairs, (unsigned)(UROCE_SHM_SIZE_MAX >> 20));
		return -EINVAL;
	}
	ret = create_shm(client, &plan, &client->shm, &client->shm_fd);
	if (ret < 0)
		return ret;
	client->stride = (uint32_t)(uroce_shm_buffer(&plan, 0, false, 1) -
				    uroce_shm_buffer(&plan, 0, false, 0));
	uroce_mux_client_begin(client);
	return 0;
}

struct renewal {
	const struct uroce_mux_client *client;
	const struct uroce_shm *fresh;
	uint32_t queue;
};

/*
 * Replace the memory of a worker's pair of rings. The function runs in the context of the worker,
 * so that no burst uses the pair meanwhile.
 */
static int
renew_pair(void *arg)
{
	const struct renewal *renewal = arg;
	const struct uroce_mux_client_pair *pair = &renewal->client->pair[renewal->queue];

	return uroce_shm_renew_pair(&renewal->client->shm, renewal->fresh, renewal->queue,
				    &pair->up, &pair->down);
}

/*
 * Replace the shared memory, because uroced has sealed it, so that a restarted uroced cannot map
 * it. New memory is mapped at the same addresses, one pair of rings after another, with the pending
 * frames. After an error the next attempt uses other new memory.
 */
static int
renew_shm(struct uroce_mux_client *client)
{
	struct uroce_dev *dev = client->dev;
	struct uroce_shm fresh = { .mem = NULL };
	struct renewal renewal = { .client = client, .fresh = &fresh };
	int ret, error, fd;

	ret = create_shm(client, &client->shm.plan, &fresh, &fd);
	if (ret < 0)
		return ret;
	pthread_mutex_lock(&dev->lock);
	for (unsigned i = 0; i < client->nb_pairs; i++) {
		renewal.queue = dev->worker[i]->queue;
		error = uroce_worker_call(dev->worker[i], NULL, renew_pair, &renewal);
		ret = error < 0 ? error : ret;
	}
	pthread_mutex_unlock(&dev->lock);
	error = uroce_mux_client_renew_bindings(client, &fresh);
	ret = error < 0 ? error : ret;
	uroce_mux_client_prevent_fork();
	if (ret == 0) {
		uroce_fds_close(&client->shm_fd);
		client->shm_fd = fd;
	} else {
		uroce_fds_close(&fd);
	}
	uroce_mux_client_allow_fork();
	return ret;
}

int
uroce_mux_client_prepare_shm(struct uroce_mux_client *client)
{
	if (!client->shm.mem)
		return make_shm(client);
	return uroce_shm_is_sealed(client->shm_fd) ? renew_shm(client) : 0;
}
