/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_OBJECT_H
#define UROCE_VERBS_OBJECT_H

/**
 * @file
 * The verbs objects: what each embeds, and the way from the pointer that a program holds to ours.
 *
 * A program sees `struct ibv_qp *` and the like; ours begin with that struct ("v" for verbs). Where
 * verbs lets a struct grow (ibv_qp_ex, ibv_cq_ex), zero bytes follow it, so that a program built
 * with a newer header finds NULL there and not our fields.
 *
 * An object that others use counts its users, under the mutex of its context (uroce_users_*), and
 * cannot be destroyed before they are. An object that events point at (CQ, QP, SRQ) counts those that
 * its program took; destroying it waits until it acknowledged them, as verbs promise.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <infiniband/verbs.h>

#include "config/limits.h"
#include "datapath/dev.h"
#include "datapath/worker.h"
#include "queue/cq.h"
#include "queue/srq.h"
#include "queue/wq.h"
#include "wire/build.h"

/** Zero bytes behind a struct that newer headers may make longer. */
#define UROCE_ABI_ROOM 128

/** What ibv_device_attr says and the create calls hold to. */
#define UROCE_MAX_QP_WR  32768
#define UROCE_MAX_SRQ_WR 32768
#define UROCE_MAX_SRQS   UROCE_XRC_SRQS
#define UROCE_MAX_CQE    4194303
#define UROCE_MAX_INLINE 1024
#define UROCE_MAX_MR_LEN ((uint64_t)1 << 47)
#define UROCE_MAX_DM     ((uint64_t)16 << 20) /* bytes of device memory, of all blocks together */
/* Nothing but memory bounds these, so the numbers are choices: two CQs for each of 65,536 QPs. */
#define UROCE_MAX_CQS 131072
#define UROCE_MAX_PDS 65536
#define UROCE_MAX_AHS 262144

struct stat;
struct uroce_vcontext;
struct uroce_region;
struct uroce_vdomain;
struct uroce_vinode;
struct uroce_vwr;
struct uroce_vxrcd;

struct uroce_vdevice {
	struct ibv_device ibv;
	/* Vendor libraries compare this word, where they keep their own table, with its address. */
	const void *provider;
	uint8_t resv[UROCE_ABI_ROOM];
	struct uroce_dev *dev;
	struct uroce_vdevice *next; /* list of devices, in order of creation */
	unsigned idx;               /* the number in its name */
	/* announced: how EAL is started, before the device is, with the first object */
	int (*start)(void *arg);
	void *start_arg;
	pthread_mutex_t start_lock;
	atomic_bool is_up;
	pthread_mutex_t lock; /* guards what follows, and the events of its contexts */
	struct uroce_vcontext *contexts;
	struct uroce_vpd *pds;
	unsigned nb_pds, nb_cqs, nb_ahs, nb_srqs; /* that there are, of all contexts */
	struct uroce_region *regions;             /* those that are registered */
	struct uroce_vdomain *domains;            /* of XRC */
	uint32_t next_xrcd;
	uint64_t dm_len; /* bytes of device memory that were handed out */
};

/** An asynchronous event that waits for its context's program. */
struct uroce_vevent {
	struct ibv_async_event ibv;
	struct uroce_vevent *next;
};

struct uroce_vcontext {
	struct verbs_context verbs; /* its last member is the ibv_context that programs hold */
	struct uroce_vdevice *device;
	struct uroce_vcontext *next; /* of the device */
	unsigned nb_users;           /* PDs, thread and XRC domains, CQs, channels, DMs */
	dev_t command_dev; /* which file verbs.context.cmd_fd is: contexts that share it */
	ino_t command_ino; /* may import each other's objects */
	/* asynchronous events, under the device's lock (see event.c) */
	struct uroce_vevent *events, **events_end;
	int event_fd; /* readable while `events` is not empty */
};

struct uroce_vtd {
	struct ibv_td ibv;
	unsigned nb_users; /* parent domains */
};

struct uroce_vpd {
	struct ibv_pd ibv;
	uint64_t word;     /* see handle.h */
	uint32_t pdn;      /* unique on the device, so that keys of one context fail in another */
	unsigned nb_users; /* MRs, MWs, QPs, SRQs, AHs, parent domains */
	struct uroce_vpd *base; /* what a parent domain extends; NULL: it is none */
	struct uroce_vtd *td;   /* of a parent domain; NULL: none */
	/* of the device, under its lock */
	struct uroce_vpd *next, **link; /* `link` points here */
};

struct uroce_vmr {
	struct ibv_mr ibv;
	uint64_t word;               /* see handle.h */
	struct uroce_region *region; /* region.h */
};

