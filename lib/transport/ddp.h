/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_DDP_H
#define UROCE_TRANSPORT_DDP_H

/**
 * @file
 * The WRITEs that follow the one that is being received, one right behind the other, as far as their
 * first packets are held behind a hole: where each of them goes. ddp.c says what for.
 */

#include <stdint.h>

/** WRITEs that are known at a time; what belongs to further ones is held. */
#define UROCE_DDP_WRITES_MAX 32

struct uroce_ddp_write {
	uint8_t *
		base; /* the peer may write there, and could when this was found out; NULL: len is 0 */
	uint64_t va; /* the same as the peer names it */
	uint32_t rkey;
	uint32_t len;    /* bytes */
	uint32_t psn;    /* of its first packet */
	uint32_t nb_psn; /* its packets; the next one begins behind them */
};

struct uroce_ddp {
	uint32_t nb;
	struct uroce_ddp_write write[UROCE_DDP_WRITES_MAX]; /* in PSN order; the first nb */
};

struct uroce_qpc;

/**
 * Where a packet from the middle of a WRITE goes, which is ahead of a hole and behind the message that
 * is being received. NULL: that is not known, or refused: hold it. There is a gap.
 */
void *uroce_ddp_place(struct uroce_qpc *qpc, uint32_t psn);

/** Copy the payload of packet `psn`, but for the bytes that a WRITE behind it has been placed at. */
void uroce_ddp_copy_around(struct uroce_qpc *qpc, uint32_t psn, void *dst, const void *src,
			   uint32_t len);

#endif /* UROCE_TRANSPORT_DDP_H */
