/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The transmission of the engine's messages, while many of them go to hosts that do not answer. The
 * test compiles the sender and its cache of paths, and replaces the engine, the neighbours and QP 1.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "datapath/net/gid.h"
#include "verbs/cm/sender.h"

#define MSEC    UINT64_C(1000000)
#define NB_GOOD 16u
#define ACCOUNT 7u /* account of the user who floods */
#define OTHER   9u /* account of another user */

static struct uroce_dev device;
static struct uroce_cm_sender sender;
static uint64_t now_ns;
static struct uroce_cm_tx queue[64]; /* messages that the engine has to send */
static unsigned nb_queued;
static unsigned nb_requests; /* number of requests of the sender for the MAC of a host */
/* number of messages to a good host, by the last byte of its GID */
static unsigned nb_sent_to[256];
static struct uroce_path last_path;
static uint32_t next_number;

/* --- replacements of the functions that the sender calls ---------------------------------------- */

void
uroce_gid_copy(struct uroce_dev *dev, struct uroce_gid_table *gids)
{
	(void)dev;
	memset(gids, 0, sizeof(*gids));
}

int
uroce_gid_find(const struct uroce_gid_table *gids, const uint8_t gid[16])
{
	(void)gids;
	(void)gid;
	return 0;
}

/* A good host answers the first request. Hosts whose GID does not begin with 0x20 are silent. */
int
uroce_dev_try_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *av, uint16_t sport,
		      uint64_t *request_ns, struct uroce_path *path)
{
	struct uroce_path_conf conf = { .udp_sport = sport, .dmac = { 2, 0, 0, 0, 0, 9 } };
	const bool is_asked = *request_ns != 0;

	(void)dev;
	nb_requests += !is_asked;
	*request_ns = now_ns;
	if (!is_asked || av->grh.dgid.raw[0] != 0x20)
		return -EAGAIN;
	memcpy(conf.dip, av->grh.dgid.raw, sizeof(conf.dip));
	uroce_path_init(path, &conf);
	return 0;
}

unsigned
uroce_gsi_room(struct uroce_gsi *gsi)
{
	(void)gsi;
	return 64;
}

void
uroce_gsi_send(struct uroce_gsi *gsi, const struct uroce_path *path,
	       const uint8_t mad[UROCE_MAD_LEN])
{
	const struct uroce_ipv6 *const ip = (const struct uroce_ipv6 *)(path->hdr + path->ip_off);

	(void)gsi;
	(void)mad;
	nb_sent_to[ip->dst[15]]++;
	last_path = *path;
}

unsigned
uroce_cme_send(struct uroce_cm *cm, struct uroce_cm_tx *out, unsigned max, uint64_t time_ns)
{
	const unsigned nb = nb_queued < max ? nb_queued : max;

	(void)cm;
	(void)time_ns;
	memcpy(out, queue, nb * sizeof(*out));
	memmove(queue, queue + nb, (nb_queued - nb) * sizeof(*queue));
	nb_queued -= nb;
	return nb;
}

bool
uroce_cme_has_tx(const struct uroce_cm *cm)
{
	(void)cm;
	return nb_queued > 0;
}

/* --- messages, and runs of the sender ----------------------------------------------------------- */

static int
setup(void **state)
{
	(void)state;
	memset(&sender, 0, sizeof(sender));
	memset(nb_sent_to, 0, sizeof(nb_sent_to));
	now_ns = 1000 * MSEC;
	nb_queued = nb_requests = 0;
	return uroce_cm_sender_init(&sender, NULL, &device);
}

static void
run(void)
{
	while (uroce_cm_sender_run(&sender, NULL, now_ns))
		;
}

/* Run the sender once per millisecond, for `msec` milliseconds. */
static void
pass(unsigned msec)
{
	for (unsigned i = 0; i < msec; i++) {
		now_ns += MSEC;
		run();
	}
}

/*
 * Create a message to the host with `number` in its GID. Without `has_id` the message belongs to no
 * account.
 */
static struct uroce_cm_tx
message(bool has_id, uint16_t account_idx, uint8_t first, uint32_t number)
{
	struct uroce_cm_tx tx = {
		.has_id = has_id,
		.is_request = has_id,
		.account_idx = account_idx,
	};

	next_number++;
	memcpy(tx.mad, &next_number, sizeof(next_number));
	tx.av.local_gid[0] = 0x20;
	tx.av.remote_gid[0] = first;
	for (unsigned i = 0; i < 4; i++)
		tx.av.remote_gid[12 + i] = (uint8_t)(number >> (24 - 8 * i));
	return tx;
}

static void
send_message(struct uroce_cm_tx tx)
{
	queue[nb_queued++] = tx;
	run();
}

/* Send messages to different hosts that do not answer. */
static void
flood(bool has_id, uint16_t account_idx, unsigned nb)
{
	for (unsigned i = 0; i < nb; i++)
		send_message(message(has_id, account_idx, 0xfd, next_number));
}

