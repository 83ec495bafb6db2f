/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_LIFE_H
#define TEST_SIM_LIFE_H

/**
 * @file
 * Events of hosts and QPs other than traffic. They are planned before the run, each with its time.
 */

#include <stdint.h>

struct world;

enum life_kind {
	LIFE_STALL,     /* a host does nothing for `ns` */
	LIFE_BLOCK,     /* a host sends nothing for `ns`, but works otherwise */
	LIFE_DIE,       /* a host crashes without notice */
	LIFE_RETURN,    /* a crashed host restarts without its QPs */
	LIFE_KILL,      /* an application moves a QP to ERR */
	LIFE_DESTROY,   /* an application destroys a QP */
	LIFE_DRAIN,     /* an application moves a QP to SQD */
	LIFE_RESUME,    /* an application moves a QP from SQD to RTS */
	LIFE_READY,     /* an application makes the last step of a connection, to RTS */
	LIFE_CANCEL,    /* an application cancels a request */
	LIFE_TUNE,      /* an application modifies attributes in SQD */
	LIFE_WITHDRAW,  /* an application removes a region or a window that its peer uses */
	LIFE_RESET,     /* an application moves a QP to RESET */
	LIFE_RECONNECT, /* two applications connect their QPs again */
	LIFE_JOIN,      /* a QP joins its multicast group again */
	LIFE_LEAVE,     /* a QP leaves its multicast group */
	LIFE_BIRTH,     /* a connection is created: workload.c */
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
