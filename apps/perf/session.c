/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs one side of a test. The two sides exchange these lines, in this order. In each step a side
 * sends its line and then waits for the line of the other side for this step:
 *
 *	uroce-perf VERSION key=value...      parameters, which must be equal but for mtu and outs
 *	qp IDX QPN PSN RKEY VADDR GID SRQN RECV_QPN
 *	                                     one for each queue pair
 *	sync STEP VALUE...                   steps of the run (test_bw.c, test_lat.c)
 *	fail WHY                             in place of any other line: its sender ends the test
 */

#include "session.h"
#include "capture.h"
#include "cm_endpoint.h"
#include "cm_exchange.h"
#include "group.h"
#include "impair.h"
#include "parameters.h"
#include "stop.h"
#include "tcp.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#define VERSION           2

#define HELLO_S           60 /* limit in seconds for the wait for a line of the other side */
#define CLEARED_PER_S_LOG 26 /* log2 of the bytes that a busy machine clears in a second */
#define CLOSE_S           5  /* limit in seconds for the client to close its port */
/* microseconds between two polls of the connection to the other side, in a loop that waits */
#define POLL_US             20
#define BUDGET_BYTES        (1u << 30)
#define BUDGET_VERIFY_BYTES (256u << 20)
#define ITERS_MIN           8

static int
fail(struct session *session, const char *why)
{
	if (exchange_is_open(&session->exchange) && !session->is_peer_gone)
		exchange_send(&session->exchange, "fail %s",
			      stop_is_asked() ? "it was stopped" : why);
	return -1;
}

/*
 * Wait for a line from the peer, and drive the workers meanwhile.
 * @return 0, or -1 after a line on stderr
 */
static int
wait_line(struct session *session, char *line, unsigned limit_s)
{
	uint64_t deadline = rte_rdtsc() + limit_s * rte_get_tsc_hz();

	while (!stop_is_asked()) {
		int got = exchange_receive(&session->exchange, line);

		if (got > 0)
			return 0;
		if (got < 0) {
			session->is_peer_gone = true;
			fprintf(stderr, "uroce-perf: the other side closed the connection\n");
			return -1;
		}
		if (rte_rdtsc() > deadline) {
			fprintf(stderr, "uroce-perf: the other side is silent since %u s\n",
				limit_s);
			return -1;
		}
		endpoint_drive(&session->endpoint);
	}
	return -1;
}

static bool
is_peer_failure(struct session *session, const char *line)
{
	if (strncmp(line, "fail ", 5) != 0)
		return false;
	session->is_peer_gone = true;
	fprintf(stderr, "uroce-perf: the other side gave up: %s\n", line + 5);
	return true;
}

/* Print why the other side has ended. @return -1 */
static int
read_failure(struct session *session)
{
	char line[EXCHANGE_LINE_MAX];

	if (wait_line(session, line, HELLO_S) == 0)
		is_peer_failure(session, line);
	return -1;
}

/* --- agreement on the parameters ------------------------------------------------------------- */

static int
send_hello(struct session *session)
{
	char text[EXCHANGE_LINE_MAX - 64];

	parameters_format(session->opt, text, sizeof(text));
	return exchange_send(&session->exchange, "uroce-perf %d mtu=%u outs=%u%s", VERSION,
			     session->endpoint.mtu, session->endpoint.outs, text);
}

static int
agree(struct session *session)
{
	char line[EXCHANGE_LINE_MAX];
	int version = 0;

	if (send_hello(session) != 0) {
		fprintf(stderr, "uroce-perf: the other side closed the connection\n");
		return -1;
	}
	if (wait_line(session, line, HELLO_S) != 0)
		return fail(session, "no answer");
	if (is_peer_failure(session, line))
		return -1;
	if (sscanf(line, "uroce-perf %d ", &version) != 1 || version != VERSION) {
		fprintf(stderr,
			"uroce-perf: the other side is no uroce-perf of this version (%d): it says "
			"\"%.40s\"\n",
			VERSION, line);
		return fail(session, "versions differ");
	}
	if (parameters_compare(session->opt, line) != 0)
		return fail(session, "the sides differ in what to run");
	session->endpoint.mtu = parameters_smaller(line, "mtu", session->endpoint.mtu);
	session->endpoint.outs = parameters_smaller(line, "outs", session->endpoint.outs);
	return 0;
}

