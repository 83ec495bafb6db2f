/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Forged frames against a QP over a real port. A table has the attacks. Each attack is made in
 * three ways:
 *
 *	port	the QP's device owns an AF_PACKET port; the attacker is on the wire
 *	uroced	the device is attached to a uroced that owns the port; the attacker is on the wire
 *	tenant	as uroced, but the attacker is another client of this uroced
 *
 * The test is the far end of the wire, the QP's honest peer, and the attacker. It sends the steps
 * of a row. Before it sends a frame, the earlier ones were dropped by uroced or handled by the QP's
 * worker. On the wire nothing distinguishes the peer from the attacker, and the row has the state
 * of the QP after the attack. Frames that a tenant forges do not reach the QP, so only the peer's
 * frames have an effect. Needs root.
 */

#include "../dpdk/rig.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_dev.h>

#include "daemon.h"
#include "datapath/clock.h"
#include "datapath/worker/round.h"
#include "peer.h"
#include "wire/build.h"
#include "wire/icrc.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

#define PORT_ARGS "iface=uf0,framesz=8192,blocksz=65536,framecnt=512"
#define KEYS      "drive=none,cc=dcqcn"
/* the first PSN of either direction, as rig_connect_nowhere() sets it */
#define FIRST_PSN   0xfffff0u
#define MTU         4096u
#define US          UINT64_C(1000)
#define TIMEOUT_S   30
#define STEPS_MAX   8
#define COUNTS_MAX  3
#define FORGED_BYTE 'F'
#define PEERS_BYTE  'P'
#define NAK(code)   (UROCE_AETH_NAK << 5 | (code))
/* syndrome of an RNR NAK with timer code 0, which means 655 ms */
#define RNR (UROCE_AETH_RNR << 5)
#define UC  (UROCE_SERVICE_UC << 5)
#define CNP 0x81

enum way { WAY_PORT, WAY_UROCED, WAY_TENANT };

enum who {
	NOBODY,
	FORGES,
	PEER,
	VICTIM, /* the victim posts a request of this opcode */
	CLOCK,  /* the clock is advanced by `us` */
};

/** The source that a forged frame names. */
enum source { AS_PEER, AS_STRANGER, AS_VICTIM };

/**
 * A step of an attack. A step with frames sends `nb` frames, or one frame if nb is 0. If `rkey` is
 * not 0, the rkeys of the frames are consecutive.
 */
struct step {
	enum who who;
	uint8_t opcode;
	int32_t psn; /* PSN of the frame, minus FIRST_PSN */
	uint32_t len;
	uint32_t dma_len; /* length in the RETH; 0 if it is the same as `len` */
	uint32_t at;      /* offset in the victim's buffer */
	uint32_t rkey;    /* rkey of the frame, minus the right rkey */
	uint8_t syndrome;
	uint32_t nb;
	enum source source;
	bool has_bad_icrc;
	bool has_bad_pkey;
	uint64_t us;
};

/** The expected growth of a counter of the victim's worker. */
struct grown {
	enum uroce_counter counter;
	uint32_t by;
};

struct attack {
	const char *name;
	enum ibv_qp_type type; /* type of the victim's QP; 0 means RC */
	struct step steps[STEPS_MAX];
	/* The next fields are the expected result of an attack from the wire. */
	enum ibv_qp_state state; /* state of the victim's QP after the attack; 0 means RTS */
	/* the byte at offset 8192 of the buffer; 0 if nothing was written there */
	uint8_t byte;
	struct grown grown[COUNTS_MAX];
	enum uroce_verdict verdict; /* the verdict on the forged frames; 0 if it is not checked */
	/* number of completions of the victim after the attack, of any status */
	unsigned nb_done;
	/*
	 * The next field is the expected result of an attack by a tenant: only the peer's frames
	 * have an effect.
	 */
	unsigned nb_done_clean;
};

/* clang-format off */
#define AT 8192 /* the offset to which single packets write */
#define WRITE(who, psn, ...) { who, UROCE_OP_WRITE_ONLY, psn, .len = 64, .at = AT, ##__VA_ARGS__ }
#define ACKED(psn)           { PEER, UROCE_OP_ACK, psn, .syndrome = UROCE_SYNDROME_ACK }
#define GROWN(name, by)      { UROCE_COUNTER_##name, by }

