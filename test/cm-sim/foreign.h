/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CM_SIM_FOREIGN_H
#define TEST_CM_SIM_FOREIGN_H

/**
 * @file
 * A second model of connection management: the behaviour of Linux 6.1 (ib_cm and rdma_cm) as far as
 * a peer sees it. It shares nothing with lib/cm but the codec.
 *
 * How it differs from lib/cm. It repeats slowly: a REQ after 6.1 s, a REP and a DREQ after 4.1 s,
 * fifteen times each. A REJ is sent once. A duplicate of a REQ is dropped until rdma_cm has the
 * request, is answered by an MRA with service timeout 24 until the user has answered, and is
 * dropped after that: the REP comes by its timer. An RTU is repeated for each REP. An RTU and a REP
 * of an unknown connection are dropped, a DREQ of one is confirmed. A DREP waits for the user. A
 * REJ "stale connection" is told to the user, and no other attempt follows.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/message.h"

#define FOREIGN_MAX_IDS 160

struct world;

enum foreign_state {
	FOREIGN_FREE,
	FOREIGN_REQ_SENT,
	FOREIGN_MRA_REQ_RCVD,
	FOREIGN_REP_RCVD,
	FOREIGN_MRA_REP_SENT,
	FOREIGN_REQ_RCVD,
	FOREIGN_MRA_REQ_SENT,
	FOREIGN_REP_SENT,
	FOREIGN_MRA_REP_RCVD,
	FOREIGN_ESTABLISHED,
	FOREIGN_DREQ_SENT,
	FOREIGN_DREQ_RCVD,
	FOREIGN_TIMEWAIT,
	FOREIGN_SIDR_REQ_SENT,
	FOREIGN_SIDR_REQ_RCVD,
	FOREIGN_STATE_NB
};

struct foreign_id {
	uint8_t state;
	bool is_active;
	uint8_t peer;
	uint8_t version;
	uint8_t service;
	uint32_t local_id;
	uint32_t remote_id; /* 0: not known */
	be64 remote_guid;
	uint32_t qpn;
	uint32_t psn;
	uint32_t remote_qpn;
	uint64_t tid;
	uint64_t dreq_tid;
	struct uroce_cm_msg sent; /* that is repeated by the timer, or for a duplicate */
	unsigned nb_left;         /* repetitions */
	uint64_t timeout_ns;      /* between two */
	uint64_t timer_ns;        /* next repetition, or end of TIMEWAIT; UINT64_MAX: none */
	uint64_t act_ns;          /* when the user acts; UINT64_MAX: not at all */
};

/** The connection management of a foreign host. */
struct foreign {
	struct foreign_id ids[FOREIGN_MAX_IDS];
};

/** Begin without memory. */
void foreign_begin(struct foreign *foreign);

/** A program of the host connects, or resolves a datagram service. */
void foreign_connect(struct world *world, uint8_t host);

/** A message arrives. */
void foreign_recv(struct world *world, uint8_t host, uint8_t from, uint8_t version,
		  const struct uroce_cm_msg *msg);

/** When foreign_expire() has something to do; UINT64_MAX: never. */
uint64_t foreign_deadline(const struct world *world, uint8_t host);

/** Process timers, and the actions of the users. */
void foreign_expire(struct world *world, uint8_t host);

/** The id with this comm id; NULL: none. */
struct foreign_id *foreign_find(struct foreign *foreign, uint32_t local_id);

/** Data of the peer arrives at the id: it is established before the RTU. */
void foreign_notify(struct world *world, uint8_t host, uint32_t local_id);

#endif /* TEST_CM_SIM_FOREIGN_H */
