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
 * Each comment says on which threads a call may be made (@lcore), with what beside it (@mt), and
 * who owns what is passed (@owner). As verbs promise, any thread may make any call on any object at
 * any time, so "Safe" is the rule; an object must not be used while or after it is destroyed. No
 * call ends the process.
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

/* --- devices: ours, beside verbs --------------------------------------------------------------- */

/**
 * Bring a RoCE device up on an ethdev port, which is configured and started for it. It is then found
 * by uroce_get_device_list() too, as uroce0, uroce1 ...
 *
 * @lcore  Any thread, after rte_eal_init() in the primary process.
 * @mt     Safe.
 * @owner  `spec` may be reused on return. The device is the caller's, to be destroyed by
 *         uroce_destroy_device(): before rte_eal_cleanup(), which takes away the memory that its
 *         queues, its lcores and its service thread are at work in, and of which EAL tells nobody. A
 *         process may end with its devices up if it does not call that.
 * @param spec  "PORT[,key=value...]"; "uroced[,socket=PATH][,key=value...]": it is attached to the daemon that
 *              listens there, and shares its port
 * @return the device, or NULL with errno, after one logged line that says what and why:
 *         EINVAL the specification is wrong, ENODEV no such port, EBUSY the port has a device,
 *         ENOMEM, EPERM; of uroced ENOENT, ECONNREFUSED it is not there, EACCES it is not for us, and
 *         what it refuses
 */
struct ibv_device *uroce_create_device(const char *spec);

/**
 * The same on a port that the caller configured and started: uroce sets nothing up and stops
 * nothing, and the caller drives (uroce_worker_input() and uroce_worker_output() around its own
 * bursts, or uroce_worker_poll()).
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The port remains the caller's, and must run until the device is destroyed.
 * @param spec  the keys alone, "addr=192.0.2.1/24,mtu=1024"; NULL or "": none
 * @return as uroce_create_device(); EINVAL also for the key drive=lcore, ENODEV for a bad `port_id`
 */
struct ibv_device *uroce_create_device_on_port(uint16_t port_id, const char *spec);

/**
 * Make a device known whose port comes up with the first object that is made of it (a PD, CQ, XRC domain or block of
 * device memory), and that can be listed, opened and asked before: for programs that look at each device and use one,
 * or that fork in between. Only its clock (uroce_query_rt_values_ex()) is asked of the port.
 *
 * @lcore  Any thread. EAL need not have been started.
 * @mt     Safe.
 * @owner  As uroce_create_device(); `arg` is good as long as the device.
 * @param spec   "PORT[,key=value...]"
 * @param vdev   "PORT[,argument=value...]": what EAL's --vdev is given. Its MAC, longest frame and addresses are
 *               told from it: of a port of a driver that is not virtual nothing can be. "uroced", as in the
 *               specification: uroced is asked.
 * @param start  called once, in the thread that makes that object, before the port is opened: EAL is to run, with
 *               that virtual device, when it returns 0; else it returns an errno, as that call does, and all later
 *               ones with EIO
 * @return as uroce_create_device(); EINVAL also for a `vdev` that is not virtual; of one that is to share a kernel
 *         interface ENODEV there is none, EAFNOSUPPORT it is not Ethernet
 */
struct ibv_device *uroce_announce_device(const char *spec, const char *vdev,
					 int (*start)(void *arg), void *arg);

/**
 * Take a device down. Its port is stopped, unless it was handed over.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe. `device`, and its place in lists got before, are gone on success.
 * @return 0; EBUSY a context is open; EINVAL not a device of ours
 */
int uroce_destroy_device(struct ibv_device *device);

/**
 * Number of workers of an open device; its CQs choose among them by comp_vector.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 1 or more, or -1 with errno EINVAL: no context
 */
int uroce_get_worker_count(struct ibv_context *context);

/**
 * A worker of an open device, for those who drive it themselves.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The device's: good until it is destroyed.
 * @return the worker, or NULL with errno EINVAL: `idx` is not in 0 .. count - 1, or no context
 */
struct uroce_worker *uroce_get_worker(struct ibv_context *context, int idx);

