/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_H
#define UROCE_H

/**
 * @file
 * uroce: a RoCEv2 transport in user space, over any port that DPDK drives.
 *
 * The calls mirror verbs one to one, with the same arguments, return values and errno:
 * `s/ibv_/uroce_/` ports a program's control calls. Types and constants are those of verbs. The
 * objects are verbs objects, so the inline calls of <infiniband/verbs.h> (ibv_post_send,
 * ibv_post_recv, ibv_poll_cq) work on them. This header also has a `uroce_` counterpart of each of
 * these inline calls.
 *
 * EAL belongs to the caller: rte_eal_init() must have run before the first call. A device is
 * created from a string, "PORT[,key=value...]". The programmer's guide describes the keys.
 *
 * The comment of a call describes which threads may make the call (@lcore), which other calls may
 * run at the same time (@mt), and who owns what is passed and returned (@owner). As verbs promise,
 * any thread may make any call on any object at any time, so "Safe" is the rule. An object must not
 * be used while it is being destroyed, or afterwards. No call ends the process.
 *
 * The file has more than 500 lines: a program includes one header for all calls that mirror verbs.
 */

#include <stdint.h>
#include <sys/types.h>
#include <infiniband/verbs.h>

#include "uroce_mem.h"
#include "uroce_query.h"
#include "uroce_xrc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rte_mbuf;
struct uroce_worker;

/* --- devices: calls that verbs do not have ------------------------------------------------------ */

/**
 * Create a RoCE device on an ethdev port, which the call configures and starts. Afterwards
 * uroce_get_device_list() lists the device, as uroce0, uroce1 ...
 *
 * @lcore  Any thread, after rte_eal_init() in the primary process.
 * @mt     Safe.
 * @owner  `spec` may be reused on return. The caller owns the device and destroys it by
 *         uroce_destroy_device(), before rte_eal_cleanup(). rte_eal_cleanup() frees the memory in
 *         which the device's queues, lcores and service thread work, and EAL notifies no library of
 *         it. A process that does not call rte_eal_cleanup() may end while devices are up.
 * @param spec  "PORT[,key=value...]", or "uroced[,socket=PATH][,key=value...]". With "uroced" the
 *         device is attached to the daemon that listens at PATH, and shares the port of the daemon.
 * @return the device, or NULL with errno, after one line in the log with the reason. EINVAL: the
 *         specification is wrong; ENODEV: no such port, or rte_eal_init() has not run; EBUSY: the
 *         port has a device already; ENOMEM; EPERM. With "uroced" also ENOENT or ECONNREFUSED: no
 *         daemon listens; EACCES: this user may not connect; or the errno with which the daemon
 *         refuses the device.
 */
struct ibv_device *uroce_create_device(const char *spec);

/**
 * Create a RoCE device on a port that the caller has configured and started. The library neither
 * configures nor stops the port. The caller drives the device: by uroce_worker_input() and
 * uroce_worker_output() around its own bursts, or by uroce_worker_poll().
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The port remains the caller's, and must run until the device is destroyed.
 * @param spec  the keys alone, as in "addr=192.0.2.1/24,mtu=1024"; NULL or "": no keys
 * @return as uroce_create_device(). EINVAL: also for the key drive=lcore; ENODEV: also for a bad
 *         `port_id`.
 */
struct ibv_device *uroce_create_device_on_port(uint16_t port_id, const char *spec);

/**
 * Announce a device whose port is started later, when the first object of the device is made (a PD,
 * CQ, XRC domain or block of device memory). Before that the device can be listed, opened and
 * queried. An announced device is for programs that query all devices and use only one of them, or
 * that fork before they use a device. One query, uroce_query_rt_values_ex(), starts the port,
 * because it reads the device's clock.
 *
 * @lcore  Any thread. EAL need not have been started.
 * @mt     Safe.
 * @owner  As uroce_create_device(). `arg` must be valid as long as the device exists.
 * @param spec  "PORT[,key=value...]"
 * @param vdev  "PORT[,argument=value...]", which is what EAL's option --vdev takes. From this
 *         argument the library derives the port's MAC, its longest frame and its addresses. The
 *         library can derive these only for virtual drivers. If PORT is "uroced", the library gets
 *         these properties from the daemon.
 * @param start  called once, in the thread that makes the first object, before the port is opened.
 *         If it returns 0, EAL must run and have the virtual device. If it returns an errno, the
 *         call that makes the object fails with this errno, and all later ones with EIO.
 * @return as uroce_create_device(). EINVAL: also if `vdev` is not virtual. If the port shares a
 *         kernel interface: ENODEV: no such interface; EAFNOSUPPORT: the interface is not Ethernet.
 */
