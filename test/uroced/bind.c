/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Bindings: a connected QP receives from the peer to which its owner has bound it, and from no
 * third client. The third client, eve, has permission on the socket, the right addresses, and the
 * numbers of both QPs.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "peer.h"
#include "wire/hdr.h"

#define NOBODY 65534

static const uint8_t far_mac[6] = { 2, 0, 0, 0, 0, 9 };

static struct daemon daemon_;
static struct peer a, b, eve;
static uint8_t frame[UROCE_SHM_FRAME_MAX], got[UROCE_SHM_FRAME_MAX];

#define BTH ((struct uroce_bth *)(frame + 42))

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	daemon_start(&daemon_);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	daemon_end(&daemon_);
	daemon_remove(&daemon_);
	return 0;
}

/*
 * Attach three clients. The first QPs of a and b are bound to each other. The QPs with the next
 * numbers are not.
 */
static int
open_three(void **state)
{
	(void)state;
	peer_open(&a, daemon_.socket, 1, 64);
	peer_open(&b, daemon_.socket, 1, 64);
	peer_open(&eve, daemon_.socket, 1, 64);
	peer_bind(&a, peer_qpn(&a, 0), peer_qpn(&b, 0), UROCE_BINDING_LOCAL);
	peer_bind(&b, peer_qpn(&b, 0), peer_qpn(&a, 0), UROCE_BINDING_LOCAL);
	return 0;
}

static int
close_three(void **state)
{
	(void)state;
	peer_close(&a);
	peer_close(&b);
	peer_close(&eve);
	return 0;
}

static uint64_t
count(const struct peer *peer, const char *name)
{
	const unsigned nth = peer == &a ? 0 : peer == &b ? 1 : 2;
	unsigned slots[3];

	assert_int_equal(daemon_clients(&daemon_, slots, 3), 3);
	return daemon_ask_client(&daemon_, slots[nth], name);
}

/* Send a frame from a client to b, and expect that it is the next frame that b receives. */
static void
expect_next(struct peer *from, uint32_t qpn)
{
	static uint8_t nth;

	(void)peer_build(from, frame, NULL, qpn, 200);
	frame[100] = ++nth;
	peer_send(from, 0, frame, 200);
	assert_int_equal(peer_receive(&b, 0, got), 200);
	assert_memory_equal(got, frame, 200);
}

/* Send the frame that was built, and expect that uroced drops it. */
static void
expect_drop(struct peer *from, const char *reason)
{
	const uint64_t before = count(from, reason);

	peer_send(from, 0, frame, 200);
	while (uroce_spsc_room(&from->up[0]) < 64)
		;
	assert_int_equal(count(from, reason), before + 1);
	assert_int_equal(peer_take(&a, 0, got), 0);
	assert_int_equal(peer_take(&b, 0, got), 0);
	assert_int_equal(peer_take(&eve, 0, got), 0);
}

static void
connection__hears_no_third_client(void **state)
{
	/*
	 * opcodes of a connection: RC SEND, WRITE, READ request, READ response, ACK; UC SEND,
	 * WRITE; XRC SEND; CNP
	 */
	static const uint8_t opcodes[] = { 0x04, 0x0a, 0x0c, 0x10, 0x11, 0x24, 0x2a, 0xa4, 0x81 };

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		(void)peer_build(&eve, frame, NULL, peer_qpn(&b, 0), 200);
		BTH->opcode = opcodes[i];
		expect_drop(&eve, "drop_unbound");
		(void)peer_build(&eve, frame, NULL, peer_qpn(&a, 0), 200);
		BTH->opcode = opcodes[i];
		expect_drop(&eve, "drop_unbound");
	}
	expect_next(&a, peer_qpn(&b, 0));
}

/*
 * No frame reaches a QP number of the block that no connected QP has: the number is not used, or
 * its QP is in RESET or INIT, or is a datagram QP.
 */
static void
qp_without_a_peer__hears_nobody(void **state)
{
	(void)state;
	for (uint32_t i = 1; i < UROCE_MUX_BLOCK; i++) {
		(void)peer_build(&a, frame, NULL, peer_qpn(&b, 0) + i, 200);
		expect_drop(&a, "drop_unbound");
	}
}

/*
 * A QP of another host may have the same number as the QP of a local client. A binding to the
 * remote QP does not let frames of the local client pass.
 */
static void
connection_to_another_host__hears_no_client(void **state)
{
	(void)state;
	peer_bind(&b, peer_qpn(&b, 0), peer_qpn(&eve, 0), UROCE_BINDING_REMOTE);
	(void)peer_build(&eve, frame, NULL, peer_qpn(&b, 0), 200);
	expect_drop(&eve, "drop_unbound");
	peer_bind(&b, peer_qpn(&b, 0), peer_qpn(&eve, 0), UROCE_BINDING_NONE);
	expect_drop(&eve, "drop_unbound");
	peer_bind(&b, peer_qpn(&b, 0), peer_qpn(&eve, 0), UROCE_BINDING_LOCAL);
	expect_next(&eve, peer_qpn(&b, 0));
}

