/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeps until a completion event arrives. A completion that arrives before the event is requested
 * causes no event. So the CQs are polled once more after the request.
 */

#include "event.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define SLEEP_MS 5

int
event_open(struct endpoint *endpoint, const struct options *opt)
{
	if (!opt->is_events)
		return 0;
	if (opt->vector >= (uint64_t)endpoint->context->num_comp_vectors) {
		fprintf(stderr, "uroce-perf: --vector %u: no such vector; allowed: 0 to %d\n",
			(unsigned)opt->vector, endpoint->context->num_comp_vectors - 1);
		return -1;
	}
	endpoint->channel = uroce_create_comp_channel(endpoint->context);
	if (endpoint->channel != NULL && fcntl(endpoint->channel->fd, F_SETFL, O_NONBLOCK) == 0)
		return 0;
	fprintf(stderr, "uroce-perf: create a completion channel: %s\n", strerror(errno));
	return -1;
}

static int
poll_all(struct endpoint *endpoint, int nb, struct ibv_wc *wc)
{
	int got = 0;

	for (unsigned i = 0; i < endpoint->nb_cq && got == 0; i++)
		got = ibv_poll_cq(endpoint->cq[i], nb, wc);
	return got;
}

static void
take_events(struct endpoint *endpoint)
{
	struct ibv_cq *cq;
	void *context;

	while (uroce_get_cq_event(endpoint->channel, &cq, &context) == 0)
		uroce_ack_cq_events(cq, 1);
}

int
event_poll(struct endpoint *endpoint, int nb, struct ibv_wc *wc)
{
	struct pollfd waiting = { .fd = endpoint->channel->fd, .events = POLLIN };

	for (unsigned i = 0; i < endpoint->nb_cq; i++)
		if (ibv_req_notify_cq(endpoint->cq[i], 0) != 0)
			return -1;
	int got = poll_all(endpoint, nb, wc);
	if (got != 0)
		return got;
	if (poll(&waiting, 1, SLEEP_MS) > 0)
		take_events(endpoint);
	return poll_all(endpoint, nb, wc);
}

void
event_close(struct endpoint *endpoint)
{
	if (endpoint->channel != NULL)
		uroce_destroy_comp_channel(endpoint->channel);
	endpoint->channel = NULL;
}
