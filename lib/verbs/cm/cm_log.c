/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines about ids of connection management. */

#include "verbs/cm/cm_log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <rte_common.h>

#include "cm/reason.h"
#include "cm/service_id.h"
#include "datapath/log.h"
#include "verbs/cm/sockaddr.h"
#include "verbs/uroce_cm.h"

/* An address and its port as text: "192.0.2.1:7471", "[2001:db8::1]:7471", or "no address". */
struct addr_text {
	char text[INET6_ADDRSTRLEN + sizeof("[]:65535")];
};

static struct addr_text
format_addr(const struct sockaddr *sa)
{
	const unsigned port = ntohs(uroce_vcm_sockaddr_port(sa));
	struct addr_text out = { "no address" };
	char ip[INET6_ADDRSTRLEN];

	if (sa->sa_family == AF_INET &&
	    inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, ip, sizeof(ip)) != NULL)
		(void)snprintf(out.text, sizeof(out.text), "%s:%u", ip, port);
	if (sa->sa_family == AF_INET6 &&
	    inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)sa)->sin6_addr, ip, sizeof(ip)) !=
		    NULL)
		(void)snprintf(out.text, sizeof(out.text), "[%s]:%u", ip, port);
	return out;
}

static struct addr_text
format_local(const struct uroce_vcm_id *id)
{
	return format_addr(&id->cm.route.addr.src_addr);
}

static struct addr_text
format_peer(const struct uroce_vcm_id *id)
{
	return format_addr(&id->cm.route.addr.dst_addr);
}

static const char *
name_space(const struct uroce_vcm_id *id)
{
	return uroce_cm_space_name(id->cm.ps);
}

void
uroce_vcm_log_listen(const struct uroce_vcm_id *id)
{
	UROCE_LOG(DEBUG, cm, "%s %s: listens, backlog %u", name_space(id), format_local(id).text,
		  id->backlog);
}

/*
 * Get the text for the status of an event. A positive status is the reason of a REJ, or the status
 * of a SIDR_REP; a negative one is an errno.
 */
static const char *
explain_status(const struct uroce_vcm_id *id, int status)
{
	if (status < 0)
		return strerror(-status);
	return uroce_vcm_is_datagram(id) ? uroce_cm_sidr_status_text((unsigned)status)
					 : uroce_cm_reason_text((unsigned)status);
}

/*
 * Advice or an explanation that is logged with an event; the event is the index. Each event that
 * reports a failure has a text.
 */
static const char *const advice[] = {
	[RDMA_CM_EVENT_ADDR_ERROR] = "check the address and the route, and that the host is up",
	[RDMA_CM_EVENT_ROUTE_ERROR] = "check the address and the route",
	[RDMA_CM_EVENT_CONNECT_ERROR] = "the QP could not be modified",
	[RDMA_CM_EVENT_UNREACHABLE] = "check that the peer's program runs, and that the network "
				      "passes UDP port 4791 (uroce-doctor)",
	[RDMA_CM_EVENT_REJECTED] = "reason of the peer",
	[RDMA_CM_EVENT_MULTICAST_ERROR] = "check the address of the group",
};

/* Get the advice for an event. @return NULL: the event reports no failure */
static const char *
advice_for(enum rdma_cm_event_type type, int status)
{
	if (type == RDMA_CM_EVENT_ADDR_ERROR && status == -ECONNREFUSED)
		return "this uroced was started with --no-cm, or with cm = no";
	return (size_t)type < RTE_DIM(advice) ? advice[type] : NULL;
}

void
uroce_vcm_log_event(const struct uroce_vcm_event *event)
{
	const struct uroce_vcm_id *const id = uroce_vcm_id(event->cm.id);
	const enum rdma_cm_event_type type = event->cm.event;
	const char *const name = uroce_cm_event_str(type) + sizeof("RDMA_CM_EVENT_") - 1;

	const char *const text = advice_for(type, event->cm.status);

	if (text != NULL)
		UROCE_LOG_LIMITED(WARNING, cm, "%s %s, peer %s: %s, status %d (%s): %s",
				  name_space(id), format_local(id).text, format_peer(id).text, name,
				  event->cm.status, explain_status(id, event->cm.status), text);
	else
		UROCE_LOG(DEBUG, cm, "%s %s, peer %s: %s", name_space(id), format_local(id).text,
			  format_peer(id).text, name);
}
