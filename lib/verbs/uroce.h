/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_H
#define UROCE_H

/**
 * @file
 * uroce: a RoCEv2 transport in user space, over any port that DPDK drives.
 *
 * The calls mirror verbs one to one: `s/ibv_/uroce_/` ports a program's control calls, with the same
 * arguments, return values and errno. Types and constants are verbs' own. The objects are verbs
 * objects, so the inline calls of <infiniband/verbs.h> (ibv_post_send, ibv_post_recv, ibv_poll_cq)
 * work on them; each has a `uroce_` twin here for symmetry.
 *
 * EAL is the caller's: rte_eal_init() has run before the first call. A device is made from a string,
 * "PORT[,key=value...]"; see the programmer's guide for the keys.
 *
 * Every call may be made by any thread at any time, as verbs promise, unless its comment says less.
 */

#include <stdint.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_mbuf;
struct uroce_worker;

/* --- devices: ours, beside verbs --------------------------------------------------------------- */

/**
 * Bring a RoCE device up on an ethdev port. It is then found by uroce_get_device_list() too.
 * @return the device, or NULL with errno after one logged line: EINVAL the specification is wrong, ENODEV no
 *	such port, EBUSY the port has a device, ENOMEM, EPERM
 */
struct ibv_device *uroce_create_device(const char *spec);

/**
 * The same on a port that the caller configured and started: uroce sets nothing up and stops
 * nothing, and the caller drives (uroce_worker_input/_output, or uroce_worker_poll).
 */
struct ibv_device *uroce_create_device_on_port(uint16_t port_id, const char *spec);

/** Take a device down. @return 0, or EBUSY: a context is open. */
int uroce_destroy_device(struct ibv_device *device);

/** Number of workers of an open device. */
int uroce_get_worker_count(struct ibv_context *context);

/** The `idx`-th worker, for those who drive it themselves. NULL with errno EINVAL: no such worker. */
struct uroce_worker *uroce_get_worker(struct ibv_context *context, int idx);

/** Drive one round; see lib/datapath. @return frames received and sent; 0: idle or driven by another. */
unsigned uroce_worker_poll(struct uroce_worker *worker);

/** Feed frames that the caller received; those that are not ours come back in `rest`. */
unsigned uroce_worker_input(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb,
			    struct rte_mbuf **rest);

/** Take frames to transmit, up to `max`; the caller owns them. */
unsigned uroce_worker_output(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max);

/* --- verbs --------------------------------------------------------------------------------------- */

struct ibv_device **uroce_get_device_list(int *num_devices);
void uroce_free_device_list(struct ibv_device **list);
const char *uroce_get_device_name(struct ibv_device *device);
__be64 uroce_get_device_guid(struct ibv_device *device);
struct ibv_context *uroce_open_device(struct ibv_device *device);
int uroce_close_device(struct ibv_context *context);

int uroce_query_device(struct ibv_context *context, struct ibv_device_attr *attr);
int uroce_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr);
int uroce_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);
int uroce_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey);

struct ibv_pd *uroce_alloc_pd(struct ibv_context *context);
int uroce_dealloc_pd(struct ibv_pd *pd);

struct ibv_mr *uroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
struct ibv_mr *uroce_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				 int access);
int uroce_dereg_mr(struct ibv_mr *mr);

struct ibv_comp_channel *uroce_create_comp_channel(struct ibv_context *context);
int uroce_destroy_comp_channel(struct ibv_comp_channel *channel);
struct ibv_cq *uroce_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			       struct ibv_comp_channel *channel, int comp_vector);
int uroce_resize_cq(struct ibv_cq *cq, int cqe);
int uroce_destroy_cq(struct ibv_cq *cq);
int uroce_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int uroce_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int uroce_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);
void uroce_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

struct ibv_qp *uroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr);
int uroce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
int uroce_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr);
int uroce_destroy_qp(struct ibv_qp *qp);
int uroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int uroce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

struct ibv_ah *uroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int uroce_destroy_ah(struct ibv_ah *ah);

int uroce_get_async_event(struct ibv_context *context, struct ibv_async_event *event);
void uroce_ack_async_event(struct ibv_async_event *event);

const char *uroce_wc_status_str(enum ibv_wc_status status);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_H */