struct ibv_device *uroce_announce_device(const char *spec, const char *vdev,
					 int (*start)(void *arg), void *arg);

/**
 * Destroy a device. Its port is stopped, unless it belongs to the caller
 * (uroce_create_device_on_port()).
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe. On success `device` is invalid, also in lists that were returned before.
 * @return 0; EBUSY: a context is open; EINVAL: not a device of this library
 */
int uroce_destroy_device(struct ibv_device *device);

/**
 * Get the number of workers of an open device. A CQ chooses one of them by its comp_vector.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 1 or more, or -1 with errno EINVAL: `context` is NULL
 */
int uroce_get_worker_count(struct ibv_context *context);

/**
 * Get a worker of an open device, for a program that drives workers itself.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The device owns the worker, which is valid until the device is destroyed.
 * @return the worker, or NULL with errno EINVAL: `idx` is negative or not less than the number of
 *         workers, `context` is NULL, or the device is announced and not started
 */
struct uroce_worker *uroce_get_worker(struct ibv_context *context, int idx);

/**
 * Drive one round of a worker: receive frames and respond to them, send what was posted, transmit,
 * run timers.
 *
 * @lcore  Any thread. A thread that is not an EAL thread is registered with EAL on its first call.
 * @mt     Safe. While another thread drives this worker the call returns at once.
 * @return the number of frames received and sent. 0: nothing to do, or another thread drives the
 *         worker; or with errno EINVAL: `worker` is NULL.
 */
unsigned uroce_worker_poll(struct uroce_worker *worker);

/**
 * Process frames that the caller has received. The worker takes RoCE frames for this device, and
 * the requests of ARP, neighbour discovery and echo to which it responds itself. All other frames
 * are returned.
 *
 * @lcore  An lcore that the caller reserves for the input and output of this worker.
 * @mt     Not safe with uroce_worker_poll(), _input() or _output() on the same worker. Only the
 *         caller may drive this worker.
 * @owner  The call frees the frames that it takes. Frames in `rest` belong to the caller again.
 * @param[out] rest  room for `nb` frames: the frames that were not taken, in order. `rest` may be
 *         `frames`. In place of a frame that is a chain of mbufs there may be a copy in one mbuf of
 *         the device's pool.
 * @return the number of frames in `rest`
 */
unsigned uroce_worker_input(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb,
			    struct rte_mbuf **rest);

/**
 * Get the frames that a worker has to transmit. During the call the worker processes doorbells,
 * lets its QPs send, and runs timers. The call returns the frames that result. A receive completion
 * of a reliable QP becomes visible when its acknowledgement has been returned, and after 20 ms in
 * any case.
 *
 * @lcore  As uroce_worker_input().
 * @mt     As uroce_worker_input().
 * @owner  The frames belong to the caller, who transmits them in this order, or frees them. Frames
 *         that are freed without transmission are retransmitted, as lost packets are.
 * @param[out] frames  room for `max` frames
 * @return the number of frames
 */
unsigned uroce_worker_output(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max);

/* --- devices: calls of verbs ------------------------------------------------------------------ */

/**
 * List the devices that exist now.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the list, and frees it by uroce_free_device_list(). The caller does not
 *         own the devices.
 * @param[out] num_devices  number of devices in the list; NULL: the caller does not need the number
 * @return a list that ends with NULL, or NULL with errno ENOMEM
 */
struct ibv_device **uroce_get_device_list(int *num_devices);

/**
 * Free a list of devices. The devices in it stay. NULL is allowed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 */
