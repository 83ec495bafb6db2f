/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One frame at a time in each direction. Each side does what a transport must do: it checks the
 * ICRC of a received frame, copies its payload to memory, builds a frame from its own memory, and
 * computes the ICRC. A frame that does not return in time counts as lost, and the next frame is
 * sent.
 */

#include "side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <rte_cycles.h>

#include "region.h"
#include "shape.h"
#include "wire/psn.h"

#define SAMPLES_MAX (1 << 21)

/* Time in seconds after which a frame without a reply counts as lost. */
#define LOST_S 0.02

/*
 * Maximum number of received frames in a burst. One frame is in flight, but frames that counted as
 * lost may also arrive.
 */
#define BURST 4

struct player {
	const struct port *port;
	const struct limit_options *opt;
	struct shape shape;
	struct shape_kind seen[256];
	struct shape_kind ack;
	uint8_t *region;
	uint64_t place; /* offset in the region of the next message */
	uint32_t psn;   /* PSN of the frame that was sent or received last */
	bool has_begun; /* a frame of the other side has arrived */
	bool is_ended;  /* the other side has ended the test */
};

static int
init(struct player *player, const struct port *port, const struct limit_options *opt)
{
	*player = (struct player){ .port = port, .opt = opt };
	shape_init(&player->shape, opt->size, opt->mtu);
	shape_init_ack(&player->ack);
	player->region = region_create(opt->region);
	if (!player->region)
		return -ENOMEM;
	return port_wait_link(port, SIDE_TIMEOUT_S) ? 0 : -ENETDOWN;
}

static void
walk(struct player *player)
{
	player->place += player->shape.stride;
	if (player->place + player->shape.size > player->opt->region)
		player->place = 0;
}

static bool
send_frame(const struct player *player)
{
	const struct shape_kind *kind = &player->shape.last;
	struct rte_mbuf *m = rte_pktmbuf_alloc(player->port->pool);
	uint8_t *frame;

	if (!m)
		return false;
	frame = (uint8_t *)rte_pktmbuf_append(m, kind->frame_len);
	shape_sum(kind, frame,
		  shape_put(kind, frame, player->psn, true, player->place,
			    player->region + player->place));
	return port_send(player->port, &m, 1) == 1;
}

/*
 * Check a received frame. If it is a message, copy its payload to the region.
 * @return whether the frame is a message
 */
static bool
take_frame(struct player *player, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct shape_kind *kind = shape_check(player->seen, frame, m->data_len);
	uint64_t at;

	if (!kind)
		return false;
	if (!kind->has_reth) {
		player->is_ended |= shape_syndrome(frame) == SHAPE_SYNDROME_END;
		return false;
	}
	at = shape_va(frame);
	if (at > player->opt->region || kind->payload_len > player->opt->region - at)
		return false;
	shape_copy(player->region + at, frame + kind->hdr_len, kind->payload_len);
	player->has_begun = true;
	return true;
}

/*
 * Receive the frames that have arrived.
 * @param[out] psn PSN of the last message
 * @return whether a message has arrived
 */
static bool
take(struct player *player, uint32_t *psn)
{
	struct rte_mbuf *frames[BURST];
	const unsigned nb = rte_eth_rx_burst(player->port->id, 0, frames, BURST);
	bool has_arrived = false;

	for (unsigned i = 0; i < nb; i++) {
		if (!take_frame(player, frames[i]))
			continue;
		*psn = shape_psn(rte_pktmbuf_mtod(frames[i], const uint8_t *));
		has_arrived = true;
	}
	if (nb > 0)
		rte_pktmbuf_free_bulk(frames, nb);
	return has_arrived;
}

static uint64_t
ticks(double seconds)
{
	return (uint64_t)(seconds * (double)rte_get_tsc_hz());
}

/* --- the side that sends first, and measures -------------------------------------------------- */

/*
 * Send a frame, and wait until it returns.
 * @return round trip in TSC ticks; 0: the frame was lost
 */
