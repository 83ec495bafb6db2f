/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchange of lines over a connection by rdma_cm. The bytes of the lines are sent by SENDs of
 * up to MESSAGE_LEN bytes. Each side keeps SLOTS receive requests posted. No step of a test needs
 * more messages before the other side reads them.
 *
 * A side that ends disconnects by rdma_cm. A side that was killed does not disconnect. So a side
 * that has posted no request for ALIVE_MS posts an RDMA WRITE of no bytes, which fails if the peer
 * does not respond.
 */

#include "cm_exchange.h"
#include "stop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#define SLOTS       16u
#define MESSAGE_LEN 4096u
/* milliseconds between two polls for events of connection management while this side waits */
#define LOOK_MS 100
/*
 * milliseconds without a request of this side after which it posts an RDMA WRITE, which tests the
 * peer
 */
#define ALIVE_MS 1000
/* limit in milliseconds for the wait until the last line has arrived, which only a fault exceeds */
#define FLUSH_MS 30000
/* limit in milliseconds for the wait until the peer has confirmed the end of the connection */
#define CLOSE_MS   2000
#define POLL_BATCH 8

struct cm_exchange {
	struct cm *cm;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	bool is_broken; /* a request of this side has failed, so the peer is gone */
	/* numbers of requests of the send queue that were posted and that have completed */
	uint64_t posted, completed;
	size_t out_len;          /* number of bytes in the next message, which is not posted yet */
	uint64_t arrived, taken; /* number of messages that have arrived, and that were read */
	size_t taken_len;        /* number of bytes of the next message that were already read */
	uint32_t in_len[SLOTS];
	uint64_t looked_tsc, posted_tsc;
	uint8_t out[SLOTS][MESSAGE_LEN], in[SLOTS][MESSAGE_LEN];
};

static uint64_t
ticks(unsigned ms)
{
	return ms * rte_get_tsc_hz() / 1000;
}

