/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MUX_SHM_H
#define UROCE_MUX_SHM_H

/**
 * @file
 * The area: one file in memory for each client of uroced, which the client makes, with a pair of lanes for
 * each of its workers, the buffers of the frames, and the table of bindings [mux/binding.h]. Nothing in the area says anything about the area: its
 * plan is said in the message that attaches it, and judged there.
 *
 * It lies in tmpfs, is sealed against becoming shorter and is full of pages, which the client has entered and which
 * are charged to it. Once uroced has mapped it, uroced seals it against holes, too, and then sees whether there is one:
 * from then on no page of it can go, so neither side faults, and none is ever charged to uroced. A file of tmpfs that is sealed so
 * (F_SEAL_FUTURE_WRITE) cannot be mapped for writing again: an area is attached once, and who attaches again makes
 * another one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mux/spsc_ring.h"

/** Pairs of lanes: as many as a device may have workers. */
#define UROCE_SHM_PAIRS_MAX 32u

/** Bytes of an area at most: so much memory one client may bind. */
#define UROCE_SHM_SIZE_MAX (UINT64_C(512) << 20)

/** Bytes of a frame: a header of Ethernet, IPv4, UDP and BTH at least. */
#define UROCE_SHM_FRAME_MIN 54u
#define UROCE_SHM_FRAME_MAX 9216u

/** Slots of the table of bindings: a power of two in these bounds. Twice as many as a client may have QP numbers, so that each has one. */
#define UROCE_BINDINGS_MIN 64u
#define UROCE_BINDINGS_MAX (1u << 19)

/** Where things are, in bytes from the area's beginning. */
struct uroce_shm_layout {
	uint64_t size;
	uint32_t frame_max; /* bytes of a buffer */
	uint32_t nb_slots;  /* of each lane */
	uint32_t nb_pairs;
	uint32_t nb_bindings;
	uint64_t bindings;
	uint64_t up[UROCE_SHM_PAIRS_MAX];
	uint64_t down[UROCE_SHM_PAIRS_MAX];
};

/** An area that is mapped. */
struct uroce_shm {
	uint8_t *mem; /* NULL: none */
	struct uroce_shm_layout plan;
};

/**
 * Lay out an area: lanes first, then the table of bindings, then a buffer for each slot, in the order of the lanes, up
 * before down.
 * @return whether there is such an area: its numbers are in bounds
 */
bool uroce_shm_lay_out(struct uroce_shm_layout *plan, uint32_t nb_pairs, uint32_t nb_slots,
		       uint32_t frame_max, uint32_t nb_bindings);

/** Offset of the buffer of a slot, in an area that was laid out so. */
uint64_t uroce_shm_buffer(const struct uroce_shm_layout *plan, uint32_t pair, bool is_down,
			  uint32_t slot);

/**
 * Make an area: zeroed, sealed against another length, its pages there.
 * @param[out] fd  of its file, the caller's; closed on exec
 * @return 0, or -errno
 */
int uroce_shm_create(struct uroce_shm *shm, const struct uroce_shm_layout *plan, int *fd);

/**
 * What is wrong with an area that somebody else made.
 * @param fd         its file
 * @param frame_max  bytes that its buffers must have at least
 * @return NULL: it can be mapped; else a sentence's end ("its file can become shorter")
 */
const char *uroce_shm_check(const struct uroce_shm_layout *plan, int fd, uint32_t frame_max);

/** Map an area that was judged; none of its pages is touched. @return 0, or -errno */
int uroce_shm_map(struct uroce_shm *shm, const struct uroce_shm_layout *plan, int fd);

/**
 * Seal the file of an area that is mapped, so that no page of it can go, and see whether all are there. Waits for who writes to the
 * file at that moment. The file may be closed then.
 * @return NULL: the mapping will not fault, nor get pages that the client has not made; else a sentence's end
 */
const char *uroce_shm_seal(const struct uroce_shm_layout *plan, int fd);

/** Whether somebody has: then nobody can map it any more. */
bool uroce_shm_is_sealed(int fd);

/**
 * Put a pair of lanes of a new area, with its buffers, in the place of those of another one that was laid out alike, the i-th
 * slot of whose lanes has the i-th buffer. What is in the lanes stays there; so do addresses. The pair's ends are the
 * client's, which nobody uses meanwhile; the lanes have no other user.
 * @param fresh  the new area; this pair's part of it is mapped there no more, whatever is returned
 * @return 0, or -errno: the pair can be used as before, but its memory is not all of one area
 */
int uroce_shm_renew_pair(const struct uroce_shm *shm, const struct uroce_shm *fresh, uint32_t pair,
			 const struct uroce_spsc_end *up, const struct uroce_spsc_end *down);

/** The same with its bindings, which nobody writes meanwhile. @return 0, or -errno: as above */
int uroce_shm_renew_bindings(const struct uroce_shm *shm, const struct uroce_shm *fresh);

/** Unmap it, if it is mapped. */
void uroce_shm_unmap(struct uroce_shm *shm);

static inline struct uroce_spsc_ring *
uroce_shm_up(const struct uroce_shm *shm, uint32_t pair)
{
	return (struct uroce_spsc_ring *)(shm->mem + shm->plan.up[pair]);
}

static inline struct uroce_spsc_ring *
uroce_shm_down(const struct uroce_shm *shm, uint32_t pair)
{
	return (struct uroce_spsc_ring *)(shm->mem + shm->plan.down[pair]);
}

static inline _Atomic uint64_t *
uroce_shm_bindings(const struct uroce_shm *shm)
{
	return (_Atomic uint64_t *)(shm->mem + shm->plan.bindings);
}

/** Whether a frame that a slot names lies within the area. */
static inline bool
uroce_shm_has(const struct uroce_shm *shm, struct uroce_spsc_desc frame)
{
	return frame.len >= UROCE_SHM_FRAME_MIN && frame.len <= shm->plan.frame_max &&
	       frame.offset <= shm->plan.size - frame.len;
}

/** Whether the empty buffer that a slot names does. */
static inline bool
uroce_shm_has_buffer(const struct uroce_shm *shm, struct uroce_spsc_desc buffer)
{
	return buffer.offset <= shm->plan.size - shm->plan.frame_max;
}

#endif /* UROCE_MUX_SHM_H */
