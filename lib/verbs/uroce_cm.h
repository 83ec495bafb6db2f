/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_H
#define UROCE_CM_H

/**
 * @file
 * uroce_cm: connection management for the devices of <uroce.h>.
 *
 * The calls mirror those of librdmacm one to one, with the same arguments, return values, errno and
 * events: `s/rdma_/uroce_cm_/` ports a program. Types and constants are those of
 * <rdma/rdma_cma.h>, which this header includes. Programs do not link librdmacm. The messages on
 * the wire are those of the standard, so a peer may be a program of librdmacm on another host.
 *
 * An id (struct rdma_cm_id) is like a socket. Its events go to an event channel. An id without
 * channel is synchronous: a call waits for its event, and `id->event` is the event until the next
 * call for the id.
 *
 * The first use of a device opens a context of it. All ids of the device have this context as
 * `id->verbs`. uroce_destroy_device() closes the context, if neither ids nor objects of the program
 * use it.
 *
 * Most calls return 0, or -1 with errno. Each call that takes an id or another object by pointer
 * fails with EINVAL if the pointer is NULL, so the comments of the calls do not repeat it. EIO is
 * another errno of all calls that send something: the connection to uroced was lost.
 *
 * Events. uroce_cm_get_cm_event() also moves the QP of an id: to RTR and RTS when the peer has
 * accepted, to ERR when the peer has rejected. So a connection proceeds only if its program takes
 * events.
 *
 * Threads. The tags @lcore, @mt and @owner of the comments are explained in <uroce.h>. Any thread
 * may make any call. An id must not be used while it is destroyed. A thread of the library does the
 * work that is due without a call of the program, such as the repetition of requests for a MAC. A
 * program that has no room for a thread does this work in its own loop, see uroce_cm_set_drive().
 *
 * The file has more than 500 lines: a program includes one header for all calls that mirror
 * librdmacm.
 */

#include <stddef.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- devices ------------------------------------------------------------------------------------- */

/**
 * Open all devices that exist now, and list their contexts. Each context is the one that ids of the
 * device have as `id->verbs`.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the list and frees it by uroce_cm_free_devices(). The library owns the
 *         contexts, which the caller must not close.
 * @param[out] num_devices  number of devices in the list; NULL: the caller does not need the number
 * @return a list that ends with NULL, or NULL with errno. ENODEV: there is no device; ENOMEM;
 *         EMFILE, ENFILE: no file descriptor is left.
 */
struct ibv_context **uroce_cm_get_devices(int *num_devices);

/**
 * Free a list of devices. The contexts stay open. NULL is allowed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 */
void uroce_cm_free_devices(struct ibv_context **list);

/* --- the program's own loop: calls that librdmacm does not have ------------------------------------ */

/**
 * Who does the work of connection management that is due without a call of the program: the library
 * or the program.
 */
enum uroce_cm_drive {
	/* a thread of the library does the work of connection management; the default */
	UROCE_CM_DRIVE_THREAD,
	/* the program does the work of connection management, by uroce_cm_poll() */
	UROCE_CM_DRIVE_NONE,
};

/**
 * Choose who does the work of connection management that is due without a call of the program. With
 * UROCE_CM_DRIVE_NONE the library starts no thread for this API. A call that waits for an event
 * then does the work itself.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, or -1 with errno. EBUSY: there are ids or channels; EINVAL: `drive` is unknown.
 */
int uroce_cm_set_drive(enum uroce_cm_drive drive);

/**
 * Do the work of connection management that is due, and return. A program with a poll-mode loop
 * calls this function again and again. The time between two calls delays connections. The workers
 * of the devices must be driven, too, see uroce_worker_poll().
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return the number of events that were added to channels
 */
unsigned uroce_cm_poll(void);

/**
 * Get the descriptor that polls readable when uroce_cm_poll() has something to do. A program with
 * an event loop waits for this descriptor, and then calls uroce_cm_poll().
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The library owns the descriptor, which is valid as long as the process runs.
 * @return the descriptor, or -1 with errno EMFILE, ENFILE or ENOMEM
 */
int uroce_cm_get_fd(void);

