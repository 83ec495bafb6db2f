/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_BESIDE_H
#define FUZZ_FRAMES_BESIDE_H

/**
 * @file
 * The honest traffic beside the attack: RC connections between the target and an honest peer. On
 * the target, they use the same device, port and worker as the victims. SENDs, WRITEs and READs
 * alternate. Every received byte and the bytes around the received data are compared.
 */

#include "fabric.h"

#define BESIDE_CONNS 4

/** An end of a connection: a QP and its buffer. */
struct beside_end {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

/** A connection, with one operation at a time; end[0] posts the requests. */
struct beside_conn {
	struct beside_end end[2];
	enum ibv_wr_opcode opcode; /* the operation in progress */
	uint32_t len, off;
	uint64_t seed;
	bool is_busy;
	/* whether the send request and the receive request of the operation have completed */
	bool is_sent, is_received;
};

struct beside {
	struct fabric *fabric;
	struct rng *rng;
	struct beside_conn conn[BESIDE_CONNS];
	uint64_t nb_ops[3]; /* number of completed SENDs, WRITEs and READs */
	uint64_t nb_bytes;
	const char *violation; /* description of a wrong result; NULL: there was none */
};

bool beside_open(struct beside *beside, struct fabric *fabric, struct rng *rng);
void beside_close(struct beside *beside);

/**
 * Poll for completions, compare the data of completed operations, and begin the next operations.
 * @return false: `violation` says what is wrong
 */
bool beside_step(struct beside *beside);

/** Number of packets that the QPs of the honest traffic have retransmitted, at both ends. */
uint64_t beside_retransmits(const struct beside *beside);

/** Whether a QP number of the target belongs to the honest traffic. */
bool beside_is_ours(const struct beside *beside, uint32_t qpn);

#endif /* FUZZ_FRAMES_BESIDE_H */
