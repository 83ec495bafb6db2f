/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_XRC_H
#define UROCE_XRC_H

/**
 * @file
 * XRC: domains, and targets that receive for the shared receive queues of a domain. The calls are
 * those of the newer and of the older generation of verbs.
 *
 * This header is a part of <uroce.h>, which includes it and explains the tags in the comments.
 */

#include <stdint.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * An XRC domain in the older generation of verbs. <infiniband/verbs.h> of the newer generation
 * does not declare this struct.
 */
struct ibv_xrc_domain {
	struct ibv_context *context;
	uint64_t handle;
};

/**
 * Attributes for an XRC target in the older generation of verbs. In that generation they were
 * struct ibv_qp_init_attr, which had an XRC domain at its end.
 */
struct uroce_xrc_rcv_init_attr {
	void *qp_context;
	/* `send_cq` and all members after it are ignored, except xrc_domain */
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp_cap cap;
	enum ibv_qp_type qp_type;
	int sq_sig_all;
	struct ibv_xrc_domain *xrc_domain;
};

/* --- XRC domains -------------------------------------------------------------------------------------- */

/**
 * Open an XRC domain of the device. With an `fd` the call opens the domain of an inode, which other
 * contexts of this process can also open. With `fd` -1 the call opens a new domain that no other
 * context can open.
 *
 * @lcore  Any thread.
 * @mt     Safe. Two threads that create the domain of an inode get the same domain.
 * @owner  The caller owns the XRCD and closes it by uroce_close_xrcd(). `fd` may be closed on
 *         return.
 * @param init_attr  comp_mask has IBV_XRCD_INIT_ATTR_FD and _OFLAGS. oflags: O_CREAT creates the
 *         domain if the inode has none. With O_CREAT | O_EXCL the call fails if the inode has one.
 * @return the XRCD, or NULL with errno. EINVAL: the domain exists and O_CREAT | O_EXCL was given,
 *         the flags are unknown, `fd` is -1 and `oflags` is not O_CREAT, comp_mask lacks a bit, or
 *         an argument is NULL; EAGAIN: there is no domain, and O_CREAT was not given; EBADF;
 *         EOPNOTSUPP: another process has a domain of that inode, the program itself has a lock
 *         (flock(2)) on the inode, or comp_mask has an unknown bit; ENOMEM; or an errno of open(2).
 */
struct ibv_xrcd *uroce_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init_attr);

/**
 * Close an XRCD. The domain ends when its last XRCD is closed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EBUSY: SRQs or QPs that were made with this XRCD are left; EINVAL: `xrcd` is NULL
 */
int uroce_close_xrcd(struct ibv_xrcd *xrcd);

/* --- XRC targets --------------------------------------------------------------------------------------- */

/**
 * Open a QP of type XRC_RECV in a domain, by its number. Every context that has opened the QP gets
 * its asynchronous events. uroce_destroy_qp() closes the QP, and the last close destroys it.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the returned QP, and closes it by uroce_destroy_qp(). Until then the QP
 *         uses its XRCD.
 * @param attr  comp_mask has IBV_QP_OPEN_ATTR_NUM, _XRCD and _TYPE, and may have _CONTEXT
 * @return a QP with the same number, or NULL with errno. EINVAL: the domain has no QP of this
 *         number and type, comp_mask lacks a bit, the XRCD is of another context, or an argument is
 *         NULL; EOPNOTSUPP: comp_mask has an unknown bit; ENOMEM.
 */
struct ibv_qp *uroce_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/* --- XRC in the older generation of verbs ----------------------------------------------------- */

/*
 * In the older generation of verbs a program identifies an XRC target by its number. The target
 * exists as long as a program is registered for it. Objects of both generations work together: an
 * XRC domain of the older generation is an XRCD of the newer one, and XRC SRQs are the same. The
 * older calls return -1 with errno where the newer ones return an errno.
 */

/**
 * Open an XRC domain as uroce_open_xrcd() does.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the domain and closes it by uroce_close_xrc_domain().
 * @param oflag  O_CREAT, O_CREAT | O_EXCL, or 0
 * @return the domain, or NULL with errno as uroce_open_xrcd()
 */
struct ibv_xrc_domain *uroce_open_xrc_domain(struct ibv_context *context, int fd, int oflag);

/**
 * Close an XRC domain as uroce_close_xrcd() does.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, or -1 with errno. EBUSY: SRQs, or registrations for QPs, are left; EINVAL: `d` is
 *         NULL.
 */
int uroce_close_xrc_domain(struct ibv_xrc_domain *d);

/**
 * Create a shared receive queue of type XRC. uroce_get_srq_num() returns its number.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_create_srq_ex().
 * @return as uroce_create_srq_ex()
 */
struct ibv_srq *uroce_create_xrc_srq(struct ibv_pd *pd, struct ibv_xrc_domain *xrc_domain,
				     struct ibv_cq *xrc_cq,
				     struct ibv_srq_init_attr *srq_init_attr);

/**
 * Create an XRC target, and register `init_attr->xrc_domain` for it. The registration keeps the
 * target from being destroyed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller gives up the registration by uroce_unreg_xrc_rcv_qp(). When the last
 *         registration of the QP is given up, the QP is destroyed.
 * @param[in,out] init_attr  only xrc_domain and qp_context are read; cap is set to zeros
 * @param[out] xrc_rcv_qpn  written on success
 * @return 0, or -1 with errno. EINVAL: an argument, or the domain, is NULL; ENOMEM.
 */
int uroce_create_xrc_rcv_qp(struct uroce_xrc_rcv_init_attr *init_attr, uint32_t *xrc_rcv_qpn);

/**
 * Modify an XRC target of the domain as uroce_modify_qp() does.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0, or -1 with errno as uroce_modify_qp(). EINVAL: also if the domain has no such QP.
 */
int uroce_modify_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num,
			    struct ibv_qp_attr *attr, int attr_mask);

/**
 * Query an XRC target of the domain as uroce_query_qp() does.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @param[out] attr, init_attr  written on success
 * @return 0, or -1 with errno EINVAL: the domain has no such QP, or an argument is NULL
 */
int uroce_query_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num,
			   struct ibv_qp_attr *attr, int attr_mask,
			   struct uroce_xrc_rcv_init_attr *init_attr);

/**
 * Register a domain for one of its XRC targets, so that the target is not destroyed. A domain has
 * at most one registration for a target, so a second call changes nothing.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, or -1 with errno. EINVAL: the domain has no such QP, or is NULL; ENOMEM.
 */
int uroce_reg_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num);

/**
 * Give up the registration of a domain for one of its XRC targets. The target is destroyed when
 * its last registration is given up.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0, or -1 with errno EINVAL: the domain is not registered for such a QP, or is NULL
 */
int uroce_unreg_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_XRC_H */