/* --- addresses ------------------------------------------------------------------------------- */

/*
 * The number of addresses that are exchanged in one batch. It is limited, so that neither side has
 * to wait until the other side reads.
 */
#define SWAP_BATCH 256u

static const char hex[] = "0123456789abcdef";

static int
send_addresses(struct session *session, unsigned begin, unsigned end)
{
	for (unsigned i = begin; i < end; i++) {
		const struct address *local = &session->endpoint.local[i];
		char gid[33] = "";

		for (int byte = 0; byte < 16; byte++) {
			gid[2 * byte] = hex[local->gid.raw[byte] >> 4];
			gid[2 * byte + 1] = hex[local->gid.raw[byte] & 0xf];
		}
		if ((i + 1 < end ? exchange_send_more : exchange_send)(
			    &session->exchange, "qp %u %x %x %x %" PRIx64 " %s %x %x", i,
			    local->qpn, local->psn, local->rkey, local->vaddr, gid, local->srqn,
			    local->recv_qpn) != 0)
			return -1;
	}
	return 0;
}

static bool
parse_gid(const char *text, union ibv_gid *gid)
{
	for (int i = 0; i < 32; i++) {
		const char *digit = text[i] != '\0' ? strchr(hex, text[i]) : NULL;

		if (digit == NULL)
			return false;
		gid->raw[i / 2] = (uint8_t)(gid->raw[i / 2] << 4 | (digit - hex));
	}
	return text[32] == '\0';
}

static bool
parse_address(const char *line, unsigned idx, struct address *address)
{
	unsigned their_idx;
	char gid[33];

	return sscanf(line, "qp %u %x %x %x %" SCNx64 " %32[0-9a-f] %x %x", &their_idx,
		      &address->qpn, &address->psn, &address->rkey, &address->vaddr, gid,
		      &address->srqn, &address->recv_qpn) == 8 &&
	       their_idx == idx && parse_gid(gid, &address->gid);
}

/*
 * Get the limit in seconds for the wait for the next struct address of the other side. The kernel
 * of the other side first clears its registered buffer, which takes long for a large buffer.
 */
static unsigned
addresses_s(const struct session *session)
{
	return HELLO_S + (unsigned)(session->endpoint.buffer_len >> CLEARED_PER_S_LOG);
}

static int
receive_addresses(struct session *session, unsigned begin, unsigned end)
{
	char line[EXCHANGE_LINE_MAX];

	for (unsigned i = begin; i < end; i++) {
		if (wait_line(session, line, addresses_s(session)) != 0)
			return -1;
		if (is_peer_failure(session, line))
			return -1;
		if (!parse_address(line, i, &session->endpoint.peer[i])) {
			fprintf(stderr, "uroce-perf: the other side sent no address: \"%.40s\"\n",
				line);
			return -1;
		}
	}
	return 0;
}

static int
exchange_addresses(struct session *session)
{
	const unsigned nb_qp = session->endpoint.nb_qp;

	for (unsigned begin = 0; begin < nb_qp; begin += SWAP_BATCH) {
		unsigned end = begin + SWAP_BATCH < nb_qp ? begin + SWAP_BATCH : nb_qp;

		if (send_addresses(session, begin, end) != 0 ||
		    receive_addresses(session, begin, end) != 0)
			return -1;
	}
	return 0;
}

/* --- synchronization of the steps ------------------------------------------------------------ */

int
session_send(struct session *session, const char *step, const struct sync *mine)
{
	const uint64_t *v = mine->value;

	if (exchange_send(&session->exchange,
			  "sync %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, step, v[0], v[1],
			  v[2], v[3]) == 0)
		return 0;
	session->is_peer_gone = true;
	fprintf(stderr, "uroce-perf: the other side closed the connection\n");
	return -1;
}

