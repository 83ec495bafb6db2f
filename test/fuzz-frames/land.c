/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The memory of the target. The address of this memory is fixed, so that runs with the same seed
 * use the same addresses. The address is outside of the heap of the address sanitizer, which is at
 * 0x500000000000 or 0x600000000000, depending on the release, and four tebibytes long.
 */

#include "land.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <rte_common.h>
#include <uroce.h>

#define LAND_AT   UINT64_C(0x410000000000)
#define FENCE_LEN 512 /* length of the canaries before and behind every region */
#define DEAD_LEN  4096
#define GAP_AT    300 /* offset in a slot of the gap between the two elements of a request */
#define GAP_LEN   40

static const struct {
	uint32_t len;
	int access;
} plots[PLOT_NB] = {
	[PLOT_ALL] = { 16384, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC },
	[PLOT_READ] = { 8191, IBV_ACCESS_REMOTE_READ },
	[PLOT_ATOMIC] = { 4099, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC },
	[PLOT_BARE] = { 6001, 0 },
	[PLOT_LOCAL] = { LAND_VICTIMS * LAND_SLOTS * LAND_SLOT_LEN, IBV_ACCESS_LOCAL_WRITE },
};

static_assert(sizeof(LAND_SECRET) == LAND_SECRET_LEN + 1, "the length of the secret");

/*
 * Fill the target's memory with the secret, except regions that the peer may read and regions whose
 * content is sent.
 */
static void
plant(struct land *land)
{
	static const enum plot open_plots[] = { PLOT_ALL, PLOT_READ, PLOT_BARE };

	for (size_t i = 0; i < land->len; i++)
		land->at[i] = (uint8_t)LAND_SECRET[i % LAND_SECRET_LEN];
	for (unsigned i = 0; i < DOMAIN_NB * RTE_DIM(open_plots); i++) {
		const struct plot_info *plot =
			&land->plot[i % DOMAIN_NB][open_plots[i / DOMAIN_NB]];

		for (uint32_t k = 0; k < plot->len; k++)
			plot->at[k] = (uint8_t)((k + i + 1) * 2654435761u >> 13);
	}
	memcpy(land->pristine, land->at, land->len);
}

static bool
map(struct land *land)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;

	land->len = FENCE_LEN;
	for (unsigned i = 0; i < PLOT_NB; i++)
		land->len += DOMAIN_NB * (RTE_ALIGN_CEIL(plots[i].len, 64u) + FENCE_LEN);
	land->len += DEAD_LEN + FENCE_LEN;
	land->at = mmap((void *)(uintptr_t)LAND_AT, land->len, prot, flags | MAP_FIXED_NOREPLACE,
			-1, 0);
	land->pristine = mmap(NULL, land->len, prot, flags, -1, 0);
	return land->at != MAP_FAILED && land->pristine != MAP_FAILED;
}

static bool
add_dead_key(struct land *land, enum domain domain)
{
	struct ibv_mr *mr =
		uroce_reg_mr(land->pd[domain], land->dead_at, DEAD_LEN, plots[PLOT_ALL].access);

	if (!mr)
		return false;
	land->dead_key[domain] = mr->rkey;
	return uroce_dereg_mr(mr) == 0;
}

bool
land_open(struct land *land, struct ibv_context *context)
{
	uint8_t *at;

	if (!map(land))
		return false;
	at = land->at + FENCE_LEN;
	for (unsigned d = 0; d < DOMAIN_NB; d++) {
		land->pd[d] = uroce_alloc_pd(context);
		if (!land->pd[d])
			return false;
		for (unsigned i = 0; i < PLOT_NB; i++) {
			struct plot_info *plot = &land->plot[d][i];

			plot->at = at;
			plot->len = plots[i].len;
			plot->mr = uroce_reg_mr(land->pd[d], at, plot->len, plots[i].access);
			if (!plot->mr)
				return false;
			at += RTE_ALIGN_CEIL(plots[i].len, 64u) + FENCE_LEN;
		}
	}
	land->dead_at = at;
	plant(land);
	return add_dead_key(land, DOMAIN_OPEN) && add_dead_key(land, DOMAIN_CLOSED);
}

void
land_close(struct land *land)
{
	for (unsigned d = 0; d < DOMAIN_NB; d++) {
		for (unsigned i = 0; i < PLOT_NB; i++)
			(void)uroce_dereg_mr(land->plot[d][i].mr);
		(void)uroce_dealloc_pd(land->pd[d]);
	}
}

int
land_slot(const struct land *land, enum domain domain, unsigned victim, unsigned slot, uint32_t len,
	  struct ibv_sge sge[2])
{
	const struct plot_info *plot = &land->plot[domain][PLOT_LOCAL];
	const uintptr_t at = (uintptr_t)plot->at + (victim * LAND_SLOTS + slot) * LAND_SLOT_LEN;

