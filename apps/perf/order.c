/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The QPs of future posts are drawn at random, and wait in a queue. When a QP enters the queue, the
 * data that this program has about the QP (struct stream) is prefetched. The QP itself is
 * prefetched later, in two steps, because its address is part of this data.
 */

#include "order.h"
#include "requests.h"
#include "session.h"

#include <uroce_dv.h>

/*
 * A QP is prefetched QP_AHEAD draws before its post. The slots of its send queue that this post
 * uses are prefetched SLOT_AHEAD draws before the post.
 */
#define QP_AHEAD   10u
#define SLOT_AHEAD 3u

static uint32_t
draw(struct order *order)
{
	/* The generator is xorshift64*. Its period is long enough, and it takes few cycles. */
	order->state ^= order->state >> 12;
	order->state ^= order->state << 25;
	order->state ^= order->state >> 27;
	return (uint32_t)((order->state * UINT64_C(0x2545f4914f6cdd1d) >> 32) * order->nb_qp >> 32);
}

static void
fetch_stream(const struct order *order, uint32_t qp_idx)
{
	__builtin_prefetch(&order->requests->stream[qp_idx], 1);
}

static void
fetch_qp(const struct order *order, uint32_t ahead, unsigned nb)
{
	const uint32_t qp_idx = order->drawn[(order->at + ahead) % ORDER_AHEAD];

	uroce_prefetch_qp(order->requests->stream[qp_idx].qp, nb);
}

static void
enter(struct order *order, uint32_t at)
{
	order->drawn[at % ORDER_AHEAD] = draw(order);
	fetch_stream(order, order->drawn[at % ORDER_AHEAD]);
}

void
order_begin(struct order *order, const struct requests *requests, unsigned nb_qp)
{
	*order = (struct order){
		.requests = requests,
		.state = UINT64_C(0x9e3779b97f4a7c15),
		.nb_qp = nb_qp,
	};
	for (uint32_t i = 0; i < ORDER_AHEAD; i++)
		enter(order, i);
}

unsigned
order_next(struct order *order)
{
	const uint32_t qp_idx = order->drawn[order->at % ORDER_AHEAD];

	enter(order, order->at + ORDER_AHEAD);
	order->at++;
	fetch_qp(order, QP_AHEAD, 0);
	fetch_qp(order, SLOT_AHEAD, (unsigned)order->requests->session->opt->post_list);
	return qp_idx;
}
