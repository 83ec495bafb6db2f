/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prepares and posts work requests. All fields of a request that do not change are set before the
 * measurement. Slot numbers are kept in counters and not computed as remainders, because a division
 * for each request would slow down the test.
 */

#include "requests.h"
#include "session.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

uint64_t
requests_number(const struct requests *requests, unsigned qp_idx, uint64_t message)
{
	return message * requests->session->endpoint.nb_qp + qp_idx;
}

uint8_t *
requests_out(const struct requests *requests, unsigned qp_idx, uint64_t slot)
{
	const struct endpoint *endpoint = &requests->session->endpoint;

	return endpoint->buffer.at +
	       layout_out(&requests->layout, endpoint->area_len, qp_idx, slot);
}

uint8_t *
requests_in(const struct requests *requests, unsigned qp_idx, uint64_t slot)
{
	const struct endpoint *endpoint = &requests->session->endpoint;

	return endpoint->buffer.at + layout_in(&requests->layout, endpoint->area_len, qp_idx, slot);
}

/*
 * Get the index of the QP whose receive requests and areas a QP uses. With an SRQ all QPs use those
 * of the first QP.
 */
static unsigned
receiver_of(const struct requests *requests, unsigned qp_idx)
{
	return requests->session->endpoint.srq != NULL ? 0 : qp_idx;
}

const char *
requests_name(const struct requests *requests)
{
	static const char *const names[] = {
		[PERF_SEND] = "SEND",
		[PERF_WRITE] = "RDMA WRITE",
		[PERF_READ] = "RDMA READ",
		[PERF_ATOMIC] = "ATOMIC",
	};

	return names[requests->session->opt->op];
}