static int
post_receive(struct cm_exchange *state, uint64_t message)
{
	struct ibv_sge sge = { (uintptr_t)state->in[message % SLOTS], MESSAGE_LEN,
			       state->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	return ibv_post_recv(state->id->qp, &wr, &bad) == 0 ? 0 : -1;
}

/*
 * Post a request. A SEND sends the message that the caller has written to the buffer of this
 * request: out[posted % SLOTS]. An RDMA WRITE has no bytes: it only tests whether the peer
 * responds.
 */
static int
post_request(struct cm_exchange *state, enum ibv_wr_opcode opcode, size_t len)
{
	struct ibv_sge sge = { (uintptr_t)state->out[state->posted % SLOTS], (uint32_t)len,
			       state->mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = len > 0,
					.opcode = opcode,
					.send_flags = IBV_SEND_SIGNALED };

	if (ibv_post_send(state->id->qp, &wr, &bad) != 0)
		return -1;
	state->posted++;
	state->posted_tsc = rte_rdtsc();
	return 0;
}

static void
take_completions(struct cm_exchange *state)
{
	struct ibv_wc wc[POLL_BATCH];
	int nb = ibv_poll_cq(state->cq, POLL_BATCH, wc);

	state->is_broken |= nb < 0;
	for (int i = 0; i < nb; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			state->is_broken = true;
		else if (wc[i].opcode == IBV_WC_RECV)
			state->in_len[state->arrived++ % SLOTS] = wc[i].byte_len;
		else
			state->completed++;
	}
}

/*
 * Check every LOOK_MS milliseconds whether the peer has ended. If this side has posted no request
 * for ALIVE_MS, post one that tests the peer.
 */
static void
look(struct cm_exchange *state)
{
	uint64_t now = rte_rdtsc();

	if (now - state->looked_tsc < ticks(LOOK_MS))
		return;
	state->looked_tsc = now;
	if (cm_is_disconnected(state->cm))
		state->is_broken = true;
	else if (state->posted == state->completed && state->out_len == 0 &&
		 now - state->posted_tsc > ticks(ALIVE_MS))
		state->is_broken |= post_request(state, IBV_WR_RDMA_WRITE, 0) != 0;
}

/* Do one round of a loop that waits for the peer. @return whether the wait may go on */
static bool
wait_on(struct cm_exchange *state)
{
	take_completions(state);
	look(state);
	endpoint_drive(state->cm->endpoint);
	return !state->is_broken;
}

static int
post_message(struct cm_exchange *state)
{
	size_t len = state->out_len;

	state->out_len = 0;
	return post_request(state, IBV_WR_SEND, len);
}

static int
send_bytes(struct exchange *exchange, const char *bytes, size_t len, bool has_more)
{
	struct cm_exchange *state = exchange->state;

	for (size_t sent = 0; sent < len;) {
		size_t room = MESSAGE_LEN - state->out_len;
		size_t nb = len - sent < room ? len - sent : room;

		while (state->posted - state->completed >= SLOTS)
			if (!wait_on(state) || stop_is_asked())
				return -1;
		memcpy(state->out[state->posted % SLOTS] + state->out_len, bytes + sent, nb);
		state->out_len += nb;
		sent += nb;
		if (state->out_len == MESSAGE_LEN && post_message(state) != 0)
			return -1;
	}
	return has_more || state->out_len == 0 ? 0 : post_message(state);
}

static ssize_t
receive_bytes(struct exchange *exchange, char *bytes, size_t room)
{
	struct cm_exchange *state = exchange->state;
	uint64_t message = state->taken;

	take_completions(state);
	if (message == state->arrived) {
		look(state);
		/* the peer may have sent its last line and disconnected since the first poll */
		take_completions(state);
	}
	if (message == state->arrived)
		return state->is_broken ? -1 : 0;
	size_t left = state->in_len[message % SLOTS] - state->taken_len;
	size_t nb = left < room ? left : room;
	memcpy(bytes, state->in[message % SLOTS] + state->taken_len, nb);
	state->taken_len += nb;
	if (nb == left) {
		state->taken++;
		state->taken_len = 0;
		state->is_broken |= post_receive(state, message) != 0;
	}
	return (ssize_t)nb;
}

static void
destroy(struct cm_exchange *state)
{
	if (state->id != NULL)
		uroce_cm_destroy_ep(state->id);
	if (state->mr != NULL)
		(void)uroce_dereg_mr(state->mr);
	if (state->cq != NULL)
		(void)uroce_destroy_cq(state->cq);
	free(state);
}

/*
 * Wait until the last line has arrived at the peer. Then disconnect, and wait until the peer has
 * confirmed the end of the connection.
 */
static void
close_connection(struct exchange *exchange)
{
	struct cm_exchange *state = exchange->state;
	uint64_t deadline = rte_rdtsc() + ticks(FLUSH_MS);

	while (state->posted != state->completed && rte_rdtsc() < deadline && wait_on(state))
		;
	(void)uroce_cm_disconnect(state->id);
	deadline = rte_rdtsc() + ticks(CLOSE_MS);
	while (!cm_is_disconnected(state->cm) && rte_rdtsc() < deadline)
		endpoint_drive(state->cm->endpoint);
	state->cm->exchange = NULL;
	destroy(state);
}

static const struct exchange_ops cm_ops = {
	.send = send_bytes,
	.receive = receive_bytes,
	.close = close_connection,
};

static int
no_exchange(const char *what)
{
	fprintf(stderr, "uroce-perf: the connection to the other side: %s: %s\n", what,
		strerror(errno));
	return -1;
}

static int
register_buffers(struct cm_exchange *state)
{
	const size_t len = sizeof(state->out) + sizeof(state->in);

	state->mr = uroce_reg_mr(state->id->pd, state->out, len, IBV_ACCESS_LOCAL_WRITE);
	if (state->mr == NULL)
		return no_exchange("register its buffers");
	for (uint64_t i = 0; i < SLOTS; i++)
		if (post_receive(state, i) != 0)
			return no_exchange("post its receive requests");
	return 0;
}

static int
make_connection(struct cm_exchange *state)
{
	state->cq = uroce_create_cq(state->cm->endpoint->context, 2 * SLOTS, NULL, NULL, 0);
	if (state->cq == NULL)
		return no_exchange("create its completion queue");
	struct ibv_qp_init_attr init = {
		.send_cq = state->cq,
		.recv_cq = state->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SLOTS,
			 .max_recv_wr = SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	state->id = cm_begin(state->cm, CM_EXCHANGE, NULL, &init);
	if (state->id == NULL || register_buffers(state) != 0)
		return -1;
	return cm_finish(state->cm, state->id, CM_EXCHANGE, NULL);
}

int
cm_exchange_open(struct exchange *exchange, struct cm *cm)
{
	struct cm_exchange *state = calloc(1, sizeof(*state));

	if (state == NULL)
		return no_exchange("allocate its buffers");
	state->cm = cm;
	if (make_connection(state) != 0) {
		destroy(state);
		return -1;
	}
	exchange_open(exchange, &cm_ops);
	exchange->state = state;
	return 0;
}
