/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

#define POSTS_MAX 1024

static const struct word_bit opcodes[] = {
	{ "SEND", IBV_WR_SEND },
	{ "SEND_IMM", IBV_WR_SEND_WITH_IMM },
	{ "SEND_INV", IBV_WR_SEND_WITH_INV },
	{ "WRITE", IBV_WR_RDMA_WRITE },
	{ "WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM },
	{ "READ", IBV_WR_RDMA_READ },
	{ "CMP_SWAP", IBV_WR_ATOMIC_CMP_AND_SWP },
	{ "FETCH_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ "LOCAL_INV", IBV_WR_LOCAL_INV },
	{ NULL, 0 },
};

static const struct word_bit flags[] = {
	{ "signaled", IBV_SEND_SIGNALED },
	{ "solicited", IBV_SEND_SOLICITED },
	{ "inline", IBV_SEND_INLINE },
	{ "fence", IBV_SEND_FENCE },
	{ "none", 0 },
	{ NULL, 0 },
};

static const struct word_bit sides[] = { { "send", ON_SEND }, { "recv", ON_RECV }, { NULL, 0 } };

static const struct word_bit wc_opcodes[] = {
	{ "SEND", IBV_WC_SEND },
	{ "WRITE", IBV_WC_RDMA_WRITE },
	{ "READ", IBV_WC_RDMA_READ },
	{ "CMP_SWAP", IBV_WC_COMP_SWAP },
	{ "FETCH_ADD", IBV_WC_FETCH_ADD },
	{ "BIND", IBV_WC_BIND_MW },
	{ "LOCAL_INV", IBV_WC_LOCAL_INV },
	{ "RECV", IBV_WC_RECV },
	{ "RECV_IMM", IBV_WC_RECV_RDMA_WITH_IMM },
	{ NULL, 0 },
};

const struct word_bit wc_statuses[] = {
	{ "SUCCESS", IBV_WC_SUCCESS },
	{ "LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR },
	{ "LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR },
	{ "LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR },
	{ "WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR },
	{ "MW_BIND_ERR", IBV_WC_MW_BIND_ERR },
	{ "BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR },
	{ "LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR },
	{ "REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR },
	{ "REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR },
	{ "REM_OP_ERR", IBV_WC_REM_OP_ERR },
	{ "RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR },
	{ "RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR },
	{ "REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR },
	{ "FATAL_ERR", IBV_WC_FATAL_ERR },
	{ "GENERAL_ERR", IBV_WC_GENERAL_ERR },
	{ NULL, 0 },
};

uint64_t
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---------------------------------------------------------------------- filling and checking memory */

void
pattern_fill(uint8_t *at, uint64_t length, uint32_t seed)
{
	for (uint64_t i = 0; i < length; i++)
		at[i] = pattern(seed, i);
}

int64_t
pattern_check(const uint8_t *at, uint64_t length, uint32_t seed)
{
	for (uint64_t i = 0; i < length; i++)
		if (at[i] != pattern(seed, i))
			return (int64_t)i;
	return -1;
}

/*
 * The operation fill fills memory of an end with the pattern of a seed, or with zeros if there is
 * zero=. Arguments: offset= length= seed= zero=
 */
void
op_fill(const struct words *words)
{
	struct end *end = end_of(words);
	uint64_t length = words_number(words, "length", 0, end->size);
	uint8_t *at = end_memory(end, words_number(words, "offset", 0, end->size), length);

	if (words_text(words, "zero"))
		memset(at, 0, length);
	else
		pattern_fill(at, length, (uint32_t)words_number(words, "seed", 0, UINT32_MAX));
	printf("{}\n");
}

/*
 * The operation check compares memory of an end with a pattern. The arguments are those of
 * op_fill(). "at" in the response is the index of the first byte that differs, or -1 if no byte
 * differs.
 */
void
op_check(const struct words *words)
{
	struct end *end = end_of(words);
	uint64_t length = words_number(words, "length", 0, end->size);
	const uint8_t *at = end_memory(end, words_number(words, "offset", 0, end->size), length);
	int64_t wrong = 0;

	if (words_text(words, "zero")) {
		while ((uint64_t)wrong < length && !at[wrong])
			wrong++;
		wrong = (uint64_t)wrong == length ? -1 : wrong;
	} else {
		wrong = pattern_check(at, length,
				      (uint32_t)words_number(words, "seed", 0, UINT32_MAX));
	}
	printf("{\"at\": %" PRId64 "}\n", wrong);
}

/*
 * The operation word reads the 64-bit word at offset= in an end's memory, in the byte order of the
 * machine. With value= it writes the word first.
 */
void
op_word(const struct words *words)
{
	struct end *end = end_of(words);
	uint8_t *at = end_memory(end, words_number(words, "offset", 0, end->size), 8);
	uint64_t value;

	if (words_text(words, "value")) {
		value = words_number(words, "value", 0, UINT64_MAX);
		memcpy(at, &value, 8);
	}
	memcpy(&value, at, 8);
	printf("{\"value\": %" PRIu64 "}\n", value);
}

/* --------------------------------------------------------------------------------- posting requests */

/*
 * Get an address handle for the destination `text`. The end keeps the latest address handle, which
 * is used again if the destination is the same.
 */
static struct ibv_ah *
handle_to(struct end *end, const char *text)
{
	union ibv_gid gid = gid_of(text);
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = gid, .sgid_index = (uint8_t)device.gid_idx, .hop_limit = 64 },
	};

	if (end->ah && !memcmp(&gid, &end->ah_gid, sizeof(gid)))
		return end->ah;
	if (end->ah)
		ibv_destroy_ah(end->ah);
	end->ah = ibv_create_ah(device.pd, &attr);
	if (!end->ah)
		fail("%s: no address handle: %s", text, strerror(errno));
	end->ah_gid = gid;
	return end->ah;
}

static void
fill_target(struct end *end, struct ibv_send_wr *wr, const struct words *words, uint64_t step)
{
	uint64_t raddr = words_number(words, "raddr", 0, UINT64_MAX) + step;
	uint32_t rkey = (uint32_t)words_number(words, "rkey", 0, UINT32_MAX);

	switch (wr->opcode) {
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wr->invalidate_rkey = rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr->wr.atomic.remote_addr = raddr;
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.compare_add = words_number(words, "compare_add", 0, UINT64_MAX);
		wr->wr.atomic.swap = words_number(words, "swap", 0, UINT64_MAX);
		break;
	default:
		wr->wr.rdma.remote_addr = raddr;
		wr->wr.rdma.rkey = rkey;
	}
	if (end->type != IBV_QPT_UD)
		return;
	wr->wr.ud.ah = handle_to(end, words_text(words, "dgid"));
	wr->wr.ud.remote_qpn = (uint32_t)words_number(words, "dqpn", 0, 0xffffff);
	wr->wr.ud.remote_qkey = (uint32_t)words_number(words, "qkey", 0x11111111, UINT32_MAX);
}

/* The common values of the requests that are posted in one call, and the memory of each. */
struct batch {
	int n;
	uint64_t size, step, wr_id;
	struct ibv_sge sges[POSTS_MAX];
};

static void
read_batch(struct batch *batch, const struct end *end, const struct words *words)
{
	uint64_t offset = words_number(words, "offset", 0, UINT64_MAX);

	batch->n = (int)words_number(words, "n", 1, POSTS_MAX);
	batch->size = words_number(words, "size", 0, UINT32_MAX);
	batch->step = words_number(words, "step", 0, UINT32_MAX);
	batch->wr_id = words_number(words, "wr", 0, UINT64_MAX);
	for (int i = 0; i < batch->n; i++) {
		uint8_t *at = end_memory(end, offset + (uint64_t)i * batch->step, batch->size);

		batch->sges[i] =
			(struct ibv_sge){ (uintptr_t)at, (uint32_t)batch->size, end->mr->lkey };
	}
}

/*
 * The operation send posts n= send requests in one call. Each request is `step=` bytes further than
 * the one before, at both ends. Arguments: n= op= offset= size= step= raddr= rkey= imm= flags= wr=
 * (wr_id of the first request); for atomics compare_add= swap=; for datagrams dgid= dqpn= qkey=
 */
void
op_send(const struct words *words)
{
	static struct ibv_send_wr wrs[POSTS_MAX];
	static struct batch batch;
	struct end *end = end_of(words);
	uint32_t imm = (uint32_t)words_number(words, "imm", 0, UINT32_MAX);
	struct ibv_send_wr *bad;
	int error;

	read_batch(&batch, end, words);
	for (int i = 0; i < batch.n; i++) {
		wrs[i] = (struct ibv_send_wr){
			.wr_id = batch.wr_id + (uint64_t)i,
			.next = i + 1 < batch.n ? &wrs[i + 1] : NULL,
			.sg_list = &batch.sges[i],
			.num_sge = batch.size > 0,
			.opcode = (enum ibv_wr_opcode)words_one(words, "op", IBV_WR_SEND, opcodes),
			.send_flags =
				(unsigned int)words_bits(words, "flags", IBV_SEND_SIGNALED, flags),
			.imm_data = htobe32(imm + (uint32_t)i),
		};
		fill_target(end, &wrs[i], words, (uint64_t)i * batch.step);
	}
	error = batch.n ? ibv_post_send(end->qp, wrs, &bad) : 0;
	if (error)
		fail("send: %s, of request %td", strerror(error), bad - wrs);
	printf("{}\n");
}

/*
 * The operation recv posts receive requests to the end's SRQ, if it has one, or to its QP.
 * Arguments: n= offset= size= step= wr=
 */
void
op_recv(const struct words *words)
{
	static struct ibv_recv_wr wrs[POSTS_MAX];
	static struct batch batch;
	struct end *end = end_of(words);
	struct ibv_recv_wr *bad;
	int error;

	read_batch(&batch, end, words);
	for (int i = 0; i < batch.n; i++) {
		wrs[i] = (struct ibv_recv_wr){
			.wr_id = batch.wr_id + (uint64_t)i,
			.next = i + 1 < batch.n ? &wrs[i + 1] : NULL,
			.sg_list = &batch.sges[i],
			.num_sge = batch.size > 0,
		};
	}
	error = !batch.n   ? 0
		: end->srq ? ibv_post_srq_recv(end->srq, wrs, &bad)
			   : ibv_post_recv(end->qp, wrs, &bad);
	if (error)
		fail("recv: %s, of request %td", strerror(error), bad - wrs);
	printf("{}\n");
}

/*
 * The operation bind binds the memory window of an end; the completion is in the send CQ.
 * Arguments: type=1|2 offset= length= access= key= (low byte of the rkey, for type 2)
 */
void
op_bind(const struct words *words)
{
	struct end *end = end_of(words);
	bool is_type2 = words_number(words, "type", 2, 2) == 2;
	uint64_t length = words_number(words, "length", end->size, end->size);
	uint8_t *at = end_memory(end, words_number(words, "offset", 0, end->size), length);
	struct ibv_mw_bind_info info = {
		.mr = end->mr,
		.addr = (uintptr_t)at,
		.length = length,
		.mw_access_flags = (unsigned int)words_bits(
			words, "access", IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, rights),
	};
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED, .bind_info = info };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW,
					.send_flags = IBV_SEND_SIGNALED,
					.bind_mw = { .bind_info = info } };
	int error;

	if (!end->mw)
		end->mw = ibv_alloc_mw(device.pd, is_type2 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
	if (!end->mw)
		fail("no memory window: %s", strerror(errno));
	if (is_type2) {
		wr.bind_mw.mw = end->mw;
		wr.bind_mw.rkey = ibv_inc_rkey(end->mw->rkey);
		error = ibv_post_send(end->qp, &wr, &bad);
		if (!error)
			end->mw->rkey = wr.bind_mw.rkey;
	} else {
		error = ibv_bind_mw(end->qp, end->mw, &bind);
	}
	if (error)
		fail("bind: %s", strerror(error));
	printf("{\"rkey\": %u}\n", end->mw->rkey);
}

/* -------------------------------------------------------------- polling and waiting for completions */

static void
print_completion(const struct ibv_wc *wc, bool is_first)
{
	printf("%s{\"wr\": %" PRIu64 ", \"status\": \"%s\"", is_first ? "" : ", ", wc->wr_id,
	       words_name_of(wc_statuses, wc->status));
	if (wc->status == IBV_WC_SUCCESS) {
		printf(", \"op\": \"%s\", \"length\": %u", words_name_of(wc_opcodes, wc->opcode),
		       wc->byte_len);
		if (wc->wc_flags & IBV_WC_WITH_IMM)
			printf(", \"imm\": %u", be32toh(wc->imm_data));
		if (wc->wc_flags & IBV_WC_WITH_INV)
			printf(", \"invalidated\": %u", wc->invalidated_rkey);
		if (wc->wc_flags & IBV_WC_GRH)
			printf(", \"src_qp\": %u", wc->src_qp);
	}
	printf("}");
}

/*
 * The operation poll polls a CQ until n= completions have come, or ms= have passed. Arguments:
 * of=send|recv n= ms=
 */
void
op_poll(const struct words *words)
{
	struct end *end = end_of(words);
	struct ibv_cq *cq = end->cq[words_one(words, "of", ON_SEND, sides)];
	uint64_t n = words_number(words, "n", 1, POSTS_MAX);
	uint64_t until = now_us() + words_number(words, "ms", 1000, 3600000) * 1000;
	uint64_t got = 0;
	struct ibv_wc wc;

	printf("{\"completions\": [");
	while (got < n) {
		int nb = ibv_poll_cq(cq, 1, &wc);

		if (nb > 0)
			print_completion(&wc, got++ == 0);
		else if (nb < 0 || now_us() > until)
			break;
		else
			usleep(50);
	}
	printf("]}\n");
}

/* The operation arm arms a CQ. Arguments: of=send|recv solicited=0|1 */
void
op_arm(const struct words *words)
{
	struct end *end = end_of(words);
	int error = ibv_req_notify_cq(end->cq[words_one(words, "of", ON_RECV, sides)],
				      (int)words_number(words, "solicited", 0, 1));

	if (error)
		fail("arm: %s", strerror(error));
	printf("{}\n");
}

/*
 * The operation event waits up to ms= for a completion event. The response says whether one has
 * come. Arguments: ms=
 */
void
op_event(const struct words *words)
{
	struct end *end = end_of(words);
	struct pollfd ready = { .fd = end->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;
	int ready_fds = poll(&ready, 1, (int)words_number(words, "ms", 1000, 3600000));

	if (ready_fds > 0 && !ibv_get_cq_event(end->channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	printf("{\"came\": %s}\n", ready_fds > 0 ? "true" : "false");
}