/**
 * Drive one round: receive, answer, send what was posted, transmit, timers.
 *
 * @lcore  Any thread; one that EAL does not know is registered on its first call.
 * @mt     Safe: while another thread drives this worker the call returns at once.
 * @return frames received and sent; 0: idle, or another thread drives, or with errno EINVAL `worker` is NULL
 */
unsigned uroce_worker_poll(struct uroce_worker *worker);

/**
 * Feed frames that the caller received. RoCE frames for this device, and the ARP, neighbour
 * discovery and echo requests that it answers itself, are taken; the others come back.
 *
 * @lcore  One that the caller reserves for this worker's input and output.
 * @mt     Not safe with uroce_worker_poll(), _input() or _output() on the same worker: the caller
 *         drives alone.
 * @owner  Frames taken are freed here; those in `rest` are the caller's again.
 * @param[out] rest  Room for `nb`: the frames that are not ours, in order. May be `frames`.
 * @return how many there are in `rest`
 */
unsigned uroce_worker_input(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned nb,
			    struct rte_mbuf **rest);

/**
 * Take frames to transmit: doorbells, senders and timers run, and what they send is handed out. A receive completion of a
 * reliable QP is visible when its acknowledgement has been handed out, after 20 ms in any case.
 *
 * @lcore  As uroce_worker_input().
 * @mt     As uroce_worker_input().
 * @owner  The frames are the caller's: to be transmitted in this order, or freed (they are then
 *         lost, and repaired like any loss).
 * @param[out] frames  room for `max`
 * @return how many
 */
unsigned uroce_worker_output(struct uroce_worker *worker, struct rte_mbuf **frames, unsigned max);

/* --- devices, as verbs have them ----------------------------------------------------------------- */

/**
 * The devices that there are now.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The list is the caller's, to be freed by uroce_free_device_list(); the devices are not.
 * @param[out] num_devices  How many; NULL: not asked for.
 * @return a list that ends with NULL, or NULL with errno ENOMEM
 */
struct ibv_device **uroce_get_device_list(int *num_devices);

/**
 * Free a list. The devices in it stay. NULL is allowed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 */
void uroce_free_device_list(struct ibv_device **list);

/**
 * The name of a device: uroce0, uroce1 ...
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The device's.
 * @return the name; NULL: `device` is NULL
 */
const char *uroce_get_device_name(struct ibv_device *device);

/**
 * The GUID of a device, made from its MAC.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return in network byte order
 */
__be64 uroce_get_device_guid(struct ibv_device *device);

/**
 * The number in the name of a device. It is the device's until it is destroyed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0 or more; -1: `device` is NULL
 */
int uroce_get_device_index(struct ibv_device *device);

/**
 * Open a device, as often as wished.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be closed by uroce_close_device().
 * @return a context, or NULL with errno: EINVAL `device` is NULL, ENOMEM, EMFILE or ENFILE no file
 *         descriptor
 */
struct ibv_context *uroce_open_device(struct ibv_device *device);

/**
 * Close a context. Unlike libibverbs, which leaves them dangling, it refuses while objects are left.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, or -1 with errno EBUSY: PDs, CQs or completion channels are left
 */
int uroce_close_device(struct ibv_context *context);

/**
 * Open the device of a context again, by that context's command descriptor. The two share their
 * protection domains and regions, see uroce_import_pd(); everything else is each one's own.
 *
 * @lcore  Any thread.
 * @mt     Safe. The first context must remain open during the call.
 * @owner  On success `cmd_fd` belongs to the new context, which uroce_close_device() closes.
 * @param cmd_fd  the context's `cmd_fd`, duplicated by dup() or sent to ourselves by SCM_RIGHTS
 * @return a context, or NULL with errno: EBADF not a descriptor, EINVAL not one of a context of this
 *         process; as uroce_open_device()
 */
struct ibv_context *uroce_import_device(int cmd_fd);

/* --- fork ------------------------------------------------------------------------------------------ */