struct uroce_vmw {
	struct ibv_mw
		ibv;   /* handle: the first key; its upper 24 bits lead to the window for life */
	uint64_t word; /* see handle.h */
};

struct uroce_vdm {
	struct ibv_dm ibv;
	uint64_t word;     /* see handle.h */
	void *block;       /* of hugepage memory */
	uint8_t *mem;      /* in it, aligned as asked for */
	size_t len;        /* bytes */
	size_t taken;      /* of the device's, with what alignment costs */
	unsigned nb_users; /* MRs; under the mutex of the context */
};

struct uroce_vah {
	struct ibv_ah ibv;
	uint64_t word; /* see handle.h */
	struct uroce_path path;
};

struct uroce_vcq;

struct uroce_vchannel {
	struct ibv_comp_channel ibv; /* fd: eventfd that counts events; refcnt: CQs */
	pthread_mutex_t lock;        /* guards the list, and who takes an event */
	struct uroce_vcq *first;     /* CQs; the one that was served goes to the end */
	struct uroce_vcq *last;
};

struct uroce_vcq {
	union {
		struct ibv_cq ibv;
		struct ibv_cq_ex ibv_ex;
	};
	uint8_t resv[UROCE_ABI_ROOM];
	struct uroce_cq queue;
	struct uroce_worker *worker; /* comp_vector chose it; QPs that send here live there */
	struct uroce_cq_notify notify;
	void *mem;              /* the queue's entries */
	bool is_app_driven;     /* polling an empty CQ drives the worker */
	atomic_bool is_dozing;  /* app-driven, and armed since the worker was last left */
	unsigned nb_users;      /* QPs, XRC SRQs; one that sends and receives here counts twice */
	uint32_t nb_comp;       /* completion events taken; under ibv.mutex */
	uint32_t nb_async;      /* asynchronous events taken; under ibv.mutex */
	struct uroce_vcq *next; /* of the channel */
	uint64_t word;          /* see handle.h */
	struct ibv_pd *parent;  /* parent domain that it was made with; NULL: none */
	/* start_poll() to end_poll(), see cq_ex.c */
	struct uroce_lock batch_lock; /* one thread at a time */
	bool is_single_threaded;      /* the program sees to that */
	struct uroce_cqe current;     /* what the fields are read of */
};

/**
 * The consumer of a CQ that it armed found it empty, or is about to wait for its event: it sleeps now.
 * Whoever drove the worker by polling does so no longer; the service thread is told, once.
 */
static inline void
uroce_vcq_leave(struct uroce_vcq *cq)
{
	if (atomic_load_explicit(&cq->is_dozing, memory_order_relaxed) &&
	    atomic_exchange_explicit(&cq->is_dozing, false, memory_order_relaxed))
		uroce_worker_leave(cq->worker);
}

struct uroce_vsrq {
	struct ibv_srq ibv;
	uint64_t word; /* see handle.h */
	struct uroce_worker_srq wsrq;
	void *mem;     /* its slots */
	void *old_mem; /* of before resizes, chained by their first word: QPs may have requests in it */
	unsigned nb_users; /* QPs */
	uint32_t nb_async; /* asynchronous events taken; under ibv.mutex */
	/* XRC; else NULL */
	struct uroce_vcq *cq;
	struct uroce_vxrcd *xrcd;
};

struct uroce_vqp {
	union {
		struct ibv_qp ibv;
		struct ibv_qp_ex ibv_ex;
	};
	uint8_t resv[UROCE_ABI_ROOM];
	struct uroce_worker_qp wqp;
	struct uroce_wq sq;
	struct uroce_wq rq;
	struct ibv_qp_cap cap;
	uint64_t word;     /* see handle.h */
	uint32_t nb_async; /* asynchronous events taken; under ibv.mutex */
	struct uroce_vwr
		*vwr; /* what the ibv_wr_* calls build, see wr.c; NULL: the QP has them not */
	atomic_bool is_building; /* between ibv_wr_start() and its end: the queue's lock is held */
	/* handles of XRC targets */
	bool is_silent;       /* no program has seen it: no events */
	bool is_registration; /* and it is one, see xrc_rcv.c */
	/* XRC targets, see xrc.h: under the device's lock */
	struct uroce_vqp *target;  /* of a handle: the QP behind it; else NULL */
	struct uroce_vqp *handles; /* of a target */
	struct uroce_vqp *next;    /* of a handle: of the same target */
	struct uroce_vxrcd *xrcd;  /* of a handle: by which it was made */
};

static inline struct uroce_vdevice *
uroce_vdevice(struct ibv_device *ibv)
{
	return (struct uroce_vdevice *)ibv;
}

