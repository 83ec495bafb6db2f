/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client and the server of the connections that rdma_cm makes. The program does the work of
 * connection management in its own loops, so that no thread of the library disturbs a measurement.
 */

#include "cm.h"
#include "cm_event.h"
#include "link.h"
#include "stop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <rte_cycles.h>

/*
 * limit in seconds for each step of connecting: the address, the route, the answer of the peer, and
 * its next connection request; rdma_cm itself would repeat a REQ for 69 s
 */
#define STEP_S 60
/*
 * time in milliseconds in which the host of the peer must reply to ARP or ND; less than STEP_S, so
 * that the library reports the failure
 */
#define RESOLVE_MS 50000
#define RNR_RETRY  7 /* RNR retry count that means: retry without limit */
/*
 * ACK timeout (2.1 s), encoded, and retry count of the connection over which the two sides exchange
 * lines of text. The connection fails after 69 s without a response, because the process of the
 * peer may get no CPU for many seconds on a busy host.
 */
#define EXCHANGE_TIMEOUT_CODE 19
#define EXCHANGE_RETRIES      7
#define REFUSAL_LEN           148 /* length of the private data of a REJ */
/* first word of the private data by which uroce-perf recognises its connection requests */
#define MAGIC 0x75726f70

static int
cm_failed(const char *what)
{
	fprintf(stderr, "uroce-perf: rdma_cm: %s: %s\n", what, strerror(errno));
	return -1;
}

static enum rdma_port_space
port_space(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD ? RDMA_PS_UDP : type == IBV_QPT_UC ? RDMA_PS_IB : RDMA_PS_TCP;
}

/*
 * Set the ACK timeout of a connection. The option --qp-timeout applies to the QPs of the test, not
 * to the connection over which the two sides exchange lines.
 */
static int
set_ack_timeout(const struct cm *cm, struct rdma_cm_id *id, uint32_t number)
{
	uint8_t code =
		number == CM_EXCHANGE ? EXCHANGE_TIMEOUT_CODE : (uint8_t)cm->opt->timeout_code;

	return uroce_cm_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &code,
				   sizeof(code)) != 0
		       ? cm_failed("the ACK timeout")
		       : 0;
}

/* Set the traffic class of a connection of the test, if the user has given the option --tos. */
static int
set_tos(const struct cm *cm, struct rdma_cm_id *id, uint32_t number)
{
	uint8_t tos = (uint8_t)cm->opt->tos;

	if (number == CM_EXCHANGE || tos == 0)
		return 0;
	return uroce_cm_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)) != 0
		       ? cm_failed("--tos")
		       : 0;
}

/* --- the client ------------------------------------------------------------------------------ */

static struct hello
hello_of(const struct cm *cm, uint32_t number)
{
	struct hello hello = { .magic = htonl(MAGIC),
			       .number = htonl(number),
			       .token = htonl(cm->token),
			       .mtu = htonl(cm->endpoint->mtu) };

	return hello;
}

/* Resolve the address of the server and the route to the server. */
static int
resolve(struct cm *cm, struct rdma_cm_id *id, uint32_t number)
{
	struct cm_event event;

	if (set_ack_timeout(cm, id, number) != 0 || set_tos(cm, id, number) != 0)
		return -1;
	if (uroce_cm_resolve_addr(id, (struct sockaddr *)&cm->self, (struct sockaddr *)&cm->server,
				  RESOLVE_MS) != 0)
		return cm_failed("resolve the address");
	if (cm_event_await(cm, RDMA_CM_EVENT_ADDR_RESOLVED, STEP_S, &event) != 0)
		return -1;
	if (uroce_cm_resolve_route(id, RESOLVE_MS) != 0)
		return cm_failed("resolve the route");
	return cm_event_await(cm, RDMA_CM_EVENT_ROUTE_RESOLVED, STEP_S, &event);
}

/*
 * Create an id for a UC QP, and resolve the server. rdma_cm uses UC for an id of RDMA_PS_IB only if
 * a struct rdma_addrinfo has this QP type. An id that is created with this struct has no event
 * channel at first: uroce_cm_create_ep() waits until the address and the route are resolved.
 */
static struct rdma_cm_id *
begin_uc(struct cm *cm)
{
	struct rdma_addrinfo info = {
		.ai_port_space = RDMA_PS_IB,
		.ai_qp_type = IBV_QPT_UC,
		.ai_src_addr = (struct sockaddr *)&cm->self,
		.ai_dst_addr = (struct sockaddr *)&cm->server,
	};
	struct rdma_cm_id *id;

	if (uroce_cm_create_ep(&id, &info, NULL, NULL) != 0) {
		cm_failed("the way to the server");
		return NULL;
	}
	if (uroce_cm_migrate_id(id, cm->channel) == 0)
		return id;
	cm_failed("the event channel");
	uroce_cm_destroy_ep(id);
	return NULL;
}

