/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_OBJECT_H
#define UROCE_VERBS_OBJECT_H

/**
 * @file
 * The verbs objects: their structs, and the conversion from a pointer that a program holds to the
 * object behind it.
 *
 * Programs hold `struct ibv_qp *` and other pointers of verbs. The structs of this file begin with
 * the struct of verbs, and have a "v" for verbs in their name. Where verbs let a struct grow
 * (ibv_qp_ex, ibv_cq_ex), zero bytes follow the struct of verbs. So a program built with a newer
 * header finds NULL there, and not a field of this library.
 *
 * An object that other objects use counts these users, under the mutex of its context
 * (uroce_users_*). It cannot be destroyed while it has users. An object to which events refer (CQ,
 * QP, SRQ) counts the events that its program took. Destroying the object waits until the program
 * has acknowledged them, as verbs promise.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <infiniband/verbs.h>

#include "config/limits.h"
#include "datapath/device/dev.h"
#include "datapath/worker/worker.h"
#include "queue/cq.h"
#include "queue/srq.h"
#include "queue/wq.h"
#include "wire/build.h"

/** Number of zero bytes behind a struct of verbs that newer headers may make longer. */
#define UROCE_ABI_ROOM 128

/** Limits that ibv_device_attr reports and the create calls enforce. */
#define UROCE_MAX_QP_WR  32768
#define UROCE_MAX_SRQ_WR 32768
#define UROCE_MAX_SRQS   UROCE_XRC_SRQS
#define UROCE_MAX_CQE    4194303
#define UROCE_MAX_INLINE 1024
#define UROCE_MAX_MR_LEN ((uint64_t)1 << 47)
/* maximum number of bytes of device memory, in all blocks of a device together */
#define UROCE_MAX_DM ((uint64_t)16 << 20)
/*
 * Only memory limits the number of CQs, PDs and AHs, so the three values below are choices. The
 * number of CQs allows two CQs for each of 65,536 QPs.
 */
#define UROCE_MAX_CQS 131072
#define UROCE_MAX_PDS 65536
#define UROCE_MAX_AHS 262144

struct stat;
struct uroce_cm_agent;
struct uroce_vcontext;
struct uroce_region;
struct uroce_vdomain;
struct uroce_vinode;
struct uroce_vwr;
struct uroce_vxrcd;

struct uroce_vdevice {
	struct ibv_device ibv;
	/*
	 * rdma-core's providers recognise a device of their own by the pointer at this place of its
	 * struct, which points to their table of operations. In this library the field holds its
	 * own address, which is the address of no provider's table.
	 */
	const void *provider;
	uint8_t resv[UROCE_ABI_ROOM];
	struct uroce_dev *dev;
	/* next device in the list of devices, which is sorted by `idx` */
	struct uroce_vdevice *next;
	unsigned idx; /* number in the name of the device: 0 for uroce0 */
	/*
	 * Function of the program that starts EAL; only for an announced device
	 * (uroce_announce_device()). It is called once, when the first object of the device is
	 * made, and before the port is started. NULL if the device was not announced, or if the
	 * function was called.
	 */
	int (*start)(void *arg);
	void *start_arg;
	pthread_mutex_t start_lock;
	atomic_bool is_up;
	/*
	 * agent of connection management, created under `agent_lock`; NULL: the device has no agent
	 */
	struct uroce_cm_agent *agent;
	pthread_mutex_t agent_lock;
	/* mutex that guards all fields below it, and the event lists of the contexts */
	pthread_mutex_t lock;
	struct uroce_vcontext *contexts;
	struct uroce_vpd *pds;
	/* number of PDs, CQs, AHs and SRQs of the device, in all contexts */
	unsigned nb_pds, nb_cqs, nb_ahs, nb_srqs;
	struct uroce_region *regions;  /* list of the registered regions of the device */
	struct uroce_vdomain *domains; /* list of the XRC domains of the device */
	uint32_t next_xrcd;
	uint64_t dm_len; /* number of bytes of device memory that are allocated */
};

