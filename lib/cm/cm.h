/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_CM_H
#define UROCE_CM_CM_H

/**
 * @file
 * Connection management of one device: listeners, connections and datagram services [IBA 12].
 *
 * The engine does no I/O. Messages of peers go in by uroce_cme_recv(), messages to peers come out
 * of uroce_cme_send(). Time is the parameter `now_ns`. When uroce_cme_deadline() has passed, the
 * caller calls uroce_cme_expire(). The engine never waits and allocates nothing. One thread at a
 * time uses an engine.
 *
 * A CM id is an endpoint: a listener, one end of a connection, or one end of a resolution of a
 * datagram service (SIDR). The caller names an id by a number. A table has the states of an id, and
 * what each input does in each state (cm/state.h). What happens to an id is reported by
 * uroce_cme_next_event(). Each event occurs at most once in the life of an id. So the events of an
 * id are a set of bits, and no event can be lost.
 *
 * An id remembers the last message that it has sent, and builds this message anew for each
 * repetition. Each account has two queues of ids that have something to send. Responses are in one
 * queue, requests are in the other. So a response does not wait for requests, and two hosts that
 * send many requests to each other cannot block each other.
 *
 * The time of a call does not grow with the number of ids, with four exceptions. The time to set a
 * timer grows with the logarithm of the number of timers. uroce_cme_expire() processes all timers
 * that have expired. uroce_cme_destroy() of a listener rejects all requests that wait.
 * uroce_cme_destroy_owned() destroys all ids of an owner. At most 1024 ids share a port, and at
 * most 1024 ids share a QP number, because some calls iterate over all ids of a port or of a QP
 * number.
 *
 * uroce_cme_destroy() does not wait for the peer. A destroyed id that the peer still refers to
 * continues without an owner until the peer knows that the id has ended.
 *
 * Several users may share an engine. Each user is an owner: a number, with a queue of events of its
 * own. A new id belongs to owner 0 until uroce_cme_set_owner() is called. The id of a request
 * belongs to the owner of the listener that was asked.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/be.h"
#include "cm/message.h"

/** Value of a CM id that means "no id". */
#define UROCE_CM_NO_ID UINT32_MAX

/** Deadline that means "never": no timer of the engine runs. */
#define UROCE_CM_NEVER UINT64_MAX

/**
 * Maximum number of bytes of private data that the user can pass for a REQ and for a SIDR_REQ with
 * an IP header.
 */
#define UROCE_CM_REQ_USER_LEN      56
#define UROCE_CM_SIDR_REQ_USER_LEN 180

/** Maximum number of bytes of private data in an event. */
#define UROCE_CM_EVENT_PRIVATE_LEN 216

struct uroce_cm;

/**
 * Number of accounts (groups of users) that the engine distinguishes. Accounts whose hashes are
 * equal share a limit: see uroce_cme_set_account(). A power of two.
 */
#define UROCE_CM_NB_ACCOUNTS 4096u

/** Configuration of a CM engine. A member that is zero means the default. */
struct uroce_cm_conf {
	/*
	 * maximum number of CM ids, including destroyed ids that wait for the peer. With the ACK
	 * timeout that Linux sends (code 19), an end of a connection that has ended is in TIMEWAIT
	 * for 2.2 s. So n new connections in a second need 2.2 * n ids in addition to those of the
	 * connections that exist at a time.
	 */
	uint32_t max_ids;
	/*
	 * maximum number of connection requests of one host that wait at one listener; 0 means 1024
	 */
	uint32_t max_backlog;
	be64 ca_guid; /* node GUID of the device */
	/* random bytes, which no peer knows: comm ids, TIDs and PSNs are computed from them */
	uint8_t secret[16];
	/* target ACK delay of the device, encoded (cm/timeout.h), which a REP reports */
	uint8_t ack_delay_code;
	/*
	 * encoded time (cm/timeout.h) in which this side and the peer answer a CM message; 0 means
	 * code 20 (4.3 s), which Linux sends
	 */
	uint8_t timeout_code;
	/* maximum number of repetitions of a CM message, 1 to 15; 0 means 15, which Linux sends */
	uint8_t max_retries;
	/*
	 * first and last ephemeral port: a CM id that is bound to port 0 gets a port of this range;
	 * 0 means 32768 and 60999
	 */
	uint16_t first_port;
	uint16_t last_port;
	/* maximum number of users that share the engine, at most 2^16; 0 means 1 */
	uint32_t max_owners;
	/*
	 * the engine limits the CM ids and the ephemeral ports that an account (a group of users)
	 * has, see uroce_cme_set_account()
	 */
	bool has_accounts;
};

