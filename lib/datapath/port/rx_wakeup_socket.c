/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RX wake-ups of af_packet. The driver has a packet socket for each queue. This socket is bound to
 * the interface, has a ring, and is in a fanout group. Other packet sockets of the process may be
 * bound to the same interface, for example those of a capture. Such sockets are not in a fanout
 * group.
 */

#include "datapath/port/rx_wakeup.h"

#include <stddef.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include "datapath/fds.h"
#include "datapath/port/port.h"

static bool
is_port_socket(int fd, int if_index)
{
	struct sockaddr_ll ll = { 0 };
	socklen_t len = sizeof(ll);
	int version = 0, fanout = 0;
	socklen_t version_len = sizeof(version), fanout_len = sizeof(fanout);

	return getsockname(fd, (struct sockaddr *)&ll, &len) == 0 && ll.sll_family == AF_PACKET &&
	       ll.sll_ifindex == if_index &&
	       getsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, &version_len) == 0 &&
	       version == TPACKET_V2 &&
	       getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &fanout, &fanout_len) == 0 && fanout != 0;
}

/*
 * Find the packet socket of a queue: the n-th socket that is found belongs to the n-th queue. The
 * order of the sockets does not matter, because a thread sleeps on all of them.
 */
bool
uroce_rx_wakeup_find_socket(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
			    uint16_t queue)
{
	struct uroce_fds fds;
	unsigned nb = 0;
	int fd;

	uroce_fds_begin(&fds);
	while ((fd = uroce_fds_next(&fds)) >= 0) {
		if (is_port_socket(fd, port->netif.if_index) && nb++ == queue)
			break;
	}
	uroce_fds_end(&fds);
	wakeup->fd = fd;
	return fd >= 0;
}