/* A binding of a number that another client holds has no effect. */
static void
binding__of_another_ones_number_says_nothing(void **state)
{
	(void)state;
	peer_bind(&eve, peer_qpn(&b, 0), peer_qpn(&eve, 0), UROCE_BINDING_LOCAL);
	(void)peer_build(&eve, frame, NULL, peer_qpn(&b, 0), 200);
	expect_drop(&eve, "drop_unbound");
	expect_next(&a, peer_qpn(&b, 0));
}

/* A binding takes effect with the next frame. */
static void
binding__follows_its_qp(void **state)
{
	(void)state;
	expect_next(&a, peer_qpn(&b, 0));
	uroce_binding_clear(&b.area, peer_qpn(&b, 0));
	(void)peer_build(&a, frame, NULL, peer_qpn(&b, 0), 200);
	expect_drop(&a, "drop_unbound");
	peer_bind(&b, peer_qpn(&b, 0), peer_qpn(&a, 0) + 7, UROCE_BINDING_LOCAL);
	expect_next(&a, peer_qpn(&b, 0));
	/* a client may send to its own QPs without a binding */
	expect_next(&b, peer_qpn(&b, 0) + 9);
}

/* A datagram names its source QP. It passes if the sender holds that QP number. */
static void
datagrams__need_no_connection(void **state)
{
	(void)state;
	(void)peer_build(&eve, frame, NULL, peer_qpn(&b, 0) + 5, 200);
	peer_make_datagram(&eve, frame, 0x1234);
	peer_send(&eve, 0, frame, 200);
	assert_int_equal(peer_receive(&b, 0, got), 200);
	assert_memory_equal(got, frame, 200);
	peer_make_datagram(&a, frame, 0x1234);
	expect_drop(&eve, "drop_forged");
}

/* Become a user without privileges, who may write to the socket. */
static void
reopen_as_nobody(struct peer *peer)
{
	assert_int_equal(chmod(daemon_.folder, 0711), 0);
	assert_int_equal(chmod(daemon_.socket, 0666), 0);
	peer_close(peer);
	assert_int_equal(seteuid(NOBODY), 0);
	peer_open(peer, daemon_.socket, 1, 64);
	assert_int_equal(seteuid(0), 0);
}

/*
 * QPs of privileged users have Q_Keys with bit 31 set [IBA 10.2.5], and trust a sender that knows
 * such a Q_Key.
 */
static void
datagram__with_a_privileged_qkey_is_by_root(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	reopen_as_nobody(&eve);
	(void)peer_build(&eve, frame, NULL, peer_qpn(&b, 0) + 5, 200);
	peer_make_datagram(&eve, frame, 0x80010000);
	expect_drop(&eve, "drop_qkey");
	memcpy(frame, far_mac, sizeof(far_mac));
	expect_drop(&eve, "drop_qkey");
	(void)peer_build(&eve, frame, NULL, peer_qpn(&b, 0) + 5, 200);
	peer_make_datagram(&eve, frame, 0x7fffffff);
	peer_send(&eve, 0, frame, 200);
	assert_int_equal(peer_receive(&b, 0, got), 200);
	peer_make_datagram(&a, frame, 0x80010000);
	peer_send(&a, 0, frame, 200);
	assert_int_equal(peer_receive(&b, 0, got), 200);
	assert_memory_equal(got, frame, 200);
}

/*
 * A client that writes garbage into its bindings opens only its own QPs, and does not end uroced.
 */
static void
bindings__of_garbage(void **state)
{
	(void)state;
	srandom(26);
	for (unsigned i = 0; i < 2000; i++) {
		for (uint32_t j = 0; j < UROCE_MUX_BLOCK; j++)
			atomic_store(uroce_binding_slot(&eve.area, j),
				     (uint64_t)random() << 40 ^ (uint64_t)random() << 20 ^
					     (uint64_t)random());
		(void)peer_build(&a, frame, NULL, peer_qpn(&eve, 0) + i % UROCE_MUX_BLOCK, 200);
		peer_send(&a, 0, frame, 200);
		(void)peer_take(&eve, 0, got);
	}
	expect_next(&a, peer_qpn(&b, 0));
}

int
main(int argc, char **argv)
{
#define THREE(test) cmocka_unit_test_setup_teardown(test, open_three, close_three)
	const struct CMUnitTest tests[] = {
		THREE(connection__hears_no_third_client),
		THREE(qp_without_a_peer__hears_nobody),
		THREE(connection_to_another_host__hears_no_client),
		THREE(binding__of_another_ones_number_says_nothing),
		THREE(binding__follows_its_qp),
		THREE(datagrams__need_no_connection),
		THREE(datagram__with_a_privileged_qkey_is_by_root),
		THREE(bindings__of_garbage),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