/** An asynchronous event that the program of its context has not taken yet. */
struct uroce_vevent {
	struct ibv_async_event ibv;
	struct uroce_vevent *next;
};

struct uroce_vcontext {
	/* the part of the context of which programs see the last member, `context` */
	struct verbs_context verbs;
	struct uroce_vdevice *device;
	struct uroce_vcontext *next; /* next context in the list of contexts of the device */
	/* number of PDs, TDs, XRC domains, CQs, channels and DMs of the context */
	unsigned nb_users;
	/*
	 * Device and inode number of the file behind verbs.context.cmd_fd. Contexts whose
	 * descriptors refer to one file may import each other's objects.
	 */
	dev_t command_dev;
	ino_t command_ino;
	/*
	 * List of asynchronous events that the program has not taken. The device's lock guards it
	 * (event.c).
	 */
	struct uroce_vevent *events, **events_end;
	/*
	 * eventfd, readable while `events` is not empty; -1: the context belongs to the library,
	 * and events of its objects are dropped
	 */
	int event_fd;
};

struct uroce_vtd {
	struct ibv_td ibv;
	unsigned nb_users; /* number of parent domains that use the thread domain */
};

struct uroce_vpd {
	struct ibv_pd ibv;
	uint64_t word; /* check word that detects a destroyed or foreign object (handle.h) */
	/*
	 * number of the protection domain, unique in the process; a key of a region works only in
	 * the domain with the region's number
	 */
	uint32_t pdn;
	/* number of MRs, MWs, mkeys, QPs, CQs, SRQs, AHs and parent domains that use the PD */
	unsigned nb_users;
	/* the PD that a parent domain extends; NULL if this PD is not a parent domain */
	struct uroce_vpd *base;
	struct uroce_vtd *td; /* thread domain of a parent domain; NULL if it has none */
	/*
	 * links in the list of the device's PDs, which the device's lock guards; `*link` is the
	 * pointer to this PD
	 */
	struct uroce_vpd *next, **link;
};

struct uroce_vmr {
	struct ibv_mr ibv;
	uint64_t word; /* check word that detects a destroyed or foreign object (handle.h) */
	struct uroce_region *region; /* memory region of this `struct ibv_mr`, see region.h */
};

struct uroce_vmw {
	/*
	 * `ibv.handle` is the window's first rkey; all rkeys of the window have the same upper 24
	 * bits
	 */
	struct ibv_mw ibv;
	uint64_t word; /* check word that detects a destroyed or foreign object (handle.h) */
};

struct uroce_vdm {
	struct ibv_dm ibv;
	uint64_t word; /* check word that detects a destroyed or foreign object (handle.h) */
	void *block;   /* hugepage memory of EAL that contains `mem` */
	uint8_t *mem;  /* device memory inside of `block`, aligned as requested */
	size_t len;    /* number of bytes of device memory at `mem` */
	size_t taken;  /* length of `block` in bytes, which is counted in `dm_len` of the device */
	/* number of MRs in the device memory; guarded by the mutex of the context */
	unsigned nb_users;
};

struct uroce_vah {
	struct ibv_ah ibv;
	uint64_t word; /* check word that detects a destroyed or foreign object (handle.h) */
	struct uroce_path path;
};

struct uroce_vcq;

struct uroce_vchannel {
	/*
	 * the part of the channel that programs see; `fd` is an eventfd that counts events,
	 * `refcnt` the number of CQs
	 */
	struct ibv_comp_channel ibv;
	pthread_mutex_t lock; /* held while a thread changes the list of CQs, or takes an event */
	/* list of the channel's CQs; a CQ whose event was taken moves to the end */
	struct uroce_vcq *first;
	struct uroce_vcq *last;
};