void uroce_free_device_list(struct ibv_device **list);

/**
 * Get the name of a device: uroce0, uroce1 ...
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The device owns the name.
 * @return the name; NULL: `device` is NULL
 */
const char *uroce_get_device_name(struct ibv_device *device);

/**
 * Get the GUID of a device, which is derived from the MAC of its port.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return the GUID in network byte order; 0: `device` is NULL
 */
__be64 uroce_get_device_guid(struct ibv_device *device);

/**
 * Get the number in the name of a device. No other device has this number until the device is
 * destroyed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0 or more; -1: `device` is NULL
 */
int uroce_get_device_index(struct ibv_device *device);

/**
 * Open a device. A device may be opened several times.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the context and closes it by uroce_close_device().
 * @return a context, or NULL with errno. EINVAL: `device` is NULL; ENOMEM; EMFILE, ENFILE: no file
 *         descriptor is left.
 */
struct ibv_context *uroce_open_device(struct ibv_device *device);

/**
 * Close a context. The call fails while objects of the context are left. libibverbs would close the
 * context and leave these objects dangling.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, or -1 with errno. EBUSY: PDs, CQs, completion channels or other objects are left;
 *         EINVAL: `context` is NULL.
 */
int uroce_close_device(struct ibv_context *context);

/**
 * Open the device of a context again, by the command descriptor of that context. The two contexts
 * share their protection domains and regions, see uroce_import_pd(). All other objects belong to
 * one of the two contexts.
 *
 * @lcore  Any thread.
 * @mt     Safe. The first context must remain open during the call.
 * @owner  On success `cmd_fd` belongs to the new context, and uroce_close_device() closes it.
 * @param cmd_fd  the first context's `cmd_fd`, duplicated by dup(), or sent to the same process by
 *         SCM_RIGHTS
 * @return a context, or NULL with errno. EBADF: not a descriptor; EINVAL: not the descriptor of a
 *         context of this process; otherwise as uroce_open_device().
 */
struct ibv_context *uroce_import_device(int cmd_fd);

/* --- fork ------------------------------------------------------------------------------------------ */

/**
 * Prepare for fork(), as verbs require. The call does nothing, because the library needs no
 * preparation. A child must not use the devices that were up at fork(), or their objects.
 *
 * @lcore  Any thread, at any time.
 * @mt     Safe.
 * @return 0
 */
int uroce_fork_init(void);

/**
 * Report whether the process is prepared for fork(). The library needs no preparation.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return IBV_FORK_UNNEEDED
 */
enum ibv_fork_status uroce_is_fork_initialized(void);

/* --- completion queues ----------------------------------------------------------------------------- */

/**
 * Create a completion channel. Its `fd` polls readable while an event is pending.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the channel and destroys it by uroce_destroy_comp_channel().
 * @return the channel, or NULL with errno. EINVAL: `context` is NULL; ENOMEM; EMFILE, ENFILE: no
 *         file descriptor is left.
 */
struct ibv_comp_channel *uroce_create_comp_channel(struct ibv_context *context);

/**
 * Destroy a completion channel.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EBUSY: CQs use the channel; EINVAL: `channel` is NULL
 */
int uroce_destroy_comp_channel(struct ibv_comp_channel *channel);

/**
 * Create a completion queue. QPs with this send CQ are placed on the worker that `comp_vector`
 * chooses.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the CQ and destroys it by uroce_destroy_cq().
 * @param channel  receives the events of the CQ; NULL: the CQ has no events
 * @return the CQ, whose field `cqe` has the number of its entries; or NULL with errno. EINVAL:
 *         `cqe` is not in 1 .. max_cqe, `comp_vector` is not in 0 .. num_comp_vectors - 1,
 *         `channel` belongs to another context, or `context` is NULL; ENOMEM: there are max_cq CQs,
 *         or there is no memory.
 */
struct ibv_cq *uroce_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			       struct ibv_comp_channel *channel, int comp_vector);