/**
 * Prepare for fork(): there is nothing to do. A child must not use what it inherits of uroce.
 *
 * @lcore  Any thread, at any time.
 * @mt     Safe.
 * @return 0
 */
int uroce_fork_init(void);

/**
 * Whether fork() was prepared for.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return IBV_FORK_UNNEEDED
 */
enum ibv_fork_status uroce_is_fork_initialized(void);

/* --- completion queues ----------------------------------------------------------------------------- */

/**
 * Make a completion channel; its `fd` polls readable while an event waits.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be destroyed by uroce_destroy_comp_channel().
 * @return the channel, or NULL with errno: EINVAL `context` is NULL, ENOMEM, EMFILE or ENFILE no
 *         file descriptor
 */
struct ibv_comp_channel *uroce_create_comp_channel(struct ibv_context *context);

/**
 * Destroy a completion channel.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EBUSY CQs use it; EINVAL `channel` is NULL
 */
int uroce_destroy_comp_channel(struct ibv_comp_channel *channel);

/**
 * Make a completion queue. QPs that send to it live on the worker that `comp_vector` chooses.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be destroyed by uroce_destroy_cq().
 * @param channel  where its events go; NULL: nowhere
 * @return the CQ, whose `cqe` says how many entries it has, or NULL with errno: EINVAL `cqe` is not
 *         in 1 .. max_cqe, `comp_vector` not in 0 .. num_comp_vectors - 1, `channel` of another
 *         context, `context` NULL; ENOMEM max_cq CQs, or no memory
 */
struct ibv_cq *uroce_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			       struct ibv_comp_channel *channel, int comp_vector);

/**
 * Make a CQ whose completions ibv_start_poll(), ibv_next_poll() and ibv_end_poll() take one by one, and
 * ibv_wc_read_*() read. All other calls work on it, too. Between start and end no other thread takes any by
 * these calls; nothing else waits.
 *
 * Timestamps are of when the worker wrote the completion, in nanoseconds: raw ones of the device's clock
 * (uroce_query_rt_values_ex()), wallclock ones since 1970.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be destroyed by uroce_destroy_cq(). It uses its parent domain meanwhile.
 * @param init_attr  wc_flags: IBV_WC_STANDARD_FLAGS, and both timestamps; flags (comp_mask
 *                   IBV_CQ_INIT_ATTR_MASK_FLAGS): IBV_CREATE_CQ_ATTR_SINGLE_THREADED
 * @return the CQ, or NULL with errno: those of uroce_create_cq(); EINVAL also a parent domain that is NULL or
 *         of another context; EOPNOTSUPP other bits in wc_flags, flags or comp_mask
 */
struct ibv_cq_ex *uroce_create_cq_ex(struct ibv_context *context,
				     struct ibv_cq_init_attr_ex *init_attr);

/**
 * Give a CQ another size. The entries in it stay.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EINVAL `cqe` is not in 1 .. max_cqe, or fewer than the entries in it, or `cq` is NULL;
 *         ENOMEM
 */
int uroce_resize_cq(struct ibv_cq *cq, int cqe);

/**
 * Destroy a CQ. Waits until the events that were taken of it are acknowledged, as verbs have it.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EBUSY QPs use it; EINVAL `cq` is NULL
 */
int uroce_destroy_cq(struct ibv_cq *cq);

/**
 * Take completions. Where the application drives (drive=app), an empty CQ has its worker driven for
 * one round first.
 *
 * @lcore  Any thread. It may drive the worker, see uroce_worker_poll().
 * @mt     Safe.
 * @param[out] wc  room for `num_entries`
 * @return how many; negative: the CQ overran and is lost, or `num_entries` is negative
 */
int uroce_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/**
 * Ask for one event at the next completion, or the next solicited or failed one. An entry that is in
 * the CQ already raises none: poll after arming.
 *
 * @lcore  Any thread.
 * @mt     Safe. The stronger of two requests stands.
 * @return 0
 */