static const struct attack attacks[] = {
	{ "request__far_ahead_is_dropped",
	  .steps = { WRITE(FORGES, 128), WRITE(FORGES, 500), WRITE(FORGES, 0x400000), WRITE(PEER, 0) },
	  .byte = PEERS_BYTE, .grown = { GROWN(RX_BEYOND_WINDOW, 3), GROWN(RX_PSN_CONFLICT, 0) } },
	{ "request__of_the_past_is_not_executed",
	  .steps = { WRITE(FORGES, -1), WRITE(FORGES, -0x400000) },
	  .byte = 0, .grown = { GROWN(DUPLICATE_REQUEST, 2) }, .verdict = UROCE_VERDICT_DUPLICATE },
	{ "read__forged_without_a_key_does_not_widen_the_window",
	  .steps = { { FORGES, UROCE_OP_READ_REQUEST, 1, .dma_len = 1u << 31, .rkey = 1 }, WRITE(FORGES, 500) },
	  .grown = { GROWN(RX_BEYOND_WINDOW, 1) } },
	{ "request__ahead_and_impossible_at_its_turn_is_asked_for_again",
	  .steps = { { FORGES, UROCE_OP_SEND_ONLY, 1, .len = 64 },
		     { PEER, UROCE_OP_WRITE_FIRST, 0, .len = MTU, .dma_len = 3 * MTU },
		     { PEER, UROCE_OP_WRITE_MIDDLE, 1, .len = MTU }, { PEER, UROCE_OP_WRITE_LAST, 2, .len = MTU } },
	  .byte = PEERS_BYTE, .grown = { GROWN(RX_PSN_CONFLICT, 1) } },
	{ "request__ahead_without_a_key_is_asked_for_again",
	  .steps = { WRITE(FORGES, 1, .rkey = 1), { PEER, UROCE_OP_WRITE_ONLY, 0, .len = 64 }, WRITE(PEER, 1) },
	  .byte = PEERS_BYTE, .grown = { GROWN(RX_PSN_CONFLICT, 1), GROWN(RESP_REMOTE_ACCESS_ERRORS, 0) } },
	{ "request__ahead_in_the_place_of_the_peers_is_forgotten_with_it",
	  .steps = { WRITE(FORGES, 1), WRITE(PEER, 1), { PEER, UROCE_OP_WRITE_ONLY, 0, .len = 64 }, WRITE(PEER, 1) },
	  .byte = PEERS_BYTE, .grown = { GROWN(RX_PSN_CONFLICT, 1) } },
	{ "request__ahead_that_was_executed_is_reported",
	  .steps = { WRITE(FORGES, 1), { PEER, UROCE_OP_WRITE_ONLY, 0, .len = 64 }, WRITE(PEER, 1) },
	  .byte = FORGED_BYTE, .grown = { GROWN(RX_PSN_CONFLICT, 1), GROWN(DUPLICATE_REQUEST, 1) } },
	{ "request__of_the_expected_psn_is_executed",
	  .steps = { WRITE(FORGES, 0), WRITE(PEER, 0) },
	  .byte = FORGED_BYTE, .grown = { GROWN(DUPLICATE_REQUEST, 1) } },
	{ "request__four_of_them_leave_the_peer_behind",
	  .steps = { WRITE(FORGES, 0), WRITE(FORGES, 1), WRITE(FORGES, 2), WRITE(FORGES, 3), WRITE(PEER, 0), WRITE(PEER, 1) },
	  .byte = FORGED_BYTE, .grown = { GROWN(DUPLICATE_REQUEST, 2) } },
	{ "request__expected_with_a_wrong_key_ends_the_qp",
	  .steps = { WRITE(FORGES, 0, .rkey = 1) },
	  .state = IBV_QPS_ERR, .grown = { GROWN(RESP_REMOTE_ACCESS_ERRORS, 1) }, .verdict = UROCE_VERDICT_NO_ACCESS },
	{ "read__expected_with_a_wrong_key_ends_the_qp",
	  .steps = { { FORGES, UROCE_OP_READ_REQUEST, 0, .dma_len = 64, .rkey = 1 } },
	  .state = IBV_QPS_ERR, .grown = { GROWN(RESP_REMOTE_ACCESS_ERRORS, 1) }, .verdict = UROCE_VERDICT_NO_ACCESS },
	{ "request__expected_with_an_opcode_out_of_sequence_ends_the_qp",
	  .steps = { { FORGES, UROCE_OP_WRITE_MIDDLE, 0, .len = MTU } },
	  .state = IBV_QPS_ERR, .verdict = UROCE_VERDICT_BAD_SEQUENCE },
	{ "request__expected_with_lengths_that_differ_ends_the_qp",
	  .steps = { WRITE(FORGES, 0, .dma_len = 60) },
	  .state = IBV_QPS_ERR, .verdict = UROCE_VERDICT_BAD_REQUEST },
	{ "uc__keys_are_not_guessed_at_wire_speed", .type = IBV_QPT_UC,
	  .steps = { WRITE(FORGES, 0, .rkey = 1, .nb = 40), WRITE(PEER, 1), { CLOCK, .us = 1000000 }, WRITE(PEER, 2) },
	  .byte = PEERS_BYTE, .grown = { GROWN(RESP_REMOTE_ACCESS_ERRORS, 16), GROWN(RX_WRITE_UNREAD, 25) } },
	{ "cnps__many_at_once_count_as_one",
	  .steps = { { VICTIM, IBV_WR_RDMA_WRITE, .len = 64 },
		     { FORGES, CNP, 0, .len = UROCE_CNP_RESERVED_LEN, .nb = 14 } },
	  .grown = { GROWN(RP_CNP_HANDLED, 1), GROWN(RP_CNP_IMPLAUSIBLE, 13) }, .verdict = UROCE_VERDICT_CNP },
	{ "naks__of_a_sequence_error_repeat_each_packet_once",
	  .steps = { { VICTIM, IBV_WR_RDMA_WRITE, .len = 4 * MTU },
		     { FORGES, UROCE_OP_ACK, 0, .syndrome = NAK(UROCE_NAK_PSN_SEQ), .nb = 100 } },
	  .grown = { GROWN(PACKET_SEQ_ERR, 100), GROWN(RETRANSMITTED_PKTS, 1) }, .verdict = UROCE_VERDICT_NAK_SEQ },
	{ "nak__of_another_code_in_the_window_ends_the_qp",
	  .steps = { { VICTIM, IBV_WR_RDMA_WRITE, .len = 64 },
		     { FORGES, UROCE_OP_ACK, 0, .syndrome = NAK(UROCE_NAK_REM_ACCESS) } },
	  .state = IBV_QPS_ERR, .verdict = UROCE_VERDICT_NAK_FATAL, .nb_done = 1 },
	{ "nak__outside_the_window_is_not_heard",
	  .steps = { { VICTIM, IBV_WR_RDMA_WRITE, .len = 64 },
		     { FORGES, UROCE_OP_ACK, 1, .syndrome = NAK(UROCE_NAK_REM_ACCESS) },
		     { FORGES, UROCE_OP_ACK, -1, .syndrome = NAK(UROCE_NAK_REM_ACCESS) } },
	  .verdict = UROCE_VERDICT_GHOST },
	{ "rnr_nak__that_was_not_true_is_not_believed_again_soon",
	  .steps = { { VICTIM, IBV_WR_RDMA_WRITE, .len = 64 }, { FORGES, UROCE_OP_ACK, 0, .syndrome = RNR },
		     { CLOCK, .us = 100 }, ACKED(0), { VICTIM, IBV_WR_RDMA_WRITE, .len = 64 },
		     { FORGES, UROCE_OP_ACK, 1, .syndrome = RNR }, { VICTIM, IBV_WR_RDMA_WRITE, .len = 64 }, ACKED(2) },
	  .grown = { GROWN(RCVD_RNR_ERR, 2), GROWN(RCVD_RNR_FALSE, 1), GROWN(RETRANSMITTED_PKTS, 0) },
	  .verdict = UROCE_VERDICT_NAK_RNR, .nb_done = 3, .nb_done_clean = 3 },
	{ "ack__in_the_window_completes_what_was_not_executed",
	  .steps = { { VICTIM, IBV_WR_RDMA_WRITE, .len = 64 },
		     { FORGES, UROCE_OP_ACK, 0, .syndrome = UROCE_SYNDROME_ACK } },
	  .nb_done = 1 },
	{ "ack__outside_the_window_is_not_heard",
	  .steps = { { VICTIM, IBV_WR_RDMA_WRITE, .len = 64 },
		     { FORGES, UROCE_OP_ACK, 1, .syndrome = UROCE_SYNDROME_ACK },
		     { FORGES, UROCE_OP_ACK, -1, .syndrome = UROCE_SYNDROME_ACK } },
	  .verdict = UROCE_VERDICT_GHOST },
	{ "read_response__in_the_window_is_taken",
	  .steps = { { VICTIM, IBV_WR_RDMA_READ, .len = 64, .at = AT },
		     { FORGES, UROCE_OP_READ_RESPONSE_ONLY, 0, .len = 64, .syndrome = UROCE_SYNDROME_ACK } },
	  .byte = FORGED_BYTE, .nb_done = 1 },
	{ "read_response__of_another_length_ends_the_qp",
	  .steps = { { VICTIM, IBV_WR_RDMA_READ, .len = 64, .at = AT },
		     { FORGES, UROCE_OP_READ_RESPONSE_ONLY, 0, .len = 60, .syndrome = UROCE_SYNDROME_ACK } },
	  .state = IBV_QPS_ERR, .verdict = UROCE_VERDICT_BAD_RESPONSE, .nb_done = 1 },
	{ "frame__of_a_strangers_address_is_dropped",
	  .steps = { WRITE(FORGES, 0, .source = AS_STRANGER) }, .verdict = UROCE_VERDICT_WRONG_PEER },
	{ "frame__of_our_own_address_is_dropped",
	  .steps = { WRITE(FORGES, 0, .source = AS_VICTIM) } },
	{ "frame__of_another_partition_is_dropped",
	  .steps = { WRITE(FORGES, 0, .has_bad_pkey = true) }, .verdict = UROCE_VERDICT_BAD_PKEY },
	{ "frame__of_a_wrong_icrc_is_dropped",
	  .steps = { WRITE(FORGES, 0, .has_bad_icrc = true) }, .verdict = UROCE_VERDICT_BAD_ICRC },
};
/* clang-format on */