/**
 * Create a CQ whose completions a program takes one by one with ibv_start_poll(), ibv_next_poll()
 * and ibv_end_poll(), and reads with ibv_wc_read_*(). All other calls also work on this CQ. From
 * ibv_start_poll() to ibv_end_poll() no other thread can take completions by these calls. Other
 * calls for the CQ do not wait for ibv_end_poll().
 *
 * A timestamp is the time at which the worker wrote the completion, in nanoseconds. Raw timestamps
 * are times of the device's clock (uroce_query_rt_values_ex()). Wallclock timestamps count from
 * 1970.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the CQ and destroys it by uroce_destroy_cq(). Until then the CQ uses its
 *         parent domain.
 * @param init_attr  wc_flags: IBV_WC_STANDARD_FLAGS and both timestamps; flags, with
 *         IBV_CQ_INIT_ATTR_MASK_FLAGS in comp_mask: IBV_CREATE_CQ_ATTR_SINGLE_THREADED
 * @return the CQ, or NULL with errno as uroce_create_cq(). EINVAL: also if the parent domain is
 *         NULL or of another context; EOPNOTSUPP: other bits in wc_flags, flags or comp_mask.
 */
struct ibv_cq_ex *uroce_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *init_attr);

/**
 * Change the size of a CQ. The completions in the CQ stay.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EINVAL: `cqe` is not in 1 .. max_cqe, `cqe` is lower than the number of completions in
 *         the CQ, or `cq` is NULL; ENOMEM
 */
int uroce_resize_cq(struct ibv_cq *cq, int cqe);

/**
 * Destroy a CQ. The call waits until the program has acknowledged all events that it took of the
 * CQ, as verbs require.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EBUSY: QPs or XRC SRQs use the CQ; EINVAL: `cq` is NULL
 */
int uroce_destroy_cq(struct ibv_cq *cq);

/**
 * Take completions from a CQ. On a device with the key drive=app the call drives the CQ's worker
 * for one round if the CQ is empty.
 *
 * @lcore  Any thread. The call may drive the worker, see uroce_worker_poll().
 * @mt     Safe.
 * @param[out] wc  room for `num_entries` completions
 * @return the number of completions. Negative: the CQ overran and cannot be used any more,
 *         `num_entries` is negative, or `cq` is NULL.
 */
int uroce_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/**
 * Arm a CQ: one event is raised at the next completion, or, with `solicited_only`, at the next
 * completion that is solicited or failed. A completion that is already in the CQ raises no event,
 * so a program polls after arming.
 *
 * @lcore  Any thread.
 * @mt     Safe. If the CQ is armed with and without `solicited_only`, the event is raised at the
 *         next completion.
 * @return 0
 */
int uroce_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/**
 * Wait for an event of any CQ of a channel. The call does not wait if O_NONBLOCK is set on the
 * channel's `fd`.
 *
 * @lcore  Any thread. While this thread waits it does not drive workers. On a device with the key
 *         drive=app the service thread then drives them.
 * @mt     Safe. Each event goes to one of the waiting threads.
 * @owner  The caller acknowledges the event by uroce_ack_cq_events().
 * @param[out] cq, cq_context  the CQ that has the event; written on success
 * @return 0, or -1 with errno. EAGAIN: no event is pending, and the fd is non-blocking; EINTR: a
 *         signal arrived; EINVAL: `channel` is NULL.
 */
int uroce_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);

/**
 * Acknowledge events of a CQ. It is cheaper to acknowledge many events in one call.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 */
void uroce_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

/* --- shared receive queues --------------------------------------------------------------------------- */

/**
 * Create a shared receive queue for QPs of the same context, of any protection domain. The keys in
 * its receive requests are keys of `pd`.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the SRQ and destroys it by uroce_destroy_srq(). Until then the SRQ uses
 *         `pd`.
 * @param[in,out] init_attr  max_wr and max_sge are set to what the queue has: exactly what was
 *         requested, but at least 1. srq_limit is ignored, and no limit is armed.
 * @return the SRQ, or NULL with errno. EINVAL: max_wr or max_sge is beyond the device's limits, or
 *         an argument is NULL; ENOMEM: there are max_srq SRQs, or there is no memory.
 */
struct ibv_srq *uroce_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init_attr);