/** Address and port of an endpoint. An address of all zero is the wildcard. */
struct uroce_cm_addr {
	uint8_t ip_version; /* IP version of the address, 4 or 6; 0 if there is no address */
	uint16_t port;      /* port number; 0: any port */
	/* the IP address; an IPv4 address is in bytes 12 to 15, after twelve zero bytes */
	uint8_t ip[16];
};

/** Address vector: the two hosts that exchange a message. "Local" is this side. */
struct uroce_cm_av {
	uint8_t local_gid[16];
	uint8_t remote_gid[16];
	uint32_t port; /* port number of the device, which the engine does not interpret */
	uint32_t flow_label;
	uint8_t traffic_class;
	/* hop limit of packets to the peer; 0 or 1: the peer is on the same link */
	uint8_t hop_limit;
};

/** The parameters of one end of a connection, or of a datagram service. */
struct uroce_cm_param {
	uint32_t qpn;
	/* datagram service: Q_Key that the SIDR_REP reports to the peer */
	uint32_t qkey;
	/* uroce_cme_connect() only: transport service RC, UC or XRC (enum uroce_cm_transport) */
	uint8_t transport;
	/* uroce_cme_accept() only: the QP with the number `qpn` is an XRC target QP */
	bool is_xrc_target;
	/* maximum number of READs and atomics that this side accepts at a time */
	uint8_t responder_resources;
	/* maximum number of READs and atomics that this side has in flight */
	uint8_t initiator_depth;
	bool has_flow_control;
	/* uroce_cme_connect() only: retry count of the QPs of both sides */
	uint8_t retry_count;
	uint8_t rnr_retry_count; /* RNR retry count that the peer's QP must use; 7: no limit */
	bool has_srq;
	uint8_t mtu_code; /* uroce_cme_connect() only: path MTU, a value of enum ibv_mtu */
	uint16_t pkey;    /* uroce_cme_connect() only: partition key; 0 means 0xffff */
	/*
	 * uroce_cme_connect() only: encoded ACK timeout of the QPs; 0 means code 19 (2.1 s), which
	 * Linux sends
	 */
	uint8_t ack_timeout_code;
	uint32_t ece_vendor_id;
	uint32_t ece_options;
	uint8_t private_len;
	/*
	 * private data for the message that the call sends; the call copies it; NULL if
	 * `private_len` is 0
	 */
	const void *private_data;
};

/**
 * Events that the engine reports to the user of a CM id, in the order in which they occur. Names
 * are those of enum rdma_cm_event_type.
 */
enum uroce_cm_event_kind {
	/*
	 * a peer requests a connection or a datagram service of the CM id `listener`; `id` is a new
	 * id for the request
	 */
	UROCE_CM_EVENT_CONNECT_REQUEST,
	/*
	 * the peer accepted the connection: uroce_cme_query() returns the peer's parameters, and
	 * the user has to call uroce_cme_establish()
	 */
	UROCE_CM_EVENT_CONNECT_RESPONSE,
	/*
	 * the peer did not answer in time (`status` is -ETIMEDOUT), or refused to resolve the
	 * service (`status` is the positive status of the SIDR_REP)
	 */
	UROCE_CM_EVENT_UNREACHABLE,
	/* the peer rejected the request; `status` is the reason (cm/reason.h) */
	UROCE_CM_EVENT_REJECTED,
	/* passive side: the active side is ready; SIDR: the service is resolved */
	UROCE_CM_EVENT_ESTABLISHED,
	/* the connection has ended; if `status` is -ETIMEDOUT, the peer did not confirm the end */
	UROCE_CM_EVENT_DISCONNECTED,
	UROCE_CM_EVENT_TIMEWAIT_EXIT,
	UROCE_CM_EVENT_NB
};

struct uroce_cm_event {
	enum uroce_cm_event_kind kind;
	uint32_t id;
	/*
	 * for the event CONNECT_REQUEST: the listener of the request; for other events:
	 * UROCE_CM_NO_ID
	 */
	uint32_t listener;
	/*
	 * cookie of the CM id; for the event CONNECT_REQUEST: cookie of the listener, which the new
	 * id inherits
	 */
	uint64_t user;
	int status;
	/*
	 * the private data of the peer's message. The length is that of the field in the message,
	 * because the message does not contain the number of bytes that the peer has filled.
	 */
	uint8_t private_len;
	uint8_t private_data[UROCE_CM_EVENT_PRIVATE_LEN];
};

