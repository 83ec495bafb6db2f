/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bindings [mux/binding.h]: a device that is attached to uroced writes the peer of a connected QP
 * into shared memory. A QP has a binding as long as it accepts packets of its peer. The test reads
 * the shared memory with headers of lib. A device that is not attached to uroced has no bindings.
 */

#include <stdio.h>

#include "net.h"

#include "datapath/uroced/mux_client.h"
#include "datapath/device/dev.h"
#include "datapath/port/port.h"
#include "datapath/worker/round.h"
#include "mux/binding.h"
#include "verbs/object.h"

static struct pair net;

static struct uroce_binding
binding_of(const struct host *host, uint32_t qpn)
{
	const struct uroce_vqp *qp = uroce_vqp(host->qp);

	return uroce_binding_get(&uroce_worker_qp_worker(&qp->wqp)->dev->port->mux_client->shm,
				 qpn);
}

static void
expect_none_of(const struct host *host)
{
	assert_int_equal(binding_of(host, host->qp->qp_num).where, UROCE_BINDING_NONE);
}

static void
expect_bound(const struct host *host, const struct host *peer)
{
	const struct uroce_binding binding = binding_of(host, host->qp->qp_num);

	assert_int_equal(binding.qpn, host->qp->qp_num);
	assert_int_equal(binding.dest_qpn, peer->qp->qp_num);
	assert_int_equal(binding.where, UROCE_BINDING_LOCAL);
}

static void
open_of(enum ibv_qp_type type)
{
	pair_open(&net, &(struct pair_conf){ .type = type });
}

/* Move a QP through its states by calls of verbs. Check in which states the QP has a binding. */
static void
walk(enum ibv_qp_type type)
{
	open_of(type);
	expect_none_of(&net.a);
	assert_int_equal(to_init(&net.a), 0);
	expect_none_of(&net.a);
	assert_int_equal(to_init(&net.b), 0);
	assert_int_equal(to_rtr(&net, &net.a, &net.b), 0);
	expect_bound(&net.a, &net.b);
	expect_none_of(&net.b);
	assert_int_equal(to_rts(&net, &net.a), 0);
	expect_bound(&net.a, &net.b);
	assert_int_equal(to_state(&net.a, IBV_QPS_SQD), 0);
	expect_bound(&net.a, &net.b);
	assert_int_equal(to_state(&net.a, IBV_QPS_ERR), 0);
	expect_none_of(&net.a);
	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	expect_none_of(&net.a);
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(to_rtr(&net, &net.a, &net.b), 0);
	expect_bound(&net.a, &net.b);
	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	expect_none_of(&net.a);
	pair_close(&net);
}

static void
binding__is_that_of_a_connection(void **state)
{
	(void)state;
	walk(IBV_QPT_RC);
	walk(IBV_QPT_UC);
}

static void
binding__of_datagrams_is_none(void **state)
{
	(void)state;
	open_of(IBV_QPT_UD);
	pair_connect(&net);
	expect_none_of(&net.a);
	expect_none_of(&net.b);
	pair_close(&net);
}

/* A QP that is destroyed loses its binding, because another QP may get its number soon. */
static void
binding__ends_with_its_qp(void **state)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp *other;
	uint32_t qpn;

	(void)state;
	open_of(IBV_QPT_RC);
	pair_connect(&net);
	expect_bound(&net.b, &net.a);
	attr.send_cq = attr.recv_cq = net.b.scq;
	other = uroce_create_qp(net.b.pd, &attr);
	assert_non_null(other);
	qpn = net.b.qp->qp_num;
	assert_int_equal(uroce_destroy_qp(net.b.qp), 0);
	net.b.qp = other;
	assert_int_equal(binding_of(&net.b, qpn).where, UROCE_BINDING_NONE);
	pair_close(&net);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(binding__is_that_of_a_connection),
		cmocka_unit_test(binding__of_datagrams_is_none),
		cmocka_unit_test(binding__ends_with_its_qp),
	};

	if (!net_is_attached()) {
		printf("1..0 # SKIP it is not attached\n");
		return 0;
	}
	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
