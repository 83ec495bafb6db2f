/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two QPs with random sequences of events: posts; lost, delayed and forged frames with a valid
 * ICRC; timers; modifies. After each step test/unit/transport/pair.c checks the invariants of both
 * QP contexts. This file checks that each request completes at most once, and that completions are
 * in order.
 */

#include "bytes.h"

#include <stdlib.h>

#include "mem/mkey.h"
#include "pair.h"
#include "wire/psn.h"

#define STEPS_MAX   500
#define MEM_LEN     65536u
#define PAYLOAD_MAX 4096u
#define MKEY_PIECES 4u

struct watch {
	/* lowest wr_ids that may still complete */
	uint64_t next_send_id, next_recv_id;
};

static struct pair pair;
static struct watch watches[2];
static uint32_t mkey[2]; /* for each host, the key of an mkey */
static void *mkey_mem[2];

static void
take_completions(enum pair_side side)
{
	struct pair_host *host = &pair.host[side];
	struct watch *watch = &watches[side];
	struct ibv_wc wc;

	while (uroce_cq_poll(&host->send_cq, 1, &wc) == 1) {
		expect(wc.wr_id >= watch->next_send_id && wc.wr_id < host->next_send_id);
		watch->next_send_id = wc.wr_id + 1;
	}
	while (uroce_cq_poll(&host->recv_cq, 1, &wc) == 1) {
		expect(wc.wr_id >= watch->next_recv_id && wc.wr_id < host->next_recv_id);
		watch->next_recv_id = wc.wr_id + 1;
	}
}

static void
post(struct bytes *in, enum pair_side side)
{
	const uint8_t opcode = bytes_u8(in);
	struct pair_wr wr = {
		.opcode = (enum ibv_wr_opcode)(opcode % 12),
		.len = bytes_u16(in) % 20000,
		.local = bytes_u16(in) % (MEM_LEN - 20000),
		.remote = bytes_u16(in), /* some of these addresses are outside of the region */
		.flags = bytes_u8(in) & (IBV_SEND_FENCE | IBV_SEND_SOLICITED | IBV_SEND_INLINE),
		.imm = bytes_u32(in),
		.compare_add = bytes_u8(in),
		.swap = bytes_u8(in),
	};

	if (wr.flags & IBV_SEND_INLINE)
		wr.len %= 300;
	(void)pair_post(&pair, side, &wr);
}

/* Post a request that uses an mkey as its local memory, as its remote memory, or as both. */
static void
post_through(struct bytes *in, enum pair_side side)
{
	const uint8_t bits = bytes_u8(in);
	const struct pair_host *host = &pair.host[side], *peer = &pair.host[!side];
	struct ibv_sge sge = { bytes_u16(in), bytes_u16(in) % 20000, mkey[side] };
	struct ibv_send_wr wr = {
		.opcode = (enum ibv_wr_opcode)(bits % 12),
		.send_flags = bits & 0x10 ? IBV_SEND_FENCE : 0,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = bytes_u16(in), .rkey = mkey[!side] },
	};

	if ((bits & 0xc0) == 0x40) {
		sge.lkey = host->key;
		sge.addr += (uintptr_t)host->mem;
	} else if ((bits & 0xc0) == 0x80) {
		wr.wr.rdma.rkey = peer->key;
		wr.wr.rdma.remote_addr += (uintptr_t)peer->mem;
	}
	if (wr.opcode == IBV_WR_SEND_WITH_INV || wr.opcode == IBV_WR_LOCAL_INV)
		wr.invalidate_rkey = mkey[wr.opcode == IBV_WR_LOCAL_INV ? side : !side];
	if (wr.opcode != IBV_WR_DRIVER1 && wr.opcode != IBV_WR_BIND_MW)
		(void)pair_post_raw(&pair, side, &wr);
}

static void
post_recv_through(struct bytes *in, enum pair_side side)
{
	struct ibv_sge sge = { bytes_u16(in), bytes_u16(in) % 20000, mkey[side] };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	(void)pair_post_recv_raw(&pair, side, &wr);
}

static struct uroce_sig_domain
draw_domain(struct bytes *in)
{
	static const uint16_t block_lens[] = { 512, 520, 4048, 4096, 4160, 8, 1, 65535 };
	const uint8_t bits = bytes_u8(in);
	const uint8_t kind = bits % (UROCE_SIG_CRC64 + 1);

	if (kind == UROCE_SIG_NONE)
		return (struct uroce_sig_domain){ 0 };
	return (struct uroce_sig_domain){
		.kind = kind,
		.len = uroce_sig_len((enum uroce_sig_kind)kind),
		.block_len = block_lens[bits >> 3 & 7],
		.flags = bits >> 6,
	};
}