/*
 * Send a message of the account OTHER to each good host. The sender knows no path to these hosts,
 * but must send each message at once.
 */
static void
expect_others_pass(bool is_request)
{
	struct uroce_cm_tx tx;

	for (unsigned i = 0; i < NB_GOOD; i++) {
		tx = message(true, OTHER, 0x20, i);
		tx.is_request = is_request;
		send_message(tx);
	}
	pass(2);
	for (unsigned i = 0; i < NB_GOOD; i++)
		assert_int_equal(nb_sent_to[i], 1);
}

/* --- tests of the sender ------------------------------------------------------------------------ */

static void
sender__flow_labels_of_a_host_are_one_resolution(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		struct uroce_cm_tx tx = message(true, ACCOUNT, 0xfd, 1);

		tx.av.flow_label = i;
		tx.av.traffic_class = (uint8_t)i;
		send_message(tx);
	}
	assert_int_equal(nb_requests, 1);
	expect_others_pass(true);
}

/* A resolved path is used with the flow label, traffic class and hop limit of each message. */
static void
sender__path_has_the_values_of_the_message(void **state)
{
	const struct uroce_ipv6 *const ip = (const struct uroce_ipv6 *)(last_path.hdr + 14);
	uint16_t sport = 0;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct uroce_cm_tx tx = message(true, ACCOUNT, 0x20, 1);
		const struct uroce_udp *udp;

		tx.av.flow_label = 0x100 + i;
		tx.av.traffic_class = (uint8_t)(4 * i);
		tx.av.hop_limit = (uint8_t)(100 * i);
		send_message(tx);
		pass(2);
		assert_int_equal(nb_sent_to[1], i + 1);
		assert_int_equal(be32_get(ip->version_flow), 6u << 28 | 4 * i << 20 | (0x100 + i));
		assert_int_equal(ip->hop_limit, i == 0 ? 64 : 100 * i);
		assert_memory_equal(ip->dst, tx.av.remote_gid, 16);
		assert_memory_equal(ip->src, tx.av.local_gid, 16);
		assert_int_equal(last_path.hdr[5], 9);
		udp = (const struct uroce_udp *)(last_path.hdr + last_path.udp_off);
		assert_true(be16_get(udp->sport) != sport);
		sport = be16_get(udp->sport);
	}
	assert_int_equal(nb_requests, 1);
}

static void
sender__hosts_that_are_down_delay_no_other_account(void **state)
{
	(void)state;
	flood(true, ACCOUNT, 5000);
	assert_true(nb_requests <= UROCE_CM_PATH_SETS * UROCE_CM_PATH_WAYS);
	expect_others_pass(true);
	/* a second flood does not replace the resolution for which the account OTHER waits */
	flood(true, ACCOUNT, 100);
	send_message(message(true, OTHER, 0x20, 100));
	flood(true, ACCOUNT, 5000);
	pass(2);
	assert_int_equal(nb_sent_to[100], 1);
}

static void
sender__requests_delay_no_responses(void **state)
{
	(void)state;
	flood(true, OTHER, 5000);
	expect_others_pass(false);
}

static void
sender__wire_has_few_places(void **state)
{
	(void)state;
	flood(false, 0, 5000);
	assert_true(nb_requests <= UROCE_CM_PATH_WIRE_MAX);
	expect_others_pass(true);
	/* messages of no account do not replace the resolution for which an account waits */
	send_message(message(true, OTHER, 0x20, 100));
	flood(false, 0, 5000);
	pass(2);
	assert_int_equal(nb_sent_to[100], 1);
	/* the resolutions of silent hosts time out, and then others can use their entries */
	pass(200);
	send_message(message(false, 0, 0x20, 101));
	pass(2);
	assert_int_equal(nb_sent_to[101], 1);
	assert_int_equal(sender.nb_unresolved, 0);
	for (unsigned i = 0; i < UROCE_CM_NB_PARTIES; i++) {
		assert_int_equal(sender.shares.nb_of[i], 0);
		assert_int_equal(sender.paths.shares.nb_of[i], 0);
	}
}

/* Two accounts that flood do not replace each other's resolutions again and again. */
static void
sender__accounts_cause_a_bounded_number_of_requests(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		flood(true, ACCOUNT, 1);
		flood(true, OTHER, 1);
		flood(false, 0, 1);
	}
	assert_true(nb_requests <= 2 * UROCE_CM_PATH_SETS * UROCE_CM_PATH_WAYS);
}

#define TEST(test) cmocka_unit_test_setup(test, setup)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sender__flow_labels_of_a_host_are_one_resolution),
		TEST(sender__path_has_the_values_of_the_message),
		TEST(sender__hosts_that_are_down_delay_no_other_account),
		TEST(sender__requests_delay_no_responses),
		TEST(sender__wire_has_few_places),
		TEST(sender__accounts_cause_a_bounded_number_of_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
