/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_CHANNEL_H
#define UROCE_IBVERBS_CHANNEL_H

/**
 * @file
 * The calls by which the preloaded library passes operations on the file /dev/infiniband/rdma_cm to
 * the engine (liburoce and DPDK) of the process. If the engine has stopped working (fork.h), its
 * descriptors do not count as descriptors of this file any more.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Name by which dlsym() finds uroce_ibverbs_channel, which is a struct channel_calls. */
#define CHANNEL_CALLS_NAME "uroce_ibverbs_channel"

/**
 * Calls for the file /dev/infiniband/rdma_cm. Each call NAME has the meaning of
 * uroce_engine_cm_NAME() in ucma/entry.h.
 */
struct channel_calls {
	int (*open)(int flags);
	bool (*write)(int fd, const void *buf, size_t len, ssize_t *written);
	void *(*hold)(int fd);
	void (*release)(void *file);
	void (*sweep)(void);
};

extern const struct channel_calls uroce_ibverbs_channel;

#endif /* UROCE_IBVERBS_CHANNEL_H */
