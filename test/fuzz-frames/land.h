/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_LAND_H
#define FUZZ_FRAMES_LAND_H

/**
 * @file
 * The target's memory: regions of every kind of right in one mapping, canaries between them, and a
 * copy of how it was. Whatever nobody was given the right to write must stay as it was.
 *
 * Two protection domains hold the same kinds of regions. QPs of the OPEN one grant what their table
 * row says; those of the CLOSED one grant no writing, so that its regions must not change at all,
 * but for the slots that its own requests name.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "rng.h"

enum domain { DOMAIN_OPEN, DOMAIN_CLOSED, DOMAIN_NB };

enum plot {
	PLOT_ALL,    /* local and remote write, remote read, atomics */
	PLOT_READ,   /* remote read */
	PLOT_ATOMIC, /* local write and atomics: no remote write, no remote read */
	PLOT_BARE,   /* no right at all: the source of what is sent */
	PLOT_LOCAL,  /* local write: slots for receives and for answers */
	PLOT_NB
};

/** What all memory is filled with that no READ may be answered from. */
#define LAND_SECRET     "uRoCE#\xa5\x5a"
#define LAND_SECRET_LEN 8

/** Slots of a victim in PLOT_LOCAL; a request names a part of one, in two pieces. */
#define LAND_SLOTS    16
#define LAND_SLOT_LEN 1280
#define LAND_VICTIMS  32 /* at most */

struct plot_info {
	struct ibv_mr *mr;
	uint8_t *at;
	uint32_t len;
};

struct land {
	struct ibv_pd *pd[DOMAIN_NB];
	struct plot_info plot[DOMAIN_NB][PLOT_NB];
	uint32_t dead_key[DOMAIN_NB]; /* of a region that was deregistered */
	uint8_t *dead_at;
	uint8_t *at, *pristine;
	size_t len;
};

bool land_open(struct land *land, struct ibv_context *context);
void land_close(struct land *land);

/**
 * Elements over `len` bytes, at most 1200, of a victim's slot, with a gap inside.
 * @return how many: 1 or 2
 */
int land_slot(const struct land *land, enum domain domain, unsigned victim, unsigned slot,
	      uint32_t len, struct ibv_sge sge[2]);

/** An address and a key for a request of the peer, mostly good ones for `len` bytes of `plot`. */
void land_aim(const struct land *land, enum domain domain, enum plot plot, uint32_t len,
	      struct rng *rng, uint64_t *va, uint32_t *rkey);

/**
 * Whether everything that must not change is as it was.
 * @return NULL, or what was written to, in words
 */
const char *land_check(const struct land *land);

#endif /* FUZZ_FRAMES_LAND_H */
