/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts for the member `status` of the events of rdma_cm. */

#include <limits.h>
#include <string.h>

#include "cm/reason.h"
#include "verbs/uroce_cm_dv.h"

const char *
uroce_cm_dv_status_str(enum rdma_cm_event_type event, int status)
{
	const char *text;

	if (status > 0 && event == RDMA_CM_EVENT_REJECTED)
		return uroce_cm_reason_text((unsigned)status);
	if (status > 0 && event == RDMA_CM_EVENT_UNREACHABLE)
		return uroce_cm_sidr_status_text((unsigned)status);
	text = status <= 0 && status > INT_MIN ? strerrordesc_np(-status) : NULL;
	return text ? text : "unknown status";
}