int uroce_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/**
 * Wait for an event of any CQ of a channel, unless O_NONBLOCK is set on its `fd`.
 *
 * @lcore  Any thread. A worker that this thread should drive does not run while it waits: on a
 *         device with drive=app its service thread drives then.
 * @mt     Safe: an event goes to one of the threads that wait.
 * @owner  The event is to be acknowledged by uroce_ack_cq_events().
 * @param[out] cq, cq_context  whose event; written on success
 * @return 0, or -1 with errno: EAGAIN none waits and the fd is non-blocking, EINTR a signal came
 */
int uroce_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);

/**
 * Acknowledge events of a CQ; many at once are cheaper.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 */
void uroce_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

/* --- shared receive queues --------------------------------------------------------------------------- */

/**
 * Make a shared receive queue, for QPs of any protection domain of the same context; the keys of its
 * requests are of `pd`.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be destroyed by uroce_destroy_srq(). It uses `pd` meanwhile.
 * @param[in,out] init_attr  max_wr and max_sge are set to what the queue has: at least 1 of each, else as
 *                           asked for, exactly. srq_limit is ignored: nothing is armed
 * @return the SRQ, or NULL with errno: EINVAL max_wr or max_sge beyond the device's limits, an argument
 *         NULL; ENOMEM max_srq SRQs, or no memory
 */
struct ibv_srq *uroce_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init_attr);

/**
 * Make a shared receive queue of a type: IBV_SRQT_BASIC, which is meant when comp_mask does not say, or
 * IBV_SRQT_XRC, into which the XRC targets of domain `xrcd` receive, with completions in `cq`.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_create_srq(). It uses `xrcd` and `cq` meanwhile.
 * @param[in,out] init_attr  as for uroce_create_srq(); comp_mask has IBV_SRQ_INIT_ATTR_PD; for XRC also
 *                           _TYPE, _XRCD and _CQ
 * @return as uroce_create_srq(); EINVAL also when comp_mask lacks what the type needs, or an object is of
 *         another context; EOPNOTSUPP a type or a bit of comp_mask that this device has not
 */
struct ibv_srq *uroce_create_srq_ex(struct ibv_context *context,
				    struct ibv_srq_init_attr_ex *init_attr);

/**
 * Modify attributes of an SRQ: its size (IBV_SRQ_MAX_WR), and the limit (IBV_SRQ_LIMIT) below which
 * IBV_EVENT_SRQ_LIMIT_REACHED is raised, once; 0: never. Where fewer are posted already it is raised at
 * once. A call that fails changes nothing.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EINVAL an unknown bit in the mask, max_wr 0, beyond the device's limit, less than the requests
 *         that are posted or being received into, or less than an armed limit; srq_limit beyond max_wr; an
 *         argument NULL; ENOMEM
 */
int uroce_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int attr_mask);

/**
 * The attributes of an SRQ as they now are; srq_limit is 0 when nothing is armed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] attr  written on success
 * @return 0; EINVAL an argument is NULL
 */
int uroce_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);

/**
 * The number by which peers name an XRC SRQ.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] srq_num  written on success
 * @return 0; EINVAL not of type XRC, or an argument is NULL
 */
int uroce_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);

/**
 * Destroy an SRQ. What is posted to it is forgotten. Waits until the events that were taken of it are
 * acknowledged.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EBUSY QPs use it; EINVAL `srq` is NULL
 */
int uroce_destroy_srq(struct ibv_srq *srq);

/**
 * Queue a chain of work requests on a shared receive queue. Those before a bad one are queued.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_post_recv().
 * @param[out] bad_wr  First request not queued, when the call fails.
 * @return 0; EINVAL too many elements; ENOMEM the queue is full: requests that are being received into
 *         count
 */
int uroce_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* --- queue pairs ----------------------------------------------------------------------------------- */

/**
 * Make a QP of type RC, UC, UD or XRC_SEND in RESET. Its number is unpredictable. One of type XRC_SEND has
 * no receive queue: recv_cq and srq are ignored.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be destroyed by uroce_destroy_qp(). It uses `pd`, both CQs and the SRQ
 *         meanwhile.
 * @param[in,out] init_attr  `cap` is set to what the QP has: at least 1 of each, at least 64 bytes
 *                           inline, else as asked for, exactly. With an SRQ there is no receive queue:
 *                           max_recv_wr and max_recv_sge are 0
 * @return the QP, or NULL with errno: EINVAL unknown type, a CQ missing or of another context, an SRQ of
 *         another context or of type XRC, `cap` beyond the device's limits, an argument NULL; EOPNOTSUPP
 *         a QP type that verbs know but this device has not; ENOMEM max_qp QPs, or no memory
 */
