/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_DDP_H
#define UROCE_TRANSPORT_DDP_H

/**
 * @file
 * Direct data placement of later WRITEs: WRITEs that follow the message being received, without
 * another kind of request between them, while a PSN gap is open. The responder knows the
 * destination of a later WRITE as soon as the first packet of the later WRITE is buffered. Direct
 * placement saves mbufs and cache misses; ddp.c describes the costs.
 */

#include <stdint.h>

/**
 * Maximum number of later WRITEs whose memory addresses are stored at a time. Packets of further
 * WRITEs are buffered.
 */
#define UROCE_DDP_WRITES_MAX 32

struct uroce_ddp_write {
	/* memory of the WRITE, for which access was checked; NULL if len is 0 */
	uint8_t *base;
	uint64_t va; /* virtual address of the memory, as it is in the peer's packet */
	uint32_t rkey;
	uint32_t len;    /* length of the WRITE in bytes */
	uint32_t psn;    /* PSN of the first packet of the WRITE */
	uint32_t nb_psn; /* number of packets of the WRITE */
};

struct uroce_ddp {
	uint32_t nb;
	/* later WRITEs in the order of their PSNs; the first nb are valid */
	struct uroce_ddp_write write[UROCE_DDP_WRITES_MAX];
};

struct uroce_qpc;

/**
 * Find the memory of a Middle packet that arrived out of order. The WRITE of the packet is behind a
 * PSN gap that is open, and behind the message that is being received.
 * @return NULL: the memory is not known or access is refused, so the packet has to be buffered
 */
void *uroce_ddp_place(struct uroce_qpc *qpc, uint32_t psn);

/**
 * Copy the payload of the packet with the PSN `psn` to `dst`, but leave out the bytes where a
 * packet of a later WRITE has been placed.
 */
void uroce_ddp_copy_around(struct uroce_qpc *qpc, uint32_t psn, void *dst, const void *src,
			   uint32_t len);

#endif /* UROCE_TRANSPORT_DDP_H */