/**
 * Create a shared receive queue of a given type. If comp_mask gives no type, it is IBV_SRQT_BASIC.
 * For IBV_SRQT_XRC, XRC targets of domain `xrcd` receive into the queue, and its completions go to
 * `cq`.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_create_srq(). The SRQ also uses `xrcd` and `cq`.
 * @param[in,out] init_attr  as for uroce_create_srq(). comp_mask has IBV_SRQ_INIT_ATTR_PD; for XRC
 *         also _TYPE, _XRCD and _CQ.
 * @return as uroce_create_srq(). EINVAL: also if comp_mask lacks what the type needs, or an object
 *         belongs to another context; EOPNOTSUPP: a type or a bit of comp_mask that this device
 *         does not support.
 */
struct ibv_srq *uroce_create_srq_ex(struct ibv_context *context,
				    struct ibv_srq_init_attr_ex *init_attr);

/**
 * Modify attributes of an SRQ: its size (IBV_SRQ_MAX_WR), or its limit (IBV_SRQ_LIMIT). When fewer
 * requests than the limit are posted, IBV_EVENT_SRQ_LIMIT_REACHED is raised once. If fewer requests
 * are posted already at the time of the call, the event is raised at once. A limit of 0 raises no
 * event. A call that fails changes nothing.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; ENOMEM; EINVAL: one of the following. The mask has an unknown bit. max_wr is 0, beyond
 *         the device's limit, less than the requests that are posted or that QPs are receiving
 *         into, or less than an armed limit. srq_limit is beyond max_wr. An argument is NULL.
 */
int uroce_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int attr_mask);

/**
 * Query the attributes of an SRQ. srq_limit is 0 if no limit is armed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] attr  written on success
 * @return 0; EINVAL: an argument is NULL
 */
int uroce_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);

/**
 * Get the number by which peers address an XRC SRQ.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] srq_num  written on success
 * @return 0; EINVAL: the SRQ is not of type XRC, or an argument is NULL
 */
int uroce_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);

/**
 * Destroy an SRQ. Requests that are posted to it are discarded. The call waits until the program
 * has acknowledged all events that it took of the SRQ.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EBUSY: QPs use the SRQ; EINVAL: `srq` is NULL
 */
int uroce_destroy_srq(struct ibv_srq *srq);

/**
 * Post a chain of work requests to a shared receive queue. Requests in front of an invalid one are
 * posted.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_post_recv().
 * @param[out] bad_wr  first request that was not posted; written if the call fails
 * @return 0; EINVAL: a request has too many elements, or `srq` is NULL; ENOMEM: the queue is full.
 *         Requests that QPs are receiving into count as posted.
 */
int uroce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* --- queue pairs ----------------------------------------------------------------------------------- */

/**
 * Create a QP of type RC, UC, UD or XRC_SEND, in state RESET. The QP gets an unpredictable number.
 * A QP of type XRC_SEND has no receive queue, so recv_cq and srq are ignored.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the QP and destroys it by uroce_destroy_qp(). Until then the QP uses
 *         `pd`, both CQs and the SRQ.
 * @param[in,out] init_attr  `cap` is set to what the QP has: exactly what was requested, but at
 *         least 1 of each, and for inline data at least 64 bytes and 16 bytes for each element of
 *         max_send_sge. With an SRQ the QP has no receive queue, and max_recv_wr and max_recv_sge
 *         are 0.
 * @return the QP, or NULL with errno. EINVAL: the type is unknown, a CQ is missing or of another
 *         context, the SRQ is of another context or of type XRC, `cap` is beyond the device's
 *         limits, or an argument is NULL; EOPNOTSUPP: a QP type of verbs that this device does not
 *         have; ENOMEM: there are max_qp QPs, or there is no memory.
 */
struct ibv_qp *uroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr);

