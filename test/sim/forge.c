/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Builds a forged frame and delivers it to a QP. The frame is parsed and its ICRC verified like
 * those of any other frame.
 */

#include "forge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "wire/icrc.h"

static uint8_t
opcode_of(const struct qp *to, const char *name)
{
	static const char *const services[] = {
		[IBV_QPT_RC] = "RC_",
		[IBV_QPT_UC] = "UC_",
		[IBV_QPT_UD] = "UD_",
	};
	const char *service = services[to->conf.type];

	for (unsigned i = 0; i < 256; i++) {
		const char *row = uroce_opcode_table[i].name;

		if ((!strncmp(row, service, 3) && !strcmp(row + 3, name)) || !strcmp(row, name))
			return (uint8_t)i;
	}
	fprintf(stderr, "golden: no such opcode: %s\n", name);
	exit(2);
}

static void
put_ext(uint8_t *ext, const struct uroce_opcode *op, const struct forgery *forgery,
	uint32_t src_qpn)
{
	if (op->ext_mask & 1 << UROCE_EXT_RETH)
		*(struct uroce_reth *)(ext + op->ext_off[UROCE_EXT_RETH]) = (struct uroce_reth){
			be64_make(forgery->va),
			be32_make(forgery->rkey),
			be32_make(forgery->dma_len),
		};
	if (op->ext_mask & 1 << UROCE_EXT_AETH)
		*(struct uroce_aeth *)(ext + op->ext_off[UROCE_EXT_AETH]) =
			(struct uroce_aeth){ forgery->syndrome, be24_make(forgery->msn) };
	if (op->ext_mask & 1 << UROCE_EXT_ATOMICACKETH)
		*(struct uroce_atomicacketh *)(ext + op->ext_off[UROCE_EXT_ATOMICACKETH]) =
			(struct uroce_atomicacketh){ be64_make(forgery->orig) };
	if (op->ext_mask & 1 << UROCE_EXT_DETH)
		*(struct uroce_deth *)(ext + op->ext_off[UROCE_EXT_DETH]) =
			(struct uroce_deth){ be32_make(forgery->qkey), 0, be24_make(src_qpn) };
}

enum uroce_verdict
forge(struct qp *to, const struct forgery *forgery)
{
	const uint8_t opcode = opcode_of(to, forgery->opcode);
	const struct uroce_opcode *op = &uroce_opcode_table[opcode];
	const uint8_t pad_len = (uint8_t)(-forgery->len & 3);
	const uint32_t rest = op->ext_len + forgery->len + pad_len;
	struct frame *frame = frame_take(&to->world->frames);
	/*
	 * the frame has the source address of a third host: the address of the receiver is used,
	 * because it differs from the peer's address
	 */
	const struct uroce_path *path = forgery->is_from_stranger ? &to->path : &to->peer->path;
	uint32_t crc;

	memset(frame->bytes, 0, path->hdr_len + rest + UROCE_ICRC_LEN);
	struct uroce_bth *bth = uroce_path_put(
		path, frame->bytes, (uint32_t)sizeof(*bth) + rest + UROCE_ICRC_LEN, &crc);
	uint8_t *ext = (uint8_t *)(bth + 1);

	uroce_bth_put(bth, opcode, pad_len, forgery->pkey, to->qpn, forgery->psn);
	if (forgery->has_ack_req)
		bth->ack_req = UROCE_BTH_ACK_REQ;
	put_ext(ext, op, forgery, to->peer->qpn);
	memcpy(ext + op->ext_len, to->world->noise, forgery->len);
	crc = uroce_icrc_bth(crc, (const uint8_t *)bth);
	crc = uroce_crc32(crc, ext, rest);
	uroce_icrc_store(ext + rest, crc);
	frame->len = path->hdr_len + rest + UROCE_ICRC_LEN;
	frame->from = to->peer->host->idx;
	frame->to = to->host->idx;
	const enum uroce_verdict verdict = host_deliver(to->world, to->host, frame);

	if (verdict != UROCE_VERDICT_OOO_BUFFERED)
		frame_give(&to->world->frames, frame);
	host_wake(to->world, to->host, to->world->now_ns);
	return verdict;
}
