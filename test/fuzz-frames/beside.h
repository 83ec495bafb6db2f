/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_BESIDE_H
#define FUZZ_FRAMES_BESIDE_H

/**
 * @file
 * The honest traffic beside the attack: RC connections between the target and an honest peer, on
 * the same device, port and worker as the victims. Both ends execute SEND, WRITE and READ in turn.
 * Every received byte and the bytes around it are compared.
 */

#include "fabric.h"

#define BESIDE_CONNS 4

/** One end of a connection. */
struct beside_end {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

/** A connection; end[0] posts the requests. */
struct beside_conn {
	struct beside_end end[2];
	enum ibv_wr_opcode opcode; /* the operation in progress */
	uint32_t len, off;
	uint64_t seed;
	bool is_busy;
	/* whether the completions of the send request and of the receive request have come */
	bool is_sent, is_received;
};

struct beside {
	struct fabric *fabric;
	struct rng *rng;
	struct beside_conn conn[BESIDE_CONNS];
	uint64_t nb_ops[3]; /* number of SENDs, WRITEs and READs */
	uint64_t nb_bytes;
	const char *violation; /* text of a violation of the contract; NULL: no violation */
};

bool beside_open(struct beside *beside, struct fabric *fabric, struct rng *rng);
void beside_close(struct beside *beside);

/**
 * Handle completions, compare the data, begin the next operations.
 * @return false: see `violation`
 */
bool beside_step(struct beside *beside);

/** Packets that either end of any connection has retransmitted. */
uint64_t beside_retransmits(const struct beside *beside);

/** Whether a QP of the target belongs to the honest traffic. */
bool beside_is_ours(const struct beside *beside, uint32_t qpn);

#endif /* FUZZ_FRAMES_BESIDE_H */
