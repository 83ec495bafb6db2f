/* SPDX-License-Identifier: BSD-3-Clause */

/* What all kinds have in common: a descriptor for each queue, which may be none. */

#include "datapath/notice.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <rte_common.h>

#include "datapath/attach.h"
#include "datapath/port.h"

#define RETRY_NS UINT64_C(1000000000) /* to look for them costs as much as some wake-ups */

void
uroce_notices_init(struct uroce_notices *notices, struct uroce_port *port)
{
	*notices = (struct uroce_notices){ .port = port };
	for (unsigned i = 0; i < RTE_DIM(notices->of); i++)
		notices->of[i].fd = -1;
}

static void
drop(struct uroce_notice *notice)
{
	uroce_notice_drop_ring(notice);
	notice->fd = -1; /* a socket remains the driver's */
}

void
uroce_notices_fini(struct uroce_notices *notices)
{
	uroce_notices_disarm(notices);
	for (unsigned i = 0; i < RTE_DIM(notices->of); i++)
		drop(&notices->of[i]);
}

static bool
arm(struct uroce_notice *notice, const struct uroce_port *port, uint16_t queue)
{
	switch ((enum uroce_notice_kind)port->policy->notice) {
	case UROCE_NOTICE_SOCKET:
		return notice->fd >= 0 || uroce_notice_find_socket(notice, port, queue);
	case UROCE_NOTICE_RING:
		return uroce_notice_open_ring(notice, port, queue);
	case UROCE_NOTICE_LANE:
		uroce_attach_arm(port->attach, queue);
		notice->fd = port->attach->notice_fd;
		return true;
	case UROCE_NOTICE_NONE:
		break;
	}
	return false;
}

bool
uroce_notice_arm(struct uroce_notices *notices, uint16_t queue, uint64_t now_ns)
{
	const struct uroce_port *port = notices->port;
	struct uroce_notice *notice = &notices->of[queue];

	if (!uroce_port_is_ready(port) || (port->policy->has_peer && !uroce_port_is_up(port))) {
		drop(notice);
		return false;
	}
	if (notice->fd < 0 && now_ns < notices->retry_ns)
		return false;
	if (arm(notice, port, queue))
		return true;
	drop(notice);
	notices->retry_ns = now_ns + RETRY_NS;
	return false;
}

static bool
is_lane(const struct uroce_notices *notices)
{
	return notices->port->policy->notice == UROCE_NOTICE_LANE;
}

void
uroce_notices_disarm(struct uroce_notices *notices)
{
	for (uint16_t i = 0; i < RTE_DIM(notices->of); i++) {
		if (is_lane(notices) && notices->of[i].fd >= 0)
			uroce_attach_disarm(notices->port->attach, i);
		else
			uroce_notice_shut_ring(&notices->of[i]);
	}
}

/* A socket tells that its interface has gone down, until it has been asked. */
void
uroce_notice_take(struct uroce_notices *notices, uint16_t queue, short revents)
{
	struct uroce_notice *notice = &notices->of[queue];
	socklen_t len = sizeof(int);
	eventfd_t nothing;
	int error;

	if (is_lane(notices)) {
		if (revents)
			(void)eventfd_read(notice->fd, &nothing);
		return;
	}
	if (revents & (POLLNVAL | POLLHUP))
		drop(notice);
	else if (revents & POLLERR)
		(void)getsockopt(notice->fd, SOL_SOCKET, SO_ERROR, &error, &len);
}
