/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC domains. The contexts of a process find a shared domain by its inode.
 *
 * Each process has devices of its own, so processes cannot share a domain. A process holds a lock
 * (flock) on each inode for which it has a domain, on any device. Another process cannot have this
 * lock at the same time, so a program that tries to share a domain gets an error. The lock ends
 * with the process.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs/errno_ret.h"
#include "verbs/object.h"
#include "verbs/uroce.h"
#include "verbs/xrc.h"

/* --- inodes of shared domains ---------------------------------------------------------------------- */

struct uroce_vinode {
	struct uroce_vinode *next;
	dev_t dev;
	ino_t ino;
	int fd; /* the library's own descriptor of the inode, which holds the lock */
	unsigned nb_domains;
};

static pthread_mutex_t inodes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uroce_vinode *inodes;

/*
 * Open the file of descriptor `fd` again, and lock the new open file. The program's descriptor is
 * not locked, because all descriptors of one open file share one lock, which the program could then
 * release.
 */
static int
open_locked(int fd)
{
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (own < 0)
		return -errno;
	if (flock(own, LOCK_EX | LOCK_NB) == 0)
		return own;
	const int ret = errno == EWOULDBLOCK ? -EOPNOTSUPP : -errno;

	close(own);
	return ret;
}

static int
add_inode(int fd, const struct stat *stat, struct uroce_vinode **out)
{
	struct uroce_vinode *const inode = calloc(1, sizeof(*inode));

	if (inode == NULL)
		return -ENOMEM;
	inode->fd = open_locked(fd);
	if (inode->fd < 0) {
		const int ret = inode->fd;

		free(inode);
		return ret;
	}
	inode->dev = stat->st_dev;
	inode->ino = stat->st_ino;
	inode->next = inodes;
	inodes = inode;
	*out = inode;
	return 0;
}

static int
take_inode(int fd, const struct stat *stat, struct uroce_vinode **out)
{
	struct uroce_vinode *inode;
	int ret = 0;

	pthread_mutex_lock(&inodes_lock);
	for (inode = inodes; inode != NULL; inode = inode->next)
		if (inode->dev == stat->st_dev && inode->ino == stat->st_ino)
			break;
	if (inode == NULL)
		ret = add_inode(fd, stat, &inode);
	if (ret == 0) {
		inode->nb_domains++;
		*out = inode;
	}
	pthread_mutex_unlock(&inodes_lock);
	return ret;
}

static void
give_inode(struct uroce_vinode *inode)
{
	struct uroce_vinode **link = &inodes;

	pthread_mutex_lock(&inodes_lock);
	if (--inode->nb_domains == 0) {
		while (*link != inode)
			link = &(*link)->next;
		*link = inode->next;
		/*
		 * The lock is released before the close. Otherwise a forked child that has the
		 * descriptor open would keep the lock.
		 */
		(void)flock(inode->fd, LOCK_UN);
		close(inode->fd);
		free(inode);
	}
	pthread_mutex_unlock(&inodes_lock);
}

/* --- XRC domains: the caller holds the device's lock ----------------------------------------------- */

static struct uroce_vdomain *
find_domain(struct uroce_vdevice *device, const struct stat *stat)
{
	struct uroce_vdomain *domain = device->domains;

	while (domain != NULL && (domain->inode == NULL || domain->inode->dev != stat->st_dev ||
				  domain->inode->ino != stat->st_ino))
		domain = domain->next;
	return domain;
}

static int
add_domain(struct uroce_vdevice *device, int fd, const struct stat *stat,
	   struct uroce_vdomain **out)
{
	struct uroce_vdomain *const domain = calloc(1, sizeof(*domain));
	int ret = 0;

	if (domain == NULL)
		return -ENOMEM;
	if (fd >= 0)
		ret = take_inode(fd, stat, &domain->inode);
	if (ret != 0) {
		free(domain);
		return ret;
	}
	domain->number = ++device->next_xrcd;
	domain->next = device->domains;
	device->domains = domain;
	*out = domain;
	return 0;
}

