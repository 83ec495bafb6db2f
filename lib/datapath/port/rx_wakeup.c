/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RX wake-ups, by which a received frame wakes a sleeping thread: the part that is common to all
 * kinds. Each queue has a descriptor that polls readable when a frame arrives, or has no
 * descriptor.
 */

#include "datapath/port/rx_wakeup.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <rte_common.h>

#include "datapath/uroced/mux_client.h"
#include "datapath/port/port.h"
#include "datapath/udp/udp_port.h"

/*
 * Minimum time in ns between two searches for descriptors of RX wake-ups. A search costs as much as
 * several wake-ups.
 */
#define RETRY_NS UINT64_C(1000000000)

void
uroce_rx_wakeups_init(struct uroce_rx_wakeups *wakeups, struct uroce_port *port)
{
	*wakeups = (struct uroce_rx_wakeups){ .port = port };
	for (unsigned i = 0; i < RTE_DIM(wakeups->of); i++)
		wakeups->of[i].fd = -1;
}

static void
drop_wakeup(struct uroce_rx_wakeup *wakeup)
{
	uroce_rx_wakeup_drop_ring(wakeup);
	/* The descriptor is not closed: a packet socket belongs to the driver. */
	wakeup->fd = -1;
}

void
uroce_rx_wakeups_fini(struct uroce_rx_wakeups *wakeups)
{
	uroce_rx_wakeups_disarm(wakeups);
	uroce_rx_wakeups_end_trials(wakeups);
	for (unsigned i = 0; i < RTE_DIM(wakeups->of); i++)
		drop_wakeup(&wakeups->of[i]);
}

static bool
arm_wakeup(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port, uint16_t queue)
{
	switch (uroce_port_rx_wakeup(port)) {
	case UROCE_RX_WAKEUP_SOCKET:
		return wakeup->fd >= 0 || uroce_rx_wakeup_find_socket(wakeup, port, queue);
	case UROCE_RX_WAKEUP_RING:
		return uroce_rx_wakeup_open_ring(wakeup, port, queue);
	case UROCE_RX_WAKEUP_MUX:
		uroce_mux_client_arm(port->mux_client, queue);
		wakeup->fd = port->mux_client->rx_wakeup_fd;
		return true;
	case UROCE_RX_WAKEUP_UDP:
		wakeup->fd = uroce_udp_port_wakeup_fd(port->udp, queue);
		return true;
	case UROCE_RX_WAKEUP_INTR: /* see arm_intr() */
	case UROCE_RX_WAKEUP_NONE:
		break;
	}
	return false;
}

static bool
is_intr(const struct uroce_rx_wakeups *wakeups)
{
	return uroce_port_rx_wakeup(wakeups->port) == UROCE_RX_WAKEUP_INTR;
}

/* Arm the receive interrupt of a queue, or try whether interrupts arrive. */
static bool
arm_intr(struct uroce_rx_wakeups *wakeups, uint16_t queue, uint64_t now_ns)
{
	struct uroce_rx_wakeup *wakeup = &wakeups->of[queue];
	const bool is_armed = uroce_rx_intr_arm(wakeup, wakeups->port, queue, now_ns);

	wakeups->has_trial |= wakeup->is_intr_enabled && !wakeup->is_intr_proven;
	return is_armed;
}

bool
uroce_rx_wakeup_arm(struct uroce_rx_wakeups *wakeups, uint16_t queue, uint64_t now_ns)
{
	const struct uroce_port *port = wakeups->port;
	struct uroce_rx_wakeup *wakeup = &wakeups->of[queue];

	if (!uroce_port_is_ready(port) || (port->policy->has_peer && !uroce_port_is_up(port))) {
		drop_wakeup(wakeup);
		return false;
	}
	if (is_intr(wakeups))
		return arm_intr(wakeups, queue, now_ns);
	if (wakeup->fd < 0 && now_ns < wakeups->retry_ns)
		return false;
	if (arm_wakeup(wakeup, port, queue))
		return true;
	drop_wakeup(wakeup);
	wakeups->retry_ns = now_ns + RETRY_NS;
	return false;
}

static bool
is_mux_wakeup(const struct uroce_rx_wakeups *wakeups)
{
	return wakeups->port->policy->rx_wakeup == UROCE_RX_WAKEUP_MUX;
}

void
uroce_rx_wakeups_disarm(struct uroce_rx_wakeups *wakeups)
{
	for (uint16_t i = 0; i < RTE_DIM(wakeups->of); i++) {
		if (is_mux_wakeup(wakeups) && wakeups->of[i].fd >= 0)
			uroce_mux_client_disarm(wakeups->port->mux_client, i);
		else if (is_intr(wakeups))
			uroce_rx_intr_disarm(&wakeups->of[i], wakeups->port, i);
		else
			uroce_rx_wakeup_shut_ring(&wakeups->of[i]);
	}
}

void
uroce_rx_wakeups_end_trials(struct uroce_rx_wakeups *wakeups)
{
	if (!wakeups->has_trial)
		return;
	wakeups->has_trial = false;
	for (uint16_t i = 0; i < RTE_DIM(wakeups->of); i++)
		uroce_rx_intr_end_trial(&wakeups->of[i], wakeups->port, i);
}

/*
 * Handle the events of the descriptor that reports received frames of a queue. After its interface
 * went down, a packet socket reports an error until the error has been read.
 */
void
uroce_rx_wakeup_take(struct uroce_rx_wakeups *wakeups, uint16_t queue, short revents)
{
	struct uroce_rx_wakeup *wakeup = &wakeups->of[queue];
	socklen_t len = sizeof(int);
	eventfd_t nothing;
	int error;

	if (revents == 0 && wakeups->port->policy->rx_wakeup == UROCE_RX_WAKEUP_UDP)
		uroce_udp_port_found_empty(wakeups->port->udp, queue);
	if (is_intr(wakeups)) {
		uroce_rx_intr_take(wakeup, wakeups->port, revents);
		return;
	}
	if (is_mux_wakeup(wakeups)) {
		if (revents)
			(void)eventfd_read(wakeup->fd, &nothing);
		return;
	}
	if (revents & (POLLNVAL | POLLHUP))
		drop_wakeup(wakeup);
	else if (revents & POLLERR)
		(void)getsockopt(wakeup->fd, SOL_SOCKET, SO_ERROR, &error, &len);
}
