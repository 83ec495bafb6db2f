/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_CHANNEL_H
#define UROCE_IBVERBS_CHANNEL_H

/**
 * @file
 * The file /dev/infiniband/rdma_cm, as the preloaded library sees it: calls that go to the engine
 * of the process. Descriptors of an engine that is dead are not those of the file any more.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Name of the symbol, for dlsym(). */
#define CHANNEL_CALLS_NAME "uroce_ibverbs_channel"

/** The meaning of each call is that of the call of the same name in cm/entry.h. */
struct channel_calls {
	int (*open)(int flags);
	bool (*write)(int fd, const void *buf, size_t len, ssize_t *written);
	void *(*hold)(int fd);
	void (*release)(void *file);
	void (*sweep)(void);
};

extern const struct channel_calls uroce_ibverbs_channel;

#endif /* UROCE_IBVERBS_CHANNEL_H */
