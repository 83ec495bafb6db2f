/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_LIFE_H
#define TEST_SIM_LIFE_H

/**
 * @file
 * Events of hosts and QPs other than traffic, such as crashes and resets. Each event is planned for
 * a time before it occurs.
 */

#include <stdint.h>

struct world;

enum life_kind {
	LIFE_STALL,   /* a host runs no rounds for `ns` */
	LIFE_BLOCK,   /* the port of a host accepts no frames for `ns` */
	LIFE_DIE,     /* a host crashes; its peers are not notified */
	LIFE_RETURN,  /* a crashed host restarts without its QPs */
	LIFE_KILL,    /* an application moves a QP to ERR */
	LIFE_DESTROY, /* an application destroys a QP */
	LIFE_DRAIN,   /* an application moves a QP to SQD */
	LIFE_RESUME,  /* an application moves a QP from SQD or SQE to RTS */
	/* an application moves a QP from RTR to RTS, as the last step of a connection */
	LIFE_READY,
	LIFE_CANCEL, /* an application cancels a request */
	LIFE_TUNE,   /* an application modifies attributes in SQD */
	/* an application withdraws the key of a region or a window that the QP's peer uses */
	LIFE_WITHDRAW,
	LIFE_RESET,     /* an application moves a QP to RESET */
	LIFE_RECONNECT, /* two applications reset their QPs and connect them again */
	LIFE_JOIN,      /* a QP that has left its multicast group joins the group again */
	LIFE_LEAVE,     /* a QP leaves its multicast group */
	LIFE_BIRTH,     /* two hosts create a new connection: workload.c */
	LIFE_NB
};

/** Plan an event of host or QP `whom`. */
void life_plan(struct world *world, enum life_kind kind, uint32_t whom, uint64_t at_ns,
	       uint64_t ns);

/** Handle EVENT_LIFE: execute the planned event with this number. */
void life_happen(struct world *world, uint32_t nth);

void life_clear(struct world *world);

const char *life_name(enum life_kind kind);

#endif /* TEST_SIM_LIFE_H */
