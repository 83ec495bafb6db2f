/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CM_SIM_FOREIGN_ID_H
#define TEST_CM_SIM_FOREIGN_ID_H

/**
 * @file
 * The ids of a foreign host, and the messages that the ids send. Only foreign.c, foreign_id.c and
 * foreign_recv.c use this header.
 */

#include "cm/reason.h"
#include "foreign.h"

/** The value of a deadline that never comes. */
#define FOREIGN_NEVER UINT64_MAX

/** How often a message without an answer is repeated. */
#define FOREIGN_NB_RETRIES 15

/** Nanoseconds until a REP or a DREQ is repeated. */
#define FOREIGN_REPLY_TIMEOUT UINT64_C(4100000000)

/** The id that has both comm ids and whose peer is host `from`, or NULL if there is no such id. */
struct foreign_id *foreign_find_both(struct foreign *foreign, uint32_t local_id, uint32_t remote_id,
				     uint8_t from);

/** Allocate an id, and give it a random comm id and PSN. Returns NULL if no id is free. */
struct foreign_id *foreign_new_id(struct world *world, uint8_t host, uint8_t peer, uint8_t version);

/** Send a message to host `peer`, and record the message in the ledger. */
void foreign_send_to(struct world *world, uint8_t host, uint8_t peer, uint8_t version,
		     const struct uroce_cm_msg *msg);

/** Make a message with the TID and the comm ids of an id. */
struct uroce_cm_msg foreign_message_of(const struct foreign_id *id, enum uroce_cm_attr attr);

/** Send a message to the peer of an id, once. */
void foreign_send_message(struct world *world, uint8_t host, const struct foreign_id *id,
			  const struct uroce_cm_msg *msg);

/**
 * Send a message of an id, let the timer of the id repeat the message, and move the id to `state`.
 */
void foreign_send_repeated(struct world *world, uint8_t host, struct foreign_id *id,
			   const struct uroce_cm_msg *msg, enum foreign_state state,
			   uint64_t timeout_ns);

/** Send a REJ, which is not repeated. The state of the id stays the same. */
void foreign_send_rej(struct world *world, uint8_t host, const struct foreign_id *id,
		      enum uroce_cm_reason reason, enum uroce_cm_about about);

/** Send a DREQ, and wait for its DREP. */
void foreign_send_dreq(struct world *world, uint8_t host, struct foreign_id *id);

/** Let the user of an id act after a random time. */
void foreign_plan_act(struct world *world, struct foreign_id *id);

void foreign_enter_timewait(struct world *world, struct foreign_id *id);

/** Make an id established. Its user may end the connection later. */
void foreign_establish(struct world *world, struct foreign_id *id);

#endif /* TEST_CM_SIM_FOREIGN_ID_H */
