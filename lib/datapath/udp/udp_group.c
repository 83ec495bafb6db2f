/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Multicast groups of the port `udp`. A socket that is bound to an address of the host receives no
 * datagrams of a group. So each group has a socket that is bound to the group, on the first queue.
 * Other processes of the host may have such a socket, too, and the kernel delivers a copy to each
 * of these sockets. A socket that is bound to no address receives the datagrams of all groups that
 * the kernel has joined. In this case the caller makes the kernel join the group.
 */

#include <errno.h>
#include <string.h>

#include "datapath/udp/udp_port.h"
#include "datapath/udp/udp_queue.h"
#include "wire/build.h"

static struct uroce_udp_queue *
first_queue(const struct uroce_port *port)
{
	return port->udp->queue[0];
}

bool
uroce_udp_port_has_group_sockets(const struct uroce_port *port)
{
	return !first_queue(port)->socket[0].is_any;
}

int
uroce_udp_port_join(const struct uroce_port *port, const uint8_t gid[16])
{
	return uroce_udp_queue_add(first_queue(port), &(struct uroce_udp_socket_conf){
							      .is_ipv6 = !uroce_ip_is_v4(gid),
							      .ip = gid,
							      .if_index = port->netif.if_index,
							      .is_group = true });
}

void
uroce_udp_port_leave(const struct uroce_port *port, const uint8_t gid[16])
{
	struct uroce_udp_queue *queue = first_queue(port);
	unsigned i = 0;

	while (i < queue->nb_sockets && memcmp(queue->socket[i].ip, gid, 16) != 0)
		i++;
	if (i == queue->nb_sockets)
		return;
	uroce_udp_queue_remove(queue, i);
}
