/* SPDX-License-Identifier: BSD-3-Clause */
#include "ctx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handle_table.h"

pthread_mutex_t ucma_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Condition variable that is signalled when an id has no command in progress. A thread that
 * destroys the id waits for it.
 */
static pthread_cond_t is_unused = PTHREAD_COND_INITIALIZER;
static struct handle_table ctx_table;
static struct handle_table mcast_table;

static uint32_t
reserve(struct handle_table *table)
{
	uint32_t handle;

	pthread_mutex_lock(&ucma_lock);
	handle = handle_table_reserve(table);
	pthread_mutex_unlock(&ucma_lock);
	return handle;
}

static void
release(struct handle_table *table, uint32_t handle)
{
	pthread_mutex_lock(&ucma_lock);
	handle_table_free(table, handle);
	pthread_mutex_unlock(&ucma_lock);
}

/* --- ids ------------------------------------------------------------------------------------------ */

struct ucma_ctx *
ucma_ctx_new(uint64_t uid)
{
	struct ucma_ctx *const ctx = calloc(1, sizeof(*ctx));

	if (ctx == NULL)
		return NULL;
	ctx->id = reserve(&ctx_table);
	if (ctx->id == HANDLE_NONE) {
		free(ctx);
		return NULL;
	}
	pthread_mutex_init(&ctx->mutex, NULL);
	ctx->uid = uid;
	return ctx;
}

void
ucma_ctx_free(struct ucma_ctx *ctx)
{
	release(&ctx_table, ctx->id);
	pthread_mutex_destroy(&ctx->mutex);
	free(ctx);
}

void
ucma_ctx_publish(struct ucma_ctx *ctx, struct ucma_file *file)
{
	ctx->file = file;
	ctx->cm_id->context = ctx;
	LIST_INSERT_HEAD(&file->ctxs, ctx, link);
	handle_table_set(&ctx_table, ctx->id, ctx);
}

/*
 * Find an id of an open file of /dev/infiniband/rdma_cm. The caller holds ucma_lock.
 * @return 0; -ENOENT: there is no such id; -EINVAL: the id belongs to another file
 */
static int
find(struct ucma_file *file, uint32_t id, struct ucma_ctx **ctx)
{
	*ctx = handle_table_find(&ctx_table, id);
	if (*ctx == NULL)
		return -ENOENT;
	return (*ctx)->file == file ? 0 : -EINVAL;
}

int
ucma_ctx_get(struct ucma_file *file, uint32_t id, struct ucma_ctx **ctx)
{
	int ret;

	pthread_mutex_lock(&ucma_lock);
	ret = find(file, id, ctx);
	if (ret == 0)
		(*ctx)->nb_refs++;
	pthread_mutex_unlock(&ucma_lock);
	if (ret == 0)
		pthread_mutex_lock(&(*ctx)->mutex);
	return ret;
}

int
ucma_ctx_get_bound(struct ucma_file *file, uint32_t id, struct ucma_ctx **ctx)
{
	const int ret = ucma_ctx_get(file, id, ctx);

	if (ret != 0 || (*ctx)->cm_id->verbs != NULL)
		return ret;
	ucma_ctx_put(*ctx);
	return -EINVAL;
}

void
ucma_ctx_put(struct ucma_ctx *ctx)
{
	pthread_mutex_unlock(&ctx->mutex);
	pthread_mutex_lock(&ucma_lock);
	if (--ctx->nb_refs == 0)
		pthread_cond_broadcast(&is_unused);
	pthread_mutex_unlock(&ucma_lock);
}

/* --- the end of an id ----------------------------------------------------------------------------- */

/*
 * Take an id out of the table of ids and of its file. Then commands, and other threads that destroy
 * ids, do not find it. Wait until the commands in progress for the id have ended. The caller holds
 * ucma_lock.
 */
static void
take_out(struct ucma_ctx *ctx)
{
	handle_table_set(&ctx_table, ctx->id, NULL);
	LIST_REMOVE(ctx, link);
	while (ctx->nb_refs != 0)
		pthread_cond_wait(&is_unused, &ucma_lock);
}