/**
 * Create a QP with the extended attributes that comp_mask names. A QP of type XRC_RECV receives for
 * the XRC SRQs of domain `xrcd` (IBV_QP_INIT_ATTR_XRCD). It has no queues, no CQs and no protection
 * domain, and attributes for these are ignored. All other types need `pd` (IBV_QP_INIT_ATTR_PD).
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_create_qp(). A QP of type XRC_RECV uses its XRC domain.
 * @param[in,out] init_attr  as for uroce_create_qp(). create_flags must be 0. send_ops_flags
 *         (IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) names the requests that ibv_wr_*() calls will build.
 * @return as uroce_create_qp(). EINVAL: also if comp_mask lacks what the type needs; EOPNOTSUPP:
 *         also for other bits in comp_mask, for create_flags, and for a bit of send_ops_flags that
 *         the type does not support.
 */
struct ibv_qp *uroce_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *init_attr);

/**
 * Convert a QP to the form that the ibv_wr_*() calls take.
 *
 * From ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort() the calling thread holds the lock of
 * the send queue. Meanwhile this thread must make no other call for the QP, and calls of other
 * threads wait. ibv_wr_complete() posts all requests that were built, or none of them, and returns
 * an errno as uroce_post_send().
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return the same QP; NULL: it was not created with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
 */
struct ibv_qp_ex *uroce_qp_to_qp_ex(struct ibv_qp *qp);

/**
 * Modify attributes of a QP. The state of the QP is one of them. A call that fails changes
 * nothing. With IBV_QP_AV the call first resolves the peer's MAC, which may take up to 3 s.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EINVAL: the transition is not legal, a required attribute is missing, an attribute is
 *         not allowed or out of range, or an argument is NULL; ENETUNREACH: no route to the
 *         destination GID; ETIMEDOUT: the destination did not respond
 */
int uroce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);

/**
 * Query the attributes of a QP. All attributes are written, whatever the mask requests.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @param[out] attr, init_attr  written on success
 * @return 0; EINVAL: an argument is NULL
 */
int uroce_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr);

/**
 * Report whether payload is written to memory in the order of its bytes, so that a program may
 * poll the last byte. The library does not guarantee this order, because packets that arrive ahead
 * of a lost one are placed before the lost one is retransmitted. But the last packet of a message
 * is placed after all its other packets.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0
 */
int uroce_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags);

/**
 * Query or set the ECE options of a QP (enhanced connection establishment). The library does not
 * support ECE.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return EOPNOTSUPP; EINVAL: an argument is NULL
 */
int uroce_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int uroce_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);

/**
 * Destroy a QP. Requests that are posted to it are discarded, and its completions are removed from
 * its CQs. On return nothing refers to the memory that its requests name. The call waits until the
 * program has acknowledged all events that it took of the QP.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EINVAL: `qp` is NULL; EBUSY: the QP is a member of a multicast group
 */
int uroce_destroy_qp(struct ibv_qp *qp);

/**
 * Post a chain of work requests to the send queue. Requests in front of an invalid one are posted.
 *
 * @lcore  Any thread. The thread that drives the QP's worker sends the packets, or this call does.
 * @mt     Safe.
 * @owner  `wr` and inline data may be reused on return. The memory of other elements belongs to the
 *         library until the request's completion is polled. An address handle may be destroyed on
 *         return.
 * @param[out] bad_wr  first request that was not posted; written if the call fails
 * @return 0; EINVAL: the QP has not reached RTS, its type does not have the opcode, a request has
 *         too many elements, too much inline data or more than 2^31 bytes, or on a UD QP it has no
 *         address handle or one of another PD; ENOMEM: the queue is full
 */
int uroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/**
 * Post a chain of work requests to the receive queue. Requests in front of an invalid one are
 * posted.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `wr` may be reused on return. The memory of its elements belongs to the library until the
 *         request's completion is polled.
 * @param[out] bad_wr  first request that was not posted; written if the call fails
 * @return 0; EINVAL: the QP is in RESET or has no receive queue, or a request has too many
 *         elements; ENOMEM: the queue is full
 */
int uroce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* --- address handles ------------------------------------------------------------------------------- */

/**
 * Create an address handle for datagrams. The call resolves the peer's MAC, which may take up to a
 * second. The MAC of a multicast group follows from its GID, so the call does not wait.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  The caller owns the handle and destroys it by uroce_destroy_ah(). `attr` may be reused on
 *         return.
 * @return the AH, or NULL with errno. EINVAL: there is no GRH, no such port or sgid_index, or an
 *         argument is NULL; ENETUNREACH: no route to the destination GID; ETIMEDOUT: the
 *         destination did not respond; ENOMEM: there are max_ah handles, or there is no memory.
 */
