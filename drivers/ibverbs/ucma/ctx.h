/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_CTX_H
#define UCMA_CTX_H

/**
 * @file
 * The ids of a program, and their memberships in multicast groups.
 */

#include "ucma.h"

/**
 * Create an id, which commands do not find before ucma_ctx_publish(). The caller sets `cm_id`.
 * @mt Safe; without ucma_lock.
 * @return NULL: there is no memory
 */
struct ucma_ctx *ucma_ctx_new(uint64_t uid);

/** Free an id that was not published. @mt Safe; without ucma_lock. */
void ucma_ctx_free(struct ucma_ctx *ctx);

/** Add an id to a file; commands and events find it from now on. @mt With ucma_lock. */
void ucma_ctx_publish(struct ucma_ctx *ctx, struct ucma_file *file);

/**
 * Find an id of a file, and begin a command for it. Commands for one id follow each other.
 * @mt Safe; without ucma_lock.
 * @param[out] ctx  written on success; valid until ucma_ctx_put()
 * @return 0, or -errno. ENOENT: there is no such id; EINVAL: it belongs to another file.
 */
int ucma_ctx_get(struct ucma_file *file, uint32_t id, struct ucma_ctx **ctx);

/** As ucma_ctx_get(), but for an id that is bound to a device. EINVAL: it is not bound. */
int ucma_ctx_get_bound(struct ucma_file *file, uint32_t id, struct ucma_ctx **ctx);

/** End a command. @mt Safe; without ucma_lock. */
void ucma_ctx_put(struct ucma_ctx *ctx);

/**
 * Destroy an id with its pending events. It waits for the end of commands for the id.
 * @mt Safe; without ucma_lock.
 * @param[out] nb_events_reported  NULL: not wanted
 * @return 0, or -errno as ucma_ctx_get()
 */
int ucma_ctx_destroy(struct ucma_file *file, uint32_t id, uint32_t *nb_events_reported);

/** Destroy all ids of a file. @mt Without ucma_lock; nobody else uses the file. */
void ucma_ctx_destroy_all(struct ucma_file *file);

/**
 * Create a membership of an id, which LEAVE_MCAST does not find before ucma_mcast_publish().
 * @mt Safe; without ucma_lock.
 * @return NULL: there is no memory
 */
struct ucma_mcast *ucma_mcast_new(struct ucma_ctx *ctx, uint64_t uid);

/** Free a membership that was not published. @mt Safe; without ucma_lock. */
void ucma_mcast_free(struct ucma_mcast *mcast);

/** @mt Safe; without ucma_lock. */
void ucma_mcast_publish(struct ucma_mcast *mcast);

/**
 * Take a membership of an id of a file. Commands do not find it any more. A command for its id
 * begins, which the caller ends by ucma_ctx_put().
 * @mt Safe; without ucma_lock.
 * @param[out] mcast  written on success; the caller frees it by ucma_mcast_free()
 * @return 0, or -errno. ENOENT: there is no such membership; EINVAL: its id belongs to another
 *	file.
 */
int ucma_mcast_take(struct ucma_file *file, uint32_t id, struct ucma_mcast **mcast);

/** Forget all ids, in a child of fork(). @mt One thread. */
void ucma_ctx_forget_all(void);

#endif /* UCMA_CTX_H */
