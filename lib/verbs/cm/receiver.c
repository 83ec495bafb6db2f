/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reception of CM messages. The address vector of the sender comes from the IP header of the
 * datagram. A message may also name the hosts in its payload. The CM engine compares these names
 * with the address vector.
 */

#include "verbs/cm/receiver.h"

#include <string.h>

#include "datapath/net/gid.h"
#include "transport/mcast.h"
#include "verbs/uroce.h"

/*
 * Fill in the address vector of the reply to a MAD.
 * @return false: the datagram has no valid IP header, or its source address is not that of a host
 */
static bool
make_reply_av(struct uroce_gsi *gsi, struct uroce_gsi_rx *rx, struct uroce_cm_av *av)
{
	struct ibv_context *const context = &gsi->context.verbs.context;
	struct ibv_ah_attr attr;
	union ibv_gid gid;

	if (uroce_init_ah_from_wc(context, 1, &rx->wc, rx->grh, &attr) != 0 ||
	    uroce_query_gid(context, 1, attr.grh.sgid_index, &gid) != 0 ||
	    uroce_gid_is_multicast(attr.grh.dgid.raw))
		return false;
	*av = (struct uroce_cm_av){
		.port = 1,
		.flow_label = attr.grh.flow_label,
		.traffic_class = attr.grh.traffic_class,
		.hop_limit = attr.grh.hop_limit,
	};
	memcpy(av->local_gid, gid.raw, sizeof(av->local_gid));
	memcpy(av->remote_gid, attr.grh.dgid.raw, sizeof(av->remote_gid));
	return true;
}

static void
receive_mad(struct uroce_gsi *gsi, struct uroce_gsi_rx *rx, struct uroce_cm *cm,
	    struct uroce_cm_receiver_stats *stats, uint64_t now_ns)
{
	struct uroce_cm_msg msg;
	struct uroce_cm_av av;

	if (uroce_cm_parse(rx->mad, &msg) != UROCE_CM_VERDICT_ACCEPTED)
		stats->nb_refused++;
	else if (!make_reply_av(gsi, rx, &av))
		stats->nb_no_source++;
	else
		uroce_cme_recv(cm, &msg, &av, now_ns);
}

bool
uroce_cm_receive(struct uroce_gsi *gsi, struct uroce_cm *cm, struct uroce_cm_receiver_stats *stats,
		 uint64_t now_ns)
{
	struct uroce_gsi_rx rx[UROCE_GSI_BATCH];
	bool has_more;
	const unsigned nb = uroce_gsi_recv(gsi, rx, UROCE_GSI_BATCH, &has_more);

	for (unsigned i = 0; i < nb; i++)
		receive_mad(gsi, &rx[i], cm, stats, now_ns);
	uroce_gsi_give_back(gsi, rx, nb);
	return has_more;
}