/* --- event channels ------------------------------------------------------------------------------ */

/**
 * Create an event channel. Its `fd` polls readable while an event is pending, also with epoll. Its
 * file status flags belong to the program, which may set O_NONBLOCK.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the channel and destroys it by uroce_cm_destroy_event_channel().
 * @return the channel, or NULL with errno. ENOMEM; EMFILE, ENFILE: no file descriptor is left;
 *         EAGAIN: no thread could be started.
 */
struct rdma_event_channel *uroce_cm_create_event_channel(void);

/**
 * Destroy an event channel. The caller has destroyed the ids of the channel, and acknowledged all
 * events that it took. While an id of the channel is left, the call does nothing. NULL is allowed.
 *
 * @lcore  Any thread.
 * @mt     Not safe with calls for the same channel.
 */
void uroce_cm_destroy_event_channel(struct rdma_event_channel *channel);

/**
 * Take the oldest event of a channel. The call waits for an event, unless O_NONBLOCK is set on the
 * channel's `fd`. Before the call returns an event, it moves the QP of the id. The move may take up
 * to a second if the MAC of the peer is not known.
 *
 * | event | when, and what it carries |
 * |---|---|
 * | ADDR_RESOLVED, ADDR_ERROR | end of uroce_cm_resolve_addr(); status: -errno |
 * | ROUTE_RESOLVED | end of uroce_cm_resolve_route(); the address has a route, so there is no ROUTE_ERROR |
 * | CONNECT_REQUEST | `id` is new, `listen_id` is the listener; parameters as the accepting side sees them |
 * | CONNECT_RESPONSE | the peer accepted, and `id` has no QP: uroce_cm_establish() is next |
 * | CONNECT_ERROR | the QP could not be moved; status: -errno; the peer gets a REJ with reason 28 |
 * | UNREACHABLE | no answer: status -ETIMEDOUT; of a datagram service: positive status of SIDR_REP |
 * | REJECTED | status is the reason of the REJ; private data of the peer |
 * | ESTABLISHED | connected. Of a datagram service: param.ud has address, QPN and Q_Key |
 * | DISCONNECTED | the connection has ended |
 * | TIMEWAIT_EXIT | no frame of the connection is on the way any more |
 * | MULTICAST_JOIN, MULTICAST_ERROR | end of uroce_cm_join_multicast(); param.ud; status: -errno |
 * | ADDR_CHANGE | the device has lost the address of the id |
 * | DEVICE_REMOVAL | the device or its connection manager is lost; the program destroys the id |
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe. Each event goes to one of the waiting threads.
 * @owner  The caller acknowledges the event by uroce_cm_ack_cm_event(). Its private data is valid
 *         until then.
 * @param[out] event  written on success
 * @return 0, or -1 with errno. EAGAIN: no event is pending, and the fd is non-blocking; EINTR: a
 *         signal arrived.
 */
int uroce_cm_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event);

/**
 * Acknowledge and free an event.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  On success `event` and its private data are invalid.
 * @return 0, or -1 with errno
 */
int uroce_cm_ack_cm_event(struct rdma_cm_event *event);

/**
 * Get the name of an event, such as "RDMA_CM_EVENT_ESTABLISHED".
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return a constant text, never NULL
 */
const char *uroce_cm_event_str(enum rdma_cm_event_type event);

/* --- ids ----------------------------------------------------------------------------------------- */

/**
 * Create an id.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the id and destroys it by uroce_cm_destroy_id().
 * @param channel  gets the events of the id; NULL: the id is synchronous
 * @param[out] id  written on success
 * @param context  cookie, `id->context`
 * @param ps  RDMA_PS_TCP: connections; RDMA_PS_UDP, RDMA_PS_IPOIB: datagrams; RDMA_PS_IB: `qp_type`
 *         of the id decides, which is IBV_QPT_RC unless uroce_cm_create_ep() set it
 * @return 0, or -1 with errno. EINVAL: `ps` is unknown; ENOMEM; EMFILE, ENFILE, EAGAIN: as
 *         uroce_cm_create_event_channel().
 */
int uroce_cm_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		       enum rdma_port_space ps);

