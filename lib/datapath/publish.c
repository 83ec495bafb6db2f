/* SPDX-License-Identifier: BSD-3-Clause */

#include "datapath/publish.h"

#include <sys/eventfd.h>

#include "datapath/attach.h"
#include "datapath/clock.h"
#include "datapath/round.h"

static void
notify(struct uroce_cq_notify *cq)
{
	if (!cq)
		return;
	atomic_fetch_add(&cq->nb_events, 1);
	if (cq->event_fd >= 0)
		(void)eventfd_write(cq->event_fd, 1);
}

static void
forget_owed(struct uroce_publishing *publishing)
{
	publishing->list.is_ack_owed = false;
	publishing->list.is_far_ack_owed = false;
}

static void
publish(struct uroce_publishing *publishing, bool is_all)
{
	struct uroce_cq *cq = uroce_cq_list_take(&publishing->list);

	publishing->is_waiting = false;
	if (is_all)
		forget_owed(publishing);
	while (cq) {
		struct uroce_cq_notify *consumer = cq->cookie;
		bool is_awaited;

		cq = uroce_cq_publish(cq, &publishing->list, is_all, &is_awaited);
		if (is_awaited)
			notify(consumer);
	}
}

void
uroce_publish_now(struct uroce_worker *worker)
{
	if (worker->publishing.list.first)
		publish(&worker->publishing, true);
}

/* The completions on the list are due when uroced has passed on the frames that are in the lane up now. */
static void
begin_wait(struct uroce_worker *worker)
{
	struct uroce_publishing *publishing = &worker->publishing;

	uroce_cq_list_mark_due(&publishing->list);
	forget_owed(publishing);
	publishing->mark = uroce_attach_sent(worker->dev->port, worker->queue);
	publishing->since_ns = worker->now_ns;
	publishing->is_waiting = true;
}

static bool
is_over(const struct uroce_worker *worker)
{
	const struct uroce_publishing *publishing = &worker->publishing;

	return uroce_attach_has_passed(worker->dev->port, worker->queue, publishing->mark) ||
	       worker->now_ns - publishing->since_ns > UROCE_PUBLISH_MAX_NS;
}

/*
 * Of a port whose frames uroced carries. A peer on this host asks uroced for what is on its way to it, by a barrier; one on
 * another host cannot.
 */
static void
publish_passed(struct uroce_worker *worker)
{
	struct uroce_publishing *publishing = &worker->publishing;

	if (publishing->is_waiting) {
		if (!is_over(worker))
			return;
		publish(publishing, false);
	}
	if (!publishing->list.first)
		return;
	if (publishing->list.is_far_ack_owed)
		begin_wait(worker);
	else
		publish(publishing, true);
}

void
uroce_publish(struct uroce_worker *worker)
{
	if (!worker->publishing.list.first)
		return;
	if (worker->dev->port->policy->burst == UROCE_BURST_LANES)
		publish_passed(worker);
	else
		publish(&worker->publishing, true);
}

bool
uroce_publish_is_pending(const struct uroce_worker *worker)
{
	return worker->publishing.list.first;
}
