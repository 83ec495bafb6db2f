/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for the link of the device. */

#include "link.h"
#include "stop.h"

#include <stdio.h>

#include <rte_cycles.h>

/* limit in seconds for the wait until the link is up; without a fault it is up much earlier */
#define LINK_S 60

int
link_await(struct endpoint *endpoint)
{
	const uint64_t deadline = rte_rdtsc() + LINK_S * rte_get_tsc_hz();
	struct ibv_port_attr port;

	while (uroce_query_port(endpoint->context, 1, &port) == 0 &&
	       port.state != IBV_PORT_ACTIVE) {
		if (stop_is_asked())
			return -1;
		if (rte_rdtsc() > deadline) {
			fprintf(stderr,
				"uroce-perf: the link of the device was down for %u s; allowed: a "
				"device whose link is up\n",
				LINK_S);
			return -1;
		}
		endpoint_drive(endpoint);
	}
	return 0;
}
