/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens XRC domains for inodes whose domain belongs to another process. For each such inode this
 * process creates an empty file of its own, and opens the domain of that file.
 */

#include "xrcd.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "engine_calls.h"

struct place {
	struct place *next;
	dev_t dev;
	ino_t ino;
	/*
	 * descriptor of the file that this process uses in place of the inode; the engine (liburoce
	 * and DPDK) made the descriptor, which stays open until the process ends
	 */
	int fd;
	struct stat own; /* device and inode numbers of the file `fd` */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place *places;

static struct place *
add_place(const struct stat *stat)
{
	struct place *const place = calloc(1, sizeof(*place));

	if (place == NULL)
		return NULL;
	*place = (struct place){
		.next = places, .dev = stat->st_dev, .ino = stat->st_ino, .fd = -1
	};
	places = place;
	return place;
}

/*
 * Check whether the own file of the process, which `place` uses in place of another inode, is still
 * open. A child of fork() may have closed the descriptor that it inherited.
 */
static bool
has_file(const struct place *place)
{
	struct stat stat;

	return place->fd >= 0 && fstat(place->fd, &stat) == 0 && stat.st_dev == place->own.st_dev &&
	       stat.st_ino == place->own.st_ino;
}

static int
make_file(const struct engine_calls *calls, struct place *place)
{
	place->fd = calls->make_file("xrc-domain");
	if (place->fd >= 0)
		(void)fstat(place->fd, &place->own);
	return place->fd;
}

/*
 * Get the file that this process uses for an XRC domain in place of the inode of `fd`, and create
 * the file if necessary.
 * @return the descriptor of this file; -1 if `fd` is not open, or if the file cannot be created
 */
static int
own_file(const struct engine_calls *calls, int fd)
{
	struct place *place;
	struct stat stat;
	int own;

	if (fstat(fd, &stat) != 0)
		return -1;
	pthread_mutex_lock(&lock);
	for (place = places; place != NULL; place = place->next)
		if (place->dev == stat.st_dev && place->ino == stat.st_ino)
			break;
	if (place == NULL)
		place = add_place(&stat);
	own = place == NULL ? -1 : has_file(place) ? place->fd : make_file(calls, place);
	pthread_mutex_unlock(&lock);
	return own;
}

struct ibv_xrcd *
xrcd_open(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	const struct engine_calls *const calls = engine_of(context);
	struct ibv_xrcd *xrcd;
	struct ibv_xrcd_init_attr own;

	if (calls == NULL)
		return NULL;
	xrcd = calls->open_xrcd(context, attr);
	if (xrcd != NULL || errno != EOPNOTSUPP || attr->fd < 0)
		return xrcd;
	own = *attr;
	own.fd = own_file(calls, attr->fd);
	return own.fd >= 0 ? calls->open_xrcd(context, &own) : NULL;
}