int
session_poll(struct session *session, const char *step, struct sync *theirs)
{
	char line[EXCHANGE_LINE_MAX], name[32];
	uint64_t now = rte_rdtsc(), v[SYNC_VALUES];

	if (now - session->looked_tsc < POLL_US * rte_get_tsc_hz() / 1000000)
		return 0;
	session->looked_tsc = now;
	int got = exchange_receive(&session->exchange, line);
	if (got == 0)
		return 0;
	if (got < 0) {
		session->is_peer_gone = true;
		fprintf(stderr, "uroce-perf: the other side closed the connection\n");
		return -1;
	}
	if (is_peer_failure(session, line))
		return -1;
	if (sscanf(line, "sync %31s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, name, &v[0],
		   &v[1], &v[2], &v[3]) != 5 ||
	    strcmp(name, step) != 0) {
		fprintf(stderr, "uroce-perf: out of step: \"%.40s\" instead of %s\n", line, step);
		return -1;
	}
	memcpy(theirs->value, v, sizeof(v));
	return 1;
}

int
session_sync(struct session *session, const char *step, const struct sync *mine,
	     struct sync *theirs)
{
	int got;

	if (session_send(session, step, mine) != 0)
		return -1;
	while ((got = session_poll(session, step, theirs)) == 0) {
		if (stop_is_asked())
			return -1;
		endpoint_drive(&session->endpoint);
	}
	return got < 0 ? -1 : 0;
}

/* --- the run --------------------------------------------------------------------------------- */

uint64_t
session_iters(const struct session *session, uint64_t size)
{
	const struct options *opt = session->opt;
	uint64_t budget = opt->is_verify ? BUDGET_VERIFY_BYTES : BUDGET_BYTES;
	uint64_t most = budget / size;

	if (opt->has_iters || opt->iters <= most)
		return opt->iters;
	return most < ITERS_MIN ? ITERS_MIN : most;
}

/*
 * Make the connection to the other side. The device was opened before, so that errors in its
 * specification are printed before this side waits for the other side.
 */
static int
open_exchange(struct session *session)
{
	const struct options *opt = session->opt;

	if (exchange_is_open(&session->exchange))
		return 0;
	if (options_uses_cm(opt))
		return cm_open(&session->cm, opt, &session->endpoint) != 0
			       ? -1
			       : cm_exchange_open(&session->exchange, &session->cm);
	return session->is_client ? tcp_connect(&session->exchange, opt)
				  : tcp_accept(&session->exchange, opt);
}

static double
seconds_since(uint64_t tsc)
{
	return (double)(rte_rdtsc() - tsc) / (double)rte_get_tsc_hz();
}

static int
connect_sides(struct session *session)
{
	struct endpoint *endpoint = &session->endpoint;

	if (open_exchange(session) != 0 || agree(session) != 0)
		return -1;
	if (session->opt->qp_type == IBV_QPT_UD && session->opt->has_size &&
	    session->opt->size > endpoint->mtu) {
		fprintf(stderr,
			"uroce-perf: --size %u: a datagram is one packet; allowed: 1 to %u, which "
			"both "
			"sides carry\n",
			(unsigned)session->opt->size, endpoint->mtu);
		return fail(session, "the size does not fit in a datagram");
	}
	if (endpoint_create(endpoint, session->opt) != 0 ||
	    group_join(endpoint, session->opt, session->is_client) != 0)
		return fail(session, "it has no queue pair");
	if (session->opt->is_rdma_cm && cm_endpoint_connect(endpoint, &session->cm) != 0)
		return session->cm.is_peer_gone
			       ? read_failure(session)
			       : fail(session, "it cannot connect its queue pairs");
	uint64_t begin = rte_rdtsc();
	if (exchange_addresses(session) != 0)
		return fail(session, "no addresses");
	endpoint->setup.swap_s = seconds_since(begin);
	if (group_set_destination(endpoint, session->opt, session->is_client) != 0 ||
	    endpoint_connect(endpoint, session->opt) != 0)
		return fail(session, "it finds no way here");
	return 0;
}

static int
run_sizes(struct session *session)
{
	const struct options *opt = session->opt;
	uint64_t size_max = layout_size_max(opt, session->endpoint.mtu);
	uint64_t size = opt->is_all ? 2 : size_max;
	int result = 0;

	for (; result == 0 && size <= size_max; size *= 2) {
		result = opt->is_lat ? test_lat(session, size) : test_bw(session, size);
		if (session->wrong > 0)
			break;
	}
	return result;
}

