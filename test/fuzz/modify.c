/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sequences of modify calls with random masks and attributes, some of them valid. The result of
 * uroce_qpc_modify_check() must be the result of the modify, and a failed modify must change
 * nothing.
 */

#include "bytes.h"

#include "pair.h"

#define STEPS_MAX 200

static struct pair pair;

/*
 * Choose the valid attributes of a state transition, or random attributes, and sometimes a random
 * mask.
 */
static int
choose_attr(struct bytes *in, struct ibv_qp_attr *attr)
{
	const uint8_t bits = bytes_u8(in);
	struct ibv_qp_attr wild;
	int mask = pair_attr(&pair, A, (enum ibv_qp_state)(bits % (IBV_QPS_ERR + 1)), attr);

	if (bits & 0x80) {
		bytes_take(in, &wild, sizeof(wild));
		*attr = wild;
	}
	if (bits & 0x40)
		mask ^= 1 << bytes_u8(in) % 31;
	if (bits & 0x20)
		mask = (int)bytes_u32(in);
	if (bits & 0x10)
		attr->cur_qp_state = pair.host[A].qpc.state;
	return mask;
}

static void
modify(struct bytes *in)
{
	struct uroce_qpc *qpc = &pair.host[A].qpc;
	const struct uroce_qpc before = *qpc;
	struct ibv_qp_attr attr, after;
	const int mask = choose_attr(in, &attr);
	const int checked = uroce_qpc_modify_check(qpc, &attr, mask);

	expect(memcmp(&before, qpc, sizeof(before)) == 0);
	expect(pair_modify(&pair, A, &attr, mask) == checked);
	if (checked != 0) {
		expect(memcmp(&before, qpc, sizeof(before)) == 0);
		return;
	}
	uroce_qpc_query(qpc, &after);
	expect(after.qp_state == (enum ibv_qp_state)qpc->state && qpc->state <= IBV_QPS_ERR);
	if (mask & IBV_QP_STATE)
		expect(after.qp_state == attr.qp_state);
	if (mask & IBV_QP_TIMEOUT)
		expect(after.timeout == attr.timeout);
	if (mask & IBV_QP_RQ_PSN)
		expect(after.rq_psn == attr.rq_psn);
}

static void
work(struct bytes *in)
{
	const struct pair_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .len = bytes_u8(in) };

	(void)pair_post(&pair, A, &wr);
	(void)pair_post_recv(&pair, A, 0, 64);
	(void)pair_step(&pair);
	(void)pair_completions(&pair, A);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct bytes in = { data, len };
	struct pair_conf conf = pair_conf(types[bytes_u8(&in) % 3]);

	conf.is_quiet = true;
	conf.mem_len = 4096;
	pair_open_reset(&pair, &conf);
	for (unsigned i = 0; i < STEPS_MAX && in.left > 0; i++) {
		if (bytes_u8(&in) < 0xe0)
			modify(&in);
		else
			work(&in);
	}
	pair_close(&pair);
	return 0;
}