static struct rdma_cm_id *
begin_request(struct cm *cm, uint32_t number, enum ibv_qp_type type)
{
	struct rdma_cm_id *id;

	if (type == IBV_QPT_UC)
		return begin_uc(cm);
	if (uroce_cm_create_id(cm->channel, &id, NULL, port_space(type)) != 0) {
		cm_failed("create an id");
		return NULL;
	}
	if (resolve(cm, id, number) == 0)
		return id;
	(void)uroce_cm_destroy_id(id);
	return NULL;
}

static int
send_request(const struct cm *cm, struct rdma_cm_id *id, uint32_t number)
{
	const struct hello hello = hello_of(cm, number);
	struct rdma_conn_param param = {
		.private_data = &hello,
		.private_data_len = sizeof(hello),
		.responder_resources = (uint8_t)cm->endpoint->outs,
		.initiator_depth = (uint8_t)cm->endpoint->outs,
		.flow_control = 1,
		.retry_count =
			number == CM_EXCHANGE ? EXCHANGE_RETRIES : (uint8_t)cm->opt->retry_cnt,
		.rnr_retry_count = RNR_RETRY,
	};

	return uroce_cm_connect(id, &param) != 0 ? cm_failed("connect") : 0;
}

/* --- the server ------------------------------------------------------------------------------ */

/*
 * Check a connection request of a client.
 * @return NULL, or the reason why the request is refused, in a buffer that is valid until the next
 *         call
 */
static const char *
refusal_of(struct cm *cm, const struct hello *hello, uint32_t number)
{
	static char text[REFUSAL_LEN];
	unsigned mtu = ntohl(hello->mtu);

	if (ntohl(hello->magic) != MAGIC)
		return "it serves uroce-perf only";
	if (number == CM_EXCHANGE && ntohl(hello->number) == CM_EXCHANGE)
		cm->token = ntohl(hello->token);
	if (ntohl(hello->token) != cm->token || ntohl(hello->number) != number)
		return "it serves another client";
	if (mtu <= cm->endpoint->mtu)
		return NULL;
	snprintf(text, sizeof(text),
		 "the path MTU is %u at the client and %u at the server; allowed: --mtu %u on both",
		 mtu, cm->endpoint->mtu, cm->endpoint->mtu);
	return text;
}

/* Wait until the client requests connection `number`. All other connection requests are refused. */
static struct rdma_cm_id *
await_request(struct cm *cm, uint32_t number)
{
	const unsigned limit_s = number == CM_EXCHANGE ? CM_EVENT_NO_LIMIT : STEP_S;
	struct cm_event event;

	while (cm_event_await(cm, RDMA_CM_EVENT_CONNECT_REQUEST, limit_s, &event) == 0) {
		const char *why = refusal_of(cm, &event.hello, number);

		if (why == NULL)
			return event.id;
		cm_event_refuse(event.id, why);
	}
	return NULL;
}

static int
accept_request(const struct cm *cm, struct rdma_cm_id *id, uint32_t number)
{
	if (set_ack_timeout(cm, id, number) != 0)
		return -1;
	return uroce_cm_accept(id, NULL) != 0 ? cm_failed("accept") : 0;
}

/* --- both sides ------------------------------------------------------------------------------ */

struct rdma_cm_id *
cm_begin(struct cm *cm, uint32_t number, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct rdma_cm_id *id = cm->is_client ? begin_request(cm, number, init->qp_type)
					      : await_request(cm, number);

	if (id == NULL)
		return NULL;
	if (uroce_cm_create_qp(id, pd, init) == 0)
		return id;
	(void)endpoint_qp_failed(cm->opt);
	if (cm->is_client)
		(void)uroce_cm_destroy_id(id);
	else
		cm_event_refuse(id, "it has no queue pair");
	return NULL;
}

int
cm_finish(struct cm *cm, struct rdma_cm_id *id, uint32_t number, struct rdma_ud_param *ud)
{
	struct cm_event event;

	if ((cm->is_client ? send_request(cm, id, number) : accept_request(cm, id, number)) != 0)
		return -1;
	/*
	 * a server of UD QPs gets no event after it has accepted a request, so it does not wait for
	 * an event
	 */
	if (!cm->is_client && id->ps == RDMA_PS_UDP)
		return 0;
	if (cm_event_await(cm, RDMA_CM_EVENT_ESTABLISHED, STEP_S, &event) != 0)
		return -1;
	if (number == CM_EXCHANGE)
		cm->exchange = id;
	if (ud != NULL)
		*ud = event.ud;
	return 0;
}