struct uroce_vcq {
	union {
		struct ibv_cq ibv;
		struct ibv_cq_ex ibv_ex;
	};
	uint8_t resv[UROCE_ABI_ROOM];
	struct uroce_cq queue;
	/*
	 * worker of the CQ, which comp_vector has chosen; a QP that has this CQ as send CQ starts
	 * on this worker
	 */
	struct uroce_worker *worker;
	struct uroce_cq_notify notify;
	void *mem; /* memory of the entries of the CQ */
	/* the device has the key drive=app: polling the CQ while it is empty drives the worker */
	bool is_app_driven;
	/*
	 * the device has the key drive=app, and the CQ was armed since the last uroce_vcq_leave()
	 */
	atomic_bool must_notify;
	/*
	 * Number of QPs and XRC SRQs that use the CQ. A QP that has this CQ both as send CQ and as
	 * receive CQ counts twice.
	 */
	unsigned nb_users;
	/* number of completion events of the CQ that the program took; guarded by ibv.mutex */
	uint32_t nb_comp;
	/* number of asynchronous events of the CQ that the program took; guarded by ibv.mutex */
	uint32_t nb_async;
	struct uroce_vcq *next; /* next CQ in the list of the channel */
	uint64_t word; /* check word that detects a destroyed or foreign object (handle.h) */
	struct ibv_pd *parent; /* parent domain of the CQ; NULL if it has none */
	/*
	 * The three fields below are used by ibv_start_poll(), ibv_next_poll() and ibv_end_poll()
	 * (cq_ex.c).
	 */
	/* lock that is held from ibv_start_poll() to ibv_end_poll() */
	struct uroce_lock batch_lock;
	/*
	 * true if batch_lock is not used, because the program promised to use the CQ in one thread
	 * at a time
	 */
	bool is_single_threaded;
	struct uroce_cqe current; /* copy of the CQ entry that was taken last */
};

/**
 * Handle that a program stops polling a CQ: the CQ is armed, and the CQ is empty or the program
 * waits for its event. If the device has the key drive=app, polling drives the worker, and the
 * program does not poll while it waits. So the service thread is notified, once after each arming.
 */
static inline void
uroce_vcq_leave(struct uroce_vcq *cq)
{
	if (atomic_load_explicit(&cq->must_notify, memory_order_relaxed) &&
	    atomic_exchange_explicit(&cq->must_notify, false, memory_order_relaxed))
		uroce_worker_leave(cq->worker);
}

struct uroce_vsrq {
	struct ibv_srq ibv;
	uint64_t word; /* check word that detects a destroyed or foreign object (handle.h) */
	struct uroce_worker_srq wsrq;
	void *mem; /* memory of the requests of the SRQ */
	/*
	 * Memory that the SRQ had before it was resized. QPs may still use requests in it. If there
	 * are several such blocks, the first word of each points to the next.
	 */
	void *old_mem;
	unsigned nb_users; /* number of QPs that use the SRQ */
	/* number of asynchronous events of the SRQ that the program took; guarded by ibv.mutex */
	uint32_t nb_async;
	/* The CQ and the XRC domain of an SRQ of type XRC; NULL for other SRQs. */
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
	uint64_t word; /* check word that detects a destroyed or foreign object (handle.h) */
	/* number of asynchronous events of the QP that the program took; guarded by ibv.mutex */
	uint32_t nb_async;
	/* state of the ibv_wr_*() calls (wr.c); NULL if the QP was created without these calls */
	struct uroce_vwr *vwr;
	/*
	 * True from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort(). In this time the thread
	 * that builds the requests holds the lock of `sq`.
	 */
	atomic_bool is_building;
	/* The two fields below are used only if this QP is a handle of an XRC target. */
	bool is_silent; /* no program sees this handle of an XRC target, so it gets no events */
	/* this QP is a handle that no program sees, and represents a registration (xrc_rcv.c) */
	bool is_registration;
	/*
	 * The fields below link an XRC target and its handles (xrc.h). The device's lock guards
	 * them.
	 */
	/* if this QP is a handle of an XRC target: the QP of the target; otherwise NULL */
	struct uroce_vqp *target;
	struct uroce_vqp *handles; /* if this QP is an XRC target: the list of its handles */
	/* if this QP is a handle of an XRC target: the next handle of the target */
	struct uroce_vqp *next;
	/* if this QP is a handle of an XRC target: XRC domain by which the program opened it */
	struct uroce_vxrcd *xrcd;
};

