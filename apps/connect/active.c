/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The active side of uroce-connect. It resolves the address of the peer and the route, sends a
 * connection request, and disconnects as soon as it is connected. If nobody listens at this port of
 * the peer, uroce-connect asks the peer for a datagram service with the same port number.
 */

#include "end.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uroce_cm_dv.h>

#include "addr.h"

/* reason of a REJ: invalid service ID [IBA 12.6.7.2] */
#define REASON_NO_LISTENER 8

#define RESOLVE_MS         3000
#define DISCONNECT_MS      2000

/*
 * The result of a connection request: 0, a negative errno, or the positive reason of a REJ, and the
 * text that end_report() prints with this number.
 */
struct answer {
	int outcome;
	const char *text;
};

/*
 * Wait for the event that ends the resolution of an address or a route.
 * @return 0, or -errno, which is the status of the event if the event reports an error
 */
static int
await_resolution(struct rdma_event_channel *channel, enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;
	int ret = end_await(channel, 2 * RESOLVE_MS, &event);

	if (ret != 0)
		return ret;
	if (event->event != wanted)
		ret = event->status < 0 ? event->status : -EIO;
	(void)uroce_cm_ack_cm_event(event);
	return ret;
}

static int
resolve_addr(const struct options *opt, struct rdma_cm_id *id)
{
	struct sockaddr_storage source = opt->source, remote = opt->addr;

	if (uroce_cm_resolve_addr(id, opt->has_source ? (struct sockaddr *)&source : NULL,
				  (struct sockaddr *)&remote, RESOLVE_MS) != 0)
		return -errno;
	return await_resolution(id->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
}

static int
resolve_route(struct rdma_cm_id *id)
{
	if (uroce_cm_resolve_route(id, RESOLVE_MS) != 0)
		return -errno;
	return await_resolution(id->channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/*
 * Resolve the address of the peer and the route to the peer, and report both steps.
 * @return 0, or -errno
 */
static int
find_way(const struct options *opt, struct rdma_cm_id *id)
{
	int ret = resolve_addr(opt, id);

	if (ret != 0)
		return end_report("address", ret, "%s", strerror(-ret));
	(void)end_report("address", 0, "%s, device %s",
			 addr_format(uroce_cm_get_local_addr(id)).text, id->verbs->device->name);
	ret = resolve_route(id);
	if (ret != 0)
		return end_report("route", ret, "%s", strerror(-ret));
	return end_report("route", 0, "path MTU %u", 128u << id->route.path_rec->mtu);
}

/* Get the result of a connection request from the event that ends the request. */
static struct answer
answer_of(const struct rdma_cm_event *event, bool is_datagram)
{
	const int status = event->status;

	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		return (struct answer){ 0, is_datagram ? "the service has a QP" : "connected" };
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_UNREACHABLE:
		return (struct answer){ status, uroce_cm_dv_status_str(event->event, status) };
	default:
		return (struct answer){ status < 0 ? status : -EIO,
					uroce_cm_event_str(event->event) };
	}
}

static struct answer
await_answer(const struct options *opt, struct rdma_cm_id *id, bool is_datagram)
{
	struct rdma_cm_event *event;
	struct answer answer;
	const int ret = end_await(id->channel, opt->timeout_ms, &event);

	if (ret != 0)
		return (struct answer){ ret, strerror(-ret) };
	answer = answer_of(event, is_datagram);
	(void)uroce_cm_ack_cm_event(event);
	return answer;
}

static struct answer
send_request(const struct options *opt, struct rdma_cm_id *id, bool is_datagram)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	int ret = end_create_qp(id, is_datagram);

	if (ret == 0 && uroce_cm_connect(id, &param) != 0)
		ret = -errno;
	return ret != 0 ? (struct answer){ ret, strerror(-ret) }
			: await_answer(opt, id, is_datagram);
}

/*
 * Disconnect, and wait up to DISCONNECT_MS for the confirmation of the peer. The program ends soon
 * after this function, and until then the CM engine can repeat a disconnect request that was lost.
 */
static void
disconnect(struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;

	if (uroce_cm_disconnect(id) == 0 && end_await(id->channel, DISCONNECT_MS, &event) == 0)
		(void)uroce_cm_ack_cm_event(event);
}

/*
 * Connect to the peer.
 * @return 0; or the outcome of the step that failed: a negative errno, or the positive reason of a
 *         REJ
 */
static int
make_connection(const struct options *opt, struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;
	struct answer answer;
	int ret;

	if (uroce_cm_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0)
		return end_report("address", -errno, "%s", strerror(errno));
	ret = find_way(opt, id);
	if (ret == 0) {
		answer = send_request(opt, id, false);
		ret = end_report("connection", answer.outcome, "%s", answer.text);
		if (ret == 0)
			disconnect(id);
	}
	end_destroy(id);
	return ret;
}

/*
 * Ask the peer for the QP of a datagram service, and report the result.
 * @param is_way_known  whether the address of the peer and the route were already resolved and
 *         reported
 */
static int
resolve_service(const struct options *opt, struct rdma_event_channel *channel, bool is_way_known)
{
	struct rdma_cm_id *id;
	struct answer answer;
	int ret;

	if (uroce_cm_create_id(channel, &id, NULL, RDMA_PS_UDP) != 0)
		return end_report("datagram", -errno, "%s", strerror(errno));
	if (is_way_known)
		ret = resolve_addr(opt, id) != 0 || resolve_route(id) != 0 ? -EIO : 0;
	else
		ret = find_way(opt, id);
	if (ret == 0) {
		answer = send_request(opt, id, true);
		ret = end_report("datagram", answer.outcome, "%s", answer.text);
	}
	end_destroy(id);
	return ret;
}

int
active_run(const struct options *opt, struct rdma_event_channel *channel)
{
	int ret;

	if (opt->is_datagram) {
		ret = resolve_service(opt, channel, false);
	} else {
		ret = make_connection(opt, channel);
		if (ret == REASON_NO_LISTENER)
			(void)resolve_service(opt, channel, true);
	}
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