/** The device of which a context has this file as its command descriptor; NULL: there is none. */
struct uroce_vdevice *uroce_vdevice_of_command(const struct stat *command);

static inline struct uroce_vcontext *
uroce_vcontext(struct ibv_context *ibv)
{
	return (struct uroce_vcontext *)((uint8_t *)ibv -
					 offsetof(struct uroce_vcontext, verbs.context));
}

/**
 * Bring the device of a context up, if it is only announced. For whatever makes an object of nothing but a
 * context. @return 0, or -errno
 */
int uroce_vcontext_start(struct ibv_context *ibv);

/** The device on floor 3 behind a context. */
static inline struct uroce_dev *
uroce_vcontext_dev(struct ibv_context *ibv)
{
	return uroce_vcontext(ibv)->device->dev;
}

/** Whether two contexts are one, or one was imported from the other. */
static inline bool
uroce_vcontext_is_same(const struct uroce_vcontext *a, const struct uroce_vcontext *b)
{
	return a->command_dev == b->command_dev && a->command_ino == b->command_ino;
}

static inline struct uroce_vtd *
uroce_vtd(struct ibv_td *ibv)
{
	return (struct uroce_vtd *)ibv;
}

static inline struct uroce_vpd *
uroce_vpd(struct ibv_pd *ibv)
{
	return (struct uroce_vpd *)ibv;
}

static inline struct uroce_vmr *
uroce_vmr(struct ibv_mr *ibv)
{
	return (struct uroce_vmr *)ibv;
}

static inline struct uroce_vmw *
uroce_vmw(struct ibv_mw *ibv)
{
	return (struct uroce_vmw *)ibv;
}

static inline struct uroce_vdm *
uroce_vdm(struct ibv_dm *ibv)
{
	return (struct uroce_vdm *)ibv;
}

static inline struct uroce_vah *
uroce_vah(struct ibv_ah *ibv)
{
	return (struct uroce_vah *)ibv;
}

static inline struct uroce_vchannel *
uroce_vchannel(struct ibv_comp_channel *ibv)
{
	return (struct uroce_vchannel *)ibv;
}

static inline struct uroce_vcq *
uroce_vcq(struct ibv_cq *ibv)
{
	return (struct uroce_vcq *)ibv;
}

static inline struct uroce_vsrq *
uroce_vsrq(struct ibv_srq *ibv)
{
	return (struct uroce_vsrq *)ibv;
}

static inline struct uroce_vqp *
uroce_vqp(struct ibv_qp *ibv)
{
	return (struct uroce_vqp *)ibv;
}

/**
 * Make a CQ; comp_mask, flags and what completions are to tell is for the caller to look at.
 * @return NULL with errno: EINVAL, ENOMEM
 */
struct uroce_vcq *uroce_vcq_create(struct ibv_context *context,
				   const struct ibv_cq_init_attr_ex *init);

/** The QP behind what a program holds, which is usually that; NULL of NULL, and itself of what has no context. */
static inline struct uroce_vqp *
uroce_vqp_behind(struct ibv_qp *ibv)
{
	struct uroce_vqp *const qp = uroce_vqp(ibv);

	return ibv != NULL && ibv->context != NULL && qp->target != NULL ? qp->target : qp;
}

/** One object more of the device, if it may have one. @return 0, or -ENOMEM */
static inline int
uroce_vdevice_count(struct uroce_vdevice *device, unsigned *nb, unsigned max)
{
	pthread_mutex_lock(&device->lock);
	const bool has_room = *nb < max;

	*nb += has_room;
	pthread_mutex_unlock(&device->lock);
	return has_room ? 0 : -ENOMEM;
}

/** One object less. */
static inline void
uroce_vdevice_uncount(struct uroce_vdevice *device, unsigned *nb)
{
	pthread_mutex_lock(&device->lock);
	--*nb;
	pthread_mutex_unlock(&device->lock);
}

/** One user more. */
static inline void
uroce_users_add(struct ibv_context *context, unsigned *nb_users)
{
	pthread_mutex_lock(&context->mutex);
	++*nb_users;
	pthread_mutex_unlock(&context->mutex);
}

/** One user less. */
static inline void
uroce_users_drop(struct ibv_context *context, unsigned *nb_users)
{
	pthread_mutex_lock(&context->mutex);
	--*nb_users;
	pthread_mutex_unlock(&context->mutex);
}

/** Whether an object is in use: it must not go. */
static inline bool
uroce_users_any(struct ibv_context *context, const unsigned *nb_users)
{
	pthread_mutex_lock(&context->mutex);
	const bool any = *nb_users > 0;

	pthread_mutex_unlock(&context->mutex);
	return any;
}

#endif /* UROCE_VERBS_OBJECT_H */