/*
 * Configure an mkey with attributes that the verbs allow. Only if memory and wire have the same
 * signature format, parts of the signatures may be copied instead of computed.
 */
static void
configure(struct bytes *in, enum pair_side side)
{
	union {
		struct uroce_mkey_conf conf;
		uint8_t room[sizeof(struct uroce_mkey_conf) +
			     MKEY_PIECES * sizeof(struct uroce_mkey_piece)];
	} made = { 0 };
	struct uroce_mkey_conf *conf = &made.conf;
	const struct pair_host *host = &pair.host[side];
	const uint8_t bits = bytes_u8(in);

	conf->parts = UROCE_MKEY_LAYOUT | UROCE_MKEY_ACCESS | UROCE_MKEY_SIG;
	conf->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	conf->repeat = 1 + bits % 8;
	conf->nb_pieces = bits >> 3 & (MKEY_PIECES - 1);
	conf->check_mask = bytes_u8(in);
	conf->mem = draw_domain(in);
	conf->wire = bits & 0x40 ? conf->mem : draw_domain(in);
	if (bits & 0x40 && conf->mem.block_len)
		conf->copy_mask = bytes_u8(in);
	for (unsigned i = 0; i < conf->nb_pieces; i++)
		conf->piece[i] = (struct uroce_mkey_piece){
			.addr = (uintptr_t)host->mem + bytes_u16(in),
			.len = bytes_u16(in),
			.skip = bytes_u8(in),
			.lkey = bits & 0x80 && i == 1 ? mkey[side] : host->key,
		};
	(void)uroce_mkey_configure(host->mrs, mkey[side], host->qpc.pdn, conf);
}

static void
check(struct bytes *in, enum pair_side side)
{
	struct uroce_mkey_error error;

	(void)in;
	if (!mkey_mem[side])
		return;
	expect(uroce_mkey_check(pair.host[side].mrs, mkey[side], &error) == 0);
	(void)uroce_qpc_cancel(&pair.host[side].qpc, pair.host[side].next_send_id - 1);
}

static void
post_recv(struct bytes *in, enum pair_side side)
{
	(void)pair_post_recv(&pair, side, bytes_u16(in) % (MEM_LEN - 20000), bytes_u16(in) % 20000);
}

/* Choose a PSN. In most cases it is close to a PSN that the QP context has. */
static uint32_t
choose_psn(struct bytes *in, const struct uroce_qpc *qpc)
{
	const uint8_t choice = bytes_u8(in);
	const uint32_t bases[] = { qpc->resp.epsn, qpc->req.una_psn, qpc->req.next_psn,
				   qpc->req.max_psn };

	if (choice >= 0xf0)
		return bytes_u32(in) & UROCE_PSN_MASK;
	return uroce_psn_add(bases[choice % 4], (uint32_t)((choice >> 2) - 30) & UROCE_PSN_MASK);
}

static uint8_t
choose_opcode(struct bytes *in, const struct uroce_qpc *qpc)
{
	uint8_t opcode = bytes_u8(in);

	if (opcode == 0xff)
		return UROCE_OPCODE_CNP;
	/* In most cases, use an opcode of the transport service of the QP. */
	if (opcode < 0xe0)
		opcode = (uint8_t)(qpc->service << 5 | opcode % 32);
	while (!(uroce_opcode_table[opcode].flags & UROCE_OPF_VALID))
		opcode++;
	return opcode;
}

static void
inject(struct bytes *in, enum pair_side side)
{
	static uint8_t payload[PAYLOAD_MAX];
	const struct pair_host *host = &pair.host[side];
	const uint8_t bits = bytes_u8(in), key_bits = bytes_u8(in);
	const bool is_through = key_bits >= 0xb0 && key_bits < 0xf0;
	const struct pair_pkt pkt = {
		.opcode = choose_opcode(in, &host->qpc),
		.has_ack_req = bits & 1,
		.is_solicited = bits & 2,
		.is_from_stranger = (bits & 0x1c) == 0x1c,
		.pkey = (bits & 0xe0) == 0xe0 ? bytes_u16(in) : 0,
		.psn = choose_psn(in, &host->qpc),
		.payload_len = bytes_u16(in) % (PAYLOAD_MAX + 1),
		.payload = payload,
		.va = (is_through ? 0 : (uintptr_t)host->mem) + bytes_u16(in),
		.rkey = is_through        ? mkey[side]
			: key_bits < 0xf0 ? host->key
					  : bytes_u32(in),
		.inv_rkey = mkey[side],
		.dma_len = bytes_u8(in) < 0xf0 ? bytes_u16(in) : bytes_u32(in),
		.swap_add = bytes_u8(in),
		.compare = bytes_u8(in),
		.syndrome = bytes_u8(in),
		.msn = bytes_u16(in),
		.qkey = 0x11111111,
		.src_qpn = bytes_u16(in),
	};
	struct pair_pkt fitting = pkt;

	/*
	 * Set a payload length that the opcode allows, because the parser would drop other packets.
	 */
	if (!(uroce_opcode_table[pkt.opcode].flags & UROCE_OPF_PAYLOAD))
		fitting.payload_len = 0;
	if (pkt.opcode == UROCE_OPCODE_CNP)
		fitting.payload_len = UROCE_CNP_RESERVED_LEN;
	(void)pair_inject(&pair, side, &fitting);
}