static void
free_mcasts(struct ucma_ctx *ctx)
{
	struct ucma_mcast *mcast;

	pthread_mutex_lock(&ucma_lock);
	while ((mcast = LIST_FIRST(&ctx->mcasts)) != NULL) {
		LIST_REMOVE(mcast, link);
		handle_table_free(&mcast_table, mcast->id);
		free(mcast);
	}
	pthread_mutex_unlock(&ucma_lock);
}

int
ucma_ctx_destroy(struct ucma_file *file, uint32_t id, uint32_t *nb_events_reported)
{
	struct ucma_ctx *ctx;
	int ret;

	pthread_mutex_lock(&ucma_lock);
	ret = find(file, id, &ctx);
	if (ret == 0)
		take_out(ctx);
	pthread_mutex_unlock(&ucma_lock);
	if (ret != 0)
		return ret;
	/*
	 * nb_events_reported is read after uroce_cm_destroy_id(), which waits until each event of
	 * the id is acknowledged: GET_EVENT counts an event before it acknowledges the event.
	 */
	(void)uroce_cm_destroy_id(ctx->cm_id);
	free_mcasts(ctx);
	if (nb_events_reported != NULL)
		*nb_events_reported = ctx->nb_events_reported;
	ucma_ctx_free(ctx);
	return 0;
}

void
ucma_ctx_destroy_all(struct ucma_file *file)
{
	struct ucma_ctx *ctx;

	do {
		uint32_t id = HANDLE_NONE;

		pthread_mutex_lock(&ucma_lock);
		ctx = LIST_FIRST(&file->ctxs);
		if (ctx != NULL)
			id = ctx->id;
		pthread_mutex_unlock(&ucma_lock);
		if (ctx != NULL)
			(void)ucma_ctx_destroy(file, id, NULL);
	} while (ctx != NULL);
}

/* --- memberships ---------------------------------------------------------------------------------- */

struct ucma_mcast *
ucma_mcast_new(struct ucma_ctx *ctx, uint64_t uid)
{
	struct ucma_mcast *const mcast = calloc(1, sizeof(*mcast));

	if (mcast == NULL)
		return NULL;
	mcast->id = reserve(&mcast_table);
	if (mcast->id == HANDLE_NONE) {
		free(mcast);
		return NULL;
	}
	mcast->ctx = ctx;
	mcast->uid = uid;
	return mcast;
}

void
ucma_mcast_free(struct ucma_mcast *mcast)
{
	release(&mcast_table, mcast->id);
	free(mcast);
}

void
ucma_mcast_publish(struct ucma_mcast *mcast)
{
	pthread_mutex_lock(&ucma_lock);
	LIST_INSERT_HEAD(&mcast->ctx->mcasts, mcast, link);
	handle_table_set(&mcast_table, mcast->id, mcast);
	pthread_mutex_unlock(&ucma_lock);
}

int
ucma_mcast_take(struct ucma_file *file, uint32_t id, struct ucma_mcast **mcast)
{
	struct ucma_mcast *found;
	struct ucma_ctx *ctx;
	int ret = 0;

	pthread_mutex_lock(&ucma_lock);
	found = handle_table_find(&mcast_table, id);
	if (found == NULL)
		ret = -ENOENT;
	else if (found->ctx->file != file)
		ret = -EINVAL;
	if (ret == 0) {
		handle_table_set(&mcast_table, id, NULL);
		LIST_REMOVE(found, link);
		ctx = found->ctx;
		ctx->nb_refs++;
	}
	pthread_mutex_unlock(&ucma_lock);
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&ctx->mutex);
	*mcast = found;
	return 0;
}

/* --- fork ----------------------------------------------------------------------------------------- */

void
ucma_ctx_forget_all(void)
{
	ctx_table = (struct handle_table){ 0 };
	mcast_table = (struct handle_table){ 0 };
}