/** A CM message that uroce_cme_send() returns, and that the caller transmits. */
struct uroce_cm_tx {
	struct uroce_cm_av av;
	bool is_request; /* true: the message is a request; false: it is an answer to the peer */
	/* true: the message belongs to a CM id; false: it is a reply that belongs to no id */
	bool has_id;
	/*
	 * index of the account that the CM id counts for, less than UROCE_CM_NB_ACCOUNTS; 0 if
	 * has_id is false
	 */
	uint16_t account_idx;
	uint8_t mad[UROCE_MAD_LEN];
};

/** State of a CM id as its user sees it, with the values for rdma_conn_param and ibv_qp_attr. */
struct uroce_cm_info {
	uint64_t user;
	uint8_t state;  /* state of the CM id (enum uroce_cm_state, cm/state.h) */
	bool is_active; /* this side has sent the REQ or the SIDR_REQ */
	bool is_datagram;
	uint64_t service_id;
	uint32_t local_comm_id;
	uint32_t remote_comm_id; /* communication ID of the peer; 0 if it is not known */
	struct uroce_cm_addr local;
	/* address of the peer; the member ip_version is 0 while the address is not known */
	struct uroce_cm_addr remote;
	struct uroce_cm_av av;
	uint8_t transport;
	uint16_t pkey;
	uint32_t local_qpn;
	uint32_t remote_qpn; /* QP number of the peer (dest_qp_num); 0 if it is not known */
	uint32_t sq_psn;
	uint32_t rq_psn;
	uint32_t remote_qkey; /* Q_Key of the peer's datagram service */
	uint8_t mtu_code;     /* the value for ibv_qp_attr.path_mtu */
	/*
	 * The fields responder_resources and initiator_depth have the values that the peer requests
	 * until this side answers, and the agreed values from then on. Both are limits of this
	 * side's QP.
	 */
	uint8_t responder_resources; /* the value for ibv_qp_attr.max_dest_rd_atomic */
	uint8_t initiator_depth;     /* the value for ibv_qp_attr.max_rd_atomic */
	uint8_t ack_timeout_code;    /* the value for ibv_qp_attr.timeout */
	uint8_t retry_count;         /* the value for ibv_qp_attr.retry_cnt */
	uint8_t rnr_retry_count;     /* the value for ibv_qp_attr.rnr_retry */
	bool has_flow_control;       /* the peer's QP sends end-to-end credits */
	bool has_srq;                /* the peer's QP uses an SRQ */
	/* vendor of the ECE options (enhanced connection establishment) that the peer has sent */
	uint32_t ece_vendor_id;
	uint32_t ece_options;
};

/**
 * Counters of the CM messages of an engine. The index of an array is the attribute ID of a message
 * minus UROCE_CM_ATTR_FIRST.
 */
struct uroce_cm_stats {
	uint64_t nb_tx[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST];
	uint64_t nb_tx_retries[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST];
	uint64_t nb_rx[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST];
	uint64_t nb_rx_duplicates[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST];
	/* REQs and SIDR_REQs that were refused because the backlog of the listener was full */
	uint64_t nb_backlog_full;
	/*
	 * REQs and SIDR_REQs that were refused because no CM id was free, or because an account or
	 * a host has too many ids
	 */
	uint64_t nb_no_id;
	/* replies without a CM id that were dropped because too many replies waited */
	uint64_t nb_replies_dropped;
	/*
	 * connections, and attempts to connect, that ended because a later REQ or REP named the
	 * same QP of the peer
	 */
	uint64_t nb_superseded;
};

/** Get the size of an engine's memory in bytes. `conf->max_ids` is 1 .. 2^24. */
size_t uroce_cme_memsize(const struct uroce_cm_conf *conf);

/**
 * Initialise an engine in `mem`, which is aligned for any type. The memory of a CM id, which is
 * most of the memory, is not written before the id is created.
 */
struct uroce_cm *uroce_cme_init(void *mem, const struct uroce_cm_conf *conf);

/**
 * Process a CM message of a peer.
 * @param from  address vector of the message, to which the replies are sent
 */
void uroce_cme_recv(struct uroce_cm *cm, const struct uroce_cm_msg *msg,
		    const struct uroce_cm_av *from, uint64_t now_ns);

/**
 * Dequeue CM messages that the caller has to transmit to peers.
 * @return number of messages in `out`, at most `max`
 */
unsigned uroce_cme_send(struct uroce_cm *cm, struct uroce_cm_tx *out, unsigned max,
			uint64_t now_ns);

/** Whether the engine has a message that uroce_cme_send() would return. */
bool uroce_cme_has_tx(const struct uroce_cm *cm);

