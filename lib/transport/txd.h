/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_TXD_H
#define UROCE_TRANSPORT_TXD_H

/**
 * @file
 * Functions that build the headers of a frame to send, up to the BTH.
 */

#include "transport/context.h"
#include "wire/icrc.h"

/**
 * Prepare the headers in the path of the QP, and the header template of the QP, for frames with
 * this opcode and this payload length.
 */
void uroce_txd_set_template(struct uroce_qpc *qpc, uint8_t opcode, uint32_t payload_len);

/**
 * Begin a frame to the peer: build its headers up to the BTH. Most frames have the opcode and the
 * length of the frame before; then the headers are copied from the path.
 * @return the place for the extension headers
 */
static inline uint8_t *
uroce_txd_begin(struct uroce_txd *txd, struct uroce_qpc *qpc, uint8_t opcode, uint32_t psn,
		uint32_t payload_len)
{
	const struct uroce_hdr_template *hdr_template = &qpc->hdr_template;

	if (payload_len != hdr_template->payload_len || opcode != hdr_template->opcode)
		uroce_txd_set_template(qpc, opcode, payload_len);
	struct uroce_bth *bth = uroce_path_copy(&qpc->path, txd->hdr);

	bth->psn = be24_make(psn);
	txd->icrc = hdr_template->icrc;
	txd->payload_len = payload_len;
	txd->hdr_len = hdr_template->hdr_len;
	txd->bth_off = qpc->path.bth_off;
	txd->pad_len = hdr_template->pad_len;
	if (!payload_len)
		txd->nb_slices = 0;
	return (uint8_t *)(bth + 1);
}

/**
 * Begin a frame on any path and to any QP: build its headers up to the BTH, without the header
 * template.
 * @return the place for the extension headers
 */
uint8_t *uroce_txd_begin_on(struct uroce_txd *txd, const struct uroce_qpc *qpc,
			    const struct uroce_path *path, uint8_t opcode, uint32_t dest_qpn,
			    uint32_t psn, uint32_t payload_len);

/** Tell the pacer, which limits the rate of the QP, the length of a frame that is being sent. */
static inline void
uroce_txd_charge(struct uroce_qpc *qpc, const struct uroce_txd *txd, uint64_t now_ns)
{
	if (qpc->cc.is_limited)
		uroce_cc_charge(&qpc->cc,
				txd->hdr_len + txd->payload_len + txd->pad_len +
					(uint32_t)UROCE_ICRC_LEN,
				now_ns);
}

#endif /* UROCE_TRANSPORT_TXD_H */
