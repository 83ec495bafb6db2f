/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that both the active and the passive side of uroce-connect use. */

#include "end.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>

int
end_report(const char *step, int outcome, const char *format, ...)
{
	va_list args;

	printf("%s\t%d\t", step, outcome);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	(void)fflush(stdout);
	return outcome;
}

int
end_await(struct rdma_event_channel *channel, int timeout_ms, struct rdma_cm_event **event)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	const int nb = poll(&fd, 1, timeout_ms);

	if (nb == 0)
		return -ETIMEDOUT;
	return nb < 0 || uroce_cm_get_cm_event(channel, event) != 0 ? -errno : 0;
}

int
end_create_qp(struct rdma_cm_id *id, bool is_datagram)
{
	struct ibv_qp_init_attr init = {
		.qp_type = is_datagram ? IBV_QPT_UD : IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return uroce_cm_create_qp(id, NULL, &init) == 0 ? 0 : -errno;
}

void
end_destroy(struct rdma_cm_id *id)
{
	if (id->qp != NULL)
		uroce_cm_destroy_qp(id);
	(void)uroce_cm_destroy_id(id);
}
