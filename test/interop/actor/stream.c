/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Both ends send to each other for some time. Each end has at most `window` requests in flight:
 * SENDs and READs, whose every byte the receiver checks; WRITEs of fixed data; FETCH_ADDs, which
 * are counted. The memory of an end consists of slots of `size` bytes:
 *
 * - `window` slots to send from, and `window` slots to receive into
 * - `window` slots that the peer writes: slot i gets the pattern of WRITTEN + i
 * - `window` slots for the responses to READs
 * - one slot that the peer reads: pattern READ_SEED
 * - one slot whose first word the peer's atomics change
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

#define WRITTEN   1000
#define READ_SEED 77

enum kind { SEND, WRITE, READ, ADD, KINDS };

struct stream {
	struct end *end;
	uint64_t raddr;
	uint32_t rkey;
	uint64_t size;
	uint64_t window;
	uint64_t nb;          /* number of requests of this end */
	uint64_t nb_peer;     /* number of requests of the peer */
	uint64_t nb_receives; /* number of SENDs among the peer's requests */
	uint64_t posted, done, posted_receives, received;
	uint64_t wrong[KINDS]; /* number of messages with wrong bytes, for each kind of request */
	const char *broken;    /* status of the first failed completion; NULL: none has failed */
};

enum part { FROM, INTO, PEER_WRITES, READ_INTO, PEER_READS, PEER_ADDS };

static uint64_t
offset_of(const struct stream *stream, enum part part, uint64_t i)
{
	uint64_t before = part <= READ_INTO ? (uint64_t)part * stream->window
					    : READ_INTO * stream->window + stream->window +
						      (part == PEER_ADDS);

	return (before + (part <= READ_INTO ? i % stream->window : 0)) * stream->size;
}

static uint8_t *
slot(const struct stream *stream, enum part part, uint64_t i)
{
	return stream->end->memory + offset_of(stream, part, i);
}

/*
 * The kind of the request with index `i`. RC QPs take the kinds in turn, other QPs only have SENDs.
 */
static enum kind
kind_of(const struct stream *stream, uint64_t i)
{
	return stream->end->type == IBV_QPT_RC ? (enum kind)(i % KINDS) : SEND;
}

static void
post_receive(struct stream *stream)
{
	uint64_t i = stream->posted_receives++;
	struct ibv_sge sge = { (uintptr_t)slot(stream, INTO, i), (uint32_t)stream->size,
			       stream->end->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

	if (ibv_post_recv(stream->end->qp, &wr, &bad))
		stream->broken = "post_recv";
}

static void
post_request(struct stream *stream)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		enum part from, to;
	} rows[KINDS] = {
		[SEND] = { IBV_WR_SEND, FROM, INTO },
		[WRITE] = { IBV_WR_RDMA_WRITE, FROM, PEER_WRITES },
		[READ] = { IBV_WR_RDMA_READ, READ_INTO, PEER_READS },
		[ADD] = { IBV_WR_ATOMIC_FETCH_AND_ADD, READ_INTO, PEER_ADDS },
	};
	uint64_t i = stream->posted++;
	enum kind kind = kind_of(stream, i);
	uint8_t *at = slot(stream, rows[kind].from, i);
	uint64_t raddr = stream->raddr + offset_of(stream, rows[kind].to, i);
	struct ibv_sge sge = { (uintptr_t)at, kind == ADD ? 8 : (uint32_t)stream->size,
			       stream->end->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = i,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = rows[kind].opcode,
					.send_flags = IBV_SEND_SIGNALED };

	if (kind == SEND)
		pattern_fill(at, stream->size, (uint32_t)i);
	else if (kind == WRITE)
		pattern_fill(at, stream->size, (uint32_t)(WRITTEN + i % stream->window));
	else
		memset(at, 0, sge.length);
	if (kind == ADD) {
		wr.wr.atomic.remote_addr = raddr;
		wr.wr.atomic.rkey = stream->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = raddr;
		wr.wr.rdma.rkey = stream->rkey;
	}
	if (ibv_post_send(stream->end->qp, &wr, &bad))
		stream->broken = "post_send";
}

/* The kinds take turns: one of every stride() requests is a SEND. */
static uint32_t
stride(const struct stream *stream)
{
	return stream->end->type == IBV_QPT_RC ? KINDS : 1;
}

static bool
take(struct stream *stream, int side)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(stream->end->cq[side], 1, &wc) <= 0)
		return false;
	if (wc.status != IBV_WC_SUCCESS) {
		/* a flush on one CQ may be polled before the failed request on the other CQ */
		if (!stream->broken || wc.status != IBV_WC_WR_FLUSH_ERR)
			stream->broken = words_name_of(wc_statuses, wc.status);
		return true;
	}
	if (side == ON_SEND) {
		stream->done++;
		if (kind_of(stream, wc.wr_id) == READ)
			stream->wrong[READ] += pattern_check(slot(stream, READ_INTO, wc.wr_id),
							     stream->size, READ_SEED) >= 0;
		return true;
	}
	stream->wrong[SEND] += wc.byte_len != stream->size ||
			       pattern_check(slot(stream, INTO, wc.wr_id), stream->size,
					     (uint32_t)wc.wr_id * stride(stream)) >= 0;
	stream->received++;
	if (stream->posted_receives < stream->nb_receives)
		post_receive(stream);
	return true;
}