/**
 * Destroy an id. Its connection ends, its groups are left, and its pending events are dropped with
 * the ids that CONNECT_REQUESTs have made. The call waits until the program has acknowledged the
 * events that it took of the id. It never waits for a peer. The program should destroy the QP of
 * the id first. A QP that is left belongs to the program.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Not safe with other calls for the same id, except uroce_cm_ack_cm_event().
 * @return 0, or -1 with errno
 */
int uroce_cm_destroy_id(struct rdma_cm_id *id);

/**
 * Move an id and its pending events to another channel. The call waits until the program has
 * acknowledged the events that it took of the id.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Not safe with other calls for the same id, except uroce_cm_ack_cm_event().
 * @param channel  NULL: the id becomes synchronous
 * @return 0, or -1 with errno ENOMEM, EMFILE or ENFILE
 */
int uroce_cm_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel);

/**
 * Set an option of an id.
 *
 * | level, option | value | set before |
 * |---|---|---|
 * | RDMA_OPTION_ID, RDMA_OPTION_ID_TOS | uint8_t: traffic class | resolve_route, join |
 * | RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR | int: the port may be bound again, if none listens | bind |
 * | RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY | int: the IPv6 wildcard does not include IPv4 | bind |
 * | RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT | uint8_t: `timeout` of the QPs, 0 .. 31 | resolve_route, accept |
 * | RDMA_OPTION_IB, RDMA_OPTION_IB_PATH | struct ibv_path_data: the path, instead of resolve_route | |
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `optval` may be reused on return.
 * @return 0, or -1 with errno. ENOSYS: no such level or option; EINVAL: the length or the value is
 *         wrong, or the id is not in a state in which the option can be set.
 */
int uroce_cm_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen);

/**
 * Get the local or the remote port of an id.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return the port in network byte order; 0: the port is not known
 */
__be16 uroce_cm_get_src_port(struct rdma_cm_id *id);
__be16 uroce_cm_get_dst_port(struct rdma_cm_id *id);

/**
 * Get the local or the remote address of an id. Its sa_family is 0 while the address is not known.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The id owns the address.
 */
static inline struct sockaddr *
uroce_cm_get_local_addr(struct rdma_cm_id *id)
{
	return &id->route.addr.src_addr;
}

static inline struct sockaddr *
uroce_cm_get_peer_addr(struct rdma_cm_id *id)
{
	return &id->route.addr.dst_addr;
}

/* --- addresses ----------------------------------------------------------------------------------- */

/**
 * Bind an id to a local address. An address of a device also binds the id to the device: `verbs`,
 * `port_num` and the GID of the id are set then. A wildcard binds the id to no device: a listener
 * that is bound to a wildcard listens at all devices of the process. A link-local address needs a
 * scope, the index of the kernel interface of its port, if more than one device has the address.
 * 127.0.0.1 and ::1 are addresses of every device; they bind the id to the first device that has an
 * address of the family.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `addr` may be reused on return.
 * @return 0, or -1 with errno. EINVAL: the id is bound already; EAFNOSUPPORT: the family is neither
 *         AF_INET nor AF_INET6; EADDRNOTAVAIL: no device has the address, or no port is free;
 *         EADDRINUSE: the port is taken; EDQUOT: the user of the process has too many ports at
 *         uroced; ENODEV: there is no device; ENOMEM; ECONNREFUSED: the uroced of the device serves
 *         no connection management.
 */
int uroce_cm_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr);

/**
 * Find the device, the source address and the next hop to an address. The call never waits, unless
 * the id is synchronous. ADDR_RESOLVED or ADDR_ERROR reports the end of the resolution.
 *
 * Where the port of a device has a kernel interface, the kernel's routes decide. Otherwise the
 * networks and the gateway of the device decide. 127.0.0.1 and ::1 lead to the device itself.
 *
 * The status of ADDR_ERROR is -ENETUNREACH (no device has a route), -EHOSTUNREACH (the kernel
 * refuses the destination) or -ETIMEDOUT (no reply to ARP or ND).
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The addresses may be reused on return.
 * @param src_addr  NULL, or as the argument of uroce_cm_bind_addr(). An id that is bound already
 *         keeps its address.
 * @param timeout_ms  maximum time of the whole resolution, at least 1
 * @return 0, or -1 with errno. EINVAL: the id has a destination already, the two families differ,
 *         or `timeout_ms` is not positive; of a synchronous id also the errno of ADDR_ERROR;
 *         otherwise as uroce_cm_bind_addr().
 */
