/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the log says when a call is refused or a QP fails: the QP, the attribute, its value, and
 * what is allowed. Each row of a table has a wrong call and a part of its log line.
 */

#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <rte_log.h>

static struct pair net;
static char *text; /* the log lines since the latest begin_capture() */
static size_t text_len;
static FILE *sink;

static void
begin_capture(void)
{
	free(text);
	text = NULL;
	sink = open_memstream(&text, &text_len);
	assert_non_null(sink);
	rte_openlog_stream(sink);
}

static void
end_capture(void)
{
	rte_openlog_stream(NULL);
	(void)fclose(sink);
}

/* Print the captured log as comments of TAP. */
static void
print_log(void)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		print_message("# %.*s\n", (int)strcspn(line, "\n"), line);
}

/* Check that the log has one line since begin_capture(), and that the line contains `part`. */
static void
expect_line(const char *part)
{
	if (!strstr(text, part) || strchr(text, '\n') != text + text_len - 1)
		fail_msg("not one line with '%s': %s", part, text);
	print_log();
}

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC, .keys = "mtu=1024" });
	assert_int_equal(to_init(&net.a), 0);
	assert_int_equal(to_init(&net.b), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

/* --- refused modifications of a QP ------------------------------------------------------------- */

#define RTR_MASK                                                                                   \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

/* Attributes and mask of a valid modify to RTR. Each row of the table makes one change to them. */
struct wish {
	struct ibv_qp_attr attr;
	int mask;
};

static struct wish
good_wish(void)
{
	return (struct wish){
		.attr = { .qp_state = IBV_QPS_RTR,
			  .path_mtu = IBV_MTU_1024,
			  .dest_qp_num = net.b.qp->qp_num,
			  .max_dest_rd_atomic = 4,
			  .min_rnr_timer = 1,
			  .ah_attr = ah_attr_to(&net.b, ADDR_GID) },
		.mask = RTR_MASK,
	};
}

static void
set_dgid(struct wish *wish, uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	const uint8_t ip[4] = { a, b, c, d };

	memcpy(wish->attr.ah_attr.grh.dgid.raw + 12, ip, sizeof(ip));
}

static void
lack_grh(struct wish *wish)
{
	wish->attr.ah_attr.is_global = 0;
}

static void
exceed_gids(struct wish *wish)
{
	wish->attr.ah_attr.grh.sgid_index = 200;
}

static void
name_empty_gid(struct wish *wish)
{
	wish->attr.ah_attr.grh.sgid_index = 9;
}

static void
exceed_mtu(struct wish *wish)
{
	wish->attr.path_mtu = IBV_MTU_4096;
}

static void
leave_subnet(struct wish *wish)
{
	set_dgid(wish, 198, 51, 100, 7);
}

static void
name_nobody(struct wish *wish)
{
	set_dgid(wish, 192, 0, 2, 77);
}

static void
mix_families(struct wish *wish)
{
	wish->attr.ah_attr.grh.sgid_index = 0;
}

static void
name_no_host(struct wish *wish)
{
	set_dgid(wish, 0, 0, 0, 0);
}

static void
name_group(struct wish *wish)
{
	set_dgid(wish, 239, 1, 2, 3);
}

static void
name_port_2(struct wish *wish)
{
	wish->attr.ah_attr.port_num = 2;
}

static void
skip_state(struct wish *wish)
{
	wish->attr.qp_state = IBV_QPS_RTS;
	wish->mask = IBV_QP_STATE;
}

static void
lack_psn(struct wish *wish)
{
	wish->mask &= ~IBV_QP_RQ_PSN;
}

static void
add_timeout(struct wish *wish)
{
	wish->mask |= IBV_QP_TIMEOUT;
}

static void
exceed_timer(struct wish *wish)
{
	wish->attr.min_rnr_timer = 32;
}

static void
modify_qp__a_refusal_says_which_attribute_and_what_is_allowed(void **state)
{
	static const struct {
		void (*change)(struct wish *wish);
		const char *part;
		int err;
	} rows[] = {
		{ lack_grh, "ah_attr.is_global is 0: allowed is 1, RoCE needs a GRH", EINVAL },
		{ exceed_gids, "ah_attr.grh.sgid_index is 200: allowed are 0 to ", EINVAL },
		{ name_empty_gid, "GID index 9 of net_ring_", EINVAL },
		{ name_empty_gid, "is empty: allowed are 0 (fe80::", EINVAL },
		{ name_empty_gid, "1 (192.0.2.1)", EINVAL },
		{ exceed_mtu, "path_mtu 5 is 4096 bytes, and the port carries 1024", EINVAL },
		{ leave_subnet, "198.51.100.7 is in no network of net_ring_", ENETUNREACH },
		{ leave_subnet, "(192.0.2.1/24) and there is no gateway", ENETUNREACH },
		{ name_nobody, "no reply to ARP on the way to 192.0.2.77", ETIMEDOUT },
		{ mix_families, "GID index 0 is an address of IPv6 and the destination 192.0.2.2",
		  EINVAL },
		{ name_no_host, "0.0.0.0 is no address of a host", EINVAL },
		{ name_group, "the destination is a multicast group", EINVAL },
		{ name_port_2, "ah_attr.port_num is 2: allowed is 1", EINVAL },
		{ skip_state,
		  "from INIT to RTS refused: there is no such transition: allowed are "
		  "RESET, INIT, RTR, ERR",
		  EINVAL },
		{ lack_psn, "lacks required attributes: IBV_QP_RQ_PSN", EINVAL },
		{ add_timeout, "not allowed here: IBV_QP_TIMEOUT", EINVAL },
		{ exceed_timer, "min_rnr_timer is 32: allowed are 0 to 31", EINVAL },
	};
	char qp[32];

	(void)state;
	(void)snprintf(qp, sizeof(qp), "qp 0x%x: modify", net.a.qp->qp_num);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wish wish = good_wish();

		rows[i].change(&wish);
		begin_capture();
		const int ret = uroce_modify_qp(net.a.qp, &wish.attr, wish.mask);

		end_capture();
		assert_int_equal(ret, rows[i].err);
		expect_line(qp);
		expect_line(rows[i].part);
	}
	/*
	 * the refused calls have not changed the QP, so a modify with right attributes succeeds and
	 * logs nothing
	 */
	struct wish wish = good_wish();

	begin_capture();
	assert_int_equal(uroce_modify_qp(net.a.qp, &wish.attr, wish.mask), 0);
	end_capture();
	assert_int_equal(text_len, 0);
}

