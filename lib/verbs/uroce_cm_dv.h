/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_DV_H
#define UROCE_CM_DV_H

/**
 * @file
 * Calls of connection management beyond those of librdmacm: the status of events in words, and
 * calls that help to implement other interfaces on top of <uroce_cm.h>.
 */

#include <stdbool.h>
#include <rdma/rdma_cma.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get the status of an event in words, for users: the reason of a REJ of the peer, the status of a
 * SIDR_REP, or an errno.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param event   type of the event
 * @param status  status of the event: a negative errno; 0; or a positive number of the peer in
 *         REJECTED (reason of the REJ [IBA 12.6.7.2]) and UNREACHABLE (status of the SIDR_REP [IBA
 *         12.11.2])
 * @return a constant text, never NULL; "unknown status" or "unknown reason" for another number
 */
const char *uroce_cm_dv_status_str(enum rdma_cm_event_type event, int status);

/**
 * Functions that watch the events of a channel. Any thread calls them, also a thread of the
 * library. The functions must not wait, and must not make calls of <uroce_cm.h>.
 */
struct uroce_cm_dv_watch {
	/*
	 * This function is called before an event is added to the channel. If the result is true,
	 * the event is added; otherwise the event is dropped. NULL: all events are added.
	 */
	bool (*is_wanted)(void *arg, const struct rdma_cm_event *event);
	/*
	 * This function is called after an event was added to the channel. NULL: no function is
	 * called.
	 */
	void (*notify)(void *arg);
};

/**
 * Watch the events of a channel. An event that another thread adds at the same time may be missed,
 * so the caller watches before it uses the channel for ids.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `watch` must be valid as long as the channel. After uroce_cm_destroy_event_channel() the
 *         functions are not called any more.
 * @param watch  functions that watch the channel; NULL: no function watches the channel any more
 * @param arg    argument of the functions
 * @return 0, or -1 with errno EINVAL: `channel` is NULL
 */
int uroce_cm_dv_watch_channel(struct rdma_event_channel *channel,
			      const struct uroce_cm_dv_watch *watch, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_CM_DV_H */