struct ibv_qp *uroce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init_attr);

/**
 * Make a QP with what comp_mask adds. One of type XRC_RECV receives for the XRC SRQs of domain `xrcd`
 * (IBV_QP_INIT_ATTR_XRCD) and has nothing else: no queues, no CQs, no protection domain; what is said of
 * those is ignored. All others need `pd` (IBV_QP_INIT_ATTR_PD).
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_create_qp(). An XRC_RECV QP uses its XRCD.
 * @param[in,out] init_attr  as for uroce_create_qp(); create_flags is 0; send_ops_flags
 *                           (IBV_QP_INIT_ATTR_SEND_OPS_FLAGS): which requests will be built by
 *                           ibv_wr_*() calls
 * @return as uroce_create_qp(); EINVAL also when comp_mask lacks what the type needs; EOPNOTSUPP also other
 *         bits in comp_mask, create_flags, or a bit of send_ops_flags that the type has not
 */
struct ibv_qp *uroce_create_qp_ex(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *init_attr);

/**
 * The QP as the ibv_wr_*() calls want it.
 *
 * Between ibv_wr_start() and ibv_wr_complete() or ibv_wr_abort() the send queue is the calling thread's: no
 * other call is made for this QP by it, and those of other threads wait. ibv_wr_complete() posts all that was
 * built, or nothing, and returns the errno of uroce_post_send().
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return the same QP; NULL: it was not made with IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
 */
struct ibv_qp_ex *uroce_qp_to_qp_ex(struct ibv_qp *qp);

/**
 * Modify attributes of a QP, its state being one. A call that fails changes nothing. With IBV_QP_AV
 * the peer's MAC is found first, which may take up to a second.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EINVAL not a legal transition, a required attribute missing, one that is not allowed, a
 *         value out of range, an argument NULL; ENETUNREACH no route to the destination GID;
 *         ETIMEDOUT no answer from it
 */
int uroce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);

/**
 * The attributes of a QP as they now are; all of them, whatever the mask asks for.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @param[out] attr, init_attr  written on success
 * @return 0; EINVAL an argument is NULL
 */
int uroce_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr);

/**
 * Whether payload is written to memory in the order of its bytes, so that one may poll for the last of
 * them. It is not: packets behind a lost one are placed before it is repaired. The last packet of a
 * message is placed after all others.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0
 */
int uroce_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags);

/**
 * Enhanced connection establishment, of which there is none.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return EOPNOTSUPP; EINVAL an argument is NULL
 */
int uroce_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int uroce_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);

/**
 * Destroy a QP. What was posted to it is forgotten, its completions leave its CQs, and on return
 * nothing refers to the memory that its requests name. Waits until the events that were taken of it
 * are acknowledged.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EINVAL `qp` is NULL; EBUSY it is a member of a multicast group
 */
int uroce_destroy_qp(struct ibv_qp *qp);

/**
 * Queue a chain of work requests on the send queue. Those before a bad one are queued.
 *
 * @lcore  Any thread. Packets are sent by whoever drives the QP's worker.
 * @mt     Safe.
 * @owner  `wr` and inline data may be reused on return; the memory of other elements is lent until
 *         the request's completion is polled; an address handle may be destroyed on return.
 * @param[out] bad_wr  First request not queued, when the call fails.
 * @return 0; EINVAL the QP is not yet in RTS, an opcode that its type has not, too many elements, too
 *         much inline data, more than 2^31 bytes, UD: no address handle, or one of another PD;
 *         ENOMEM the queue is full
 */