static struct uroce_dev *dev;
static struct rig_qp *victim;
static struct daemon daemon_;
static struct peer tenant;
static int wire;
static enum way way;
/*
 * The number of frames that were sent, and the number of these frames that uroced had dropped when
 * its telemetry was last read. Each other frame gets a verdict from the victim's worker.
 */
static uint64_t nb_sent, nb_known_drops;

/* --- the host and the wire ---------------------------------------------------------------------- */

static void
shell(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static void
open_wire(void)
{
	const struct sockaddr_ll addr = { .sll_family = AF_PACKET,
					  .sll_protocol = htons(ETH_P_ALL),
					  .sll_ifindex = (int)if_nametoindex("uf1") };

	wire = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	assert_true(wire >= 0);
	assert_int_equal(bind(wire, (const struct sockaddr *)&addr, sizeof(addr)), 0);
}

static void
make_wire(void)
{
	shell("ip link set lo up");
	shell("ip link add uf0 address 02:00:00:00:00:01 mtu 6000 type veth peer name uf1 address "
	      "02:00:00:00:00:02 mtu 6000");
	shell("sysctl -qw net.ipv6.conf.uf0.disable_ipv6=1 net.ipv6.conf.uf1.disable_ipv6=1");
	shell("ip link set uf0 up && ip link set uf1 up");
	open_wire();
}

static void
open_port(void)
{
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_af_packet0", PORT_ARGS), 0);
	dev = rig_dev("net_af_packet0," KEYS ",addr=192.0.2.1/24");
}

static void
close_port(void)
{
	assert_int_equal(uroce_dev_destroy(dev), 0);
	dev = NULL;
}

static void
open_uroced(void)
{
	char spec[160];

	daemon_make(&daemon_);
	daemon_start_on(&daemon_, "net_af_packet0," PORT_ARGS, "net_af_packet0,addr=192.0.2.1/24");
	snprintf(spec, sizeof(spec), "uroced,socket=%s," KEYS, daemon_.socket);
	dev = rig_dev(spec);
	peer_open(&tenant, daemon_.socket, 1, 256);
}

static void
close_uroced(void)
{
	peer_close(&tenant);
	close_port();
	daemon_end(&daemon_);
	daemon_remove(&daemon_);
}

/* --- frames ------------------------------------------------------------------------------------- */

/*
 * Make the path of a frame to the victim.
 * @param mac   the last byte of the source MAC
 * @param host  the last byte of the source IP address
 */
static struct uroce_path
path_from(uint8_t mac, uint8_t host)
{
	const struct uroce_path_conf conf = {
		.smac = { 2, 0, 0, 0, 0, mac },
		.dmac = { 2, 0, 0, 0, 0, 1 },
		.sip = { [10] = 0xff, 0xff, 192, 0, 2, host },
		.dip = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
		.udp_sport = 0xc000,
	};
	struct uroce_path path;

	uroce_path_init(&path, &conf);
	return path;
}

static void
put_ext(uint8_t *ext, const struct uroce_opcode *op, const struct step *step,
	const struct rig_qp *qp, uint32_t nth)
{
	if (op->ext_mask & 1 << UROCE_EXT_RETH)
		uroce_reth_put((struct uroce_reth *)(ext + op->ext_off[UROCE_EXT_RETH]),
			       (uintptr_t)qp->buf + step->at,
			       qp->key + (step->rkey ? step->rkey + nth : 0),
			       step->dma_len ? step->dma_len : step->len);
	if (op->ext_mask & 1 << UROCE_EXT_AETH)
		uroce_aeth_put((struct uroce_aeth *)(ext + op->ext_off[UROCE_EXT_AETH]),
			       step->syndrome, 1);
}

/* Build frame number `nth` of a step. @return the length of the frame */
static uint16_t
build(uint8_t *frame, const struct uroce_path *path, const struct step *step,
      const struct rig_qp *qp, uint32_t nth)
{
	const uint8_t service = qp->wqp.qpc.type == IBV_QPT_UC ? UC : 0;
	const uint8_t opcode = step->opcode == CNP ? CNP : service | step->opcode;
	const struct uroce_opcode *op = &uroce_opcode_table[opcode];
	const uint32_t rest = op->ext_len + step->len;
	const uint8_t byte = step->opcode == CNP   ? 0
			     : step->who == FORGES ? FORGED_BYTE
						   : PEERS_BYTE;
	uint32_t crc;
	struct uroce_bth *bth =
		uroce_path_put(path, frame, (uint32_t)sizeof(*bth) + rest + UROCE_ICRC_LEN, &crc);
	uint8_t *ext = (uint8_t *)(bth + 1);

	uroce_bth_put(bth, opcode, 0, step->has_bad_pkey ? 0x1234 : 0xffff, qp->wqp.qpc.qpn,
		      (FIRST_PSN + (uint32_t)step->psn) & UROCE_PSN_MASK);
	put_ext(ext, op, step, qp, nth);
	memset(ext + op->ext_len, byte, step->len);
	crc = uroce_icrc_bth(crc, (const uint8_t *)bth);
	crc = uroce_crc32(crc, ext, rest);
	uroce_icrc_store(ext + rest, step->has_bad_icrc ? ~crc : crc);
	return (uint16_t)(path->hdr_len + rest + UROCE_ICRC_LEN);
}

static void
send_from_wire(const struct step *step, const struct rig_qp *qp, uint32_t nth)
{
	static const uint8_t hosts[] = { [AS_PEER] = 2, [AS_STRANGER] = 7, [AS_VICTIM] = 1 };
	const struct uroce_path path = path_from(2, hosts[step->source]);
	uint8_t frame[UROCE_SHM_FRAME_MAX];
	const uint16_t len = build(frame, &path, step, qp, nth);

	assert_int_equal(send(wire, frame, len, 0), len);
	nb_sent++;
}

/*
 * Send a frame of a step from the tenant twice: with the source IP address of the tenant's own
 * host, and with that of the peer's host.
 */
static void
send_from_tenant(const struct step *step, const struct rig_qp *qp, uint32_t nth)
{
	for (uint8_t host = 1; host <= 2; host++) {
		const struct uroce_path path = path_from(1, host);
		uint8_t frame[UROCE_SHM_FRAME_MAX];

		peer_send(&tenant, 0, frame, build(frame, &path, step, qp, nth));
		nb_sent++;
	}
}

/* --- the victim --------------------------------------------------------------------------------- */

static uint64_t
nb_verdicts(void)
{
	const struct uroce_worker_stats *stats = uroce_worker_stats(dev->worker[0]);
	uint64_t nb = 0;

	for (unsigned i = 0; i < UROCE_VERDICT_NB; i++)
		nb += i == UROCE_VERDICT_NOT_ROCE ? 0 : uroce_counted(&stats->verdict[i]);
	return nb + uroce_counted(&stats->counters.nb[UROCE_COUNTER_RX_OUR_SOURCE]);
}

/*
 * Get the number of frames of this test that uroced has dropped. slots[1] is the tenant, because it
 * attached last.
 */
static uint64_t
nb_drops(void)
{
	unsigned slots[2];

	if (way == WAY_PORT)
		return 0;
	assert_int_equal(daemon_clients(&daemon_, slots, 2), 2);
	return daemon_ask(&daemon_, "/uroced/host", "drop_our_source") +
	       daemon_ask_client(&daemon_, slots[1], "drop_unbound") +
	       daemon_ask_client(&daemon_, slots[1], "drop_source");
}

/*
 * Drive the victim's worker until `nb_judged` frames have a verdict or were dropped by uroced, and
 * then for some more rounds. Only steps of the attack advance the clock.
 */
static void
settle(uint64_t nb_judged)
{
	const time_t late = time(NULL) + TIMEOUT_S;

	for (unsigned round = 1; nb_verdicts() + nb_known_drops < nb_judged; round++) {
		assert_true(time(NULL) < late);
		(void)uroce_worker_poll(dev->worker[0]);
		/* the drops are read in every 16th round only, because telemetry is slow */
		if (round % 16 == 0)
			nb_known_drops = nb_drops();
		(void)usleep(100);
	}
	for (unsigned i = 0; i < 100; i++)
		(void)uroce_worker_poll(dev->worker[0]);
}

static void
take_step(const struct step *step, struct rig_qp *qp)
{
	const uint32_t nb = step->nb ? step->nb : 1;

	switch (step->who) {
	case NOBODY:
		break;
	case CLOCK:
		uroce_clock_base += step->us * US;
		break;
	case VICTIM:
		rig_post_send(qp, (enum ibv_wr_opcode)step->opcode, 1, step->at, step->len, qp, 0);
		break;
	case FORGES:
	case PEER:
		for (uint32_t i = 0; i < nb; i++) {
			if (step->who == FORGES && way == WAY_TENANT)
				send_from_tenant(step, qp, i);
			else
				send_from_wire(step, qp, i);
		}
		break;
	}
}

/* Make a QP that is connected to the peer, and retransmits nothing by itself. */
static struct rig_qp *
make_victim(const struct attack *attack)
{
	struct rig_qp *qp = rig_qp(dev, 0, attack->type ? attack->type : IBV_QPT_RC);

	rig_connect_nowhere(qp, 0);
	uroce_worker_qp_bind(&qp->wqp);
	return qp;
}

static bool
has_peer_written(const struct attack *attack)
{
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (attack->steps[i].who == PEER && attack->steps[i].len)
			return true;
	}
	return false;
}