int uroce_cm_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr,
			  struct sockaddr *dst_addr, int timeout_ms);

/**
 * Resolve the route to the destination. The call fills in `id->route.path_rec` and `num_paths`, and
 * raises ROUTE_RESOLVED.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param timeout_ms  at least 1, otherwise not used: the resolution ends at once
 * @return 0, or -1 with errno. EINVAL: the address is not resolved, or `timeout_ms` is not
 *         positive; ENOMEM.
 */
int uroce_cm_resolve_route(struct rdma_cm_id *id, int timeout_ms);

/**
 * Translate the names of a host and a service to addresses for ids, as getaddrinfo(3) does.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller frees the list by uroce_cm_freeaddrinfo().
 * @param node  name or address of a host; NULL: `hints` has addresses, or the address is a wildcard
 * @param service  name or number of a port; NULL: the port of the addresses is 0
 * @param hints  NULL: a connection of the port space RDMA_PS_TCP. Otherwise ai_flags (RAI_PASSIVE:
 *         the addresses are for listeners; RAI_NUMERICHOST; RAI_NOROUTE; RAI_FAMILY), ai_family,
 *         ai_qp_type, ai_port_space, ai_src_addr, ai_dst_addr
 * @param[out] res  written on success
 * @return 0, or -1 with errno. EINVAL: none of `node`, `service` and `hints` is given, or a flag or
 *         a family is unknown; ENOMEM. An error EAI_* of getaddrinfo(3) is returned as it is.
 */
int uroce_cm_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
			 struct rdma_addrinfo **res);

/**
 * Free a list of addresses. NULL is allowed.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 */
void uroce_cm_freeaddrinfo(struct rdma_addrinfo *res);

/* --- queue pairs --------------------------------------------------------------------------------- */

/**
 * Create the QP of an id, and move it to INIT. The QP of an id for datagrams is moved to RTS. From
 * then on the calls and the events of the id move the QP.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  The id has the QP, `id->qp`, until uroce_cm_destroy_qp(). If `qp_init_attr` names no CQ,
 *         CQs with channels are created for the id (send_cq, recv_cq and their channels), and
 *         destroyed with the QP.
 * @param pd  NULL: the PD of the SRQ of the id, or else the default PD of the device, which all ids
 *         share
 * @param[in,out] qp_init_attr  as for uroce_create_qp(); send_cq and recv_cq may be NULL; if srq is
 *         NULL, the QP gets the SRQ of the id
 * @return 0, or -1 with errno. EINVAL: the id is not bound to a device, has a QP, or `pd` is of
 *         another context; otherwise as uroce_create_qp() and uroce_modify_qp().
 */
int uroce_cm_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *qp_init_attr);

/**
 * Create the QP of an id with extended attributes, for example an XRC QP.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  As uroce_cm_create_qp().
 * @param[in,out] qp_init_attr  as for uroce_create_qp_ex(). Without IBV_QP_INIT_ATTR_PD, or
 *         IBV_QP_INIT_ATTR_XRCD for XRC_RECV, in comp_mask the call adds the default PD or XRC
 *         domain.
 * @return as uroce_cm_create_qp(), and the errno of uroce_create_qp_ex()
 */
int uroce_cm_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr);

/**
 * Destroy the QP of an id, and the CQs that were created for it. An id without QP is left alone.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 */
void uroce_cm_destroy_qp(struct rdma_cm_id *id);

/**
 * Create the shared receive queue of an id, `id->srq`, which the QPs of the id use.
 * uroce_cm_create_srq_ex() can also create an XRC SRQ.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The id has the SRQ until uroce_cm_destroy_srq().
 * @param pd  NULL: the default PD of the device
 * @param[in,out] attr  as for uroce_create_srq(). With extended attributes the PD, and for XRC the
 *         CQ and the XRC domain, may be left out: those of the id are used instead.
 * @return 0, or -1 with errno. EINVAL: the id is not bound to a device, has an SRQ, or `pd` is of
 *         another context; otherwise as uroce_create_srq_ex().
 */
