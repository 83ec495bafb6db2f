/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two QPs under arbitrary sequences of what the world can do to them: posts, frames lost, delayed and
 * made up (with a right ICRC), timers, modifies. After each step the harness checks the invariants of
 * both contexts (test/unit/transport/pair.c); here, that completions come once and in order.
 */

#include "bytes.h"

#include "pair.h"
#include "wire/psn.h"

#define STEPS_MAX   500
#define MEM_LEN     65536u
#define PAYLOAD_MAX 4096u

struct watch {
	uint64_t next_send_id, next_recv_id; /* no completion before these any more */
};

static struct pair pair;
static struct watch watches[2];

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
		.remote = bytes_u16(in), /* may reach beyond the region */
		.flags = bytes_u8(in) & (IBV_SEND_FENCE | IBV_SEND_SOLICITED | IBV_SEND_INLINE),
		.imm = bytes_u32(in),
		.compare_add = bytes_u8(in),
		.swap = bytes_u8(in),
	};

	if (wr.flags & IBV_SEND_INLINE)
		wr.len %= 300;
	(void)pair_post(&pair, side, &wr);
}

static void
post_recv(struct bytes *in, enum pair_side side)
{
	(void)pair_post_recv(&pair, side, bytes_u16(in) % (MEM_LEN - 20000), bytes_u16(in) % 20000);
}

/* PSNs that mean something are tried more often than others. */
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
	if (opcode < 0xe0) /* mostly of its own service */
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
	const uint8_t bits = bytes_u8(in);
	const struct pair_pkt pkt = {
		.opcode = choose_opcode(in, &host->qpc),
		.has_ack_req = bits & 1,
		.is_solicited = bits & 2,
		.is_from_stranger = (bits & 0x1c) == 0x1c,
		.pkey = (bits & 0xe0) == 0xe0 ? bytes_u16(in) : 0,
		.psn = choose_psn(in, &host->qpc),
		.payload_len = bytes_u16(in) % (PAYLOAD_MAX + 1),
		.payload = payload,
		.va = (uintptr_t)host->mem + bytes_u16(in),
		.rkey = bytes_u8(in) < 0xf0 ? host->key : bytes_u32(in),
		.dma_len = bytes_u8(in) < 0xf0 ? bytes_u16(in) : bytes_u32(in),
		.swap_add = bytes_u8(in),
		.compare = bytes_u8(in),
		.syndrome = bytes_u8(in),
		.msn = bytes_u16(in),
		.qkey = 0x11111111,
		.src_qpn = bytes_u16(in),
	};
	struct pair_pkt fitting = pkt;

	/* The door has seen to it that there is payload only where there may be. */
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
	post, post, post_recv, inject, inject, disturb_wire, go_on, go_on, wait, modify,
};

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
	/* frames made by hand come marked, and CNPs slow the QP down */
	uroce_cc_conf_init(&cc);
	(void)uroce_cc_find("dcqcn", &cc.ops);
	conf.cc = bursts & 0x80 ? &cc : NULL;
	conf.tclass |= bursts & 0x40 ? UROCE_ECN_CE : 0;
	pair_open(&pair, &conf);
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
	return 0;
}
