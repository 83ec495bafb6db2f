/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The memory of an idle QP: its context, the worker's record of it, and the rings that its user has
 * requested. The test reads internal sizes, so it links the libraries directly.
 */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "verbs/object.h"

static void
footprint__an_idle_qp_is_at_most_a_kib(void **state)
{
	const uint32_t send = uroce_send_wqe_stride(1, 64, false);
	const uint32_t recv = uroce_recv_wqe_stride(1);

	(void)state;
	print_message("# idle QP: %zu bytes, of them %zu transport context, %zu worker's record\n",
		      sizeof(struct uroce_worker_qp), sizeof(struct uroce_qpc),
		      sizeof(struct uroce_worker_qp) - sizeof(struct uroce_qpc));
	print_message("# beside it: %zu bytes verbs object (%zu of them verbs' own), rings of 128 "
		      "requests %zu (send) and %zu (receive)\n",
		      sizeof(struct uroce_vqp) - sizeof(struct uroce_worker_qp),
		      sizeof(struct ibv_qp_ex), uroce_ring_memsize(128, send),
		      uroce_ring_memsize(128, recv));
	assert_true(sizeof(struct uroce_worker_qp) <= 1024);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(footprint__an_idle_qp_is_at_most_a_kib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
