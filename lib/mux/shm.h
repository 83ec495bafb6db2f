/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MUX_SHM_H
#define UROCE_MUX_SHM_H

/**
 * @file
 * Shared memory of a client and uroced (the daemon that owns the port). It is one file for each
 * client. The client creates the file. It has a pair of SPSC rings for each worker of the client,
 * the buffers of the frames, and the table of bindings [mux/binding.h]. The layout is not stored in
 * the file: it is part of the message that attaches the file, and uroced checks it there.
 *
 * The file is in tmpfs, is sealed against shrinking, and has all its pages, which the client has
 * allocated and which are charged to the client. After mapping the file uroced also seals the file,
 * so that no page can be removed (F_SEAL_FUTURE_WRITE). Then it checks that no page is missing.
 * From then on no page can be removed. So neither side gets a fault, and no page is charged to
 * uroced.
 *
 * A tmpfs file with this seal (F_SEAL_FUTURE_WRITE) cannot be mapped for writing again. So a file
 * is attached once, and a client that attaches again creates a new file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mux/spsc_ring.h"

/** Maximum number of pairs of SPSC rings of a client: as many as a device may have workers. */
#define UROCE_SHM_PAIRS_MAX 32u

/**
 * Maximum length in bytes of the shared memory of a client. It limits how much memory one client
 * may pin.
 */
#define UROCE_SHM_SIZE_MAX (UINT64_C(512) << 20)

/**
 * Minimum and maximum length of a frame in bytes. The smallest frame has the headers of Ethernet,
 * IPv4, UDP and BTH.
 */
#define UROCE_SHM_FRAME_MIN 54u
#define UROCE_SHM_FRAME_MAX 9216u

/**
 * Minimum and maximum number of slots of a client's table of bindings. The number is a power of
 * two. The maximum is twice the number of QP numbers that a client may have, so that each number
 * has a slot.
 */
#define UROCE_BINDINGS_MIN 64u
#define UROCE_BINDINGS_MAX (1u << 19)

/** Layout of the shared memory of a client. Offsets are in bytes from its beginning. */
struct uroce_shm_layout {
	uint64_t size;
	uint32_t frame_max; /* length in bytes of the buffer of each frame */
	uint32_t nb_slots;  /* number of slots of each SPSC ring */
	uint32_t nb_pairs;
	uint32_t nb_bindings;
	uint64_t bindings;
	uint64_t up[UROCE_SHM_PAIRS_MAX];
	uint64_t down[UROCE_SHM_PAIRS_MAX];
};

/** Shared memory of a client that is mapped into this process. */
struct uroce_shm {
	uint8_t *mem; /* address of the mapping; NULL if the memory is not mapped */
	struct uroce_shm_layout plan;
};

/**
 * Compute the layout of a client's shared memory: first the SPSC rings, then the table of bindings,
 * then a frame buffer for each slot, in the order of the rings, up before down.
 * @return whether the numbers are in bounds
 */
bool uroce_shm_lay_out(struct uroce_shm_layout *plan, uint32_t nb_pairs, uint32_t nb_slots,
		       uint32_t frame_max, uint32_t nb_bindings);

/**
 * Compute the offset of the frame buffer that belongs to a slot of an SPSC ring, in a layout that
 * uroce_shm_lay_out() has computed.
 */
uint64_t uroce_shm_buffer(const struct uroce_shm_layout *plan, uint32_t pair, bool is_down,
			  uint32_t slot);

/**
 * Create the file of a client's shared memory. It is filled with zeros, its length is sealed, and
 * its pages are allocated.
 * @param[out] fd  descriptor of the file, owned by the caller; it is closed on exec
 * @return 0, or -errno
 */
int uroce_shm_create(struct uroce_shm *shm, const struct uroce_shm_layout *plan, int *fd);

/**
 * Check the layout and the file of shared memory that a client has created.
 * @param fd  descriptor of the file
 * @param frame_max  minimum length in bytes that the frame buffers must have
 * @return NULL: the file can be mapped; otherwise the reason, the end of a sentence ("its file can
 *	become shorter")
 */
const char *uroce_shm_check(const struct uroce_shm_layout *plan, int fd, uint32_t frame_max);

/**
 * Map shared memory that uroce_shm_check() has accepted. The call accesses no page.
 * @return 0, or -errno
 */
int uroce_shm_map(struct uroce_shm *shm, const struct uroce_shm_layout *plan, int fd);

/**
 * Seal the file of mapped shared memory, so that no page can be removed, and check that the file
 * has all pages. The call blocks until writes to the file by other threads end. After the call the
 * file may be closed.
 * @return NULL: accesses will not fault, and no page will be allocated; otherwise the reason, the
 *	end of a sentence
 */
const char *uroce_shm_seal(const struct uroce_shm_layout *plan, int fd);

/**
 * Whether uroce_shm_seal() has sealed the file `fd` of shared memory. If so, the file cannot be
 * mapped for writing again.
 */
bool uroce_shm_is_sealed(int fd);

/**
 * Replace the memory of a pair of SPSC rings and of its frame buffers by that of new shared memory.
 * Both have the layout of uroce_shm_lay_out(), and the i-th slot of a ring has the i-th buffer. The
 * contents of the rings are copied, and addresses do not change. `up` and `down` are the client's
 * ends of the pair. No thread uses the ends or the rings during the call.
 * @param fresh  the new shared memory; its mapping of this pair is removed in any case
 * @return 0; -errno: the pair can be used as before, but its memory does not all belong to the new
 *	file
 */
int uroce_shm_renew_pair(const struct uroce_shm *shm, const struct uroce_shm *fresh, uint32_t pair,
			 const struct uroce_spsc_end *up, const struct uroce_spsc_end *down);

/**
 * Replace the memory of the table of bindings by that of new shared memory. No thread writes
 * bindings during the call.
 * @return 0; -errno: as uroce_shm_renew_pair()
 */
int uroce_shm_renew_bindings(const struct uroce_shm *shm, const struct uroce_shm *fresh);

/** Unmap the shared memory of a client, if it is mapped. */
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

/** Whether the frame that a descriptor of an SPSC ring names is within the shared memory. */
static inline bool
uroce_shm_has(const struct uroce_shm *shm, struct uroce_spsc_desc frame)
{
	return frame.len >= UROCE_SHM_FRAME_MIN && frame.len <= shm->plan.frame_max &&
	       frame.offset <= shm->plan.size - frame.len;
}

/** Whether the empty buffer that a descriptor of an SPSC ring names is within the shared memory. */
static inline bool
uroce_shm_has_buffer(const struct uroce_shm *shm, struct uroce_spsc_desc buffer)
{
	return buffer.offset <= shm->plan.size - shm->plan.frame_max;
}

#endif /* UROCE_MUX_SHM_H */
