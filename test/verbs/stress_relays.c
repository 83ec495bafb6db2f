/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Relays: pairs of QPs to which one thread posts. Another thread destroys them as soon as it has
 * polled the completions, while the posting thread may still be inside its call.
 */

#include "stress.h"

#include <sched.h>
#include <stdlib.h>

#define NB_RELAYS 4
#define NB_POSTS  8 /* number of posts to each relay */

struct relay {
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
};

static _Atomic(struct relay *) relays[NB_RELAYS];

static struct relay *
make_relay(struct actor *self)
{
	struct relay *const relay = calloc(1, sizeof(*relay));
	struct host host[2] = { net.a, net.b };

	relay->cq = make_cq(self, net.a.context, NULL, false, 2 * NB_POSTS);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_qp_init_attr init = {
			.qp_type = IBV_QPT_RC,
			.send_cq = i == 0 ? relay->cq : net.b.scq,
			.recv_cq = i == 0 ? relay->cq : net.b.rcq,
			.cap = { NB_POSTS, 4, 1, 1, 0 },
			.sq_sig_all = 1,
		};

		check((relay->qp[i] = uroce_create_qp(host[i].pd, &init)) != NULL);
		host[i].qp = relay->qp[i];
	}
	for (unsigned i = 0; i < 2; i++)
		check(to_init(&host[i]) == 0 && to_rtr(&net, &host[i], &host[1 - i]) == 0 &&
		      to_rts(&net, &host[i]) == 0);
	return relay;
}

static void
finish_relay(struct relay *relay)
{
	unsigned nb_polls = 0, nb_done = 0;
	struct ibv_wc wc;

	while (nb_done < NB_POSTS && nb_polls++ < TIMEOUT) {
		if (ibv_poll_cq(relay->cq, 1, &wc) == 0)
			sched_yield();
		else
			check(++nb_done > 0 && wc.status == IBV_WC_SUCCESS);
	}
	check(nb_done == NB_POSTS);
	check(uroce_destroy_qp(relay->qp[0]) == 0);
	check(uroce_destroy_cq(relay->cq) == 0);
	check(uroce_destroy_qp(relay->qp[1]) == 0);
	free(relay);
}

static void
take(struct actor *self)
{
	const unsigned first = draw(self, NB_RELAYS);
	struct relay *relay = NULL;

	for (unsigned i = 0; i < NB_RELAYS && relay == NULL; i++)
		relay = atomic_exchange(&relays[(first + i) % NB_RELAYS], NULL);
	if (relay != NULL)
		finish_relay(relay);
}

/*
 * Create a relay, offer it to the other threads, and post to it. If there is no room for it, take
 * and finish another relay first. After the last post another thread may free the relay. There are
 * several posts, so that the worker may execute the last one before the doorbell of that post.
 */
static void
give(struct actor *self)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 100);
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 };
	struct relay *const relay = make_relay(self), *none = NULL;
	struct ibv_qp *const qp = relay->qp[0];
	struct ibv_recv_wr *bad_recv, recv = { 0 };

	wr.wr.rdma.remote_addr = (uintptr_t)net.b.buf;
	wr.wr.rdma.rkey = net.b.mr->rkey;
	check(ibv_post_recv(qp, &recv, &bad_recv) == 0);
	while (!atomic_compare_exchange_strong(&relays[draw(self, NB_RELAYS)], &none, relay)) {
		none = NULL;
		take(self);
		if (atomic_load(&nb_bad) > 0)
			return;
	}
	for (unsigned i = 0; i < NB_POSTS; i++)
		check(ibv_post_send(qp, &wr, &bad) == 0);
}

void
give_and_take(struct actor *self)
{
	if (draw(self, 2))
		take(self);
	else
		give(self);
}

void
finish_relays(void)
{
	for (unsigned i = 0; i < NB_RELAYS; i++) {
		struct relay *const relay = atomic_exchange(&relays[i], NULL);

		if (relay != NULL)
			finish_relay(relay);
	}
}
