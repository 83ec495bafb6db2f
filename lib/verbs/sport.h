/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_SPORT_H
#define UROCE_VERBS_SPORT_H

/**
 * @file
 * The UDP source port of a flow. Networks distribute RoCEv2 flows over their paths by this port
 * alone [IBA A17.9.2].
 */

#include <stdint.h>
#include <infiniband/verbs.h>

/**
 * Compute the UDP source port of a flow, in 0xC000 .. 0xFFFF. The port depends on the flow label,
 * if the program gave one. Otherwise the port depends on the two QPNs, and is the same for both
 * directions. For a datagram's address both QPNs are 0, and the port depends on the destination.
 */
static inline uint16_t
uroce_sport(const struct ibv_ah_attr *av, uint32_t qpn, uint32_t dest_qpn)
{
	uint32_t mix = av->grh.flow_label & 0xfffff;

	if (mix == 0) {
		mix = qpn ^ dest_qpn;
		if (mix == 0)
			for (unsigned i = 0; i < sizeof(av->grh.dgid.raw); i++)
				mix = mix * 31 + av->grh.dgid.raw[i];
		/* 2^32 / golden ratio: this factor gives neighbouring QPNs different ports */
		mix *= 0x9e3779b1;
		mix >>= 12;
	}
	return (uint16_t)(0xc000 | ((mix ^ mix >> 14) & 0x3fff));
}

#endif /* UROCE_VERBS_SPORT_H */