	sge[0] = (struct ibv_sge){ at, RTE_MIN(len, (uint32_t)GAP_AT), plot->mr->lkey };
	sge[1] = (struct ibv_sge){ at + GAP_AT + GAP_LEN, len - sge[0].length, plot->mr->lkey };
	return sge[1].length ? 2 : 1;
}

void
land_aim(const struct land *land, enum domain domain, enum plot plot, uint32_t len, struct rng *rng,
	 uint64_t *va, uint32_t *rkey)
{
	const struct plot_info *info = &land->plot[domain][plot];
	const uint32_t room = info->len > len ? info->len - len : 0;
	const uint32_t how = rng_below(rng, 24);

	*va = (uintptr_t)info->at + (rng_below(rng, room + 1) & ~7u);
	*rkey = info->mr->rkey;
	switch (how) {
	case 0: /* an address around the end of the region */
		*va = (uintptr_t)info->at + room + rng_below(rng, 9) - 4;
		break;
	case 1: /* an address around the beginning of the region */
		*va = (uintptr_t)info->at + rng_below(rng, 9) - 4;
		break;
	case 2: /* a range close to the end of the address space, which may wrap around */
		*va = 0 - (uint64_t)rng_below(rng, 2 * len + 2);
		break;
	/* the address of another region, with the key of that region or with the key of `plot` */
	case 3:
		info = &land->plot[domain][rng_below(rng, PLOT_NB)];
		*va = (uintptr_t)info->at;
		if (rng_once_in(rng, 2))
			*rkey = info->mr->rkey;
		break;
	case 4: /* a key and an address of the other protection domain */
		*rkey = land->plot[!domain][rng_below(rng, PLOT_NB)].mr->rkey;
		*va = (uintptr_t)land->plot[!domain][PLOT_ALL].at;
		break;
	case 5:
		*va = (uintptr_t)land->dead_at;
		*rkey = land->dead_key[domain];
		break;
	case 6:
		*rkey ^= 1u << rng_below(rng, 32);
		break;
	}
}

/*
 * Compare memory that must not change with its original content.
 * @return whether the memory is unchanged
 */
static bool
is_pristine(const struct land *land, const uint8_t *at, size_t len)
{
	return memcmp(at, land->pristine + (at - land->at), len) == 0;
}

/*
 * Whether those parts of the slots are unchanged that no request uses: the gap between the two
 * elements of a request, and the end of each slot.
 */
static bool
are_gaps_pristine(const struct land *land, const struct plot_info *plot)
{
	const uint32_t end = 1200 + GAP_LEN;

	for (uint32_t off = 0; off < plot->len; off += LAND_SLOT_LEN) {
		if (!is_pristine(land, plot->at + off + GAP_AT, GAP_LEN) ||
		    !is_pristine(land, plot->at + off + end, LAND_SLOT_LEN - end))
			return false;
	}
	return true;
}

static bool
is_plot_right(const struct land *land, enum domain domain, enum plot plot)
{
	const struct plot_info *info = &land->plot[domain][plot];
	const bool is_writable = domain == DOMAIN_OPEN && (plot == PLOT_ALL || plot == PLOT_ATOMIC);

	if (plot == PLOT_LOCAL)
		return are_gaps_pristine(land, info);
	return is_writable || is_pristine(land, info->at, info->len);
}

const char *
land_check(const struct land *land)
{
	static const char *const names[PLOT_NB] = {
		"all", "remote-read", "atomic", "rightless", "local-write (outside the requests)",
	};
	static char text[128];

	if (!is_pristine(land, land->at, FENCE_LEN))
		return "memory before the first region was written to";
	for (unsigned d = 0; d < DOMAIN_NB; d++) {
		for (unsigned i = 0; i < PLOT_NB; i++) {
			const struct plot_info *plot = &land->plot[d][i];
			const uint32_t room = RTE_ALIGN_CEIL(plot->len, 64u);
			const char *what = NULL;

			if (!is_plot_right(land, (enum domain)d, (enum plot)i))
				what = "a region that nobody may write to";
			else if (!is_pristine(land, plot->at + plot->len,
					      room - plot->len + FENCE_LEN))
				what = "memory behind a region";
			if (!what)
				continue;
			snprintf(text, sizeof(text), "%s was written to: plot %s of domain %u",
				 what, names[i], d);
			return text;
		}
	}
	if (!is_pristine(land, land->dead_at, DEAD_LEN + FENCE_LEN))
		return "a deregistered region was written to";
	return NULL;
}
