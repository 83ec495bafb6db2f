/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shared memory of a client of uroced, the daemon that owns the port. The client's side creates it
 * and renews parts of it; uroced's side checks, maps and seals it.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "mux/shm.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TMPFS 0x01021994 /* magic number of tmpfs, as statfs(2) returns it */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)
#define LINE  64u
#define PAGE  UINT64_C(4096)

static uint64_t
round_up_to(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

static bool
is_power_of_two(uint32_t nb, uint32_t min, uint32_t max)
{
	return nb >= min && nb <= max && (nb & (nb - 1)) == 0;
}

static bool
is_in_bounds(const struct uroce_shm_layout *plan)
{
	const uint32_t nb_pairs = plan->nb_pairs, frame_max = plan->frame_max;

	return nb_pairs >= 1 && nb_pairs <= UROCE_SHM_PAIRS_MAX &&
	       is_power_of_two(plan->nb_slots, UROCE_SPSC_SLOTS_MIN, UROCE_SPSC_SLOTS_MAX) &&
	       is_power_of_two(plan->nb_bindings, UROCE_BINDINGS_MIN, UROCE_BINDINGS_MAX) &&
	       frame_max >= UROCE_SHM_FRAME_MIN && frame_max <= UROCE_SHM_FRAME_MAX;
}

static uint64_t
bindings_len(const struct uroce_shm_layout *plan)
{
	return plan->nb_bindings * sizeof(uint64_t);
}

/*
 * Compute the length in bytes of a pair of SPSC rings. The length is a multiple of the page size,
 * so that the memory of one pair can be replaced.
 */
static uint64_t
get_rings_len(uint32_t nb_slots)
{
	return round_up_to(2 * round_up_to(uroce_spsc_size(nb_slots), LINE), PAGE);
}

static uint64_t
buffers_at(const struct uroce_shm_layout *plan)
{
	return plan->bindings + round_up_to(bindings_len(plan), PAGE);
}

static uint64_t
get_stride(const struct uroce_shm_layout *plan)
{
	return round_up_to(plan->frame_max, LINE);
}

/*
 * Compute the length in bytes of the frame buffers of a pair of SPSC rings. The length is a
 * multiple of the page size, because even the minimum, 2 * 64 buffers of 64 bytes, fills whole
 * pages.
 */
static uint64_t
buffers_len(const struct uroce_shm_layout *plan)
{
	static_assert(2 * UROCE_SPSC_SLOTS_MIN * LINE % PAGE == 0, "whole pages");
	return 2ull * plan->nb_slots * get_stride(plan);
}

bool
uroce_shm_lay_out(struct uroce_shm_layout *plan, uint32_t nb_pairs, uint32_t nb_slots,
		  uint32_t frame_max, uint32_t nb_bindings)
{
	const uint64_t ring = round_up_to(uroce_spsc_size(nb_slots), LINE);

	*plan = (struct uroce_shm_layout){
		.frame_max = frame_max,
		.nb_slots = nb_slots,
		.nb_pairs = nb_pairs,
		.nb_bindings = nb_bindings,
	};
	if (!is_in_bounds(plan))
		return false;
	plan->bindings = nb_pairs * get_rings_len(nb_slots);
	for (uint32_t i = 0; i < nb_pairs; i++) {
		plan->up[i] = i * get_rings_len(nb_slots);
		plan->down[i] = plan->up[i] + ring;
	}
	plan->size = buffers_at(plan) + nb_pairs * buffers_len(plan);
	return plan->size <= UROCE_SHM_SIZE_MAX;
}

uint64_t
uroce_shm_buffer(const struct uroce_shm_layout *plan, uint32_t pair, bool is_down, uint32_t slot)
{
	const uint64_t idx = (2ull * pair + is_down) * plan->nb_slots + slot;

	return buffers_at(plan) + idx * get_stride(plan);
}

static int
map_file(struct uroce_shm *shm, const struct uroce_shm_layout *plan, int fd, int flags)
{
	void *mem = mmap(NULL, plan->size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);

	if (mem == MAP_FAILED)
		return -errno;
	shm->mem = mem;
	shm->plan = *plan;
	return 0;
}

int
uroce_shm_map(struct uroce_shm *shm, const struct uroce_shm_layout *plan, int fd)
{
	return map_file(shm, plan, fd, 0);
}

int
uroce_shm_create(struct uroce_shm *shm, const struct uroce_shm_layout *plan, int *fd)
{
	const int file = memfd_create("uroce-area", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int ret;

	if (file < 0)
		return -errno;
	ret = -posix_fallocate(file, 0, (off_t)plan->size);
	if (ret == 0 && fcntl(file, F_ADD_SEALS, SEALS) < 0)
		ret = -errno;
	if (ret == 0)
		ret = map_file(shm, plan, file, MAP_POPULATE);
	if (ret < 0)
		(void)close(file);
	else
		*fd = file;
	return ret;
}

/* --- renewal of the client's memory ---------------------------------------------------------------- */

static void
copy_ring(struct uroce_spsc_ring *to, const struct uroce_spsc_ring *from, uint32_t nb_slots,
	  uint32_t tail, uint32_t nb_full)
{
	for (uint32_t i = 0; i < nb_slots; i++)
		atomic_store_explicit(&to->slot[i],
				      atomic_load_explicit(&from->slot[i], memory_order_relaxed),
				      memory_order_relaxed);
	atomic_store_explicit(&to->sleeps,
			      atomic_load_explicit(&from->sleeps, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&to->tail, tail, memory_order_relaxed);
	atomic_store_explicit(&to->head, tail + nb_full, memory_order_release);
}

/*
 * Copy the frame buffers of the full slots of an SPSC ring. The contents of the other buffers are
 * not used.
 */
static void
copy_buffers(const struct uroce_shm *to, const struct uroce_shm *from, uint32_t pair, bool is_down,
	     uint32_t tail, uint32_t nb_full)
{
	const struct uroce_shm_layout *plan = &to->plan;

	for (uint32_t i = 0; i < nb_full; i++) {
		const uint64_t at =
			uroce_shm_buffer(plan, pair, is_down, (tail + i) & (plan->nb_slots - 1));

		memcpy(to->mem + at, from->mem + at, get_stride(plan));
	}
}

/*
 * Replace pages of the mapped shared memory `shm` by the pages of the new shared memory `fresh` at
 * the same offsets. Other threads see either the old or the new page.
 */
static int
move_pages(const struct uroce_shm *shm, const struct uroce_shm *fresh, uint64_t at, uint64_t len)
{
	int ret;

	if (mremap(fresh->mem + at, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, shm->mem + at) !=
	    MAP_FAILED)
		return 0;
	ret = -errno;
	(void)munmap(fresh->mem + at, len);
	return ret;
}

int
uroce_shm_renew_pair(const struct uroce_shm *shm, const struct uroce_shm *fresh, uint32_t pair,
		     const struct uroce_spsc_end *up, const struct uroce_spsc_end *down)
{
	const struct uroce_shm_layout *plan = &fresh->plan;
	const int32_t room = uroce_spsc_room(up), ready = uroce_spsc_ready(down);
	const uint32_t nb_up = room < 0 ? 0 : plan->nb_slots - (uint32_t)room;
	const uint32_t nb_down = ready < 0 ? 0 : (uint32_t)ready;
	int ret, error;

	copy_ring(uroce_shm_up(fresh, pair), up->ring, plan->nb_slots, up->mine - nb_up, nb_up);
	copy_buffers(fresh, shm, pair, false, up->mine - nb_up, nb_up);
	copy_ring(uroce_shm_down(fresh, pair), down->ring, plan->nb_slots, down->mine, nb_down);
	copy_buffers(fresh, shm, pair, true, down->mine, nb_down);
	ret = move_pages(shm, fresh, uroce_shm_buffer(plan, pair, false, 0), buffers_len(plan));
	error = move_pages(shm, fresh, plan->up[pair], get_rings_len(plan->nb_slots));
	return ret < 0 ? ret : error;
}

int
uroce_shm_renew_bindings(const struct uroce_shm *shm, const struct uroce_shm *fresh)
{
	const struct uroce_shm_layout *plan = &fresh->plan;

	for (uint32_t i = 0; i < plan->nb_bindings; i++)
		atomic_store_explicit(
			&uroce_shm_bindings(fresh)[i],
			atomic_load_explicit(&uroce_shm_bindings(shm)[i], memory_order_relaxed),
			memory_order_relaxed);
	return move_pages(shm, fresh, plan->bindings, round_up_to(bindings_len(plan), PAGE));
}

/* --- checks of a client's memory ------------------------------------------------------------------- */

/*
 * Check that the SPSC rings do not overlap. If they did, a descriptor in one ring could be the head
 * or tail index of another ring.
 */
static const char *
check_rings(const struct uroce_shm_layout *plan)
{
	const uint64_t len = uroce_spsc_size(plan->nb_slots);
	uint64_t at[2 * UROCE_SHM_PAIRS_MAX];
	uint32_t nb = 0;

	for (uint32_t i = 0; i < plan->nb_pairs; i++) {
		at[nb++] = plan->up[i];
		at[nb++] = plan->down[i];
	}
	for (uint32_t i = 0; i < nb; i++) {
		if (at[i] % LINE != 0 || at[i] > plan->size || plan->size - at[i] < len)
			return "an SPSC ring is not within the shared memory, at a multiple of 64";
		for (uint32_t j = 0; j < i; j++) {
			if (at[i] < at[j] + len && at[j] < at[i] + len)
				return "SPSC rings overlap";
		}
	}
	return NULL;
}

/*
 * Check that the table of bindings is within the shared memory. The table may overlap SPSC rings,
 * because uroced only reads the table.
 */
static const char *
check_bindings(const struct uroce_shm_layout *plan)
{
	if (plan->bindings % LINE != 0 || plan->bindings > plan->size ||
	    plan->size - plan->bindings < bindings_len(plan))
		return "the table of bindings is not within the shared memory, at a multiple of 64";
	return NULL;
}

static const char *
check_file(uint64_t size, int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return "the descriptor is no regular file";
	if (fs.f_type != TMPFS)
		return "the file is not in tmpfs";
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return "the file can become shorter";
	if (!(seals & F_SEAL_GROW))
		return "the file can become longer";
	if (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
		return "the file cannot be written to, or was attached before";
	if (seals & F_SEAL_SEAL)
		return "the file cannot be sealed against hole punching";
	if ((uint64_t)st.st_size != size)
		return "the length of the file is not the size of the layout";
	return NULL;
}

const char *
uroce_shm_check(const struct uroce_shm_layout *plan, int fd, uint32_t frame_max)
{
	const char *wrong;

	if (!is_in_bounds(plan))
		return "the number of ring pairs, slots, bindings or bytes of a frame is out of "
		       "bounds";
	if (plan->frame_max < frame_max)
		return "the buffers are shorter than the port's frames";
	if (plan->size > UROCE_SHM_SIZE_MAX || plan->size % PAGE != 0 ||
	    plan->size < plan->frame_max)
		return "the size is out of bounds";
	wrong = check_rings(plan);
	if (!wrong)
		wrong = check_bindings(plan);
	return wrong ? wrong : check_file(plan->size, fd);
}

/*
 * lseek() with SEEK_HOLE finds missing pages (holes) of the file. st_blocks of fstat() does not
 * show holes, because it includes blocks after the end of the file.
 */
const char *
uroce_shm_seal(const struct uroce_shm_layout *plan, int fd)
{
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0)
		return "the file cannot be sealed against hole punching";
	if (lseek(fd, 0, SEEK_HOLE) != (off_t)plan->size)
		return "the file has holes";
	return NULL;
}

bool
uroce_shm_is_sealed(int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_FUTURE_WRITE);
}

void
uroce_shm_unmap(struct uroce_shm *shm)
{
	if (shm->mem)
		(void)munmap(shm->mem, shm->plan.size);
	shm->mem = NULL;
}
