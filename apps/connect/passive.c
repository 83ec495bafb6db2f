/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The passive side of uroce-connect. It listens, and accepts or rejects each request, until a
 * signal ends the program. The ids of accepted connections are kept until the peer disconnects, but
 * at most KEPT_MAX of them: one more id replaces the oldest one.
 */

#include "end.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "addr.h"

#define BACKLOG  128
#define KEPT_MAX 256u

static atomic_bool is_ending;

static struct {
	struct rdma_cm_id *id[KEPT_MAX]; /* ids of accepted connections; NULL in a free entry */
	unsigned next;                   /* index in `id` at which the next accepted id is stored */
} kept;

static void
end(int number)
{
	(void)number;
	atomic_store(&is_ending, true);
}

/* Catch SIGINT and SIGTERM. A signal interrupts poll(), so the loop that waits for events ends. */
static void
catch_signals(void)
{
	const struct sigaction action = { .sa_handler = end };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

/* --- ids that are kept --------------------------------------------------------------------------- */

static void
keep(struct rdma_cm_id *id)
{
	if (kept.id[kept.next] != NULL)
		end_destroy(kept.id[kept.next]);
	kept.id[kept.next] = id;
	kept.next = (kept.next + 1) % KEPT_MAX;
}

static void
drop(struct rdma_cm_id *id)
{
	for (unsigned i = 0; i < KEPT_MAX; i++) {
		if (kept.id[i] == id)
			kept.id[i] = NULL;
	}
	end_destroy(id);
}

static void
drop_all(void)
{
	for (unsigned i = 0; i < KEPT_MAX; i++) {
		if (kept.id[i] != NULL)
			drop(kept.id[i]);
	}
}

/* --- events -------------------------------------------------------------------------------------- */

static int
listen_at(const struct options *opt, struct rdma_cm_id *id)
{
	struct sockaddr_storage addr = opt->addr;

	if (uroce_cm_bind_addr(id, (struct sockaddr *)&addr) != 0 ||
	    uroce_cm_listen(id, BACKLOG) != 0)
		return end_report("listener", -errno, "%s: %s",
				  addr_format((struct sockaddr *)&addr).text, strerror(errno));
	return end_report("listener", 0, "%s", addr_format((struct sockaddr *)&addr).text);
}

static int
accept_request(const struct options *opt, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	int ret;

	if (opt->is_refusing)
		return uroce_cm_reject(id, NULL, 0) == 0 ? 0 : -errno;
	ret = end_create_qp(id, opt->is_datagram);
	if (ret == 0 && opt->is_datagram)
		param.qp_num = id->qp->qp_num;
	return ret == 0 && uroce_cm_accept(id, &param) != 0 ? -errno : ret;
}

static void
handle_request(const struct options *opt, struct rdma_cm_id *id)
{
	const struct addr_text from = addr_format(uroce_cm_get_peer_addr(id));
	const int ret = accept_request(opt, id);

	(void)end_report("request", ret, "from %s: %s", from.text,
			 ret != 0           ? strerror(-ret)
			 : opt->is_refusing ? "rejected"
					    : "accepted");
	if (ret != 0 || opt->is_refusing)
		end_destroy(id);
	else
		keep(id);
}

/* Handle an event of a connection that this side has accepted. */
static void
handle_event(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	if (type == RDMA_CM_EVENT_ESTABLISHED)
		return;
	if (type == RDMA_CM_EVENT_DISCONNECTED)
		(void)uroce_cm_disconnect(id);
	drop(id);
}

static void
take_event(const struct options *opt, struct rdma_cm_id *listener, struct rdma_cm_event *event)
{
	const enum rdma_cm_event_type type = event->event;
	struct rdma_cm_id *const id = event->id;

	/*
	 * Acknowledge the event before it is handled: the handling may destroy the id, and
	 * uroce_cm_destroy_id() waits until all events of the id are acknowledged.
	 */
	(void)uroce_cm_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		handle_request(opt, id);
	else if (id != listener)
		handle_event(id, type);
}

int
passive_run(const struct options *opt, struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int ret;

	catch_signals();
	if (uroce_cm_create_id(channel, &id, NULL, opt->is_datagram ? RDMA_PS_UDP : RDMA_PS_TCP) !=
	    0) {
		(void)end_report("listener", -errno, "%s", strerror(errno));
		return EXIT_FAILURE;
	}
	ret = listen_at(opt, id);
	while (ret == 0 && !atomic_load(&is_ending)) {
		ret = end_await(channel, -1, &event);
		if (ret == 0)
			take_event(opt, id, event);
	}
	drop_all();
	end_destroy(id);
	return atomic_load(&is_ending) ? EXIT_SUCCESS : EXIT_FAILURE;
}