/** Dequeue the oldest event of the CM ids of owner 0. @return false: there is no event */
bool uroce_cme_next_event(struct uroce_cm *cm, struct uroce_cm_event *event);

/** Dequeue the oldest event of the CM ids of an owner. @return false: there is no event */
bool uroce_cme_next_owner_event(struct uroce_cm *cm, uint16_t owner, struct uroce_cm_event *event);

/** Whether a CM id of an owner has an event that the owner has not received. */
bool uroce_cme_has_owner_event(const struct uroce_cm *cm, uint16_t owner);

/**
 * Until `until_ns`, do not refuse a connection request for which there is no listener: such a
 * request gets no answer, and the peer repeats it. A host calls this function after a restart,
 * because its programs need some time until they listen again.
 */
void uroce_cme_await_listeners(struct uroce_cm *cm, uint64_t until_ns);

/** Get the time at which uroce_cme_expire() must be called; UROCE_CM_NEVER if no timer is set. */
uint64_t uroce_cme_deadline(const struct uroce_cm *cm);

/** Process the timers of CM ids that have expired. */
void uroce_cme_expire(struct uroce_cm *cm, uint64_t now_ns);

/**
 * Process at most `max` of the timers of CM ids that have expired. The limit bounds the time of the
 * call, because very many timers may expire at the same time.
 * @return whether further timers have expired
 */
bool uroce_cme_expire_some(struct uroce_cm *cm, uint64_t now_ns, unsigned max);

/**
 * Create a CM id.
 * @param space  port space (cm/service_id.h)
 * @param is_datagram  the id resolves, or offers, a datagram service by SIDR
 * @param user  cookie, which events of the id carry
 * @param[out] id  the id; valid until uroce_cme_destroy()
 * @return 0; -ENOMEM: no id is free
 */
int uroce_cme_create(struct uroce_cm *cm, uint16_t space, bool is_datagram, uint64_t user,
		     uint32_t *id);

/**
 * Assign an owner (a user of the engine) to an account. An account is a group of owners whose CM
 * ids and ephemeral ports are limited together. Every owner is assigned to account 0 at first. Ids
 * that the owner already has count for the former account.
 *
 * If the engine has accounts, an account gets another id only if it has fewer ids than are free. So
 * a single account gets at most one half of the ids, and it gets fewer if other accounts have ids.
 * A destroyed id counts while it waits for the peer, and a request counts for the account of the
 * listener. A request beyond the limit is refused. Accounts whose hashes are equal share a limit.
 *
 * In the same way an account gets another ephemeral port of a port space only if it has fewer than
 * are free. Each id that is bound to an ephemeral port counts, for the account that its owner had
 * when it was bound. Other ports are not limited by account.
 * @param account  any number
 */
void uroce_cme_set_account(struct uroce_cm *cm, uint16_t owner, uint32_t account);

/**
 * Check whether an owner may create a CM id. @return 0; -EDQUOT: the owner's account has too many
 * ids
 */
int uroce_cme_check_account(const struct uroce_cm *cm, uint16_t owner);

/** Make an owner the new owner of a CM id that has no pending events. */
void uroce_cme_set_owner(struct uroce_cm *cm, uint32_t id, uint16_t owner);

/**
 * Whether an owner may use a CM id: the owner has created the id, or has received its
 * CONNECT_REQUEST, and has not destroyed the id. The parameter `id` may be any number.
 */
bool uroce_cme_is_owner(const struct uroce_cm *cm, uint32_t id, uint16_t owner);

/**
 * Bind a CM id to an address and a port. Port 0: a free port is chosen. An IPv4 address must be
 * given with `ip_version` 4, because requests from and to this address have IPv4 addresses.
 * @param is_v6only  the IPv6 wildcard does not include IPv4
 * @param is_shared  other ids that set `is_shared`, too, may bind the port, unless one of them
 *	listens
 * @return 0; -EINVAL: the id is bound or the address is no IP address; -EADDRINUSE: the binding of
 *	another id excludes this one, or the port has 1024 ids; -EADDRNOTAVAIL: no free port was
 *	found, or the address has the form ::ffff:192.0.2.1; -EDQUOT: the account has too many
 *	ephemeral ports
 */
int uroce_cme_bind(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_addr *addr,
		   bool is_v6only, bool is_shared);

/**
 * Listen at the address to which a CM id is bound.
 * @param backlog  connection requests of one host that may wait for uroce_cme_next_event(). The
 *	requests of all hosts may be twice as many, so that one host cannot lock out the others. A
 *	further request is refused. The value 0, or a value above the engine's limit, means the
 *	limit
 * @return 0; -EINVAL: the id is not bound, or not idle; -EADDRINUSE: another id has the port at an
 *	address that overlaps
 */