static void
drop_domain(struct uroce_vdevice *device, struct uroce_vdomain *domain)
{
	struct uroce_vdomain **link = &device->domains;

	if (--domain->nb_xrcds > 0)
		return;
	while (*link != domain)
		link = &(*link)->next;
	*link = domain->next;
	if (domain->inode != NULL)
		give_inode(domain->inode);
	free(domain);
}

static int
join_domain(struct uroce_vdevice *device, int fd, int oflags, struct uroce_vdomain **out)
{
	struct uroce_vdomain *domain = NULL;
	struct stat stat = { 0 };
	int ret = 0;

	if (fd >= 0 && fstat(fd, &stat) != 0)
		return -errno;
	pthread_mutex_lock(&device->lock);
	if (fd >= 0)
		domain = find_domain(device, &stat);
	if (domain == NULL && !(oflags & O_CREAT))
		ret = -EAGAIN;
	else if (domain == NULL)
		ret = add_domain(device, fd, &stat, &domain);
	else if ((oflags & O_CREAT) && (oflags & O_EXCL))
		ret = -EINVAL;
	if (ret == 0) {
		domain->nb_xrcds++;
		*out = domain;
	}
	pthread_mutex_unlock(&device->lock);
	return ret;
}

/* --- handles of XRC domains ------------------------------------------------------------------------ */

static int
open_xrcd(struct ibv_context *context, int fd, int oflags, struct uroce_vxrcd **out)
{
	struct uroce_vxrcd *xrcd;
	int ret;

	if (context == NULL || fd < -1 || (oflags & ~(O_CREAT | O_EXCL)) != 0 ||
	    (fd == -1 && oflags != O_CREAT))
		return -EINVAL;
	ret = uroce_vcontext_start(context);
	if (ret != 0)
		return ret;
	xrcd = calloc(1, sizeof(*xrcd));
	if (xrcd == NULL)
		return -ENOMEM;
	ret = join_domain(uroce_vcontext(context)->device, fd, oflags, &xrcd->domain);
	if (ret != 0) {
		free(xrcd);
		return ret;
	}
	xrcd->ibv_old.context = context;
	xrcd->ibv_old.handle = xrcd->domain->number;
	uroce_users_add(context, &uroce_vcontext(context)->nb_users);
	*out = xrcd;
	return 0;
}

static int
close_xrcd(struct uroce_vxrcd *xrcd)
{
	struct ibv_context *const context = xrcd->ibv.context;
	struct uroce_vdevice *const device = uroce_vcontext(context)->device;

	if (uroce_users_any(context, &xrcd->nb_users))
		return -EBUSY;
	pthread_mutex_lock(&device->lock);
	drop_domain(device, xrcd->domain);
	pthread_mutex_unlock(&device->lock);
	uroce_users_drop(context, &uroce_vcontext(context)->nb_users);
	free(xrcd);
	return 0;
}

struct ibv_xrcd *
uroce_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init_attr)
{
	const uint32_t known = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct uroce_vxrcd *xrcd = NULL;
	int ret = -EINVAL;

	if (init_attr != NULL && (init_attr->comp_mask & ~known) != 0)
		ret = -EOPNOTSUPP;
	else if (init_attr != NULL && init_attr->comp_mask == known)
		ret = open_xrcd(context, init_attr->fd, init_attr->oflags, &xrcd);
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	return &xrcd->ibv;
}

int
uroce_close_xrcd(struct ibv_xrcd *ibv)
{
	return uroce_errno_ret(ibv == NULL ? -EINVAL : close_xrcd(uroce_vxrcd(ibv)));
}

struct ibv_xrc_domain *
uroce_open_xrc_domain(struct ibv_context *context, int fd, int oflag)
{
	struct uroce_vxrcd *xrcd = NULL;
	const int ret = open_xrcd(context, fd, oflag, &xrcd);

	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	return &xrcd->ibv_old;
}

int
uroce_close_xrc_domain(struct ibv_xrc_domain *d)
{
	const int ret = d == NULL ? -EINVAL : close_xrcd((struct uroce_vxrcd *)d);

	if (ret == 0)
		return 0;
	errno = -ret;
	return -1;
}
