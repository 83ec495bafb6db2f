/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The receiver, which measures: it counts the frames that it has received and checked in an
 * interval after the start of the stream. A PSN gap is counted and skipped, because no protocol
 * retransmits the lost frames.
 */

#include "side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_cycles.h>
#include <rte_prefetch.h>

#include "region.h"
#include "shape.h"
#include "wire/psn.h"

/* A frame is prefetched this number of frames before it is checked. */
#define AHEAD 4

struct sink {
	const struct port *port;
	const struct limit_options *opt;
	struct shape_kind seen[256];
	struct shape_kind ack;
	uint8_t *region;
	/* offset in the region of the next payload, if its frame has no RETH */
	uint64_t place;
	uint32_t expected_psn; /* PSN of the next frame; valid if `has_begun` */
	bool has_begun;
	unsigned unanswered; /* number of frames received since the latest response */
	/* a frame received since the latest response has AckReq */
	bool is_asked;
	/* responses that are sent after the present burst */
	struct rte_mbuf *answers[LIMIT_BURST_MAX];
	unsigned nb_answers;
	/* counters since the start of the stream */
	uint64_t frames; /* number of valid frames */
	uint64_t bytes;  /* number of payload bytes of valid frames */
	uint64_t lost;   /* number of PSNs that were missing */
	/*
	 * RoCE frames that are no frames of this test, are damaged, or have an address outside of
	 * the region
	 */
	uint64_t bad;
};

static bool
place_payload(struct sink *sink, const struct shape_kind *kind, const uint8_t *frame)
{
	uint64_t at = kind->has_reth ? shape_va(frame) : sink->place;

	if (at > sink->opt->region || kind->payload_len > sink->opt->region - at) {
		if (kind->has_reth || kind->payload_len > sink->opt->region)
			return false;
		/*
		 * The First frame of this message, which has the address, was lost, and the payload
		 * does not fit at `place`.
		 */
		at = 0;
	}
	shape_copy(sink->region + at, frame + kind->hdr_len, kind->payload_len);
	sink->place = at + kind->payload_len;
	return true;
}

static void
take_frame(struct sink *sink, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct shape_kind *kind =
		m->nb_segs == 1 ? shape_check(sink->seen, frame, m->data_len) : NULL;
	uint32_t psn;

	if (!kind || !place_payload(sink, kind, frame)) {
		sink->bad += shape_is_roce(frame, m->data_len);
		return;
	}
	psn = shape_psn(frame);
	if (psn != sink->expected_psn && sink->has_begun)
		sink->lost += uroce_psn_dist(sink->expected_psn, psn);
	sink->has_begun = true;
	sink->expected_psn = uroce_psn_add(psn, 1);
	sink->frames++;
	sink->bytes += kind->payload_len;
	sink->unanswered++;
	sink->is_asked |= shape_has_ack_req(frame);
}

static uint32_t
last_psn(const struct sink *sink)
{
	return uroce_psn_add(sink->expected_psn, UROCE_PSN_MASK);
}

/*
 * Add a response that acknowledges all frames so far. The responses of a burst are sent together.
 */
static void
put_answer(struct sink *sink)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(sink->port->pool);

	if (!m)
		return;
	shape_put_ack(&sink->ack, (uint8_t *)rte_pktmbuf_append(m, SHAPE_ACK_LEN), last_psn(sink),
		      SHAPE_SYNDROME_ACK);
	sink->answers[sink->nb_answers++] = m;
	sink->is_asked = false;
	sink->unanswered = 0;
}

static void
send_answers(struct sink *sink)
{
	port_send(sink->port, sink->answers, sink->nb_answers);
	sink->nb_answers = 0;
}

static unsigned
poll(struct sink *sink)
{
	struct rte_mbuf *frames[LIMIT_BURST_MAX];
	const unsigned nb = rte_eth_rx_burst(sink->port->id, 0, frames, (uint16_t)sink->opt->burst);

	for (unsigned i = 0; i < nb; i++) {
		if (i + AHEAD < nb)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i + AHEAD], const uint8_t *));
		take_frame(sink, frames[i]);
		if (sink->unanswered >= sink->opt->ack_every || sink->is_asked)
			put_answer(sink);
	}
	if (sink->nb_answers > 0)
		send_answers(sink);
	if (nb > 0)
		rte_pktmbuf_free_bulk(frames, nb);
	return nb;
}

