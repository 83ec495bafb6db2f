/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * QPNs, which uroced leases to its clients in blocks. The client's own table of QPNs (qpn.c) shows
 * which QPNs of a block are allocated. When most QPNs of the leased blocks are allocated, a thread
 * that needs a QPN requests more blocks, a quarter of the present number at a time. If uroced has
 * no more blocks, or is not connected, the remaining QPNs are used.
 *
 * A lease outlives uroced, which has recorded the user of the client and the token of the lease. If
 * uroced does not accept the token, the block belongs to another client. Frames for its QPNs will
 * not arrive at this client any more, and QPs with these QPNs fail.
 */

#include <errno.h>
#include <string.h>
#include <time.h>
#include <rte_common.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/log.h"
#include "datapath/port/port.h"
#include "datapath/device/qpn.h"
#include "datapath/worker/round.h"

/*
 * Maximum time in seconds to wait for leases. RESTART_TIMEOUT_S applies while uroced is not
 * connected, and is more than a restart of uroced takes. LEASE_TIMEOUT_S applies while uroced is
 * connected, and is more than uroced needs for a reply on a machine without free CPUs.
 */
#define RESTART_TIMEOUT_S 10
#define LEASE_TIMEOUT_S   10
#define LEASE_MAX         64u /* maximum number of blocks of QPNs in a request for leases */

/* --- leases, under client->lock ---------------------------------------------------------------- */

static bool
has_block(const struct uroce_mux_client *client, uint32_t block)
{
	for (uint32_t i = 0; i < client->nb_leases; i++) {
		if (client->lease[i].block == block)
			return true;
	}
	return false;
}

bool
uroce_mux_client_holds(struct uroce_mux_client *client, uint32_t qpn)
{
	bool is_held;

	pthread_mutex_lock(&client->lock);
	is_held = has_block(client, qpn / UROCE_MUX_BLOCK);
	pthread_mutex_unlock(&client->lock);
	return is_held;
}

uint64_t
uroce_mux_client_token(struct uroce_mux_client *client, uint32_t qpn)
{
	uint64_t token = 0;

	pthread_mutex_lock(&client->lock);
	for (uint32_t i = 0; i < client->nb_leases; i++) {
		if (client->lease[i].block == qpn / UROCE_MUX_BLOCK)
			token = client->lease[i].token;
	}
	pthread_mutex_unlock(&client->lock);
	return token;
}

void
uroce_mux_client_take_leased(struct uroce_mux_client *client, const struct uroce_mux_leased *leased)
{
	pthread_mutex_lock(&client->lock);
	for (uint32_t i = 0; i < leased->nb && client->nb_leases < UROCE_MUX_LEASES_MAX; i++) {
		const struct uroce_mux_lease *lease = &leased->lease[i];

		if (lease->block < UROCE_MUX_BLOCKS && !has_block(client, lease->block))
			client->lease[client->nb_leases++] = *lease;
	}
	client->nb_denials += leased->nb == 0;
	client->is_leasing = false;
	pthread_cond_broadcast(&client->changed);
	pthread_mutex_unlock(&client->lock);
}

/* --- lost leases ------------------------------------------------------------------------------- */

struct loss {
	struct uroce_worker *worker;
	uint32_t nb;
	uint32_t block[UROCE_MUX_LEASES_MAX];
};

static int
fail_qps(void *arg)
{
	const struct loss *loss = arg;
	const struct uroce_qpn_table *qpns = loss->worker->dev->qpns;

	for (uint32_t i = 0; i < loss->nb * UROCE_MUX_BLOCK; i++) {
		const uint32_t qpn =
			loss->block[i / UROCE_MUX_BLOCK] * UROCE_MUX_BLOCK + i % UROCE_MUX_BLOCK;
		struct uroce_worker_qp *wqp = uroce_qpn_lookup(qpns, qpn);

		if (wqp && uroce_worker_qp_worker(wqp) == loss->worker)
			uroce_worker_fail(loss->worker, wqp);
	}
	return 0;
}

/*
 * Make the QPs fail whose leased blocks of QPNs were lost. New QPs do not use these blocks, because
 * the blocks are not among the leases any more.
 */
static void
fail_all(struct uroce_mux_client *client, struct loss *loss)
{
	struct uroce_dev *dev = client->dev;

	UROCE_LOG(ERR, port,
		  "%s: %u leases of QP numbers were lost to other clients: QPs with these numbers "
		  "fail",
		  client->path, loss->nb);
	pthread_mutex_lock(&dev->lock);
	for (unsigned i = 0; i < dev->nb_workers; i++) {
		loss->worker = dev->worker[i];
		(void)uroce_worker_call(loss->worker, NULL, fail_qps, loss);
	}
	pthread_mutex_unlock(&dev->lock);
}