int uroce_cm_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int uroce_cm_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr);

/**
 * Destroy the SRQ of an id, and the CQ that was created for it. An id without SRQ is left alone.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 */
void uroce_cm_destroy_srq(struct rdma_cm_id *id);

/**
 * Get the attributes for a QP that the program moves itself.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[in,out] qp_attr  qp_state is the wanted state: INIT, RTR or RTS; the attributes of
 *         `*qp_attr_mask` are written on success
 * @param[out] qp_attr_mask  written on success
 * @return 0, or -1 with errno. EINVAL: the id is not bound to a device, the state is none of the
 *         three, or it is RTR or RTS and no message of the peer has arrived.
 */
int uroce_cm_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr, int *qp_attr_mask);

/**
 * Set the ECE options that the next REQ or REP of an id carries, or get those of the peer. ECE
 * options are for programs that own their QP.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param[out] ece  uroce_cm_get_remote_ece() writes it on success
 * @return 0, or -1 with errno. EINVAL: the id has a QP, the vendor is 0, or an argument is NULL.
 */
int uroce_cm_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece);
int uroce_cm_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece);

/* --- connections --------------------------------------------------------------------------------- */

/**
 * Listen for connections, or for resolutions of a datagram service. An id without address is bound
 * to the wildcard and a free port.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param backlog  CONNECT_REQUESTs that may wait for the program; a further request is rejected
 *         with reason 3. A value that is not positive, or above 1024, means 1024.
 * @return 0, or -1 with errno. EINVAL: the id listens already or has a destination; EADDRINUSE:
 *         another id listens; otherwise as uroce_cm_bind_addr().
 */
int uroce_cm_listen(struct rdma_cm_id *id, int backlog);

/**
 * Wait for a connection at a synchronous listener. If the listener has a QP's attributes from
 * uroce_cm_create_ep(), the new id has a QP.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  The caller owns the new id, which is synchronous. Its `event` is the CONNECT_REQUEST.
 * @param[out] id  written on success
 * @return 0, or -1 with errno. EINVAL: `listen` is not synchronous; EINTR; the errno of
 *         uroce_cm_create_qp().
 */
int uroce_cm_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id);

/**
 * Connect, or resolve a datagram service. ESTABLISHED, CONNECT_RESPONSE, CONNECT_ERROR, UNREACHABLE
 * or REJECTED reports the result.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  `conn_param` and its private data may be reused on return.
 * @param conn_param  NULL: no private data, 7 retries of each kind, and the limits of the device as
 *         depths. `responder_resources` and `initiator_depth` may be RDMA_MAX_RESP_RES and
 *         RDMA_MAX_INIT_DEPTH, which mean the limit of the device. `qp_num` and `srq` are used only
 *         for ids without QP. Private data has at most 56 bytes, or 180 bytes for datagrams.
 * @return 0, or -1 with errno. EINVAL: the route is not resolved, there is too much private data,
 *         or a depth is beyond the device's limit; of a synchronous id also ECONNREFUSED
 *         (REJECTED), ETIMEDOUT (UNREACHABLE), and the errno of CONNECT_ERROR.
 */
int uroce_cm_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param);

/**
 * Accept a CONNECT_REQUEST. The QP of the id is moved to RTS first. On the active side, for an id
 * without QP that has got CONNECT_RESPONSE, the call does the same as uroce_cm_establish().
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  As uroce_cm_connect().
 * @param conn_param  NULL: no private data, and the parameters that the peer has requested, within
 *         the limits of the device. Private data has at most 196 bytes, or 136 bytes for datagrams.
 * @return 0, or -1 with errno. EINVAL: the id has no request to accept, there is too much private
 *         data, a depth is beyond the device's limit, or there is neither a QP nor a qp_num; the
 *         errno of uroce_modify_qp(); of a synchronous id also ECONNREFUSED and ETIMEDOUT.
 */
int uroce_cm_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param);

