/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_LIFE_H
#define TEST_SIM_LIFE_H

/**
 * @file
 * What happens to hosts and QPs in the course of a run, beside traffic: planned beforehand, each at
 * its time.
 */

#include <stdint.h>

struct world;

enum life_kind {
	LIFE_STALL,     /* a host does nothing for `ns` */
	LIFE_BLOCK,     /* ... sends nothing, but works otherwise */
	LIFE_DIE,       /* a host dies */
	LIFE_RETURN,    /* ... and comes back, without its QPs */
	LIFE_KILL,      /* an application puts a QP into ERR */
	LIFE_DESTROY,   /* an application destroys a QP */
	LIFE_DRAIN,     /* an application puts a QP into SQD */
	LIFE_RESUME,    /* ... and back into RTS */
	LIFE_READY,     /* an application takes the last step, to RTS */
	LIFE_CANCEL,    /* ... cancels a request */
	LIFE_TUNE,      /* ... modifies attributes in SQD */
	LIFE_WITHDRAW,  /* ... ends a region or a window that its peer uses */
	LIFE_RESET,     /* ... puts a QP into RESET */
	LIFE_RECONNECT, /* two applications connect their QPs again */
	LIFE_JOIN,      /* a member joins its group again */
	LIFE_LEAVE,     /* ... or leaves it */
	LIFE_BIRTH,     /* a connection is made: workload.c */
	LIFE_NB
};

/** Plan something for host or QP `whom`. */
void life_plan(struct world *world, enum life_kind kind, uint32_t whom, uint64_t at_ns,
	       uint64_t ns);

/** EVENT_LIFE: the nth that was planned happens. */
void life_happen(struct world *world, uint32_t nth);

void life_clear(struct world *world);

const char *life_name(enum life_kind kind);

#endif /* TEST_SIM_LIFE_H */
