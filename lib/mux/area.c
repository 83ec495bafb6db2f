/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An area's life, from both sides: one makes it, the other one judges and maps it.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "mux/area.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TMPFS 0x01021994 /* statfs(2) */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define LINE  64u
#define PAGE  UINT64_C(4096)

static uint64_t
round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

static bool
is_power_of_two(uint32_t nb, uint32_t min, uint32_t max)
{
	return nb >= min && nb <= max && (nb & (nb - 1)) == 0;
}

static bool
is_in_bounds(const struct uroce_area_plan *plan)
{
	const uint32_t nb_pairs = plan->nb_pairs, frame_max = plan->frame_max;

	return nb_pairs >= 1 && nb_pairs <= UROCE_AREA_PAIRS_MAX &&
	       is_power_of_two(plan->nb_slots, UROCE_LANE_SLOTS_MIN, UROCE_LANE_SLOTS_MAX) &&
	       is_power_of_two(plan->nb_bindings, UROCE_BINDINGS_MIN, UROCE_BINDINGS_MAX) &&
	       frame_max >= UROCE_AREA_FRAME_MIN && frame_max <= UROCE_AREA_FRAME_MAX;
}

static uint64_t
bindings_at(const struct uroce_area_plan *plan)
{
	return 2 * plan->nb_pairs * round_up(uroce_lane_size(plan->nb_slots), LINE);
}

static uint64_t
bindings_len(const struct uroce_area_plan *plan)
{
	return plan->nb_bindings * sizeof(uint64_t);
}

static uint64_t
buffers_at(const struct uroce_area_plan *plan)
{
	return round_up(bindings_at(plan) + bindings_len(plan), PAGE);
}

static uint64_t
stride(const struct uroce_area_plan *plan)
{
	return round_up(plan->frame_max, LINE);
}

bool
uroce_area_lay_out(struct uroce_area_plan *plan, uint32_t nb_pairs, uint32_t nb_slots,
		   uint32_t frame_max, uint32_t nb_bindings)
{
	const uint64_t lane = round_up(uroce_lane_size(nb_slots), LINE);

	*plan = (struct uroce_area_plan){
		.frame_max = frame_max,
		.nb_slots = nb_slots,
		.nb_pairs = nb_pairs,
		.nb_bindings = nb_bindings,
	};
	if (!is_in_bounds(plan))
		return false;
	plan->bindings = bindings_at(plan);
	for (uint32_t i = 0; i < nb_pairs; i++) {
		plan->up[i] = 2 * i * lane;
		plan->down[i] = (2 * i + 1) * lane;
	}
	plan->size = round_up(buffers_at(plan) + 2ull * nb_pairs * nb_slots * stride(plan), PAGE);
	return plan->size <= UROCE_AREA_SIZE_MAX;
}

uint64_t
uroce_area_buffer(const struct uroce_area_plan *plan, uint32_t pair, bool is_down, uint32_t slot)
{
	const uint64_t idx = (2ull * pair + is_down) * plan->nb_slots + slot;

	return buffers_at(plan) + idx * stride(plan);
}

int
uroce_area_map(struct uroce_area *area, const struct uroce_area_plan *plan, int fd)
{
	void *mem =
		mmap(NULL, plan->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

	if (mem == MAP_FAILED)
		return -errno;
	area->mem = mem;
	area->plan = *plan;
	return 0;
}

int
uroce_area_create(struct uroce_area *area, const struct uroce_area_plan *plan, int *fd)
{
	const int file = memfd_create("uroce-area", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int ret;

	if (file < 0)
		return -errno;
	ret = -posix_fallocate(file, 0, (off_t)plan->size);
	if (ret == 0 && fcntl(file, F_ADD_SEALS, SEALS) < 0)
		ret = -errno;
	if (ret == 0)
		ret = uroce_area_map(area, plan, file);
	if (ret < 0)
		(void)close(file);
	else
		*fd = file;
	return ret;
}

/* Lanes lie apart from each other: one cannot be another's index. */
static const char *
judge_lanes(const struct uroce_area_plan *plan)
{
	const uint64_t len = uroce_lane_size(plan->nb_slots);
	uint64_t at[2 * UROCE_AREA_PAIRS_MAX];
	uint32_t nb = 0;

	for (uint32_t i = 0; i < plan->nb_pairs; i++) {
		at[nb++] = plan->up[i];
		at[nb++] = plan->down[i];
	}
	for (uint32_t i = 0; i < nb; i++) {
		if (at[i] % LINE != 0 || at[i] > plan->size || plan->size - at[i] < len)
			return "a lane of it is not within it, at a multiple of 64";
		for (uint32_t j = 0; j < i; j++) {
			if (at[i] < at[j] + len && at[j] < at[i] + len)
				return "lanes of it overlap";
		}
	}
	return NULL;
}

/* It is only read, whatever else lies there. */
static const char *
judge_bindings(const struct uroce_area_plan *plan)
{
	if (plan->bindings % LINE != 0 || plan->bindings > plan->size ||
	    plan->size - plan->bindings < bindings_len(plan))
		return "its table of bindings is not within it, at a multiple of 64";
	return NULL;
}

static const char *
judge_file(uint64_t size, int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return "it is no file";
	if (fs.f_type != TMPFS)
		return "its file is not in tmpfs";
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return "its file can become shorter";
	if (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
		return "its file cannot be written to";
	if ((uint64_t)st.st_size < size)
		return "its file is shorter than its plan";
	if ((uint64_t)st.st_blocks * 512 < size)
		return "pages of it are not there";
	return NULL;
}

const char *
uroce_area_judge(const struct uroce_area_plan *plan, int fd, uint32_t frame_max)
{
	const char *wrong;

	if (!is_in_bounds(plan))
		return "pairs, slots, bindings or bytes of a frame are out of bounds";
	if (plan->frame_max < frame_max)
		return "its buffers are shorter than the port's frames";
	if (plan->size > UROCE_AREA_SIZE_MAX || plan->size % PAGE != 0 ||
	    plan->size < plan->frame_max)
		return "its size is out of bounds";
	wrong = judge_lanes(plan);
	if (!wrong)
		wrong = judge_bindings(plan);
	return wrong ? wrong : judge_file(plan->size, fd);
}

void
uroce_area_unmap(struct uroce_area *area)
{
	if (area->mem)
		(void)munmap(area->mem, area->plan.size);
	area->mem = NULL;
}
