/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_DDP_H
#define UROCE_TRANSPORT_DDP_H

/**
 * @file
 * Direct data placement of later WRITEs, which directly follow the WRITE being received behind a
 * PSN gap. The responder knows the destination of a later WRITE as soon as the first packet of the
 * later WRITE is buffered. Direct placement saves mbufs and cache misses; ddp.c describes the
 * costs.
 */

#include <stdint.h>

/** The most WRITEs that are known at a time. Packets of further WRITEs are buffered. */
#define UROCE_DDP_WRITES_MAX 32

struct uroce_ddp_write {
	/* memory of the WRITE; access was checked when the first packet arrived; NULL: len is 0 */
	uint8_t *base;
	uint64_t va; /* address of the memory as the peer names it */
	uint32_t rkey;
	uint32_t len;    /* length in bytes */
	uint32_t psn;    /* PSN of the first packet */
	uint32_t nb_psn; /* number of packets; the next WRITE begins behind them */
};

struct uroce_ddp {
	uint32_t nb;
	/* in PSN order; the first nb are valid */
	struct uroce_ddp_write write[UROCE_DDP_WRITES_MAX];
};

struct uroce_qpc;

/**
 * Find the memory of a Middle packet of a WRITE that is ahead of a PSN gap and behind the message
 * being received. The gap must be open.
 * @return NULL: the memory is not known, or access is refused: the packet has to be buffered
 */
void *uroce_ddp_place(struct uroce_qpc *qpc, uint32_t psn);

/**
 * Copy the payload of packet `psn`, but not over bytes where a packet of a later WRITE has been
 * placed.
 */
void uroce_ddp_copy_around(struct uroce_qpc *qpc, uint32_t psn, void *dst, const void *src,
			   uint32_t len);

#endif /* UROCE_TRANSPORT_DDP_H */