static bool
is_lease_good(const struct uroce_mux_attached *attached, uint32_t block)
{
	for (uint32_t i = 0; i < attached->nb_good; i++) {
		if (attached->block[i] == block)
			return true;
	}
	return false;
}

void
uroce_mux_client_take_good(struct uroce_mux_client *client,
			   const struct uroce_mux_attached *attached)
{
	struct loss loss = { .nb = 0 };
	uint32_t nb_kept = 0;

	pthread_mutex_lock(&client->lock);
	for (uint32_t i = 0; i < client->nb_leases; i++) {
		if (is_lease_good(attached, client->lease[i].block))
			client->lease[nb_kept++] = client->lease[i];
		else
			loss.block[loss.nb++] = client->lease[i].block;
	}
	client->nb_leases = nb_kept;
	client->is_attached = true;
	pthread_cond_broadcast(&client->changed);
	pthread_mutex_unlock(&client->lock);
	if (loss.nb > 0 && client->dev)
		fail_all(client, &loss);
}

/* --- more leases ------------------------------------------------------------------------------- */

static void
request_leases(struct uroce_mux_client *client)
{
	const uint32_t wanted = RTE_MIN(client->nb_leases / 4 + 1, LEASE_MAX);
	const union uroce_mux_message message = {
		.lease = { .type = UROCE_MUX_LEASE,
			   .nb = RTE_MIN(wanted, UROCE_MUX_LEASES_MAX - client->nb_leases) }
	};

	client->is_leasing = uroce_mux_send(client->fd, &message, -1) == 0;
}

/*
 * Wait until the client has more than `nb_before` leases. The caller holds client->lock.
 * @return 0; -ENOMEM: uroced leases no more; -EAGAIN: uroced does not reply; -ENOTCONN: uroced is
 *   not connected
 */
static int
await_leases(struct uroce_mux_client *client, uint32_t nb_before)
{
	const uint32_t nb_denials = client->nb_denials;
	/* whether `end` is the deadline of uroced's reply */
	bool is_reply_due = client->is_attached;
	struct timespec end;

	if (nb_before == UROCE_MUX_LEASES_MAX)
		return -ENOMEM;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += is_reply_due ? LEASE_TIMEOUT_S : RESTART_TIMEOUT_S;
	while (client->nb_leases <= nb_before && client->nb_denials == nb_denials) {
		if (client->is_attached && !client->is_leasing)
			request_leases(client);
		if (pthread_cond_timedwait(&client->changed, &client->lock, &end) != ETIMEDOUT)
			continue;
		if (is_reply_due || !client->is_attached)
			return client->is_attached ? -EAGAIN : -ENOTCONN;
		/* uroced has connected again during the wait, so it gets the time for a reply */
		is_reply_due = true;
		end.tv_sec += LEASE_TIMEOUT_S;
	}
	return client->nb_leases > nb_before ? 0 : -ENOMEM;
}

/*
 * Allocate a QPN of the leased blocks.
 * @param is_exhaustive  try all QPNs, not only some random ones
 * @param[out] nb_leases  number of leases among which the QPN was searched
 */
static int
draw_qpn(struct uroce_dev *dev, bool is_exhaustive, uint32_t *qpn, uint32_t *nb_leases)
{
	struct uroce_mux_client *client = dev->port->mux_client;
	uint32_t block[UROCE_MUX_LEASES_MAX];
	int ret;

	pthread_mutex_lock(&dev->lock);
	pthread_mutex_lock(&client->lock);
	*nb_leases = client->nb_leases;
	for (uint32_t i = 0; i < client->nb_leases; i++)
		block[i] = client->lease[i].block;
	pthread_mutex_unlock(&client->lock);
	ret = uroce_qpn_alloc_of(dev->qpns, block, *nb_leases, UROCE_MUX_BLOCK, is_exhaustive, qpn);
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

static bool
is_mux_connected(struct uroce_mux_client *client)
{
	bool is_mux_connected;

	pthread_mutex_lock(&client->lock);
	is_mux_connected = client->is_attached;
	pthread_mutex_unlock(&client->lock);
	return is_mux_connected;
}

int
uroce_mux_client_alloc_qpn(struct uroce_dev *dev, uint32_t *qpn)
{
	struct uroce_mux_client *client = dev->port->mux_client;
	uint32_t nb_leases;
	int ret, more = 0;

	do {
		ret = draw_qpn(dev, more < 0 || !is_mux_connected(client), qpn, &nb_leases);
		if (ret != -ENOSPC || more < 0)
			break;
		pthread_mutex_lock(&client->lock);
		more = await_leases(client, nb_leases);
		pthread_mutex_unlock(&client->lock);
	} while (true);
	return ret == -ENOSPC ? more : ret;
}
