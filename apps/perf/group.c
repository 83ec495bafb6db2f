/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaches the QP of a test with --mcg to its multicast group. */

#include "group.h"
#include "link.h"
#include "multicast.h"

#include <stdio.h>
#include <string.h>

int
group_join(struct endpoint *endpoint, const struct options *opt, bool is_client)
{
	if (!opt->is_multicast || (is_client && !opt->is_lat))
		return 0;
	if (multicast_group(opt, endpoint_is_ipv4(endpoint), is_client, &endpoint->group) != 0)
		return -1;
	int error = uroce_attach_mcast(endpoint->qp[0], &endpoint->group, 0);
	if (error != 0) {
		fprintf(stderr, "uroce-perf: --mcg: attach to the group: %s\n", strerror(error));
		return -1;
	}
	endpoint->is_in_group = true;
	return 0;
}

int
group_set_destination(struct endpoint *endpoint, const struct options *opt, bool is_client)
{
	if (!opt->is_multicast)
		return 0;
	endpoint->peer[0].qpn = MULTICAST_QPN;
	if (link_await(endpoint) != 0)
		return -1;
	return multicast_group(opt, endpoint_is_ipv4(endpoint), !is_client, &endpoint->peer[0].gid);
}

void
group_leave(struct endpoint *endpoint)
{
	if (endpoint->is_in_group)
		uroce_detach_mcast(endpoint->qp[0], &endpoint->group, 0);
	endpoint->is_in_group = false;
}