/* Print the result of the checks of received data. @return the exit status */
static int
evaluate_checks(const struct session *session)
{
	bool is_found = session->wrong > 0;

	if (!session->opt->is_selftest) {
		if (is_found && !session->report.is_quiet)
			fprintf(stderr, "uroce-perf: verify: %" PRIu64 " wrong bytes\n",
				session->wrong);
		return is_found ? PERF_EXIT_FAILED : PERF_EXIT_OK;
	}
	if (!session->report.is_quiet)
		fprintf(stderr, "uroce-perf: verify-selftest: the flipped byte was %s\n",
			is_found ? "found, as it should be" : "NOT found");
	return is_found ? PERF_EXIT_FLIP_FOUND : PERF_EXIT_FLIP_MISSED;
}

/* Wait for the time of --wait_destroy, and drive the workers meanwhile. */
static void
wait_before_end(struct session *session)
{
	const uint64_t end = rte_rdtsc() + session->opt->destroy_wait_s * rte_get_tsc_hz();

	while (rte_rdtsc() < end && !stop_is_asked())
		endpoint_drive(&session->endpoint);
}

static int
run_connected(struct session *session)
{
	struct sync none = { 0 };

	if (session_sync(session, "connected", &none, &none) != 0)
		return PERF_EXIT_FAILED;
	report_head(&session->report, &session->endpoint);
	int result = run_sizes(session);
	failures_print(&session->failures);
	if (result != 0) {
		fail(session, session->failures.nb_reported > 0 ? "completions in error"
			      : stop_is_asked()                 ? "it was stopped"
								: "its test failed");
		return PERF_EXIT_FAILED;
	}
	if (session_sync(session, "end", &none, &none) != 0)
		return PERF_EXIT_FAILED;
	wait_before_end(session);
	endpoint_destroy_qps(&session->endpoint);
	if (report_end(&session->report, &session->endpoint) != 0)
		return PERF_EXIT_FAILED;
	return evaluate_checks(session);
}

/*
 * Wait until the client has closed its port. Some drivers (virtio) need a response from the other
 * end of the link to close a port, and the server is that end.
 */
static void
await_close(struct session *session)
{
	char line[EXCHANGE_LINE_MAX];
	uint64_t deadline = rte_rdtsc() + CLOSE_S * rte_get_tsc_hz();

	while (exchange_receive(&session->exchange, line) >= 0 && rte_rdtsc() < deadline &&
	       !stop_is_asked())
		endpoint_drive(&session->endpoint);
}

int
session_open(struct session *session, const char *spec)
{
	char port_name[64];

	snprintf(port_name, sizeof(port_name), "%.*s", (int)strcspn(spec, ","), spec);
	if (endpoint_open(&session->endpoint, session->opt, spec) == 0 &&
	    measures_open(&session->measures, session->opt, session->endpoint.context) == 0 &&
	    capture_add_port(port_name) == 0 && impair_add_port(port_name) == 0)
		return 0;
	endpoint_close(&session->endpoint);
	return -1;
}

/* End the exchange of lines, and destroy the objects of rdma_cm, before the device is destroyed. */
static void
close_cm(struct session *session)
{
	/*
	 * First close the connection over which the two sides exchange lines, then destroy the QPs:
	 * the other side must get the last line, which may give the reason of a failure.
	 */
	exchange_close(&session->exchange);
	endpoint_destroy_qps(&session->endpoint);
	cm_close(&session->cm);
}

int
session_run(struct session *session)
{
	const struct options *opt = session->opt;
	int code = PERF_EXIT_FAILED;

	session->is_requester = session->is_client != opt->is_reversed || opt->is_bidir;
	session->is_responder = session->is_client == opt->is_reversed || opt->is_bidir;
	if (connect_sides(session) == 0)
		code = run_connected(session);
	if (!session->is_client && code != PERF_EXIT_FAILED)
		await_close(session);
	if (options_uses_cm(opt))
		close_cm(session);
	endpoint_close(&session->endpoint);
	exchange_close(&session->exchange);
	return code;
}