static enum ibv_wr_opcode
opcode_of(const struct options *opt)
{
	switch (opt->op) {
	case PERF_SEND:
		/*
		 * the immediate data carry the number of the message, because messages may be lost
		 */
		return opt->is_verify && !options_is_reliable(opt) ? IBV_WR_SEND_WITH_IMM
								   : IBV_WR_SEND;
	case PERF_WRITE:
		return IBV_WR_RDMA_WRITE;
	case PERF_READ:
		return IBV_WR_RDMA_READ;
	case PERF_ATOMIC:
		break;
	}
	return opt->atomic == PERF_CMP_AND_SWAP ? IBV_WR_ATOMIC_CMP_AND_SWP
						: IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Set those fields of the requests that do not change during the test of a message size. */
static void
make_requests(struct requests *requests)
{
	const struct options *opt = requests->session->opt;

	for (unsigned i = 0; i < opt->post_list; i++) {
		requests->send_sge[i] =
			(struct ibv_sge){ .length = (uint32_t)requests->layout.size };
		requests->send[i] = (struct ibv_send_wr){ .sg_list = &requests->send_sge[i],
							  .num_sge = 1,
							  .opcode = opcode_of(opt) };
		if (opt->qp_type == IBV_QPT_XRC_SEND)
			requests->send[i].qp_type.xrc.remote_srqn =
				requests->session->endpoint.peer[0].srqn;
	}
	for (unsigned i = 0; i < requests->recv_list; i++) {
		requests->recv_sge[i] =
			(struct ibv_sge){ .length = (uint32_t)requests->layout.recv_len };
		requests->recv[i] =
			(struct ibv_recv_wr){ .sg_list = &requests->recv_sge[i], .num_sge = 1 };
	}
}

/*
 * Allocate the struct stream of each QP. With many QPs these structs are accessed in random order,
 * so they are in huge pages if there are any.
 */
static struct stream *
make_streams(const struct endpoint *endpoint)
{
	const size_t len =
		(endpoint->nb_qp * sizeof(struct stream) + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	struct stream *streams = aligned_alloc(HUGE_PAGE, len);

	if (streams == NULL)
		return NULL;
	madvise(streams, len, MADV_HUGEPAGE);
	for (unsigned i = 0; i < endpoint->nb_qp; i++)
		streams[i] = (struct stream){ .qp = endpoint->qp[i],
					      .peer_vaddr = endpoint->peer[i].vaddr,
					      .peer_rkey = endpoint->peer[i].rkey,
					      .lkey = endpoint_mr(endpoint, i)->lkey };
	return streams;
}

int
requests_init(struct requests *requests, struct session *session, uint64_t size)
{
	const struct options *opt = session->opt;

	*requests = (struct requests){ .session = session,
				       .layout = layout_of(opt, session->endpoint.mtu, size) };
	requests->recv_list =
		opt->recv_post_list != 0 ? (unsigned)opt->recv_post_list : REQUESTS_RECV_LIST;
	requests->recv = calloc(requests->recv_list, sizeof(*requests->recv));
	requests->recv_sge = calloc(requests->recv_list, sizeof(*requests->recv_sge));
	requests->stream = make_streams(&session->endpoint);
	requests->send = calloc(opt->post_list, sizeof(*requests->send));
	requests->send_sge = calloc(opt->post_list, sizeof(*requests->send_sge));
	if (requests->stream == NULL || requests->send == NULL || requests->send_sge == NULL ||
	    requests->recv == NULL || requests->recv_sge == NULL)
		return -1;
	make_requests(requests);
	return 0;
}

void
requests_free(struct requests *requests)
{
	free(requests->stream);
	free(requests->send);
	free(requests->send_sge);
	free(requests->recv);
	free(requests->recv_sge);
	requests->stream = NULL;
	requests->send = NULL;
	requests->send_sge = NULL;
	requests->recv = NULL;
	requests->recv_sge = NULL;
}

void
requests_begin(struct requests *requests, uint64_t first)
{
	requests->first = first;
	for (unsigned i = 0; i < requests->session->endpoint.nb_qp; i++) {
		requests->stream[i].posted = 0;
		requests->stream[i].completed = 0;
		requests->stream[i].received = 0;
		requests->stream[i].slot = 0;
		requests->stream[i].unsignaled = 0;
		requests->stream[i].recv_slot = (uint32_t)requests_next_recv_slot(requests, i, 0);
	}
}

/*
 * Set the fields of an atomic request. Each atomic adds one to a 64-bit word in the buffer of the
 * peer. So the value before atomic number N is N, which a compare-and-swap has to expect.
 */
static void
aim_atomic(const struct requests *requests, unsigned qp_idx, uint64_t idx, struct ibv_send_wr *wr)
{
	const struct endpoint *endpoint = &requests->session->endpoint;
	uint64_t before = requests->first + idx;

	wr->wr.atomic.remote_addr = requests->stream[qp_idx].peer_vaddr +
				    layout_out(&requests->layout, endpoint->area_len, qp_idx, 0);
	wr->wr.atomic.rkey = requests->stream[qp_idx].peer_rkey;
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr->wr.atomic.compare_add = before;
		wr->wr.atomic.swap = before + 1;
	} else {
		wr->wr.atomic.compare_add = 1;
	}
}

static void
aim_rdma(const struct requests *requests, unsigned qp_idx, uint64_t slot, struct ibv_send_wr *wr)
{
	const struct endpoint *endpoint = &requests->session->endpoint;
	const struct layout *layout = &requests->layout;
	size_t offset = wr->opcode == IBV_WR_RDMA_WRITE
				? layout_in(layout, endpoint->area_len, qp_idx, slot)
				: layout_out(layout, endpoint->area_len, qp_idx, slot);

	wr->wr.rdma.rkey = requests->stream[qp_idx].peer_rkey;
	wr->wr.rdma.remote_addr = requests->stream[qp_idx].peer_vaddr + offset;
}

static void
aim_datagram(const struct requests *requests, unsigned qp_idx, struct ibv_send_wr *wr)
{
	const struct endpoint *endpoint = &requests->session->endpoint;

	if (requests->session->opt->qp_type != IBV_QPT_UD)
		return;
	wr->wr.ud.ah = endpoint->ah[qp_idx];
	wr->wr.ud.remote_qpn = endpoint->peer[qp_idx].qpn;
	wr->wr.ud.remote_qkey = endpoint->peer[qp_idx].qkey;
}

/*
 * Set the addresses of a request: those of its slot in the local buffer and, except for SEND, in
 * the buffer of the peer.
 */
static void
aim(const struct requests *requests, unsigned qp_idx, uint64_t idx, uint64_t slot,
    struct ibv_send_wr *wr)
{
	uint8_t *at = NULL;

	switch (requests->session->opt->op) {
	case PERF_SEND:
		at = requests_out(requests, qp_idx, slot);
		aim_datagram(requests, qp_idx, wr);
		wr->imm_data = htonl((uint32_t)(requests->first + idx));
		break;
	case PERF_WRITE:
		at = requests_out(requests, qp_idx, slot);
		aim_rdma(requests, qp_idx, slot, wr);
		break;
	case PERF_READ:
		at = requests_in(requests, qp_idx, slot);
		aim_rdma(requests, qp_idx, slot, wr);
		break;
	case PERF_ATOMIC:
		at = requests_in(requests, qp_idx, slot);
		aim_atomic(requests, qp_idx, idx, wr);
		break;
	}
	wr->sg_list->addr = (uintptr_t)at;
	wr->sg_list->lkey = requests->stream[qp_idx].lkey;
}

int
requests_post_send(struct requests *requests, unsigned qp_idx, unsigned nb, uint64_t signal_every,
		   uint64_t last)
{
	struct stream *stream = &requests->stream[qp_idx];
	struct ibv_send_wr *bad;
	bool is_inline = requests->layout.size <= requests->session->opt->inline_len;
	/*
	 * the number of the next slot is counted up, and not computed as a remainder, because a
	 * division for each request would slow down the test
	 */
	uint32_t slot = stream->slot;
	uint32_t unsignaled = stream->unsignaled;

	for (unsigned i = 0; i < nb; i++) {
		struct ibv_send_wr *wr = &requests->send[i];
		uint64_t idx = stream->posted + i;

		aim(requests, qp_idx, idx, slot, wr);
		if (++slot == requests->layout.slots)
			slot = 0;
		wr->wr_id = (uint64_t)qp_idx << REQUESTS_QP_SHIFT | (uint32_t)idx;
		wr->send_flags = is_inline ? IBV_SEND_INLINE : 0;
		if (++unsignaled == signal_every || idx == last)
			wr->send_flags |= IBV_SEND_SIGNALED;
		if (unsignaled == signal_every)
			unsignaled = 0;
		wr->next = i + 1 < nb ? wr + 1 : NULL;
	}
	int error = ibv_post_send(stream->qp, requests->send, &bad);
	if (error != 0) {
		fprintf(stderr, "uroce-perf: post %u requests: %s\n", nb, strerror(error));
		return -1;
	}
	stream->posted += nb;
	stream->slot = slot;
	stream->unsignaled = unsignaled;
	return 0;
}

uint64_t
requests_nb_recv(const struct requests *requests, unsigned qp_idx)
{
	const struct receives *receives =
		&requests->session->endpoint.receives[receiver_of(requests, qp_idx)];

	return receives->posted - receives->done;
}

uint64_t
requests_next_recv_slot(const struct requests *requests, unsigned qp_idx, uint64_t ahead)
{
	uint64_t posted =
		requests->session->endpoint.receives[receiver_of(requests, qp_idx)].posted;

	return (posted + ahead) % requests->layout.slots;
}

static int
post_recv_list(struct requests *requests, unsigned qp_idx, unsigned nb)
{
	struct endpoint *endpoint = &requests->session->endpoint;
	struct ibv_recv_wr *bad;

	const uint64_t base = (uintptr_t)requests_in(requests, qp_idx, 0);
	const size_t stride = requests->layout.stride;
	/*
	 * the number of the next slot is counted up, and not computed as a remainder, because a
	 * division for each request would slow down the test
	 */
	uint64_t slot = requests->stream[qp_idx].recv_slot;

	for (unsigned i = 0; i < nb; i++) {
		requests->recv_sge[i].addr = base + slot * stride;
		requests->recv_sge[i].lkey = requests->stream[qp_idx].lkey;
		requests->recv[i].wr_id =
			REQUESTS_RECV_BIT | (uint64_t)qp_idx << REQUESTS_QP_SHIFT | (uint32_t)slot;
		requests->recv[i].next = i + 1 < nb ? &requests->recv[i + 1] : NULL;
		if (++slot == requests->layout.slots)
			slot = 0;
	}
	int error = endpoint->srq != NULL
			    ? ibv_post_srq_recv(endpoint->srq, requests->recv, &bad)
			    : ibv_post_recv(endpoint->qp[qp_idx], requests->recv, &bad);
	if (error != 0) {
		fprintf(stderr, "uroce-perf: post %u receives: %s\n", nb, strerror(error));
		return -1;
	}
	endpoint->receives[qp_idx].posted += nb;
	requests->stream[qp_idx].recv_slot = (uint32_t)slot;
	return 0;
}

int
requests_post_recv(struct requests *requests, unsigned qp_idx, uint64_t wanted)
{
	const unsigned list = requests->recv_list;
	uint64_t nb;

	qp_idx = receiver_of(requests, qp_idx);
	while ((nb = requests_nb_recv(requests, qp_idx)) < wanted) {
		uint64_t missing = wanted - nb;

		if (post_recv_list(requests, qp_idx, missing < list ? (unsigned)missing : list) !=
		    0)
			return -1;
	}
	return 0;
}