/* --- other refused calls ----------------------------------------------------------------------- */

static void
create_ah__a_refusal_says_why(void **state)
{
	struct ibv_ah_attr attr = ah_attr_to(&net.b, ADDR_GID);

	(void)state;
	attr.grh.sgid_index = 9;
	begin_capture();
	assert_null(uroce_create_ah(net.a.pd, &attr));
	end_capture();
	expect_line("address handle refused: GID index 9 of net_ring_");
}

static void
create__a_refusal_names_the_limit(void **state)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .send_cq = net.a.scq,
					 .recv_cq = net.a.rcq,
					 .cap = { .max_send_wr = 1u << 30 } };

	(void)state;
	begin_capture();
	assert_null(uroce_create_qp(net.a.pd, &init));
	end_capture();
	expect_line("create_qp: max_send_wr is 1073741824: allowed are up to ");
	init.cap.max_send_wr = 1;
	init.recv_cq = net.b.rcq;
	begin_capture();
	assert_null(uroce_create_qp(net.a.pd, &init));
	end_capture();
	expect_line("create_qp: recv_cq is missing or of another context");
	begin_capture();
	assert_null(uroce_create_cq(net.a.context, 0, NULL, NULL, 0));
	end_capture();
	expect_line("create_cq: cqe is 0: allowed are 1 to ");
	begin_capture();
	assert_null(uroce_create_cq(net.a.context, 1, NULL, NULL, 64));
	end_capture();
	expect_line("create_cq: comp_vector is 64: allowed are 0 to 0");
}

static void
reg_mr__a_refusal_says_why(void **state)
{
	(void)state;
	begin_capture();
	assert_null(uroce_reg_mr(net.a.pd, net.a.buf, 8, IBV_ACCESS_REMOTE_WRITE));
	end_capture();
	expect_line("reg_mr: access 0x2: remote WRITEs and atomics need IBV_ACCESS_LOCAL_WRITE");
	begin_capture();
	assert_null(uroce_reg_mr(net.a.pd, (void *)(uintptr_t)4096, 8, 0));
	end_capture();
	expect_line("reg_mr: 8 bytes at 0x1000: some of them are not mapped");
}

/* --- QPs that fail ----------------------------------------------------------------------------- */

/*
 * Connect with few retries. The ACK timeout is long where a response is expected, because the
 * response is late where the machine is busy.
 */
static int
setup_failing(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC,
					     .timeout = 18, /* code of an ACK timeout of 1.07 s */
					     .is_impatient = true,
					     .retry_cnt = 1,
					     .rnr_retry = 0 });
	pair_connect(&net);
	return 0;
}

static int
setup_no_response(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC,
					     .timeout = 8, /* code of an ACK timeout of 1 ms */
					     .is_impatient = true,
					     .retry_cnt = 1 });
	pair_connect(&net);
	return 0;
}

