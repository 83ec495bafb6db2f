/* SPDX-License-Identifier: BSD-3-Clause */
#include "channel.h"

#include <errno.h>

#include "engine_calls.h"

static int
open_channel(int flags)
{
	const struct engine_calls *const calls = engine();

	return calls != NULL ? calls->cm_open(flags) : -1;
}

static bool
write_channel(int fd, const void *buf, size_t len, ssize_t *written)
{
	const struct engine_calls *const calls = engine_if_loaded();

	return calls != NULL && calls->cm_write(fd, buf, len, written);
}

static void *
hold(int fd)
{
	const struct engine_calls *const calls = engine_if_loaded();

	return calls != NULL ? calls->cm_hold(fd) : NULL;
}

/*
 * Release an open file of /dev/infiniband/rdma_cm that hold() returned. If the engine has stopped
 * working after hold(), the file is not freed.
 */
static void
release(void *file)
{
	const struct engine_calls *const calls = engine_if_loaded();

	if (calls != NULL)
		calls->cm_release(file);
}

static void
sweep(void)
{
	const struct engine_calls *const calls = engine_if_loaded();

	if (calls != NULL)
		calls->cm_sweep();
}

const struct channel_calls uroce_ibverbs_channel = {
	.open = open_channel,
	.write = write_channel,
	.hold = hold,
	.release = release,
	.sweep = sweep,
};
