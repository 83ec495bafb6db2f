/* SPDX-License-Identifier: BSD-3-Clause */

/* The end of a test, which one side reports to the other. */

#include <rte_cycles.h>

#include "shape.h"
#include "side.h"

/* Number of goodbye frames. A side sends several of them, because one may be lost. */
#define NB_GOODBYES 3

/* Receive and drop frames until none has arrived for SIDE_LEAVE_S / 2. */
static void
drain(const struct port *port)
{
	const uint64_t silence = (uint64_t)(SIDE_LEAVE_S / 2 * (double)rte_get_tsc_hz());
	struct rte_mbuf *frames[LIMIT_BURST_MAX];

	for (uint64_t last_rx = rte_rdtsc();
	     rte_rdtsc() - last_rx < silence && !port_is_stopped();) {
		const unsigned nb = rte_eth_rx_burst(port->id, 0, frames, LIMIT_BURST_MAX);

		if (nb > 0) {
			rte_pktmbuf_free_bulk(frames, nb);
			last_rx = rte_rdtsc();
		}
	}
}

void
side_say_goodbye(const struct port *port, const struct shape_kind *ack, uint32_t psn)
{
	for (unsigned i = 0; i < NB_GOODBYES; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(port->pool);

		if (!m)
			break;
		shape_put_ack(ack, (uint8_t *)rte_pktmbuf_append(m, SHAPE_ACK_LEN), psn,
			      SHAPE_SYNDROME_END);
		port_send(port, &m, 1);
	}
	drain(port);
	rte_delay_us_sleep((unsigned)(2 * SIDE_LEAVE_S * 1e6));
}

void
side_leave(void)
{
	rte_delay_us_sleep((unsigned)(SIDE_LEAVE_S * 1e6));
}
