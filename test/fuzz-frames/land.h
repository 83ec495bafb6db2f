/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_LAND_H
#define FUZZ_FRAMES_LAND_H

/**
 * @file
 * The target's memory: regions with all combinations of access rights in one mapping, canaries
 * between them, and a copy of the original content. Memory without a write right for the peer must
 * not change.
 *
 * Two protection domains have the same kinds of regions. QPs of the domain OPEN grant the rights of
 * their table row. QPs of the domain CLOSED grant no writes, so its regions must not change, except
 * for the slots of their own requests.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "rng.h"

enum domain { DOMAIN_OPEN, DOMAIN_CLOSED, DOMAIN_NB };

enum plot {
	/* a region with the rights to local and remote writes, remote reads and atomics */
	PLOT_ALL,
	PLOT_READ,   /* a region with the right to remote reads */
	PLOT_ATOMIC, /* local write and atomics, but no remote write and no remote read */
	PLOT_BARE,   /* a region without rights: the source of data to send */
	PLOT_LOCAL,  /* a region with local writes: slots for receive requests and responses */
	PLOT_NB
};

/** The content of all memory that no READ may return. */
#define LAND_SECRET     "uRoCE#\xa5\x5a"
#define LAND_SECRET_LEN 8

/** Slots of a victim in PLOT_LOCAL. A request uses a part of one, in two pieces. */
#define LAND_SLOTS    16
#define LAND_SLOT_LEN 1280
#define LAND_VICTIMS  32 /* maximum number of victims */

struct plot_info {
	struct ibv_mr *mr;
	uint8_t *at;
	uint32_t len;
};

struct land {
	struct ibv_pd *pd[DOMAIN_NB];
	struct plot_info plot[DOMAIN_NB][PLOT_NB];
	uint32_t dead_key[DOMAIN_NB]; /* key of a deregistered region */
	uint8_t *dead_at;
	uint8_t *at, *pristine;
	size_t len;
};

bool land_open(struct land *land, struct ibv_context *context);
void land_close(struct land *land);

/**
 * Make elements over `len` bytes, at most 1200, of a victim's slot, with a gap between them.
 * @return number of elements, 1 or 2
 */
int land_slot(const struct land *land, enum domain domain, unsigned victim, unsigned slot,
	      uint32_t len, struct ibv_sge sge[2]);

/**
 * Draw an address and a key for a request of the peer, mostly valid ones for `len` bytes of `plot`.
 */
void land_aim(const struct land *land, enum domain domain, enum plot plot, uint32_t len,
	      struct rng *rng, uint64_t *va, uint32_t *rkey);

/**
 * Check that all memory which must not change is unchanged.
 * @return NULL, or a description of the changed memory
 */
const char *land_check(const struct land *land);

#endif /* FUZZ_FRAMES_LAND_H */