/* Check that the captured log has a line about the failed QP of `host` that contains `part`. */
static void
expect_failure(const struct host *host, const struct host *peer, const char *part)
{
	const char *line;
	char who[96];

	(void)snprintf(who, sizeof(who), "qp 0x%x, peer 192.0.2.%u qp 0x%x: failed at PSN 0x",
		       host->qp->qp_num, peer == &net.b ? 2 : 1, peer->qp->qp_num);
	line = strstr(text, who);
	if (!line || !strstr(line, part))
		fail_msg("no line with '%s' and '%s': %s", who, part, text);
	print_log();
}

static void
failure__bad_rkey_is_reported_at_both_ends(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { (uintptr_t)net.b.buf, net.b.mr->rkey ^ 1 },
	};

	(void)state;
	begin_capture();
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 0, IBV_WC_REM_ACCESS_ERR);
	end_capture();
	expect_failure(&net.a, &net.b,
		       "of its requests: the peer refused the key, the range or the "
		       "right; check rkey");
	expect_failure(&net.b, &net.a, "of the peer's requests: key, range or right refused");
}

static void
failure__no_receive_request(void **state)
{
	(void)state;
	begin_capture();
	post_send(&net.a, IBV_WR_SEND, 0, sge_of(&net.a, 0, 8));
	expect_wc(&net, net.a.scq, 0, IBV_WC_RNR_RETRY_EXC_ERR);
	end_capture();
	expect_failure(&net.a, &net.b, "the peer had no receive request");
}

static void
failure__message_longer_than_the_receive_buffer(void **state)
{
	(void)state;
	begin_capture();
	post_recv(&net.b, 0, sge_of(&net.b, 0, 4));
	post_send(&net.a, IBV_WR_SEND, 0, sge_of(&net.a, 0, 8));
	expect_wc(&net, net.a.scq, 0, IBV_WC_REM_INV_REQ_ERR);
	end_capture();
	expect_failure(&net.b, &net.a,
		       "message longer than the receive buffer; post receive requests");
}

static void
failure__no_response(void **state)
{
	(void)state;
	assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
	begin_capture();
	post_send(&net.a, IBV_WR_SEND, 0, sge_of(&net.a, 0, 8));
	expect_wc(&net, net.a.scq, 0, IBV_WC_RETRY_EXC_ERR);
	end_capture();
	expect_failure(&net.a, &net.b,
		       "no response from the peer, after all retries; check that the "
		       "peer's program runs");
}

/* --- log lines of control operations ----------------------------------------------------------- */

static void
log__control_operations_at_level_debug(void **state)
{
	const int type = rte_log_register("roce.qp");
	char part[160];
	uint32_t qpn;

	(void)state;
	assert_true(type >= 0);
	assert_int_equal(rte_log_set_level((uint32_t)type, RTE_LOG_DEBUG), 0);
	begin_capture();
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	pair_connect(&net);
	qpn = net.a.qp->qp_num;
	(void)snprintf(part, sizeof(part),
		       "qp 0x%x: modified to RTR, connected to 192.0.2.2 qp 0x%x, "
		       "path MTU 1024\n",
		       qpn, net.b.qp->qp_num);
	pair_close(&net);
	end_capture();
	assert_int_equal(rte_log_set_level((uint32_t)type, RTE_LOG_NOTICE), 0);
	print_log();
	assert_non_null(strstr(text, part));
	(void)snprintf(part, sizeof(part),
		       "qp 0x%x: created, RC, 16 send and 16 receive requests\n", qpn);
	assert_non_null(strstr(text, part));
	(void)snprintf(part, sizeof(part), "qp 0x%x: modified to RTS\n", qpn);
	assert_non_null(strstr(text, part));
	(void)snprintf(part, sizeof(part), "qp 0x%x: destroyed\n", qpn);
	assert_non_null(strstr(text, part));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			modify_qp__a_refusal_says_which_attribute_and_what_is_allowed, setup,
			teardown),
		cmocka_unit_test_setup_teardown(create_ah__a_refusal_says_why, setup, teardown),
		cmocka_unit_test_setup_teardown(create__a_refusal_names_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(reg_mr__a_refusal_says_why, setup, teardown),
		cmocka_unit_test_setup_teardown(failure__bad_rkey_is_reported_at_both_ends,
						setup_failing, teardown),
		cmocka_unit_test_setup_teardown(failure__no_receive_request, setup_failing,
						teardown),
		cmocka_unit_test_setup_teardown(failure__message_longer_than_the_receive_buffer,
						setup_failing, teardown),
		cmocka_unit_test_setup_teardown(failure__no_response, setup_no_response, teardown),
		cmocka_unit_test(log__control_operations_at_level_debug),
	};
	int failed;

	net_init();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(text);
	return failed;
}