static void
expect_counts(const struct attack *attack, const struct uroce_worker_stats *before)
{
	const struct uroce_worker_stats *now = uroce_worker_stats(dev->worker[0]);

	for (unsigned i = 0; i < COUNTS_MAX && attack->grown[i].counter; i++) {
		const enum uroce_counter which = attack->grown[i].counter;
		const uint64_t by =
			uroce_counted(&now->counters.nb[which]) - before->counters.nb[which];

		/*
		 * frames of a tenant increase no counter; frames of the peer may count as
		 * duplicates
		 */
		if (way != WAY_TENANT)
			assert_int_equal(by, attack->grown[i].by);
		else if (which != UROCE_COUNTER_DUPLICATE_REQUEST)
			assert_int_equal(by, 0);
	}
	if (!attack->verdict)
		return;
	if (way == WAY_TENANT)
		assert_int_equal(now->verdict[attack->verdict], before->verdict[attack->verdict]);
	else
		assert_true(now->verdict[attack->verdict] > before->verdict[attack->verdict]);
}

/* An attack, and one of the three ways in which it is made. */
struct trial {
	enum way way;
	const struct attack *attack;
};

static void
try_attack(void **state)
{
	const struct trial *trial = *state;
	const struct attack *attack = trial->attack;
	struct rig_qp *qp = victim = make_victim(attack);
	const struct uroce_worker_stats before = *uroce_worker_stats(dev->worker[0]);
	struct ibv_wc wc[8];
	uint64_t seen;

	nb_sent = 0;
	nb_known_drops = nb_drops();
	seen = nb_verdicts() + nb_known_drops;
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		take_step(&attack->steps[i], qp);
		settle(seen + nb_sent);
	}
	expect_counts(attack, &before);
	if (way == WAY_TENANT) {
		assert_int_equal(qp->wqp.qpc.state, IBV_QPS_RTS);
		assert_int_equal(qp->buf[AT], has_peer_written(attack) ? PEERS_BYTE : 0);
		assert_int_equal(uroce_cq_poll(&qp->scq, 8, wc), attack->nb_done_clean);
	} else {
		assert_int_equal(qp->wqp.qpc.state, attack->state ? attack->state : IBV_QPS_RTS);
		assert_int_equal(qp->buf[AT], attack->byte);
		assert_int_equal(uroce_cq_poll(&qp->scq, 8, wc), attack->nb_done);
	}
}