int uroce_cme_listen(struct uroce_cm *cm, uint32_t id, uint32_t backlog);

/**
 * Request a connection to a peer, or the resolution of its datagram service. For a request with an
 * IP header, the CM id must be bound to the IP address of `av->local_gid`, and `remote` must be the
 * IP address of `av->remote_gid`. For a request without an IP header, `remote->ip_version` is 0,
 * and `remote->port` is the low part of a service ID of the port space. The port spaces TCP, UDP
 * and IPOIB require the header. If the peer looks for a header (uroce_cm_service_has_ip()), the
 * private data of a request without header must not have the form of a header, because otherwise a
 * user could pretend to have any port of this host.
 * @param param  for a datagram service only the private data and the P_Key are used
 * @return 0; -EINVAL: the state of the id does not permit the call, or the id is not bound as
 *	described; the addresses, or the lack of a header, are not as described; the private data
 *	does not fit; a member of `param` has no valid value. -EBUSY: 1024 ids have the QP number
 */
int uroce_cme_connect(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_addr *remote,
		      const struct uroce_cm_av *av, const struct uroce_cm_param *param,
		      uint64_t now_ns);

/**
 * Accept a connection, or a datagram request, that the event CONNECT_REQUEST has reported.
 * @return 0; -EINVAL: the state of the id does not permit the call; the private data does not fit;
 *	`param->qpn` is not in 2 .. 2^24 - 1. -EBUSY: 1024 ids have the QP number
 */
int uroce_cme_accept(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_param *param,
		     uint64_t now_ns);

/**
 * Reject a connection, or a datagram request, that the event CONNECT_REQUEST or CONNECT_RESPONSE
 * has reported.
 * @param reason  enum uroce_cm_reason; for a datagram service: enum uroce_cm_sidr_status, and not
 *	UROCE_CM_SIDR_SUCCESS
 * @return 0; -EINVAL: the state of the id does not permit the call; the private data does not fit;
 *	the reason is 0 or too large for its field
 */
int uroce_cme_reject(struct uroce_cm *cm, uint32_t id, uint16_t reason, const void *private_data,
		     uint8_t private_len, uint64_t now_ns);

/**
 * Establish a connection. On the active side, after CONNECT_RESPONSE, this call sends the RTU,
 * which tells the peer that the QP is ready. On the passive side, the call reports that data of the
 * peer has arrived before the RTU: the data establishes the connection as the RTU does.
 * @return 0; -EINVAL: the state of the id does not permit the call, or the private data does not
 *	fit
 */
int uroce_cme_establish(struct uroce_cm *cm, uint32_t id, const void *private_data,
			uint8_t private_len, uint64_t now_ns);

/**
 * End a connection, or confirm that the peer ends the connection. The call changes nothing if the
 * connection has ended.
 * @return 0; -EINVAL: there is no connection
 */
int uroce_cme_disconnect(struct uroce_cm *cm, uint32_t id, const void *private_data,
			 uint8_t private_len, uint64_t now_ns);

/**
 * Destroy a CM id. From then on the id has no more events. The call never waits: if the peer has to
 * be notified, the engine keeps the id without an owner until the peer knows the end. If the id is
 * a listener, the requests that the user has not received yet are rejected.
 */
void uroce_cme_destroy(struct uroce_cm *cm, uint32_t id, uint64_t now_ns);

/** Destroy all CM ids of an owner. From then on the owner has no more events. */
void uroce_cme_destroy_owned(struct uroce_cm *cm, uint16_t owner, uint64_t now_ns);

/** Change the cookie of a CM id. Pending events carry the new cookie. */
void uroce_cme_set_user(struct uroce_cm *cm, uint32_t id, uint64_t user);

/** Get the state and the parameters of a CM id that the caller has not destroyed. */
void uroce_cme_query(const struct uroce_cm *cm, uint32_t id, struct uroce_cm_info *info);

/**
 * Get the time until which a QP number must not be used for another QP, because a peer may still
 * refer to the number. The QPs of datagram services do not count: every host may refer to them at
 * any time.
 * @return 0: the number is free; UROCE_CM_NEVER: an id that has not ended uses the number
 */
uint64_t uroce_cme_qpn_busy_until(const struct uroce_cm *cm, uint32_t qpn);

const struct uroce_cm_stats *uroce_cme_stats(const struct uroce_cm *cm);

#endif /* UROCE_CM_CM_H */
