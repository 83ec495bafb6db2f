/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_CTX_H
#define UCMA_CTX_H

/**
 * @file
 * The ids of connection management that a program has created by commands of librdmacm, and the
 * memberships of these ids in multicast groups.
 */

#include "ucma.h"

/**
 * Create an id of connection management, which commands of librdmacm do not find before
 * ucma_ctx_publish(). The caller sets `cm_id`.
 * @param uid  the program's cookie for the id
 * @mt Safe; the caller does not hold ucma_lock.
 * @return the id; NULL: there is no memory
 */
struct ucma_ctx *ucma_ctx_new(uint64_t uid);

/**
 * Free an id for which ucma_ctx_publish() was not called.
 * @mt Safe; the caller does not hold ucma_lock.
 */
void ucma_ctx_free(struct ucma_ctx *ctx);

/**
 * Add an id to an open file of /dev/infiniband/rdma_cm, so that commands and events find it.
 * @mt The caller holds ucma_lock.
 */
void ucma_ctx_publish(struct ucma_ctx *ctx, struct ucma_file *file);

/**
 * Find an id of an open file of /dev/infiniband/rdma_cm, and begin a command for the id. Only one
 * command for an id is in progress at a time.
 * @mt Safe; the caller does not hold ucma_lock.
 * @param[out] ctx  written on success; valid until ucma_ctx_put()
 * @return 0, or -errno. ENOENT: there is no such id; EINVAL: the id belongs to another file.
 */
int ucma_ctx_get(struct ucma_file *file, uint32_t id, struct ucma_ctx **ctx);

/**
 * Do what ucma_ctx_get() does, but only for an id that is bound to a device. -EINVAL also means
 * that the id is not bound to a device.
 */
int ucma_ctx_get_bound(struct ucma_file *file, uint32_t id, struct ucma_ctx **ctx);

/**
 * End a command for an id that ucma_ctx_get() began.
 * @mt Safe; the caller does not hold ucma_lock.
 */
void ucma_ctx_put(struct ucma_ctx *ctx);

/**
 * Destroy an id of an open file of /dev/infiniband/rdma_cm with its pending events. The function
 * waits until the commands for the id have ended.
 * @mt Safe; the caller does not hold ucma_lock.
 * @param[out] nb_events_reported  number of events of the id that GET_EVENT has returned; may be
 *         NULL
 * @return 0, or -errno as ucma_ctx_get()
 */
int ucma_ctx_destroy(struct ucma_file *file, uint32_t id, uint32_t *nb_events_reported);

/**
 * Destroy all ids of an open file of /dev/infiniband/rdma_cm.
 * @mt The caller does not hold ucma_lock, and no other thread uses the file.
 */
void ucma_ctx_destroy_all(struct ucma_file *file);

/**
 * Create a membership of an id in a multicast group. The command LEAVE_MCAST does not find it
 * before ucma_mcast_publish().
 * @param uid  the program's cookie for the group
 * @mt Safe; the caller does not hold ucma_lock.
 * @return the membership; NULL: there is no memory
 */
struct ucma_mcast *ucma_mcast_new(struct ucma_ctx *ctx, uint64_t uid);

/**
 * Free a multicast membership that was not published.
 * @mt Safe; the caller does not hold ucma_lock.
 */
void ucma_mcast_free(struct ucma_mcast *mcast);

/**
 * Publish a multicast membership, so that the command LEAVE_MCAST finds it.
 * @mt Safe; the caller does not hold ucma_lock.
 */
void ucma_mcast_publish(struct ucma_mcast *mcast);

/**
 * Take a multicast membership out of the table of memberships, so that commands do not find it any
 * more. A command for the id of the membership begins, which the caller ends by ucma_ctx_put().
 * @mt Safe; the caller does not hold ucma_lock.
 * @param[out] mcast  written on success; the caller frees it by ucma_mcast_free()
 * @return 0, or -errno. ENOENT: there is no such membership; EINVAL: its id belongs to another
 *         file.
 */
int ucma_mcast_take(struct ucma_file *file, uint32_t id, struct ucma_mcast **mcast);

/**
 * Forget all ids of all open files of /dev/infiniband/rdma_cm, in a child of fork().
 * @mt The process has only one thread.
 */
void ucma_ctx_forget_all(void);

#endif /* UCMA_CTX_H */
