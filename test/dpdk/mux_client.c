/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Devices that are attached to uroced. A switch in the test program replaces uroced. The tests
 * cover frames, invalid descriptors, loss and restart of the connection, and the description of the
 * host that uroced sends.
 */

#include "mux_rig.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rte_common.h>
#include <rte_cycles.h>

#include "datapath/net/gid.h"
#include "datapath/worker/round.h"

/* --- frames through the rings ------------------------------------------------------------------ */

static void
mux_client__the_device_is_what_uroced_says(void **state)
{
	struct uroce_mux_host host = switch_host;
	const struct uroce_gid_table *gids;

	(void)state;
	host.path_mtu = 1024;
	host.gw4[10] = host.gw4[11] = 0xff;
	host.gw4[15] = 9;
	attached_switch = switch_start(&(struct switch_conf){ .path = SOCKET, .host = host });
	dev_a = rig_dev(SPEC ",drive=none");
	gids = dev_a->gids;
	assert_memory_equal(dev_a->mac, host.mac, 6);
	assert_int_equal(dev_a->limits.active_mtu, IBV_MTU_1024);
	assert_int_equal(gids->nb, 3);
	assert_int_equal(gids->kernels, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_memory_equal(gids->addr[i].ip, host.addr[i].ip, 16);
	assert_memory_equal(dev_a->conf.gw4, host.gw4, 16);
	assert_int_equal(uroce_port_mbps(dev_a->port), host.mbps);
	assert_int_equal(uroce_dev_destroy(dev_a), 0);
	dev_a = rig_dev(SPEC ",drive=none,mtu=2048");
	assert_int_equal(dev_a->limits.active_mtu, IBV_MTU_2048);
	assert_int_equal(uroce_dev_destroy(dev_a), 0);
	switch_stop(attached_switch);
}

static void
mux_client__frames_of_all_lengths_cross(void **state)
{
	static const uint32_t lengths[] = { 1, 60, 4096, 4097, RIG_BUF_LEN };

	(void)state;
	attached_begin("drive=none");
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		attached_write(lengths[i]);
	memset(attached_qp[1]->buf, 0, RIG_BUF_LEN);
	rig_post_send(attached_qp[1], IBV_WR_RDMA_READ, 2, 0, RIG_BUF_LEN, attached_qp[0], 0);
	assert_int_equal(rig_await(&attached_qp[1]->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	rig_check(attached_qp[1], 0, attached_qp[0], 0, RIG_BUF_LEN);
	attached_end();
}

static bool
has_passed_all(void)
{
	return uroce_mux_client_has_passed(dev_a->port, 0, uroce_mux_client_sent(dev_a->port, 0));
}

/*
 * After one wait for a barrier has timed out, calls of the device do not wait for barriers until
 * uroced has passed all descriptors.
 */
static void
mux_client__a_uroced_that_is_late_gets_no_more_barriers(void **state)
{
	uint32_t sent;

	(void)state;
	attached_begin("drive=none");
	assert_true(uroce_mux_client_sync(dev_a->port, 0));
	attached_wait(has_passed_all, attached_nothing);
	sent = uroce_mux_client_sent(dev_a->port, 0);
	uroce_mux_client_give_up(dev_a->port, 0, sent + 1);
	assert_false(uroce_mux_client_sync(dev_a->port, 0));
	assert_int_equal(uroce_mux_client_sent(dev_a->port, 0), sent);
	attached_write(8); /* this frame follows the barrier for which the wait timed out */
	attached_wait(has_passed_all, attached_nothing);
	assert_true(uroce_mux_client_sync(dev_a->port, 0));
	attached_end();
}

/*
 * Each worker of a device has separate rings. Frames of a QP may arrive on any ring, and are
 * forwarded to the worker of the QP.
 */
static void
mux_client__each_worker_has_its_rings(void **state)
{
	(void)state;
	attached_begin("drive=none,workers=3");
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned j = 0; j < 2; j++)
			rig_qp_free(attached_qp[j]);
		attached_connect(i);
		attached_write(RIG_BUF_LEN);
		assert_true(uroce_worker_counted(dev_b->worker[i], UROCE_COUNTER_RX_FRAMES) > 0);
	}
	for (unsigned j = 0; j < 2; j++)
		rig_qp_free(attached_qp[j]);
	attached_qp[0] = rig_qp(dev_a, 1, IBV_QPT_RC);
	attached_qp[1] = rig_qp(dev_b, 2, IBV_QPT_RC);
	rig_connect(attached_qp[0], attached_qp[1], 1);
	rig_connect(attached_qp[1], attached_qp[0], 1);
	rig_fill(attached_qp[0], 9);
	attached_write(RIG_BUF_LEN);
	assert_true(uroce_worker_counted(dev_b->worker[2], UROCE_COUNTER_FORWARDED_PKTS) > 0);
	attached_end();
}

/*
 * Frames to a QP of the same device stay in the device, although the host of uroced has the
 * addresses of the device.
 */
static void
mux_client__frames_of_its_own_do_not_leave(void **state)
{
	struct rig_qp *other;
	uint64_t nb_before;

	(void)state;
	attached_begin("drive=none");
	nb_before = switch_nb_forwarded(attached_switch);
	other = rig_qp(dev_a, 0, IBV_QPT_RC);
	rig_qp_free(attached_qp[0]);
	attached_qp[0] = rig_qp(dev_a, 0, IBV_QPT_RC);
	rig_connect(attached_qp[0], other, 1);
	rig_connect(other, attached_qp[0], 1);
	rig_fill(attached_qp[0], 5);
	rig_post_send(attached_qp[0], IBV_WR_RDMA_WRITE, 1, 0, 9000, other, 0);
	assert_int_equal(rig_await(&attached_qp[0]->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	rig_check(other, 0, attached_qp[0], 0, 9000);
	assert_int_equal(switch_nb_forwarded(attached_switch), nb_before);
	rig_qp_free(other);
	attached_end();
}

static void
mux_client__lost_frames_are_sent_again(void **state)
{
	(void)state;
	attached_switch = switch_start(&(struct switch_conf){ .path = SOCKET, .drop_every = 13 });
	dev_a = rig_dev(SPEC ",drive=none");
	dev_b = rig_dev(SPEC ",drive=none");
	attached_connect(0);
	for (unsigned i = 0; i < 10; i++)
		attached_write(RIG_BUF_LEN);
	attached_end();
}

/* --- invalid descriptors, frames and messages -------------------------------------------------- */

static bool
has_seen_all(void)
{
	const struct uroce_mux_client_pair *pair = &dev_b->port->mux_client->pair[0];

	return uroce_spsc_ready(&pair->down) == 0;
}

static uint64_t
slot(uint32_t offset, uint16_t len)
{
	return uroce_spsc_pack((struct uroce_spsc_desc){ offset, len });
}

static void
mux_client__wrong_slots_are_dropped_and_counted(void **state)
{
	const uint32_t size = (uint32_t)(512u << 20);
	uint32_t offset;

	(void)state;
	attached_begin("drive=none");
	attached_write(100);
	offset = switch_next_buffer(attached_switch, 1, 0);
	switch_forge(attached_switch, 1, 0, slot(offset, 0), NULL, 0);
	switch_forge(attached_switch, 1, 0, slot(offset + 4288 * 2, 100), NULL,
		     0); /* the descriptor has the offset of another slot */
	switch_forge(attached_switch, 1, 0, slot(UINT32_MAX, 4218), NULL, 0);
	switch_forge(attached_switch, 1, 0, slot(size, 60), NULL, 0);
	switch_forge(attached_switch, 1, 0, slot(0, 60), NULL, 0);
	switch_forge(attached_switch, 1, 0, UINT64_MAX, NULL, 0);
	offset = switch_next_buffer(attached_switch, 1, 0);
	switch_forge(attached_switch, 1, 0, slot(offset, 4219), NULL, 0);
	offset = switch_next_buffer(attached_switch, 1, 0);
	switch_forge(attached_switch, 1, 0, slot(offset, 53), NULL, 0);
	attached_wait(has_seen_all, attached_drive);
	assert_int_equal(atomic_load(&attached_stats(1)->wrong_slots), 8);
	/* after the forged descriptors, all slots of the ring are still usable */
	for (unsigned i = 0; i < 40; i++)
		attached_write(RIG_BUF_LEN);
	assert_int_equal(atomic_load(&attached_stats(1)->wrong_slots), 8);
	assert_int_equal(rig_nb_away(dev_a), 0);
	assert_int_equal(rig_nb_away(dev_b), 0);
	attached_end();
}

/*
 * Frames with random bytes, in valid descriptors. The device drops the frames, and does not count
 * their descriptors as invalid.
 */
static void
mux_client__garbage_in_frames_is_what_it_is_on_any_port(void **state)
{
	uint8_t bytes[512];

	(void)state;
	attached_begin("drive=none");
	srand(7);
	for (unsigned i = 0; i < 500; i++) {
		const uint16_t len = (uint16_t)(54 + rand() % 400);

		for (unsigned j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)rand();
		/*
		 * Half of the frames have a valid MAC address and the start of a valid IPv4 header,
		 * so that they pass the first checks.
		 */
		if (i % 2) {
			memcpy(bytes, switch_host.mac, 6);
			memcpy(bytes + 12, "\x08\x00\x45", 3);
		}
		switch_forge(attached_switch, 1, 0,
			     slot(switch_next_buffer(attached_switch, 1, 0), len), bytes, len);
		attached_wait(has_seen_all, attached_drive);
	}
	assert_int_equal(atomic_load(&attached_stats(1)->wrong_slots), 0);
	attached_write(RIG_BUF_LEN);
	attached_end();
}

static bool
has_wrong_head(void)
{
	return atomic_load(&attached_stats(1)->wrong_heads) > 0;
}

/* If the device finds an impossible ring index, it connects to uroced again, with empty rings. */
static void
mux_client__a_wrong_index_ends_the_connection(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		attached_begin("drive=none");
		attached_write(5000);
		switch_derange(attached_switch, 1, 0, i == 0, 5000);
		rig_post_send(attached_qp[1], IBV_WR_RDMA_WRITE, 1, 0, 5000, attached_qp[0], 0);
		attached_wait(has_wrong_head, attached_drive);
		attached_wait(attached_has_both, attached_drive);
		assert_int_equal(rig_await(&attached_qp[1]->scq, dev_a, dev_b).status,
				 IBV_WC_SUCCESS);
		attached_write(RIG_BUF_LEN);
		attached_end();
	}
}

static bool
has_lost_link(void)
{
	struct uroce_dev_event event;

	return uroce_dev_event_pop(dev_b, &event) && event.type == IBV_EVENT_PORT_ERR;
}

/*
 * If uroced sends an invalid message, the device connects again. The message has no other effect.
 */
static void
mux_client__wrong_words_end_the_connection(void **state)
{
	static const uint32_t words[][2] = { { UROCE_MUX_HELLO, 1 }, { 77, 0 } };

	(void)state;
	attached_begin("drive=none");
	for (unsigned i = 0; i < 2; i++) {
		switch_say(attached_switch, 1, words[i], sizeof(words[i]));
		attached_wait(has_lost_link, attached_nothing);
		attached_wait(attached_has_both, attached_drive);
		attached_write(5000);
	}
	attached_end();
}

/* --- restarts and refusals of uroced ----------------------------------------------------------- */

static void
mux_client__the_link_goes_and_comes_with_uroced(void **state)
{
	struct uroce_dev_event event;

	(void)state;
	attached_begin("drive=none");
	assert_false(uroce_dev_event_pop(dev_a, &event));
	switch_stop(attached_switch);
	attached_wait(attached_has_no_link, attached_drive);
	attached_expect(dev_a, IBV_EVENT_PORT_ERR);
	attached_start();
	attached_wait(attached_has_both, attached_nothing);
	attached_expect(dev_a, IBV_EVENT_PORT_ACTIVE);
	assert_false(uroce_dev_event_pop(dev_a, &event));
	attached_write(5000);
	attached_end();
}

/* Restarts of uroced neither lose nor duplicate a request. */
static void
mux_client__requests_live_through_restarts(void **state)
{
	const unsigned nb = 300;
	uint64_t *sum;

	(void)state;
	attached_begin("drive=none");
	sum = (uint64_t *)(void *)attached_qp[1]->buf;
	for (unsigned i = 1; i <= nb; i++) {
		const uint32_t at = 4096 + i % 7 * 8192;

		rig_fill(attached_qp[0], (uint8_t)i);
		*sum = i;
		rig_post_send(attached_qp[0], IBV_WR_RDMA_WRITE, i, at, 8192, attached_qp[1], at);
		if (i % 30 == 0) {
			for (unsigned j = 0; j < i / 30 % 4; j++)
				attached_drive();
			attached_restart();
		}
		assert_int_equal(rig_await(&attached_qp[0]->scq, dev_a, dev_b).status,
				 IBV_WC_SUCCESS);
		rig_check(attached_qp[1], at, attached_qp[0], at, 8192);
		rig_post_recv(attached_qp[1], i, 0, 64);
		rig_post_send(attached_qp[0], IBV_WR_SEND, i, 0, 64, NULL, 0);
		assert_int_equal(rig_await(&attached_qp[0]->scq, dev_a, dev_b).status,
				 IBV_WC_SUCCESS);
		assert_int_equal(rig_await(&attached_qp[1]->rcq, dev_a, dev_b).wr_id, i);
	}
	attached_end();
}

/*
 * A device has more frames to send than the ring to uroced can hold, while uroced does not read the
 * ring. The device must keep the frames until there is room.
 */
static void
mux_client__a_full_ring_holds_back(void **state)
{
	(void)state;
	attached_begin("drive=none");
	switch_stop(attached_switch);
	for (unsigned i = 0; i < RIG_WR - 1; i++)
		rig_post_send(attached_qp[0], IBV_WR_RDMA_WRITE, i, 0, RIG_BUF_LEN, attached_qp[1],
			      0);
	for (unsigned i = 0; i < 3000; i++)
		rig_drive(dev_a);
	assert_true(uroce_spsc_room(&dev_a->port->mux_client->pair[0].up) >= 0);
	attached_start();
	for (unsigned i = 0; i < RIG_WR - 1; i++)
		assert_int_equal(rig_await(&attached_qp[0]->scq, dev_a, dev_b).status,
				 IBV_WC_SUCCESS);
	rig_check(attached_qp[1], 0, attached_qp[0], 0, RIG_BUF_LEN);
	attached_end();
}

static void
mux_client__refusals_are_errors(void **state)
{
	struct uroce_dev_conf conf;
	struct uroce_dev *dev;

	(void)state;
	(void)unlink(SOCKET);
	assert_int_equal(uroce_dev_conf_parse(SPEC, &conf), 0);
	assert_int_equal(uroce_dev_create(&conf, &dev), -ENOENT);
	assert_int_equal(uroce_dev_plan(&conf, "uroced", &dev), -ENOENT);
	attached_switch =
		switch_start(&(struct switch_conf){ .path = SOCKET, .is_refusing = true });
	assert_int_equal(uroce_dev_create(&conf, &dev), -EBUSY);
	switch_stop(attached_switch);
	assert_int_equal(uroce_dev_create(&conf, &dev), -ECONNREFUSED);
}

/*
 * uroced restarts and refuses the client. When uroced accepts the client later, the device must
 * work again.
 */
static void
mux_client__a_refusal_is_lived_with(void **state)
{
	(void)state;
	attached_begin("drive=none");
	switch_stop(attached_switch);
	attached_switch =
		switch_start(&(struct switch_conf){ .path = SOCKET, .is_refusing = true });
	attached_wait(attached_has_no_link, attached_drive);
	for (unsigned i = 0; i < 100; i++)
		rte_delay_us_sleep(1000);
	assert_false(uroce_dev_is_link_up(dev_a));
	attached_restart();
	attached_wait(attached_has_both, attached_drive);
	attached_write(5000);
	attached_end();
}

/* --- addresses and link state of the host ------------------------------------------------------ */

static bool
has_new_addr(void)
{
	static const uint8_t addr[16] = { [10] = 0xff, 0xff, 192, 0, 2, 77 };

	return uroce_gid_find(dev_a->gids, addr) == 1 && uroce_gid_find(dev_b->gids, addr) == 1;
}

static void
mux_client__addresses_follow_uroceds(void **state)
{
	struct uroce_mux_host host = switch_host;

	(void)state;
	attached_begin("drive=none");
	attached_write(5000);
	host.addr[1].ip[15] = 77;
	switch_tell(attached_switch, &host);
	attached_wait(has_new_addr, attached_drive);
	attached_expect(dev_a, IBV_EVENT_GID_CHANGE);
	for (unsigned i = 0; i < 2; i++)
		rig_qp_free(attached_qp[i]);
	attached_connect(0);
	attached_write(5000);
	/* the device must take over the link state of the port of uroced */
	host.is_up = 0;
	switch_tell(attached_switch, &host);
	attached_wait(attached_has_no_link, attached_drive);
	host.is_up = 1;
	switch_tell(attached_switch, &host);
	attached_wait(attached_has_link, attached_drive);
	attached_end();
}

/*
 * If uroced restarts with another MAC, its clients must not connect again. The paths of their QPs,
 * and the neighbour caches of their peers, contain the old MAC.
 */
static void
mux_client__another_MAC_is_another_host(void **state)
{
	struct uroce_mux_host host = switch_host;

	(void)state;
	attached_begin("drive=none");
	switch_stop(attached_switch);
	host.mac[5]++;
	attached_switch = switch_start(&(struct switch_conf){ .path = SOCKET, .host = host });
	attached_wait(attached_has_no_link, attached_drive);
	for (unsigned i = 0; i < 100; i++)
		rte_delay_us_sleep(1000);
	assert_int_equal(switch_nb_clients(attached_switch), 0);
	attached_restart();
	attached_wait(attached_has_both, attached_drive);
	attached_write(5000);
	attached_end();
}

/* A socket on which a test accepts connections in the place of uroced. */
struct listener {
	int fd;
	int crowd[8192]; /* connections that wait to be accepted */
	unsigned nb;
};

static void *
query_host(void *arg)
{
	struct uroce_mux_host host;

	*(int *)arg = uroce_mux_client_query_host(SOCKET, &host);
	return NULL;
}

/*
 * Accept a connection, and answer its HELLO message by a HOST message.
 * @return whether a connection was accepted that has sent HELLO
 */
static bool
answer_one(const struct listener *listener)
{
	const int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	union uroce_mux_message message = { .this_host = { UROCE_MUX_HOST, UROCE_MUX_VERSION,
							   switch_host } };
	struct pollfd fds = { fd, POLLIN, 0 };
	union uroce_mux_message said;
	bool is_hello;
	int other;

	if (fd < 0)
		return false;
	(void)poll(&fds, 1, -1);
	is_hello = uroce_mux_receive(fd, &said, &other) == 1;
	if (is_hello)
		assert_int_equal(uroce_mux_send(fd, &message, -1), 0);
	(void)close(fd);
	return is_hello;
}

/*
 * So many connections to uroced wait that the queue of its socket is full. A process that connects
 * then must wait until some connections are accepted.
 */
static void
mux_client__a_full_queue_is_waited_for(void **state)
{
	static struct listener listener;
	pthread_t thread;
	int ret = 1;

	(void)state;
	listener.fd = uroce_mux_listen(SOCKET, 0600);
	assert_true(listener.fd >= 0);
	while ((listener.crowd[listener.nb] = uroce_mux_connect(SOCKET)) >= 0)
		assert_true(++listener.nb < RTE_DIM(listener.crowd));
	assert_int_equal(listener.crowd[listener.nb], -EAGAIN);
	assert_int_equal(pthread_create(&thread, NULL, query_host, &ret), 0);
	/* wait until the thread has tried to connect to the full queue */
	rte_delay_us_sleep(50000);
	while (listener.nb > 0)
		(void)close(listener.crowd[--listener.nb]);
	while (pthread_tryjoin_np(thread, NULL) != 0) {
		if (!answer_one(&listener))
			rte_delay_us_sleep(100);
	}
	(void)close(listener.fd);
	(void)unlink(SOCKET);
	assert_int_equal(ret, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mux_client__the_device_is_what_uroced_says),
		cmocka_unit_test(mux_client__frames_of_all_lengths_cross),
		cmocka_unit_test(mux_client__a_uroced_that_is_late_gets_no_more_barriers),
		cmocka_unit_test(mux_client__each_worker_has_its_rings),
		cmocka_unit_test(mux_client__frames_of_its_own_do_not_leave),
		cmocka_unit_test(mux_client__lost_frames_are_sent_again),
		cmocka_unit_test(mux_client__wrong_slots_are_dropped_and_counted),
		cmocka_unit_test(mux_client__garbage_in_frames_is_what_it_is_on_any_port),
		cmocka_unit_test(mux_client__a_wrong_index_ends_the_connection),
		cmocka_unit_test(mux_client__wrong_words_end_the_connection),
		cmocka_unit_test(mux_client__the_link_goes_and_comes_with_uroced),
		cmocka_unit_test(mux_client__requests_live_through_restarts),
		cmocka_unit_test(mux_client__a_full_ring_holds_back),
		cmocka_unit_test(mux_client__refusals_are_errors),
		cmocka_unit_test(mux_client__a_full_queue_is_waited_for),
		cmocka_unit_test(mux_client__a_refusal_is_lived_with),
		cmocka_unit_test(mux_client__addresses_follow_uroceds),
		cmocka_unit_test(mux_client__another_MAC_is_another_host),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