/**
 * Reject a CONNECT_REQUEST or a CONNECT_RESPONSE, with reason 28 (consumer defined), or with
 * reason 35 (vendor option not supported) by uroce_cm_reject_ece(). A request for a datagram
 * service is rejected with status 2.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `private_data` may be reused on return.
 * @param private_data_len  at most 148 bytes; 136 for datagrams
 * @return 0, or -1 with errno EINVAL: the id has nothing to reject, or there is too much private
 *         data
 */
int uroce_cm_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len);
int uroce_cm_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len);

/**
 * Complete the connection of an active id without QP, after CONNECT_RESPONSE. The program has moved
 * its QP to RTS. The passive side gets ESTABLISHED.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, or -1 with errno EINVAL: the id has a QP, or no CONNECT_RESPONSE
 */
int uroce_cm_establish(struct rdma_cm_id *id);

/**
 * Report an asynchronous event of a QP. After IBV_EVENT_COMM_EST the connection of the id is
 * established although the peer's message has not arrived. ESTABLISHED follows.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, also if the connection is established already; or -1 with errno EINVAL: the event is
 *         not IBV_EVENT_COMM_EST, or the id has not accepted a connection
 */
int uroce_cm_notify(struct rdma_cm_id *id, enum ibv_event_type event);

/**
 * End a connection, and move the QP of the id to ERR. DISCONNECTED reports the end. Both sides make
 * the call: the second side confirms the end by its call.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0, also if the connection has ended already; or -1 with errno EINVAL: the id has no
 *         connection; or the errno of uroce_modify_qp()
 */
int uroce_cm_disconnect(struct rdma_cm_id *id);

/* --- multicast groups ---------------------------------------------------------------------------- */

/**
 * Join a multicast group. MULTICAST_JOIN or MULTICAST_ERROR reports the result. MULTICAST_JOIN has
 * the address (ah_attr), the QPN 0xffffff and the Q_Key to send with, and `context` as
 * private_data. When the program takes the event, the QP of the id is attached to the group. The
 * GID of an IPv4 group is ::ffff:a.b.c.d, as Linux makes it.
 *
 * uroce_cm_join_multicast_ex() can join as a sender only (RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER):
 * then the QP is not attached.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `addr` and `mc_join_attr` may be reused on return.
 * @param mc_join_attr  comp_mask is RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS
 * @return 0, or -1 with errno. EINVAL: the id has no device, is not for datagrams or is a member
 *         already, `addr` is no multicast address of the family, or the flags are unknown; ENOMEM;
 *         of a synchronous id also the errno of MULTICAST_ERROR.
 */
int uroce_cm_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context);
int uroce_cm_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *mc_join_attr,
			       void *context);

/**
 * Leave a multicast group. Pending events of the group are dropped. The call waits until the
 * program has acknowledged an event of the group that it took.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0, or -1 with errno EADDRNOTAVAIL: the id is not a member
 */
int uroce_cm_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr);

/* --- endpoints ----------------------------------------------------------------------------------- */

/**
 * Create a synchronous id for an address of uroce_cm_getaddrinfo(). On the active side the id has a
 * resolved route, and is ready for uroce_cm_connect(). On the passive side the id is bound, and
 * uroce_cm_get_request() makes a QP for each connection if `qp_init_attr` is given.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  The caller owns the id and destroys it by uroce_cm_destroy_ep(). `qp_init_attr` may be
 *         reused on return.
 * @param[out] id  written on success
 * @param pd  for the QP; NULL: the default PD
 * @param qp_init_attr  NULL: no QP; otherwise as for uroce_cm_create_qp()
 * @return 0, or -1 with errno as the calls that it makes: uroce_cm_create_id(),
 *         uroce_cm_bind_addr(), uroce_cm_resolve_addr(), uroce_cm_resolve_route() and
 *         uroce_cm_create_qp()
 */
int uroce_cm_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *qp_init_attr);

/**
 * Destroy an id with its QP and its SRQ.
 *
 * @lcore  Any thread but a worker's.
 * @mt     As uroce_cm_destroy_id().
 */
void uroce_cm_destroy_ep(struct rdma_cm_id *id);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_CM_H */
