/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Numbers of QPs, which uroced leases in blocks. Our own book of numbers says which of a block are taken
 * (qpn.c); more blocks are asked for when most are, by who needs one, and a quarter of what there is at a time.
 * What is left is used up where uroced has no more, or is not there.
 *
 * A lease outlives uroced, which has written down our user and the lease's ticket. Where the ticket is not accepted the
 * block is somebody else's: frames for its numbers will never come here again, and QPs that have one are at an end.
 */

#include <errno.h>
#include <string.h>
#include <time.h>
#include <rte_common.h>

#include "datapath/attach.h"
#include "datapath/log.h"
#include "datapath/port.h"
#include "datapath/qpn.h"
#include "datapath/round.h"

#define PATIENCE_S 2   /* for uroced: more than it takes to be started again */
#define LEASE_MAX  64u /* blocks at a time */

/* --- what there is, under attach->lock --------------------------------------------------------- */

static bool
has_block(const struct uroce_attach *attach, uint32_t block)
{
	for (uint32_t i = 0; i < attach->nb_leases; i++) {
		if (attach->lease[i].block == block)
			return true;
	}
	return false;
}

bool
uroce_attach_holds(struct uroce_attach *attach, uint32_t qpn)
{
	bool is_held;

	pthread_mutex_lock(&attach->lock);
	is_held = has_block(attach, qpn / UROCE_MUX_BLOCK);
	pthread_mutex_unlock(&attach->lock);
	return is_held;
}

void
uroce_attach_take_leased(struct uroce_attach *attach, const struct uroce_mux_leased *leased)
{
	pthread_mutex_lock(&attach->lock);
	for (uint32_t i = 0; i < leased->nb && attach->nb_leases < UROCE_MUX_LEASES_MAX; i++) {
		const struct uroce_mux_lease *lease = &leased->lease[i];

		if (lease->block < UROCE_MUX_BLOCKS && !has_block(attach, lease->block))
			attach->lease[attach->nb_leases++] = *lease;
	}
	attach->nb_denials += leased->nb == 0;
	attach->is_leasing = false;
	pthread_cond_broadcast(&attach->changed);
	pthread_mutex_unlock(&attach->lock);
}

/* --- what was lost ----------------------------------------------------------------------------- */

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
		struct uroce_qpr *qpr = uroce_qpn_lookup(qpns, qpn);

		if (qpr && uroce_qpr_worker(qpr) == loss->worker)
			uroce_worker_fail(loss->worker, qpr);
	}
	return 0;
}

/* Nobody finds them in our book any more but who has one. */
static void
fail_all(struct uroce_attach *attach, struct loss *loss)
{
	struct uroce_dev *dev = attach->dev;

	UROCE_LOG(ERR, port,
		  "%s: %u blocks of QP numbers are somebody else's now: QPs that have one fail",
		  attach->path, loss->nb);
	pthread_mutex_lock(&dev->lock);
	for (unsigned i = 0; i < dev->nb_workers; i++) {
		loss->worker = dev->worker[i];
		(void)uroce_worker_call(loss->worker, NULL, fail_qps, loss);
	}
	pthread_mutex_unlock(&dev->lock);
}

static bool
is_good(const struct uroce_mux_attached *attached, uint32_t block)
{
	for (uint32_t i = 0; i < attached->nb_good; i++) {
		if (attached->block[i] == block)
			return true;
	}
	return false;
}

void
uroce_attach_take_good(struct uroce_attach *attach, const struct uroce_mux_attached *attached)
{
	struct loss loss = { .nb = 0 };
	uint32_t nb_kept = 0;

	pthread_mutex_lock(&attach->lock);
	for (uint32_t i = 0; i < attach->nb_leases; i++) {
		if (is_good(attached, attach->lease[i].block))
			attach->lease[nb_kept++] = attach->lease[i];
		else
			loss.block[loss.nb++] = attach->lease[i].block;
	}
	attach->nb_leases = nb_kept;
	attach->is_attached = true;
	pthread_cond_broadcast(&attach->changed);
	pthread_mutex_unlock(&attach->lock);
	if (loss.nb > 0 && attach->dev)
		fail_all(attach, &loss);
}

/* --- more -------------------------------------------------------------------------------------- */

static void
ask(struct uroce_attach *attach)
{
	const uint32_t wanted = RTE_MIN(attach->nb_leases / 4 + 1, LEASE_MAX);
	const union uroce_mux_message message = {
		.lease = { .type = UROCE_MUX_LEASE,
			   .nb = RTE_MIN(wanted, UROCE_MUX_LEASES_MAX - attach->nb_leases) }
	};

	attach->is_leasing = uroce_mux_send(attach->fd, &message, -1) == 0;
}

/* Until there are more than that. Under attach->lock. */
static int
await_more(struct uroce_attach *attach, uint32_t nb_before)
{
	const uint32_t nb_denials = attach->nb_denials;
	struct timespec end;

	if (nb_before == UROCE_MUX_LEASES_MAX)
		return -ENOMEM;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += PATIENCE_S;
	while (attach->nb_leases <= nb_before && attach->nb_denials == nb_denials) {
		if (attach->is_attached && !attach->is_leasing)
			ask(attach);
		if (pthread_cond_timedwait(&attach->changed, &attach->lock, &end) == ETIMEDOUT)
			return attach->is_attached ? -EAGAIN : -ENOTCONN;
	}
	return attach->nb_leases > nb_before ? 0 : -ENOMEM;
}

/* @param[out] nb_leases  among which none was found */
static int
draw(struct uroce_dev *dev, bool is_thorough, uint32_t *qpn, uint32_t *nb_leases)
{
	struct uroce_attach *attach = dev->port->attach;
	uint32_t block[UROCE_MUX_LEASES_MAX];
	int ret;

	pthread_mutex_lock(&dev->lock);
	pthread_mutex_lock(&attach->lock);
	*nb_leases = attach->nb_leases;
	for (uint32_t i = 0; i < attach->nb_leases; i++)
		block[i] = attach->lease[i].block;
	pthread_mutex_unlock(&attach->lock);
	ret = uroce_qpn_alloc_of(dev->qpns, block, *nb_leases, UROCE_MUX_BLOCK, is_thorough, qpn);
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

static bool
is_there(struct uroce_attach *attach)
{
	bool is_there;

	pthread_mutex_lock(&attach->lock);
	is_there = attach->is_attached;
	pthread_mutex_unlock(&attach->lock);
	return is_there;
}

int
uroce_attach_draw(struct uroce_dev *dev, uint32_t *qpn)
{
	struct uroce_attach *attach = dev->port->attach;
	uint32_t nb_leases;
	int ret, more = 0;

	do {
		ret = draw(dev, more < 0 || !is_there(attach), qpn, &nb_leases);
		if (ret != -ENOSPC || more < 0)
			break;
		pthread_mutex_lock(&attach->lock);
		more = await_more(attach, nb_leases);
		pthread_mutex_unlock(&attach->lock);
	} while (true);
	return ret == -ENOSPC ? more : ret;
}
