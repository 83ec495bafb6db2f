/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Alerts: log lines that name a suspected attack. Each kind of attack is logged at most once a
 * second. A few suspicious frames are not logged, because they may be accidental. The test reads
 * the log from memory. It passes forged frames to the worker as received frames.
 */

#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include "datapath/worker/round.h"
#include "wire/icrc.h"

#define SECOND UINT64_C(1000000000)
#define T0     (5 * SECOND)

static struct rig_qp *qp_a, *qp_b;
static char *text; /* content of the log of the library */
static size_t text_len;
static FILE *file;

static int
setup(void **state)
{
	(void)state;
	rig_wire("a", "b", 1, 0);
	dev_a = rig_dev("net_ring_a,addr=192.0.2.1/24,drive=none,cc=dcqcn");
	dev_b = rig_dev("net_ring_b,addr=192.0.2.2/24,drive=none");
	qp_a = rig_qp(dev_a, 0, IBV_QPT_RC);
	qp_b = rig_qp(dev_b, 0, IBV_QPT_RC);
	rig_connect(qp_a, qp_b, 1);
	rig_connect(qp_b, qp_a, 1);
	return 0;
}

static int
teardown(void **state)
{
	rig_qp_free(qp_a);
	rig_qp_free(qp_b);
	return rig_teardown(state);
}

static int
open_log(void **state)
{
	(void)state;
	file = open_memstream(&text, &text_len);
	return file ? rte_openlog_stream(file) : -1;
}

static int
close_log(void **state)
{
	(void)state;
	rte_openlog_stream(NULL);
	fclose(file);
	free(text);
	return 0;
}

/* The number of times that the log contains `words`. */
static unsigned
nb_lines(const char *words)
{
	unsigned nb = 0;

	fflush(file);
	for (const char *at = text; (at = strstr(at, words)); at++)
		nb++;
	return nb;
}

/* Pass a forged CNP to dev_a. The CNP seems to come from the QP of host b. */
static void
forge_cnp(void)
{
	const struct uroce_path *path = &qp_b->wqp.qpc.path;
	const uint32_t len = sizeof(struct uroce_bth) + UROCE_CNP_RESERVED_LEN + UROCE_ICRC_LEN;
	struct uroce_worker *worker = dev_a->worker[0];
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(worker->pool);
	uint8_t *frame = (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)(path->hdr_len + len));
	uint32_t crc;

	assert_non_null(frame);
	memset(frame, 0, path->hdr_len + len);
	struct uroce_bth *bth = uroce_path_put(path, frame, len, &crc);

	uroce_bth_put(bth, UROCE_OPCODE_CNP, 0, 0xffff, qp_a->wqp.qpc.qpn, 0);
	crc = uroce_icrc_bth(crc, (const uint8_t *)bth);
	crc = uroce_crc32(crc, (const uint8_t *)(bth + 1), UROCE_CNP_RESERVED_LEN);
	uroce_icrc_store((uint8_t *)(bth + 1) + UROCE_CNP_RESERVED_LEN, crc);
	uroce_lock_take(&worker->lock);
	assert_int_equal(uroce_rx_input(worker, &mbuf, 1, NULL), 0);
	uroce_lock_release(&worker->lock);
}

/* If more implausible CNPs arrive than an accident explains, one log line reports them. */
static void
alert__names_forged_cnps(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 7; i++)
		forge_cnp();
	assert_int_equal(nb_lines("CNPs that a correct notification point"), 0);
	for (unsigned i = 0; i < 100; i++)
		forge_cnp();
	assert_int_equal(uroce_worker_counted(dev_a->worker[0], UROCE_COUNTER_RP_CNP_IMPLAUSIBLE),
			 107);
	/*
	 * All CNPs within one second cause one log line. No thread drives the worker, so its time
	 * does not advance.
	 */
	assert_int_equal(nb_lines("CNPs that a correct notification point"), 1);
	assert_int_equal(nb_lines("peer 192.0.2.2"), 1);
}

/* Add `nb` forged CNPs to the counter, and call the function that raises alerts. */
static void
raise_cnps(struct uroce_alerts *alarms, struct uroce_counters *counters, uint64_t nb,
	   uint64_t now_ns)
{
	counters->nb[UROCE_COUNTER_RP_CNP_IMPLAUSIBLE] += nb;
	uroce_alert_raise(alarms, &qp_a->wqp.qpc, UROCE_QPC_CNP_IMPLAUSIBLE, counters, now_ns);
}

static void
alert_raise__a_line_a_second(void **state)
{
	struct uroce_counters counters = { 0 };
	struct uroce_alerts alarms = { 0 };

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		raise_cnps(&alarms, &counters, 100, T0 + i);
	assert_int_equal(nb_lines("roce: "), 1);
	raise_cnps(&alarms, &counters, 100, T0 + SECOND - 1);
	assert_int_equal(nb_lines("roce: "), 1);
	raise_cnps(&alarms, &counters, 100, T0 + SECOND);
	assert_int_equal(nb_lines("roce: "), 2);
	assert_int_equal(nb_lines("(100 within a second)"), 2);
}

/* A few forged CNPs in each second never raise an alert, even if they arrive for a long time. */
static void
alert_raise__not_for_what_may_be_chance(void **state)
{
	struct uroce_counters counters = { 0 };
	struct uroce_alerts alarms = { 0 };

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		raise_cnps(&alarms, &counters, 1, T0 + i * (SECOND / 6));
	assert_int_equal(nb_lines("roce: "), 0);
	raise_cnps(&alarms, &counters, 8, T0 + 1000 * SECOND);
	assert_int_equal(nb_lines("roce: "), 1);
}

/* An alert of one kind does not suppress an alert of another kind. */
static void
alert_raise__a_second_for_each_kind(void **state)
{
	struct uroce_counters counters = { 0 };
	struct uroce_alerts alarms = { 0 };

	(void)state;
	raise_cnps(&alarms, &counters, 8, T0);
	counters.nb[UROCE_COUNTER_RX_WRITE_UNREAD] = 1;
	uroce_alert_raise(&alarms, &qp_a->wqp.qpc, UROCE_QPC_KEYS_GUESSED, &counters, T0 + 1);
	assert_int_equal(nb_lines("roce: "), 2);
	assert_int_equal(nb_lines("guessing keys (1 within"), 1);
}

int
main(void)
{
#define ALARM_TEST(test) cmocka_unit_test_setup_teardown(test, open_log, close_log)
	const struct CMUnitTest tests[] = {
		ALARM_TEST(alert__names_forged_cnps),
		ALARM_TEST(alert_raise__a_line_a_second),
		ALARM_TEST(alert_raise__not_for_what_may_be_chance),
		ALARM_TEST(alert_raise__a_second_for_each_kind),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, setup, teardown);
}
