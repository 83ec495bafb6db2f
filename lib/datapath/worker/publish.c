/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Publication of completions. The ACKs that completions wait for pass through three stages: their
 * QPs are scheduled, then their frames are built, and then the frames wait for the daemon uroced,
 * if it carries them. Each stage has a counter, and a mark: the value that the counter must reach,
 * which was computed when the ACKs entered the stage.
 */

#include "datapath/worker/publish.h"

#include <sys/eventfd.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/clock.h"
#include "datapath/worker/round.h"

static void
notify_consumer(struct uroce_cq_notify *cq)
{
	if (!cq)
		return;
	atomic_fetch_add(&cq->nb_events, 1);
	if (cq->event_fd >= 0)
		(void)eventfd_write(cq->event_fd, 1);
}

static void
clear_pending_acks(struct uroce_publishing *publishing)
{
	publishing->list.is_ack_pending = false;
	publishing->list.is_remote_ack_pending = false;
}

static void
publish_cqs(struct uroce_publishing *publishing, bool is_all)
{
	struct uroce_cq *cq = uroce_cq_list_take(&publishing->list);

	publishing->is_waiting = false;
	if (is_all)
		clear_pending_acks(publishing);
	while (cq) {
		struct uroce_cq_notify *consumer = cq->cookie;
		bool is_awaited;

		cq = uroce_cq_publish(cq, &publishing->list, is_all, &is_awaited);
		if (is_awaited)
			notify_consumer(consumer);
	}
}

void
uroce_publish_now(struct uroce_worker *worker)
{
	if (worker->publishing.list.first)
		publish_cqs(&worker->publishing, true);
}

void
uroce_publish_await_ack(struct uroce_worker *worker)
{
	worker->publishing.scheduled = worker->tx.nb_scheduled;
}

/* Whether the ACKs for which completions wait have passed their current stage. */
static bool
is_through(const struct uroce_worker *worker)
{
	const struct uroce_publishing *publishing = &worker->publishing;
	const struct uroce_tx *tx = &worker->tx;

	switch (publishing->stage) {
	case UROCE_ACK_SCHEDULED:
		return !tx->active_head || (int32_t)(tx->nb_polled_qps - publishing->mark) >= 0;
	case UROCE_ACK_BUILT:
		return tx->nb_pending == 0 || (int32_t)(tx->nb_left - publishing->mark) >= 0;
	case UROCE_ACK_IN_RING:
		return uroce_mux_client_has_passed(worker->dev->port, worker->queue,
						   publishing->mark);
	case UROCE_ACK_LEFT:
		break;
	}
	return false;
}

void
uroce_publish_drop(struct uroce_worker *worker, unsigned idx)
{
	struct uroce_publishing *publishing = &worker->publishing;

	if (publishing->stage == UROCE_ACK_BUILT &&
	    (int32_t)(publishing->mark - (worker->tx.nb_left + idx)) > 0)
		publishing->mark--;
}

static void
enter_stage(struct uroce_worker *worker, enum uroce_ack_stage stage)
{
	struct uroce_publishing *publishing = &worker->publishing;

	if (stage == UROCE_ACK_IN_RING && !publishing->is_far)
		stage = UROCE_ACK_LEFT;
	publishing->stage = stage;
	if (stage == UROCE_ACK_SCHEDULED)
		publishing->mark = publishing->scheduled;
	else if (stage == UROCE_ACK_BUILT)
		publishing->mark = worker->tx.nb_left + worker->tx.nb_pending;
	else if (stage == UROCE_ACK_IN_RING)
		publishing->mark = uroce_mux_client_sent(worker->dev->port, worker->queue);
}

static bool
have_left(struct uroce_worker *worker)
{
	struct uroce_publishing *publishing = &worker->publishing;

	while (publishing->stage != UROCE_ACK_LEFT && is_through(worker))
		enter_stage(worker, publishing->stage + 1);
	return publishing->stage == UROCE_ACK_LEFT;
}

/*
 * Whether the pending ACKs have already left. If the daemon uroced carries the frames, ACKs to
 * another host have left only when uroced has forwarded them. ACKs to a peer on the same host need
 * not wait for uroced: such a peer retrieves frames from uroced by a barrier before it ends a
 * connection. A peer on another host cannot do so.
 */
static bool
have_left_already(struct uroce_worker *worker)
{
	struct uroce_publishing *publishing = &worker->publishing;

	publishing->is_far = publishing->list.is_remote_ack_pending &&
			     worker->dev->port->policy->burst == UROCE_BURST_MUX;
	enter_stage(worker, UROCE_ACK_SCHEDULED);
	return have_left(worker);
}

/*
 * Begin to wait for ACKs. The completions that are unpublished at this time are published when the
 * ACKs that are pending at this time have left.
 */
static void
begin_publish_wait(struct uroce_worker *worker)
{
	struct uroce_publishing *publishing = &worker->publishing;

	uroce_cq_list_mark_due(&publishing->list);
	clear_pending_acks(publishing);
	publishing->since_ns = worker->now_ns;
	publishing->is_waiting = true;
}

static bool
is_late(const struct uroce_worker *worker)
{
	return worker->now_ns - worker->publishing.since_ns > UROCE_PUBLISH_MAX_NS;
}

void
uroce_publish(struct uroce_worker *worker)
{
	struct uroce_publishing *publishing = &worker->publishing;

	if (publishing->is_waiting) {
		if (!have_left(worker) && !is_late(worker))
			return;
		publish_cqs(publishing, false);
	}
	if (!publishing->list.first)
		return;
	if (publishing->list.is_ack_pending && !have_left_already(worker))
		begin_publish_wait(worker);
	else
		publish_cqs(publishing, true);
}

bool
uroce_publish_is_pending(const struct uroce_worker *worker)
{
	return worker->publishing.list.first;
}