static uint64_t
ping_once(struct player *player)
{
	const uint64_t begin = rte_rdtsc(), timeout = ticks(LOST_S);
	uint32_t psn = 0;
	uint64_t now;

	player->psn = uroce_psn_add(player->psn, 1);
	if (!send_frame(player))
		return 0;
	do {
		const bool has_arrived = take(player, &psn);

		now = rte_rdtsc();
		if (has_arrived && psn == player->psn)
			return now - begin;
	} while (now - begin < timeout && !port_is_stopped());
	return 0;
}

struct samples {
	uint64_t *ticks;
	unsigned nb;
	unsigned nb_lost;
};

/*
 * Measure round trips for `seconds`, and longer if no frame has returned in that time.
 * @return 0; -ETIMEDOUT: no frame has returned for too long
 */
static int
ping_for(struct player *player, double seconds, struct samples *samples)
{
	const uint64_t end = rte_rdtsc() + ticks(seconds);
	uint64_t now, last_rx = rte_rdtsc();

	samples->nb = samples->nb_lost = 0;
	while (((now = rte_rdtsc()) < end || samples->nb == 0) && samples->nb < SAMPLES_MAX &&
	       !port_is_stopped()) {
		const uint64_t sample = ping_once(player);

		walk(player);
		if (sample > 0) {
			samples->ticks[samples->nb++] = sample;
			last_rx = now;
		} else if (now - last_rx >
			   ticks(player->has_begun ? SIDE_SILENCE_S : SIDE_TIMEOUT_S)) {
			fprintf(stderr, "limit: no frame came back\n");
			return -ETIMEDOUT;
		} else {
			samples->nb_lost += player->has_begun;
		}
	}
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
print(const struct limit_options *opt, const struct samples *samples)
{
	const double us = 1e6 / (double)rte_get_tsc_hz() / 2;
	const uint64_t *sorted = samples->ticks;
	const unsigned nb = samples->nb;

	qsort(samples->ticks, nb, sizeof(*samples->ticks), compare);
	printf(opt->is_json
		       ? "{\"side\": \"ping\", \"size\": %u, \"samples\": %u, \"lost\": %u, "
			 "\"half_us_min\": %.3f, \"half_us_median\": %.3f, \"half_us_99\": %.3f, "
			 "\"half_us_99_9\": %.3f, \"half_us_max\": %.3f}\n"
		       : "ping: size %u, %u samples, %u lost; half a round trip: %.2f us at least, "
			 "%.2f median, %.2f at 99 %%, %.2f at 99.9 %%, %.2f at most\n",
	       opt->size, nb, samples->nb_lost, (double)sorted[0] * us, (double)sorted[nb / 2] * us,
	       (double)sorted[(uint64_t)nb * 99 / 100] * us,
	       (double)sorted[(uint64_t)nb * 999 / 1000] * us, (double)sorted[nb - 1] * us);
}

int
side_ping(const struct port *port, const struct limit_options *opt)
{
	struct samples samples = { .ticks = malloc(SAMPLES_MAX * sizeof(uint64_t)) };
	struct player player;
	int ret;

	if (!samples.ticks)
		return -ENOMEM;
	ret = init(&player, port, opt);
	if (ret == 0)
		ret = ping_for(&player, opt->warmup, &samples);
	if (ret == 0)
		ret = ping_for(&player, opt->seconds, &samples);
	if (player.has_begun)
		side_say_goodbye(port, &player.ack, player.psn);
	if (ret == 0 && samples.nb > 0)
		print(opt, &samples);
	free(samples.ticks);
	region_destroy(player.region);
	return ret;
}

/* --- the side that sends each frame back ------------------------------------------------------- */

int
side_pong(const struct port *port, const struct limit_options *opt)
{
	struct player player;
	uint64_t last_rx;
	int ret = init(&player, port, opt);

	last_rx = rte_rdtsc();
	while (ret == 0 && !player.is_ended && !port_is_stopped()) {
		if (take(&player, &player.psn)) {
			(void)send_frame(&player);
			walk(&player);
			last_rx = rte_rdtsc();
		} else if (rte_rdtsc() - last_rx >
			   ticks(player.has_begun ? SIDE_SILENCE_S : SIDE_TIMEOUT_S)) {
			fprintf(stderr, "limit: %s\n",
				player.has_begun ? "the frames stopped coming" : "no frame came");
			ret = -ETIMEDOUT;
		}
	}
	side_leave();
	region_destroy(player.region);
	return ret;
}
