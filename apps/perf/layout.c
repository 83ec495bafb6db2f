/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the layout of the message buffer. Receive requests that remain after the messages of one
 * size are used by messages of the next size. Therefore, in tests in which receive requests can
 * remain, slots have one length for the whole run.
 */

#include "layout.h"

/*
 * The number of QPs above which the buffers of several QPs share a page, because otherwise TLB
 * misses would dominate the result.
 */
#define MANY_QPS 1024u
#define LINE     64u
#define PAGE     4096u
/*
 * With --verify, the limit in bytes of the slots in the `in` areas of all QPs together, and also of
 * those in the `out` areas of all QPs together.
 */
#define VERIFY_BYTES (64u << 20)

static size_t
round_up(size_t value, size_t to)
{
	return (value + to - 1) / to * to;
}

size_t
layout_size_max(const struct options *opt, size_t mtu)
{
	bool is_ud = opt->qp_type == IBV_QPT_UD;

	if (opt->is_all)
		return is_ud ? mtu : PERF_ALL_SIZE_MAX;
	if (is_ud && !opt->has_size && opt->size > mtu)
		return mtu;
	return opt->size;
}

/*
 * Check whether receive requests can remain after the messages of a size. No receive request
 * remains after a bandwidth test with --verify on RC: this test posts as many receive requests as
 * messages are sent.
 */
static bool
has_leftovers(const struct options *opt)
{
	return opt->op == PERF_SEND &&
	       !(opt->is_verify && options_is_reliable(opt) && !opt->is_lat);
}

bool
layout_is_compact(const struct options *opt)
{
	return opt->nb_qp > MANY_QPS;
}

static unsigned
slots_of(const struct options *opt, size_t stride)
{
	size_t slots = PAGE / stride;

	if (opt->working_set != 0)
		slots = opt->working_set / opt->nb_qp / stride;
	if (opt->is_lat)
		slots = 1;
	else if (opt->is_verify)
		slots = VERIFY_BYTES / opt->nb_qp / stride;
	else if (layout_is_compact(opt) && opt->working_set == 0)
		slots = 1;
	if (opt->is_verify && slots > opt->tx_depth)
		slots = opt->tx_depth;
	if (opt->is_verify && opt->op == PERF_SEND && slots > opt->rx_depth)
		slots = opt->rx_depth;
	return slots > 0 ? (unsigned)slots : 1;
}

struct layout
layout_of(const struct options *opt, size_t mtu, size_t size)
{
	struct layout layout = { .size = size };
	size_t room = has_leftovers(opt) ? layout_size_max(opt, mtu) : size;

	layout.head = opt->qp_type == IBV_QPT_UD ? PERF_GRH_LEN : 0;
	layout.recv_len = layout.head + room;
	layout.stride = round_up(layout.recv_len, LINE);
	layout.slots = slots_of(opt, layout.stride);
	return layout;
}

size_t
layout_area_len(const struct options *opt, size_t mtu)
{
	size_t unit = layout_is_compact(opt) ? LINE : PAGE;
	size_t len = unit, size_max = layout_size_max(opt, mtu);

	for (size_t size = opt->is_all ? 2 : size_max; size <= size_max; size *= 2) {
		struct layout layout = layout_of(opt, mtu, size);

		if (layout.stride * layout.slots > len)
			len = layout.stride * layout.slots;
	}
	return round_up(len, unit);
}
