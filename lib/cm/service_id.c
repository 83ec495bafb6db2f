/* SPDX-License-Identifier: BSD-3-Clause */

/* Names of the port spaces of RDMA IP CM. */

#include "cm/service_id.h"

const char *
uroce_cm_space_name(uint64_t space)
{
	switch (space) {
	case UROCE_CM_PS_IPOIB:
		return "IPOIB";
	case UROCE_CM_PS_TCP:
		return "TCP";
	case UROCE_CM_PS_UDP:
		return "UDP";
	case UROCE_CM_PS_IB:
		return "IB";
	default:
		return "?";
	}
}
