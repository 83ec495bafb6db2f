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

#endif /* UROCE_TRANSPORT_DDP_H */
