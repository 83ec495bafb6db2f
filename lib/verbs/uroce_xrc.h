/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_XRC_H
#define UROCE_XRC_H

/**
 * @file
 * XRC: domains, and targets, which receive for the shared receive queues of a domain; in both generations of
 * the API.
 *
 * It is a part of <uroce.h>, which includes it and says what the comments mean.
 */

#include <stdint.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An XRC domain, as the verbs before today's have it; <infiniband/verbs.h> has it no longer. */
struct ibv_xrc_domain {
	struct ibv_context *context;
	uint64_t handle;
};

/** What those verbs make an XRC target of: their struct ibv_qp_init_attr, which has a domain at its end. */
struct uroce_xrc_rcv_init_attr {
	void *qp_context;
	struct ibv_cq *send_cq; /* this and what follows, but for xrc_domain: ignored */
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_qp_cap cap;
	enum ibv_qp_type qp_type;
	int sq_sig_all;
	struct ibv_xrc_domain *xrc_domain;
};

/* --- XRC domains -------------------------------------------------------------------------------------- */

/**
 * Open an XRC domain of the device: that of an inode, which other contexts of this process can open, too,
 * or with `fd` -1 a new one that nobody else can.
 *
 * @lcore  Any thread.
 * @mt     Safe: two that make the domain of an inode get the same one.
 * @owner  The caller's, to be closed by uroce_close_xrcd(). `fd` may be closed on return.
 * @param init_attr  comp_mask has IBV_XRCD_INIT_ATTR_FD and _OFLAGS; oflags: O_CREAT make the domain if there
 *                   is none; with O_EXCL: fail if there is one
 * @return the XRCD, or NULL with errno: EINVAL the domain is there, and O_CREAT | O_EXCL was given; other
 *         flags; `fd` is -1, and `oflags` not O_CREAT; a bit of comp_mask missing; an argument NULL;
 *         EAGAIN no domain, and no O_CREAT; EBADF; EOPNOTSUPP another process has a domain of that inode
 *         (or the program itself a lock, flock(2), on it), or an unknown bit in comp_mask; ENOMEM; open(2)'s
 */
struct ibv_xrcd *uroce_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init_attr);

/**
 * Close it; the domain goes with the last one.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EBUSY SRQs or QPs that were made with this XRCD are left; EINVAL `xrcd` is NULL
 */
int uroce_close_xrcd(struct ibv_xrcd *xrcd);

/* --- XRC targets --------------------------------------------------------------------------------------- */

/**
 * Open an XRC_RECV QP of a domain by its number. Each who has it open is told of its asynchronous events;
 * uroce_destroy_qp() closes it, and with the last one the QP is destroyed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be closed by uroce_destroy_qp(). It uses its XRCD meanwhile.
 * @param attr  comp_mask has IBV_QP_OPEN_ATTR_NUM, _XRCD and _TYPE; may have _CONTEXT
 * @return a QP of the same number, or NULL with errno: EINVAL there is none of that number and type in the
 *         domain, a bit of comp_mask is missing, an XRCD of another context, an argument NULL; EOPNOTSUPP
 *         an unknown bit in comp_mask; ENOMEM
 */
struct ibv_qp *uroce_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/* --- XRC, as the verbs before today's have it ----------------------------------------------------------- */

/*
 * An XRC target is known by its number, and lives while somebody is registered for it. Objects of both
 * generations work together: a domain here is an XRCD there, and an XRC SRQ is the same. These calls return -1
 * with errno where those return it.
 */

/**
 * As uroce_open_xrcd().
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be closed by uroce_close_xrc_domain().
 * @param oflag  O_CREAT, and O_EXCL with it, or 0
 * @return the domain, or NULL with errno of uroce_open_xrcd()
 */
struct ibv_xrc_domain *uroce_open_xrc_domain(struct ibv_context *context, int fd, int oflag);

/**
 * As uroce_close_xrcd().
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, or -1 with errno: EBUSY SRQs, or registrations for QPs, are left; EINVAL `d` is NULL
 */
int uroce_close_xrc_domain(struct ibv_xrc_domain *d);

/**
 * Make an XRC SRQ. Its number is told by uroce_get_srq_num().
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
 * Make an XRC target, and register the caller for it.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  To be given up by uroce_unreg_xrc_rcv_qp(); with the last registration the QP is destroyed.
 * @param[in,out] init_attr  xrc_domain is what is read; cap is set to zeroes
 * @param[out] xrc_rcv_qpn  written on success
 * @return 0, or -1 with errno: EINVAL an argument, or the domain, is NULL; ENOMEM
 */
int uroce_create_xrc_rcv_qp(struct uroce_xrc_rcv_init_attr *init_attr, uint32_t *xrc_rcv_qpn);

/**
 * As uroce_modify_qp(), for a QP of the domain.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0, or -1 with errno of uroce_modify_qp(); EINVAL the domain has no such QP
 */
int uroce_modify_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num,
			    struct ibv_qp_attr *attr, int attr_mask);

/**
 * As uroce_query_qp(), for a QP of the domain.
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
 * Register for a QP of the domain, so that it stays. A domain is registered once: again changes nothing.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, or -1 with errno: EINVAL the domain has no such QP, or is NULL; ENOMEM
 */
int uroce_reg_xrc_rcv_qp(struct ibv_xrc_domain *xrc_domain, uint32_t xrc_qp_num);

/**
 * Give the registration up. With the last one the QP is destroyed.
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
