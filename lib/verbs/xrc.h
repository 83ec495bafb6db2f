/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_XRC_H
#define UROCE_VERBS_XRC_H

/**
 * @file
 * XRC domains and XRC targets, which several contexts of a process may have open.
 *
 * Programs have handles of domains and targets. A handle of a domain is a `struct uroce_vxrcd`, one
 * for each open call. A handle of a target is a `struct uroce_vqp` whose `target` is the QP itself,
 * which programs never see. Closing the last handle destroys the domain or the target. A device has
 * a list of its domains, and each target has a list of its handles. The device's lock guards these
 * lists.
 */

#include "verbs/object.h"
#include "verbs/uroce.h"

/** An XRC domain of a device. */
struct uroce_vdomain {
	struct uroce_vdomain *next; /* next XRC domain in the list of the device */
	uint32_t number;            /* number of the XRC domain, unique on the device; never 0 */
	/* inode by which other contexts can open the domain; NULL if no other context can */
	struct uroce_vinode *inode;
	unsigned nb_xrcds;
};

/**
 * A program's handle of an XRC domain. The older and the newer generation of verbs each have a
 * struct for this handle, and both structs begin with `context`.
 */
struct uroce_vxrcd {
	union {
		struct ibv_xrcd ibv;
		struct ibv_xrc_domain ibv_old;
	};
	struct uroce_vdomain *domain;
	/*
	 * Number of SRQs and of handles of XRC targets that were created with this handle. The
	 * mutex of the context guards the number.
	 */
	unsigned nb_users;
};

static inline struct uroce_vxrcd *
uroce_vxrcd(struct ibv_xrcd *ibv)
{
	return (struct uroce_vxrcd *)ibv;
}

/** Attributes of a new QP, apart from those that verbs have. */
struct uroce_vqp_conf {
	uint32_t xrcd;     /* for an XRC target: the number of its XRC domain */
	bool has_mkeys;    /* the QP may configure mkeys; it also has the ibv_wr_*() calls */
	bool is_pipelined; /* the send queue stops behind a transfer with a bad signature */
	bool is_gsi;       /* the QP gets QPN 1; no program can create it */
};

/**
 * Check the attributes of a new QP.
 * @return 0; -EINVAL; -EOPNOTSUPP; -ENOENT: an object that `init` names is destroyed
 */
int uroce_vqp_check_init(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *init);

/**
 * Create a QP for a program, or the QP of an XRC target, of which programs have only handles
 * (struct uroce_vqp). The caller has checked `init`.
 * @param init  for an XRC target nothing but the type is read
 * @return 0; -ENOMEM; for QPN 1 also the errors of uroce_dev_alloc_gsi()
 */
int uroce_vqp_create(struct ibv_context *context, const struct ibv_qp_init_attr_ex *init,
		     const struct uroce_vqp_conf *conf, struct uroce_vqp **qp);

/**
 * Destroy a QP. If the QP is an XRC target, all its handles (struct uroce_vqp) must have been
 * closed.
 * @return 0; -EBUSY: the QP is a member of a multicast group
 */
int uroce_vqp_destroy(struct uroce_vqp *qp);

/**
 * Create an XRC target, and its first handle: the struct uroce_vqp to which a program gets a
 * pointer.
 * @param is_silent  whether the handle is hidden from the program, so that it gets no events
 * @return 0; -ENOMEM
 */
int uroce_target_create(struct uroce_vxrcd *xrcd, void *qp_context, bool is_silent,
			struct uroce_vqp **handle);

/**
 * Find an XRC target of a domain by its QP number. The caller holds the device's lock.
 * @return the target; NULL: the domain has no such target
 */
struct uroce_vqp *uroce_target_find(const struct uroce_vxrcd *xrcd, uint32_t qpn);

/**
 * Make another handle (struct uroce_vqp) of an XRC target, which is found by its QP number.
 * @return 0; -EINVAL: the domain has no target of this number; -ENOMEM
 */
int uroce_target_open(struct uroce_vxrcd *xrcd, uint32_t qpn, void *qp_context, bool is_silent,
		      struct uroce_vqp **handle);

/**
 * Close a handle (struct uroce_vqp) of an XRC target, and wait until all events of the handle are
 * acknowledged. Closing the last handle destroys the target.
 */
void uroce_target_close(struct uroce_vqp *handle);

#endif /* UROCE_VERBS_XRC_H */