/*
 * Receive frames for `seconds`, or until `max` frames.
 * @param is_begun  whether the time begins now; otherwise it begins with the first frame
 * @return false: no frame has arrived for too long, or the process must end
 */
static bool
poll_for(struct sink *sink, double seconds, uint64_t max, bool is_begun)
{
	const uint64_t hz = rte_get_tsc_hz();
	const double silence = is_begun ? SIDE_SILENCE_S : SIDE_TIMEOUT_S;
	uint64_t last_rx = rte_rdtsc();
	uint64_t end = is_begun ? last_rx + (uint64_t)(seconds * (double)hz) : UINT64_MAX;
	uint64_t now = last_rx;

	while (now < end && sink->frames < max && !port_is_stopped()) {
		const unsigned nb = poll(sink);

		now = rte_rdtsc();
		if (nb > 0) {
			last_rx = now;
			if (end == UINT64_MAX)
				end = now + (uint64_t)(seconds * (double)hz);
		} else if ((double)(now - last_rx) > silence * (double)hz) {
			return false;
		}
	}
	return !port_is_stopped() || is_begun;
}

static void
print(const struct sink *sink, const struct sink *before, double seconds)
{
	const uint64_t frames = sink->frames - before->frames;
	const uint64_t bytes = sink->bytes - before->bytes;
	const char *form =
		sink->opt->is_json
			? "{\"side\": \"sink\", \"size\": %u, \"mtu\": %u, \"frame_bytes\": %u, "
			  "\"seconds\": %.6f, \"frames\": %lu, \"frames_per_s\": %.1f, "
			  "\"payload_bytes_per_s\": %.1f, \"lost\": %lu, \"bad\": %lu}\n"
			: "sink: size %u, mtu %u, frame %u bytes: in %.3f s %lu frames, "
			  "%.0f frames/s, %.0f payload bytes/s; %lu lost, %lu bad\n";
	struct shape shape;

	shape_init(&shape, sink->opt->size, sink->opt->mtu);
	printf(form, sink->opt->size, sink->opt->mtu, shape_frame_len(&shape), seconds, frames,
	       (double)frames / seconds, (double)bytes / seconds, sink->lost, sink->bad);
	fflush(stdout);
}

static int
measure(struct sink *sink)
{
	const uint64_t max = sink->opt->nb_frames ? sink->opt->nb_frames : UINT64_MAX;
	struct sink before;
	uint64_t begin;

	if (!poll_for(sink, max == UINT64_MAX ? sink->opt->warmup : 0, max, false)) {
		fprintf(stderr, "limit: no frame came in %g s\n", SIDE_TIMEOUT_S);
		return -ETIMEDOUT;
	}
	before = *sink;
	if (max != UINT64_MAX)
		before.frames = before.bytes = 0;
	begin = rte_rdtsc();
	if (!poll_for(sink, max == UINT64_MAX ? sink->opt->seconds : 86400, max, true)) {
		fprintf(stderr, "limit: the frames stopped coming\n");
		return -ETIMEDOUT;
	}
	print(sink, &before, (double)(rte_rdtsc() - begin) / (double)rte_get_tsc_hz());
	return 0;
}

int
side_sink(const struct port *port, const struct limit_options *opt)
{
	struct sink sink = { .port = port, .opt = opt };
	int ret;

	sink.region = region_create(opt->region);
	if (!sink.region)
		return -ENOMEM;
	shape_init_ack(&sink.ack);
	ret = measure(&sink);
	if (sink.has_begun)
		side_say_goodbye(port, &sink.ack, last_psn(&sink));
	region_destroy(sink.region);
	if (ret == 0 && sink.bad > 0)
		ret = -EBADMSG;
	return ret;
}