/* Convert a GID and a port to a socket address. */
static void
address_of(const union ibv_gid *gid, bool is_ipv4, uint16_t port, struct sockaddr_storage *address)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)address;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)address;

	memset(address, 0, sizeof(*address));
	if (is_ipv4) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		memcpy(&sin->sin_addr, gid->raw + 12, sizeof(sin->sin_addr));
	} else {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = htons(port);
		memcpy(&sin6->sin6_addr, gid->raw, sizeof(sin6->sin6_addr));
	}
}

static int
listen_for(struct cm *cm, enum ibv_qp_type type, struct rdma_cm_id **listener)
{
	if (uroce_cm_create_id(cm->channel, listener, NULL, port_space(type)) != 0)
		return cm_failed("create an id");
	if (uroce_cm_bind_addr(*listener, (struct sockaddr *)&cm->self) == 0 &&
	    uroce_cm_listen(*listener, 0) == 0)
		return 0;
	fprintf(stderr, "uroce-perf: RDMA port %u: %s; allowed: a free one (--port)\n",
		(unsigned)cm->opt->port, strerror(errno));
	return -1;
}

/*
 * Listen in RDMA_PS_TCP for the connection over which the two sides exchange lines. If the QPs of
 * the test use another port space, listen in that port space as well.
 */
static int
open_server(struct cm *cm)
{
	enum ibv_qp_type type = (enum ibv_qp_type)cm->opt->qp_type;
	char name[INET6_ADDRSTRLEN] = "";

	if (listen_for(cm, IBV_QPT_RC, &cm->listeners[0]) != 0 ||
	    (cm->opt->is_rdma_cm && type != IBV_QPT_RC &&
	     listen_for(cm, type, &cm->listeners[1]) != 0))
		return -1;
	(void)getnameinfo((struct sockaddr *)&cm->self, sizeof(cm->self), name, sizeof(name), NULL,
			  0, NI_NUMERICHOST);
	/* A tool that starts the server waits for this line before it starts the client. */
	fprintf(cm->opt->output == PERF_OUTPUT_TABLE ? stdout : stderr,
		" waiting for a client on %s, RDMA port %u\n", name, (unsigned)cm->opt->port);
	fflush(stdout);
	return 0;
}

static int
open_client(struct cm *cm)
{
	struct rdma_addrinfo *found,
		hints = { .ai_flags = RAI_FAMILY, .ai_family = cm->self.ss_family };
	const char *server = cm->opt->server;
	char service[8];

	snprintf(service, sizeof(service), "%u", (unsigned)cm->opt->port);
	int error = uroce_cm_getaddrinfo(server, service, &hints, &found);
	if (error != 0) {
		fprintf(stderr,
			"uroce-perf: server %s: %s; allowed: the %s of its device, or a name of "
			"it\n",
			server, error == -1 ? strerror(errno) : gai_strerror(error),
			hints.ai_family == AF_INET ? "IPv4 address (with --ipv6 the IPv6 address)"
						   : "IPv6 address");
		return -1;
	}
	memcpy(&cm->server, found->ai_dst_addr, found->ai_dst_len);
	uroce_cm_freeaddrinfo(found);
	if (getrandom(&cm->token, sizeof(cm->token), 0) != sizeof(cm->token))
		return cm_failed("a random number");
	return link_await(cm->endpoint);
}

int
cm_open(struct cm *cm, const struct options *opt, struct endpoint *endpoint)
{
	*cm = (struct cm){ .opt = opt, .endpoint = endpoint, .is_client = opt->server != NULL };
	address_of(&endpoint->gid, endpoint_is_ipv4(endpoint),
		   cm->is_client ? 0 : (uint16_t)opt->port, &cm->self);
	if (uroce_cm_set_drive(UROCE_CM_DRIVE_NONE) != 0)
		return cm_failed("the loop of the program");
	cm->channel = uroce_cm_create_event_channel();
	if (cm->channel == NULL || fcntl(cm->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return cm_failed("create an event channel");
	return cm->is_client ? open_client(cm) : open_server(cm);
}

void
cm_close(struct cm *cm)
{
	for (unsigned i = 0; i < 2; i++)
		if (cm->listeners[i] != NULL)
			(void)uroce_cm_destroy_id(cm->listeners[i]);
	uroce_cm_destroy_event_channel(cm->channel);
	*cm = (struct cm){ 0 };
}