static void
disturb_wire(struct bytes *in, enum pair_side side)
{
	const uint8_t what = bytes_u8(in);

	if (pair.nb_actions == PAIR_ACTIONS)
		pair.nb_actions = 0;
	pair_script(&pair, side, what / 8, (enum pair_action)(what % 5));
}

static void
go_on(struct bytes *in, enum pair_side side)
{
	(void)side;
	for (unsigned i = bytes_u8(in) % 32; i > 0; i--)
		(void)pair_step(&pair);
}

static void
wait(struct bytes *in, enum pair_side side)
{
	pair_wait(&pair, side, bytes_u32(in));
}

static void
modify(struct bytes *in, enum pair_side side)
{
	const enum ibv_qp_state state = (enum ibv_qp_state)(bytes_u8(in) % (IBV_QPS_ERR + 1));
	struct ibv_qp_attr attr;
	const int mask = pair_attr(&pair, side, state, &attr);

	if (pair_modify(&pair, side, &attr, mask) == 0)
		return;
	(void)pair_modify(&pair, side, &attr, IBV_QP_STATE);
}

static void (*const deeds[])(struct bytes *in, enum pair_side side) = {
	post,      post,  post_recv, inject, inject,       disturb_wire,
	go_on,     go_on, wait,      modify, post_through, post_recv_through,
	configure, check,
};

static void
add_mkey(enum pair_side side)
{
	struct pair_host *host = &pair.host[side];

	expect(posix_memalign(&mkey_mem[side], 64, uroce_mkey_memsize(MKEY_PIECES)) == 0);
	expect(uroce_mkey_add(host->mrs, mkey_mem[side], MKEY_PIECES,
			      UROCE_MKEY_SIGNATURE | UROCE_MKEY_REMOTE_INV, host->qpc.pdn,
			      &mkey[side]) == 0);
	host->qpc.is_pipelined = true;
}

static void
open_pair(struct bytes *in)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	const uint8_t bits = bytes_u8(in), psns = bytes_u8(in), bursts = bytes_u8(in);
	struct pair_conf conf = pair_conf(types[bits % 4]);
	static struct uroce_cc_conf cc;

	conf.mtu = (enum ibv_mtu)(IBV_MTU_256 + (bits >> 2) % 5);
	conf.is_ipv6 = bits & 0x20;
	conf.is_unsignaled = bits & 0x40;
	conf.is_quiet = true;
	conf.psn[A] = UROCE_PSN_MASK - psns;
	conf.mem_len = MEM_LEN;
	conf.cq_len = 1024;
	conf.burst = 1 + bursts % PAIR_BURST_MAX;
	conf.retry_cnt = psns % 8;
	conf.rnr_retry = (psns >> 3) % 8;
	conf.max_rd_atomic = 1 + bytes_u8(in) % 16;
	conf.max_dest_rd_atomic = 16;
	/* In some runs, frames have the mark ECN-CE, and CNPs reduce the rate of the QP. */
	uroce_cc_conf_init(&cc);
	(void)uroce_cc_find("dcqcn", &cc.ops);
	conf.cc = bursts & 0x80 ? &cc : NULL;
	conf.tclass |= bursts & 0x40 ? UROCE_ECN_CE : 0;
	pair_open(&pair, &conf);
	if (psns & 0x40) {
		add_mkey(A);
		add_mkey(B);
	}
	watches[A] = watches[B] = (struct watch){ 0 };
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes in = { data, len };

	open_pair(&in);
	for (unsigned i = 0; i < STEPS_MAX && in.left > 0; i++) {
		const uint8_t choice = bytes_u8(&in);
		const enum pair_side side = choice & 0x80 ? B : A;

		deeds[(choice & 0x7f) % (sizeof(deeds) / sizeof(deeds[0]))](&in, side);
		take_completions(A);
		take_completions(B);
	}
	pair_close(&pair);
	for (unsigned side = A; side <= B; side++) {
		free(mkey_mem[side]);
		mkey_mem[side] = NULL;
		mkey[side] = 0;
	}
	return 0;
}