struct ibv_ah *uroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);

/**
 * Get the attributes of an address handle for the response to a received datagram. The response
 * goes back to the source address of the datagram, from its destination address. It has the flow
 * label and hop limit of the datagram, and its traffic class, in which ECN-CE is replaced by
 * ECT(0).
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  All arguments belong to the caller.
 * @param wc  the completion of the datagram. Without IBV_WC_GRH the source address is unknown:
 *         `ah_attr` gets no GRH, and uroce_create_ah() refuses it.
 * @param grh  the first 40 bytes of what was received, of any alignment; read only if `wc` has
 *         IBV_WC_GRH
 * @param[out] ah_attr  written on success
 * @return 0, or -1 with errno. EINVAL: no such port, `grh` is not an IP header, the destination
 *         address is not one of this device (a multicast group's is not), or an argument is NULL;
 *         EPROTONOSUPPORT: the datagram is not RoCEv2.
 */
int uroce_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			  struct ibv_grh *grh, struct ibv_ah_attr *ah_attr);

/**
 * Create an address handle for the response to a received datagram: uroce_init_ah_from_wc() and
 * uroce_create_ah() in one call.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  As uroce_create_ah().
 * @return the AH, or NULL with errno as these two calls. EINVAL: also without IBV_WC_GRH.
 */
struct ibv_ah *uroce_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				       uint8_t port_num);

/**
 * Destroy an address handle. Requests that were posted with it are still sent.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EINVAL: `ah` is NULL
 */
int uroce_destroy_ah(struct ibv_ah *ah);

/* --- multicast groups ------------------------------------------------------------------------------ */

/**
 * Attach a datagram QP to a multicast group, so that it receives datagrams to the group. Each
 * member gets its own copy, into its own receive request, if its Q_Key matches. To attach a member
 * again changes nothing. To send to the group, a program makes an address handle for the group's
 * GID, and sends to QPN 0xffffff. Members on the sender's device, including the sender, also get
 * copies.
 *
 * The library reports memberships to routers, and to switches that snoop, by IGMPv2 or MLDv1 [RFC
 * 2236, 2710]. It does so immediately, once more within ten seconds, and when it is queried. If the
 * kernel owns the interface (AF_PACKET, AF_XDP), the kernel joins the group and reports it.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  The QP must be detached before it can be destroyed.
 * @param gid  an address of 224.0.0.0/4 in its IPv4-mapped form, or of ff00::/8
 * @param lid  ignored
 * @return 0; EINVAL: the QP is not of type UD, `gid` is not a group's, or an argument is NULL;
 *         ENOMEM: there are max_total_mcast_qp_attach memberships, or there is no memory; if the
 *         kernel owns the interface, also the errno with which the kernel refuses to join
 */
int uroce_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/**
 * Detach a QP from a multicast group. On return the QP receives no further datagrams to the group.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EINVAL: the QP is not a member of the group, or an argument is NULL
 */
int uroce_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* --- asynchronous events --------------------------------------------------------------------------- */

/**
 * Wait for an event of the port, or of a CQ, QP or SRQ of this context. The call does not wait if
 * O_NONBLOCK is set on `async_fd`. This descriptor may poll readable for an event that belongs to
 * another context of the same device.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe. Each event goes to one of the waiting threads.
 * @owner  The caller acknowledges the event by uroce_ack_async_event().
 * @param[out] event  written on success
 * @return 0, or -1 with errno. EAGAIN: no event is pending, and the fd is non-blocking; EINTR: a
 *         signal arrived.
 */
int uroce_get_async_event(struct ibv_context *context, struct ibv_async_event *event);

/**
 * Acknowledge an asynchronous event. A call that destroys the CQ, QP or SRQ of the event waits
 * until the event is acknowledged.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 */
void uroce_ack_async_event(struct ibv_async_event *event);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_H */
