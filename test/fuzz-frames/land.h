/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAMES_LAND_H
#define FUZZ_FRAMES_LAND_H

/**
 * The memory of the target: regions with several combinations of access rights in one mapping,
 * canaries between the regions, and a copy of the original content. Memory that the peer has no
 * right to write must not change.
 *
 * Two protection domains have the same kinds of regions. Victims of the domain OPEN grant the
 * access rights that the table of victims lists. Victims of the domain CLOSED grant no writes. So
 * the regions of CLOSED must not change, except for the slots into which the victims receive.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "rng.h"

enum domain { DOMAIN_OPEN, DOMAIN_CLOSED, DOMAIN_NB };

enum plot {
	/* region with the rights to local writes, remote writes, remote reads and atomics */
	PLOT_ALL,
	PLOT_READ,   /* region with the right to remote reads only */
	PLOT_ATOMIC, /* region with the rights to local writes and atomics only */
	PLOT_BARE,   /* region without rights, which has the data that victims send */
	/* region with the right to local writes: slots for receive requests and responses */
	PLOT_LOCAL,
	PLOT_NB
};

/**
 * The content of all memory that the peer may not read. No READ response may contain these bytes.
 */
#define LAND_SECRET     "uRoCE#\xa5\x5a"
#define LAND_SECRET_LEN 8

/**
 * Each victim has LAND_SLOTS slots in PLOT_LOCAL. A request has one or two elements, which use a
 * part of a slot.
 */
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
	/* for each domain, the key of a region that was deregistered */
	uint32_t dead_key[DOMAIN_NB];
	uint8_t *dead_at;
	uint8_t *at, *pristine;
	size_t len;
};

bool land_open(struct land *land, struct ibv_context *context);
void land_close(struct land *land);

/**
 * Make the elements of a request that uses `len` bytes of a victim's slot, at most 1200. There is a
 * gap between two elements.
 * @return number of elements, 1 or 2
 */
int land_slot(const struct land *land, enum domain domain, unsigned victim, unsigned slot,
	      uint32_t len, struct ibv_sge sge[2]);

/**
 * Draw a remote address and an rkey for a request of the attacker. In most cases the address and
 * the rkey are valid for `len` bytes of the region `plot`.
 */
void land_aim(const struct land *land, enum domain domain, enum plot plot, uint32_t len,
	      struct rng *rng, uint64_t *va, uint32_t *rkey);

/**
 * Check that no frame has changed memory that it must not change: regions without a right to write,
 * gaps in the slots, and canaries.
 * @return NULL, or a description of the memory that has changed
 */
const char *land_check(const struct land *land);

#endif /* FUZZ_FRAMES_LAND_H */