static inline struct uroce_vdevice *
uroce_vdevice(struct ibv_device *ibv)
{
	return (struct uroce_vdevice *)ibv;
}

/**
 * Find the device that has a context whose command descriptor refers to the file `command`.
 * @return the device; NULL: no context has such a descriptor
 */
struct uroce_vdevice *uroce_vdevice_of_command(const struct stat *command);

static inline struct uroce_vcontext *
uroce_vcontext(struct ibv_context *ibv)
{
	return (struct uroce_vcontext *)((uint8_t *)ibv -
					 offsetof(struct uroce_vcontext, verbs.context));
}

/**
 * Start the device of a context if it is only announced. The calls that make a PD, CQ, XRC domain
 * or block of device memory call this function first, and so does the query of the clock.
 * @return 0, or -errno
 */
int uroce_vcontext_start(struct ibv_context *ibv);

/** Get the device of the data path (lib/datapath) that a context has opened. */
static inline struct uroce_dev *
uroce_vcontext_dev(struct ibv_context *ibv)
{
	return uroce_vcontext(ibv)->device->dev;
}

/**
 * Whether two contexts share a command descriptor: they are one context, or one was imported from
 * the other.
 */
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
 * Create a CQ. The caller has checked comp_mask, flags and wc_flags of `init`.
 * @return the CQ, or NULL with errno: EINVAL, ENOMEM, or why the announced device does not start
 */
struct uroce_vcq *uroce_vcq_create(struct ibv_context *context,
				   const struct ibv_cq_init_attr_ex *init);

/**
 * Get the QP behind a pointer that a program holds. If the pointer is a handle of an XRC target,
 * that is the target; otherwise it is the QP itself. A NULL pointer, and a QP without a context,
 * is returned as it is.
 */
static inline struct uroce_vqp *
uroce_vqp_behind(struct ibv_qp *ibv)
{
	struct uroce_vqp *const qp = uroce_vqp(ibv);

	return ibv != NULL && ibv->context != NULL && qp->target != NULL ? qp->target : qp;
}

/**
 * Add one object to `*nb`, a count of objects of the device.
 * @return 0; -ENOMEM: the device has `max` of these objects
 */
static inline int
uroce_vdevice_count(struct uroce_vdevice *device, unsigned *nb, unsigned max)
{
	pthread_mutex_lock(&device->lock);
	const bool has_room = *nb < max;

	*nb += has_room;
	pthread_mutex_unlock(&device->lock);
	return has_room ? 0 : -ENOMEM;
}

/** Subtract one object from `*nb`, a count of objects of the device. */
static inline void
uroce_vdevice_uncount(struct uroce_vdevice *device, unsigned *nb)
{
	pthread_mutex_lock(&device->lock);
	--*nb;
	pthread_mutex_unlock(&device->lock);
}

/** Add one to `*nb_users`, the number of objects that use an object of this context. */
static inline void
uroce_users_add(struct ibv_context *context, unsigned *nb_users)
{
	pthread_mutex_lock(&context->mutex);
	++*nb_users;
	pthread_mutex_unlock(&context->mutex);
}

/** Subtract one from `*nb_users`, the number of objects that use an object of this context. */
static inline void
uroce_users_drop(struct ibv_context *context, unsigned *nb_users)
{
	pthread_mutex_lock(&context->mutex);
	--*nb_users;
	pthread_mutex_unlock(&context->mutex);
}

/** Whether other objects use an object, which then must not be destroyed. */
static inline bool
uroce_users_any(struct ibv_context *context, const unsigned *nb_users)
{
	pthread_mutex_lock(&context->mutex);
	const bool any = *nb_users > 0;

	pthread_mutex_unlock(&context->mutex);
	return any;
}

#endif /* UROCE_VERBS_OBJECT_H */
