/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers of a frame are copied from the QP's path, where they are complete except for the PSN. The
 * headers in the path are rebuilt when a frame has another opcode or another length than the frame
 * before.
 */
#include "transport/txd.h"

#include "wire/icrc.h"

/* Get the length of the UDP payload of a frame: the bytes from the BTH to the end of the ICRC. */
static uint32_t
udp_payload_len(uint8_t opcode, uint32_t payload_len, uint8_t pad_len)
{
	return (uint32_t)sizeof(struct uroce_bth) + uroce_opcode_table[opcode].ext_len +
	       payload_len + pad_len + UROCE_ICRC_LEN;
}

static uint16_t
count_hdr_len(const struct uroce_path *path, uint8_t opcode)
{
	return (uint16_t)(path->hdr_len + uroce_opcode_table[opcode].ext_len);
}

static uint8_t
count_pad(uint32_t payload_len)
{
	return (uint8_t)(-payload_len & 3);
}

void
uroce_txd_set_template(struct uroce_qpc *qpc, uint8_t opcode, uint32_t payload_len)
{
	const uint8_t pad_len = count_pad(payload_len);
	struct uroce_bth *bth = (struct uroce_bth *)(qpc->path.hdr + qpc->path.bth_off);

	bth->flags = UROCE_BTH_MIGREQ;
	uroce_bth_put(bth, opcode, pad_len, qpc->pkey, qpc->dest_qpn, 0);
	qpc->hdr_template = (struct uroce_hdr_template){
		.icrc = uroce_path_set_len(&qpc->path,
					   udp_payload_len(opcode, payload_len, pad_len)),
		.payload_len = payload_len,
		.hdr_len = count_hdr_len(&qpc->path, opcode),
		.pad_len = pad_len,
		.opcode = opcode,
	};
}

uint8_t *
uroce_txd_begin_on(struct uroce_txd *txd, const struct uroce_qpc *qpc,
		   const struct uroce_path *path, uint8_t opcode, uint32_t dest_qpn, uint32_t psn,
		   uint32_t payload_len)
{
	const uint8_t pad_len = count_pad(payload_len);
	struct uroce_bth *bth = uroce_path_put(
		path, txd->hdr, udp_payload_len(opcode, payload_len, pad_len), &txd->icrc);

	/*
	 * all BTH flags except MigReq are cleared, because the BTH in the path may have the pad
	 * count of another frame
	 */
	bth->flags = UROCE_BTH_MIGREQ;
	uroce_bth_put(bth, opcode, pad_len, qpc->pkey, dest_qpn, psn);
	txd->bth_off = path->bth_off;
	txd->hdr_len = count_hdr_len(path, opcode);
	txd->payload_len = payload_len;
	txd->pad_len = pad_len;
	if (!payload_len)
		txd->nb_slices = 0;
	return (uint8_t *)(bth + 1);
}
