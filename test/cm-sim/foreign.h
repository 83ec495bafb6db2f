/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CM_SIM_FOREIGN_H
#define TEST_CM_SIM_FOREIGN_H

/**
 * @file
 * A second model of connection management: the behaviour of Linux 6.1 (ib_cm and rdma_cm) as far as
 * a peer sees it. The model shares only the codec with lib/cm.
 *
 * The model differs from lib/cm in these points:
 *
 * - A message without an answer is repeated slowly, fifteen times at most: a REQ after 6.1 s, a REP
 *   and a DREQ after 4.1 s.
 * - A REJ is sent once.
 * - A duplicate of a REQ is dropped until rdma_cm has the request. From then on it is answered by
 *   an MRA with service timeout 24, until the user has answered the request. Afterwards a duplicate
 *   is dropped again, because a timer repeats the REP.
 * - Each REP of an established connection is answered by an RTU.
 * - An RTU or a REP of an unknown connection is dropped. A DREQ of an unknown connection is
 *   confirmed.
 * - A DREP is sent when the user acts.
 * - A REJ "stale connection" ends the attempt, and no other attempt follows.
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
	uint32_t remote_id; /* comm id of the peer; 0 while the id does not know it */
	be64 remote_guid;
	uint32_t qpn;
	uint32_t psn;
	uint32_t remote_qpn;
	uint64_t tid;
	uint64_t dreq_tid;
	struct uroce_cm_msg sent; /* the message that the timer repeats */
	unsigned nb_left;         /* number of repetitions that are left */
	uint64_t timeout_ns;      /* time between two transmissions of `sent` */
	/* time of the next repetition, or of the end of TIMEWAIT; UINT64_MAX: no timer */
	uint64_t timer_ns;
	/* time at which the user acts; UINT64_MAX: the user does nothing */
	uint64_t act_ns;
};

/** The connection management of a foreign host: its ids. */
struct foreign {
	struct foreign_id ids[FOREIGN_MAX_IDS];
};

/**
 * Start the connection management of a foreign host, without any id. A host that restarts remembers
 * nothing.
 */
void foreign_begin(struct foreign *foreign);

/** Let a program of a foreign host connect, or resolve a datagram service. */
void foreign_connect(struct world *world, uint8_t host);

/** Handle a message of host `from` that arrives at the foreign host `host`. */
void foreign_recv(struct world *world, uint8_t host, uint8_t from, uint8_t version,
		  const struct uroce_cm_msg *msg);

/** The time at which foreign_expire() must be called next, or UINT64_MAX if no timer runs. */
uint64_t foreign_deadline(const struct world *world, uint8_t host);

/** Handle the expired timers of a foreign host, and the actions of its users that are due. */
void foreign_expire(struct world *world, uint8_t host);

/** The id of a foreign host that has the comm id `local_id`, or NULL if no id has this comm id. */
struct foreign_id *foreign_find(struct foreign *foreign, uint32_t local_id);

/**
 * Report to an id that data of its peer has arrived. If the id waits for an RTU, its connection is
 * established.
 */
void foreign_notify(struct world *world, uint8_t host, uint32_t local_id);

#endif /* TEST_CM_SIM_FOREIGN_H */