/* --- the table ---------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*open)(void);
	void (*close)(void);
} ways[] = {
	[WAY_PORT] = { "port", open_port, close_port },
	[WAY_UROCED] = { "uroced", open_uroced, close_uroced },
	[WAY_TENANT] = { "tenant", open_uroced, close_uroced },
};

static int
set_up(void **state)
{
	const struct trial *trial = *state;

	if (dev && trial->way == way)
		return 0;
	if (dev)
		ways[way].close();
	way = trial->way;
	ways[way].open();
	rig_own_clock();
	return 0;
}

/* Free the victim's QP, which a test that failed has not freed. */
static int
free_victim(void **state)
{
	(void)state;
	if (victim)
		rig_qp_free(victim);
	victim = NULL;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	ways[way].close();
	return 0;
}

#define NB_TRIALS (RTE_DIM(ways) * RTE_DIM(attacks))

int
main(int argc, char **argv)
{
	static struct CMUnitTest tests[NB_TRIALS];
	static struct trial trials[NB_TRIALS];
	static char names[NB_TRIALS][128];

	daemon_program = argc > 1 ? argv[1] : "uroced";
	if (unshare(CLONE_NEWNET) < 0) {
		printf("1..0 # SKIP no network namespace can be made here\n");
		return 0;
	}
	if (!rig_init())
		return 1;
	for (unsigned i = 0; i < NB_TRIALS; i++) {
		trials[i].way = (enum way)(i / RTE_DIM(attacks));
		trials[i].attack = &attacks[i % RTE_DIM(attacks)];
		snprintf(names[i], sizeof(names[i]), "%s %s", ways[trials[i].way].name,
			 trials[i].attack->name);
		tests[i] = (struct CMUnitTest){ names[i], try_attack, set_up, free_victim,
						&trials[i] };
	}
	make_wire();
	return cmocka_run_group_tests(tests, NULL, tear_down);
}
