/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_XRC_H
#define UROCE_VERBS_XRC_H

/**
 * @file
 * XRC: domains, and the receiving QPs in them, which several contexts of a process may have open.
 *
 * A program has handles. Those of a domain are `struct uroce_vxrcd`, one for each time it was opened; those
 * of an XRC target are `struct uroce_vqp` whose `target` is the QP itself, which no program ever sees. Who
 * closes the last handle ends what is behind it. The device's lock guards the lists.
 */

#include "verbs/object.h"
#include "verbs/uroce.h"

/** An XRC domain of a device. */
struct uroce_vdomain {
	struct uroce_vdomain *next; /* of the device */
	uint32_t number;            /* of the device; not 0 */
	struct uroce_vinode *inode; /* NULL: none, nobody else can open it */
	unsigned nb_xrcds;
};

/** A handle of a domain, of today's verbs and of those before: the two begin alike. */
struct uroce_vxrcd {
	union {
		struct ibv_xrcd ibv;
		struct ibv_xrc_domain ibv_old;
	};
	struct uroce_vdomain *domain;
	unsigned nb_users; /* SRQs and handles of targets; under the context's mutex */
};

static inline struct uroce_vxrcd *
uroce_vxrcd(struct ibv_xrcd *ibv)
{
	return (struct uroce_vxrcd *)ibv;
}

/** What makes a QP beside its verbs' attributes. */
struct uroce_vqp_conf {
	uint32_t xrcd;     /* of an XRC target: number of its domain */
	bool has_mkeys;    /* it may configure mkeys; it has the ibv_wr_* calls, too */
	bool is_pipelined; /* it stops behind a bad signature */
};

/**
 * Make a QP for a program, or the QP behind the handles of an XRC target. What `init` says was checked.
 * @param init  of a target: nothing but its type is looked at
 * @return 0, -ENOMEM
 */
int uroce_vqp_create(struct ibv_context *context, const struct ibv_qp_init_attr_ex *init,
		     const struct uroce_vqp_conf *conf, struct uroce_vqp **qp);

/** Its end. It has no handles. @return 0; -EBUSY: it is a member of a multicast group */
int uroce_vqp_destroy(struct uroce_vqp *qp);

/**
 * Make an XRC target, and the first handle of it.
 * @param is_silent  the program does not see the handle: it gets no events
 * @return 0, -ENOMEM
 */
int uroce_target_create(struct uroce_vxrcd *xrcd, void *qp_context, bool is_silent,
			struct uroce_vqp **handle);

/** The target of that number in the domain; NULL: there is none. Under the device's lock. */
struct uroce_vqp *uroce_target_find(const struct uroce_vxrcd *xrcd, uint32_t qpn);

/** One more handle of a target. @return 0; -EINVAL: the domain has none of that number; -ENOMEM */
int uroce_target_open(struct uroce_vxrcd *xrcd, uint32_t qpn, void *qp_context, bool is_silent,
		      struct uroce_vqp **handle);

/** Close a handle; with the last one goes the target. Waits for acknowledgements of its events. */
void uroce_target_close(struct uroce_vqp *handle);

#endif /* UROCE_VERBS_XRC_H */