int uroce_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/**
 * Queue a chain of work requests on the receive queue. Those before a bad one are queued.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `wr` may be reused on return; the memory of its elements is lent until the request's
 *         completion is polled.
 * @param[out] bad_wr  First request not queued, when the call fails.
 * @return 0; EINVAL the QP is in RESET or has no receive queue, too many elements; ENOMEM the queue is full
 */
int uroce_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* --- address handles ------------------------------------------------------------------------------- */

/**
 * Make an address handle for datagrams. Its peer's MAC is found now, which may take up to a second;
 * that of a multicast group is known at once.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  The caller's, to be destroyed by uroce_destroy_ah(). `attr` may be reused on return.
 * @return the AH, or NULL with errno: EINVAL no GRH, no such port or sgid_index, an argument NULL;
 *         ENETUNREACH no route to the destination GID; ETIMEDOUT no answer from it;
 *         ENOMEM max_ah handles, or no memory
 */
struct ibv_ah *uroce_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);

/**
 * The attributes of an address handle that answers a datagram: back to the address that it came from, from
 * the one that it came to, with its flow label, traffic class and hop limit.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  Everything is the caller's.
 * @param wc   of the datagram. Without IBV_WC_GRH there is nothing to answer to: `ah_attr` has no GRH, and
 *             uroce_create_ah() refuses it
 * @param grh  the first 40 bytes of what was received, read where `wc` has IBV_WC_GRH; of any alignment
 * @param[out] ah_attr  written on success
 * @return 0, or -1 with errno: EINVAL no such port, not an IP header, it came to an address that is none of
 *         ours (that of a group is not), an argument NULL; EPROTONOSUPPORT not RoCEv2
 */
int uroce_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			  struct ibv_grh *grh, struct ibv_ah_attr *ah_attr);

/**
 * uroce_init_ah_from_wc() and uroce_create_ah() in one.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  As uroce_create_ah().
 * @return the AH, or NULL with errno of either; EINVAL also without IBV_WC_GRH
 */
struct ibv_ah *uroce_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				       uint8_t port_num);

/**
 * Destroy an address handle. Requests that were posted with it are sent all the same.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EINVAL `ah` is NULL
 */
int uroce_destroy_ah(struct ibv_ah *ah);

/* --- multicast groups ------------------------------------------------------------------------------ */

/**
 * Let a datagram QP receive what is sent to a group. Each member gets a copy, into a receive request of
 * its own, if its Q_Key matches. Doing so again changes nothing. To send, make an address handle of the
 * group's GID, and send to QPN 0xffffff. Members on the sender's own device get their copies, too, the
 * sender not excepted.
 *
 * Routers, and switches that snoop, are told by IGMPv2 or MLDv1 [RFC 2236, 2710]: at once, once more
 * within ten seconds, and when they ask. Where the kernel owns the interface (AF_PACKET, AF_XDP) it joins
 * the group, and tells them in its way.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  The QP cannot be destroyed before it is detached.
 * @param gid  224.0.0.0/4 in its mapped form, or ff00::/8
 * @param lid  ignored
 * @return 0; EINVAL not a QP of type UD, not a group's GID, an argument NULL; ENOMEM
 *         max_total_mcast_qp_attach memberships, or no memory; where the kernel owns the interface,
 *         why it does not join
 */
int uroce_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/**
 * End a membership. On return nothing more arrives by it.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EINVAL the QP is no member of that group, or an argument is NULL
 */
int uroce_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* --- asynchronous events --------------------------------------------------------------------------- */

/**
 * Wait for an event of the port, or of a CQ, QP or SRQ of this context, unless O_NONBLOCK is set on
 * `async_fd`. That descriptor may poll readable for an event that another context of the same
 * device turns out to own.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe: an event goes to one of the threads that wait.
 * @owner  The event is to be acknowledged by uroce_ack_async_event().
 * @param[out] event  written on success
 * @return 0, or -1 with errno: EAGAIN none waits and the fd is non-blocking, EINTR a signal came
 */
int uroce_get_async_event(struct ibv_context *context, struct ibv_async_event *event);

/**
 * Acknowledge an event. Its CQ, QP or SRQ cannot be destroyed before.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 */
void uroce_ack_async_event(struct ibv_async_event *event);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_H */