/*
 * Fill the slots that the peer's requests use, and post receive requests. This must end before the
 * peer sends.
 */
static void
prepare(struct stream *stream)
{
	uint64_t zero = 0;

	memset(slot(stream, PEER_WRITES, 0), 0, stream->window * stream->size);
	pattern_fill(slot(stream, PEER_READS, 0), stream->size, READ_SEED);
	memcpy(slot(stream, PEER_ADDS, 0), &zero, 8);
	while (stream->posted_receives < stream->nb_receives &&
	       stream->posted_receives < stream->window)
		post_receive(stream);
}

static void
run(struct stream *stream, uint64_t timeout_us)
{
	uint64_t last = now_us();

	while ((stream->done < stream->nb || stream->received < stream->nb_receives) &&
	       !stream->broken) {
		bool is_moving = take(stream, ON_SEND);

		is_moving |= take(stream, ON_RECV);
		while (stream->posted < stream->nb &&
		       stream->posted - stream->done < stream->window && !stream->broken) {
			post_request(stream);
			is_moving = true;
		}
		if (is_moving)
			last = now_us();
		else if (now_us() - last > timeout_us)
			stream->broken = "nothing moves";
		else
			usleep(20);
	}
	while (stream->broken && (take(stream, ON_SEND) || take(stream, ON_RECV)))
		;
}

/*
 * Number of slots that do not have the data that the peer has written; 0 if the stream has failed,
 * because WRITEs may then be in flight.
 */
static uint64_t
wrong_writes(const struct stream *stream)
{
	uint64_t wrong = 0;

	for (uint64_t i = 0; !stream->broken && i < stream->nb_peer && i < stream->window * KINDS;
	     i++)
		if (kind_of(stream, i) == WRITE)
			wrong += pattern_check(slot(stream, PEER_WRITES, i), stream->size,
					       (uint32_t)(WRITTEN + i % stream->window)) >= 0;
	return wrong;
}

/*
 * The operation stream. Arguments: phase=prepare|run|end n= (requests of this end) m= (requests of
 * the peer) window= size= raddr= rkey= ms= (maximum time without progress). The runner calls
 * `prepare` on both ends, then `run` on both, then `end`. The response of `run` has the results.
 * The response of `end` has the result of checking the data that the peer has written and added.
 */
void
op_stream(const struct words *words)
{
	static const struct word_bit phases[] = {
		{ "prepare", 0 }, { "run", 1 }, { "end", 2 }, { NULL, 0 }
	};
	static struct stream stream;
	uint64_t added;

	switch (words_one(words, "phase", 0, phases)) {
	case 0:
		memset(&stream, 0, sizeof(stream));
		stream.end = end_of(words);
		stream.raddr = words_number(words, "raddr", 0, UINT64_MAX);
		stream.rkey = (uint32_t)words_number(words, "rkey", 0, UINT32_MAX);
		stream.size = words_number(words, "size", 4096, UINT32_MAX) & ~7ull;
		stream.window = words_number(words, "window", 8, 1024);
		stream.nb = words_number(words, "n", 0, UINT32_MAX);
		stream.nb_peer = words_number(words, "m", 0, UINT32_MAX);
		stream.nb_receives = (stream.nb_peer + stride(&stream) - 1) / stride(&stream);
		if (!stream.window || !stream.size)
			fail("stream: window and size are at least 1 and 8");
		end_memory(stream.end, 0, offset_of(&stream, PEER_ADDS, 0) + stream.size);
		prepare(&stream);
		printf("{}\n");
		break;
	case 1:
		run(&stream, words_number(words, "ms", 10000, 3600000) * 1000);
		printf("{\"done\": %" PRIu64 ", \"received\": %" PRIu64 ", \"broken\": \"%s\"}\n",
		       stream.done, stream.received, stream.broken ? stream.broken : "");
		break;
	default:
		if (!stream.end)
			fail("stream: it was not prepared");
		stream.wrong[WRITE] = wrong_writes(&stream);
		memcpy(&added, slot(&stream, PEER_ADDS, 0), 8);
		printf("{\"wrong_sends\": %" PRIu64 ", \"wrong_writes\": %" PRIu64
		       ", \"wrong_reads\": %" PRIu64 ", \"added\": %" PRIu64 "}\n",
		       stream.wrong[SEND], stream.wrong[WRITE], stream.wrong[READ], added);
	}
}
