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
 * time uses it.
 *
 * How it works. An id is an endpoint: a listener, one end of a connection, or one end of a
 * resolution of a datagram service (SIDR). The caller names it by a number. The states of an id
 * and what an event does in each state are a table (cm/state.h). What happens to an id is reported
 * by uroce_cme_next_event(). Each event occurs at most once in the life of an id. So the events of
 * an id are a set of bits, and none can be lost.
 *
 * An id remembers the last message that it has sent, and builds this message anew for each
 * repetition. Two queues hold the ids that have something to send. Responses are in one queue,
 * requests are in the other. So a response does not wait for requests, and two hosts that send
 * many requests to each other cannot block each other.
 *
 * Each call takes a time that does not grow with the number of ids, except for the timers: to set
 * one grows with the logarithm. uroce_cme_expire() processes all timers that have expired,
 * uroce_cme_destroy() of a listener rejects all requests that wait, and uroce_cme_bind() to any port
 * tries all ports if each of them has an id.
 *
 * A destroyed id that the peer still refers to continues without an owner until the peer knows.
 * uroce_cme_destroy() never waits for it.
 *
 * Several users may share an engine. Each of them is an owner: a number, with a queue of events of
 * its own. A new id belongs to owner 0 until uroce_cme_set_owner() is called. The id of a request
 * belongs to the owner of the listener that was asked.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/be.h"
#include "cm/message.h"

/** No id. */
#define UROCE_CM_NO_ID UINT32_MAX

/** No deadline. */
#define UROCE_CM_NEVER UINT64_MAX

/** Private data of the user in a REQ and a SIDR_REQ that have an IP header. */
#define UROCE_CM_REQ_USER_LEN      56
#define UROCE_CM_SIDR_REQ_USER_LEN 180

/** Most bytes of private data in an event. */
#define UROCE_CM_EVENT_PRIVATE_LEN 216

struct uroce_cm;

/** Configuration of an engine. A member that is zero means the default. */
struct uroce_cm_conf {
	/*
	 * ids, including destroyed ones that wait for the peer. An end of a connection that has
	 * ended is in TIMEWAIT for 2.2 s with the values of Linux. So n connections in a second need
	 * 2.2 * n ids beside those of the connections that exist at a time.
	 */
	uint32_t max_ids;
	/* most connection requests of one host that wait at one listener; 0: 1024 */
	uint32_t max_backlog;
	be64 ca_guid; /* node GUID of the device */
	/* random bytes, which no peer knows: comm ids, TIDs and PSNs are computed from them */
	uint8_t secret[16];
	uint8_t ack_delay_code; /* target ACK delay of the device, sent in a REP */
	/* encoded time in which this side and the peer answer a message; 0: 20, as Linux sends */
	uint8_t timeout_code;
	uint8_t max_retries; /* 1 .. 15: how often a message is repeated; 0: 15, as Linux sends */
	/* ports that are given to ids which ask for any port; 0: 32768 .. 60999 */
	uint16_t first_port;
	uint16_t last_port;
	uint32_t max_owners; /* users that share the engine, at most 2^16; 0: 1 */
	bool has_accounts;   /* the ids of each account are limited: uroce_cme_set_account() */
};

/** Address and port of an endpoint. An address of all zero is the wildcard. */
struct uroce_cm_addr {
	uint8_t ip_version; /* 4 or 6; 0: there is no address */
	uint16_t port;      /* port number; 0: any port */
	/* the address; an IPv4 address is in bytes 12 to 15, after twelve zero bytes */
	uint8_t ip[16];
};

/** Address vector: the hosts between which a message goes, as this side sees them. */
struct uroce_cm_av {
	uint8_t local_gid[16];
	uint8_t remote_gid[16];
	uint32_t port; /* port of the device; the engine passes it through */
	uint32_t flow_label;
	uint8_t traffic_class;
	/* hop limit of packets to the peer; 0 or 1: the peer is on the same link */
	uint8_t hop_limit;
};

/** One end's part of a connection, or of a datagram service. */
struct uroce_cm_param {
	uint32_t qpn;
	/* datagram service: Q_Key that the SIDR_REP reports to the peer */
	uint32_t qkey;
	/* uroce_cme_connect() only: RC, UC or XRC (enum uroce_cm_transport) */
	uint8_t transport;
	/* uroce_cme_accept() only: `qpn` is that of an XRC target QP */
	bool is_xrc_target;
	uint8_t responder_resources; /* READs and atomics that this side accepts at a time */
	uint8_t initiator_depth;     /* READs and atomics that this side has in flight at most */
	bool has_flow_control;
	uint8_t retry_count;     /* uroce_cme_connect() only: retry count of the QPs of both ends */
	uint8_t rnr_retry_count; /* RNR retry count that the peer's QP must use; 7: no limit */
	bool has_srq;
	uint8_t mtu_code; /* uroce_cme_connect() only: path MTU (enum ibv_mtu) */
	uint16_t pkey;    /* uroce_cme_connect() only: partition key; 0: 0xffff */
	/* uroce_cme_connect() only: ACK timeout of the QPs; 0: 19, as Linux sends */
	uint8_t ack_timeout_code;
	uint32_t ece_vendor_id;
	uint32_t ece_options;
	uint8_t private_len;
	/* private data of the message, which is copied; NULL if `private_len` is 0 */
	const void *private_data;
};

/** Events, in the order in which they occur. Names are those of enum rdma_cm_event_type. */
enum uroce_cm_event_kind {
	/*
	 * a peer requests a connection or a datagram service of the id `listener`; `id` is a new id
	 * for the request
	 */
	UROCE_CM_EVENT_CONNECT_REQUEST,
	/*
	 * the peer accepted: uroce_cme_query() returns the peer's parameters, and the user has to
	 * call uroce_cme_establish()
	 */
	UROCE_CM_EVENT_CONNECT_RESPONSE,
	/*
	 * the peer did not answer in time (`status` is -ETIMEDOUT), or refused to resolve the
	 * service (`status` is that of its SIDR_REP, positive)
	 */
	UROCE_CM_EVENT_UNREACHABLE,
	/* the peer rejected the request; `status` is the reason (cm/reason.h) */
	UROCE_CM_EVENT_REJECTED,
	/* on the passive side: the active side is ready; for SIDR: the service is resolved */
	UROCE_CM_EVENT_ESTABLISHED,
	/* the connection has ended; if `status` is -ETIMEDOUT, the peer did not confirm the end */
	UROCE_CM_EVENT_DISCONNECTED,
	UROCE_CM_EVENT_TIMEWAIT_EXIT,
	UROCE_CM_EVENT_NB
};

struct uroce_cm_event {
	enum uroce_cm_event_kind kind;
	uint32_t id;
	/* CONNECT_REQUEST: the listener of the request; other events: UROCE_CM_NO_ID */
	uint32_t listener;
	/* cookie of the id; CONNECT_REQUEST: cookie of the listener, which the new id has, too */
	uint64_t user;
	int status;
	/* the private data of the peer's message; the length is that of the field in the message,
	 * since a peer does not tell how much of it was filled */
	uint8_t private_len;
	uint8_t private_data[UROCE_CM_EVENT_PRIVATE_LEN];
};

/** A message to transmit. */
struct uroce_cm_tx {
	struct uroce_cm_av av;
	bool is_request; /* a request, which the peer answers; otherwise an answer to the peer */
	uint8_t mad[UROCE_MAD_LEN];
};

/** State of an id as its user sees it, with the values for rdma_conn_param and ibv_qp_attr. */
struct uroce_cm_info {
	uint64_t user;
	uint8_t state;  /* enum uroce_cm_state (cm/state.h) */
	bool is_active; /* this side has sent the REQ or the SIDR_REQ */
	bool is_datagram;
	uint64_t service_id;
	uint32_t local_comm_id;
	uint32_t remote_comm_id; /* comm id of the peer; 0: not known */
	struct uroce_cm_addr local;
	/* address of the peer; its ip_version is 0 while the address is not known */
	struct uroce_cm_addr remote;
	struct uroce_cm_av av;
	uint8_t transport;
	uint16_t pkey;
	uint32_t local_qpn;
	uint32_t remote_qpn; /* QP number of the peer (dest_qp_num); 0: not known */
	uint32_t sq_psn;
	uint32_t rq_psn;
	uint32_t remote_qkey; /* datagram service */
	uint8_t mtu_code;     /* path_mtu */
	/*
	 * The fields responder_resources and initiator_depth have the values that the peer requests
	 * until this side answers, and the agreed values from then on. Both are seen from this
	 * side.
	 */
	uint8_t responder_resources; /* max_dest_rd_atomic */
	uint8_t initiator_depth;     /* max_rd_atomic */
	uint8_t ack_timeout_code;    /* timeout */
	uint8_t retry_count;         /* retry_cnt */
	uint8_t rnr_retry_count;     /* rnr_retry */
	bool has_flow_control;       /* of the peer */
	bool has_srq;                /* of the peer */
	uint32_t ece_vendor_id;      /* of the peer */
	uint32_t ece_options;
};

/** Messages of an engine, by attribute (index: attribute - UROCE_CM_ATTR_FIRST). */
struct uroce_cm_stats {
	uint64_t nb_tx[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST];
	uint64_t nb_tx_retries[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST];
	uint64_t nb_rx[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST];
	uint64_t nb_rx_duplicates[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST];
	uint64_t nb_backlog_full; /* REQs and SIDR_REQs refused because a backlog was full */
	/* REQs and SIDR_REQs refused because no id was free, or because of the limit of an account */
	uint64_t nb_no_id;
	/* replies that belong to no id, and were dropped because too many of them waited */
	uint64_t nb_replies_dropped;
};

/** Bytes for an engine. `conf->max_ids` is 1 .. 2^24. */
size_t uroce_cme_memsize(const struct uroce_cm_conf *conf);

/**
 * Initialise an engine in `mem`, which is aligned for any type. The memory of an id, which is most
 * of the memory, is not written before the id is created.
 */
struct uroce_cm *uroce_cme_init(void *mem, const struct uroce_cm_conf *conf);

/**
 * Process a message of a peer.
 * @param from  where the message came from; replies go there
 */
void uroce_cme_recv(struct uroce_cm *cm, const struct uroce_cm_msg *msg,
		    const struct uroce_cm_av *from, uint64_t now_ns);

/**
 * Take messages to transmit.
 * @return number of messages in `out`, at most `max`
 */
unsigned uroce_cme_send(struct uroce_cm *cm, struct uroce_cm_tx *out, unsigned max,
			uint64_t now_ns);

/** Whether uroce_cme_send() has something. */
bool uroce_cme_has_tx(const struct uroce_cm *cm);

/** Take the oldest event of owner 0. @return false: there is none */
bool uroce_cme_next_event(struct uroce_cm *cm, struct uroce_cm_event *event);

/** Take the oldest event of an owner. @return false: there is none */
bool uroce_cme_next_owner_event(struct uroce_cm *cm, uint16_t owner, struct uroce_cm_event *event);

/** Whether an owner has an event. */
bool uroce_cme_has_owner_event(const struct uroce_cm *cm, uint16_t owner);

/** When uroce_cme_expire() must be called; UROCE_CM_NEVER: not at all. */
uint64_t uroce_cme_deadline(const struct uroce_cm *cm);

/** Process the timers that have expired. */
void uroce_cme_expire(struct uroce_cm *cm, uint64_t now_ns);

/**
 * Create an id.
 * @param space  port space (cm/service_id.h)
 * @param is_datagram  the id resolves, or offers, a datagram service by SIDR
 * @param user  cookie, which events of the id carry
 * @param[out] id  the id; valid until uroce_cme_destroy()
 * @return 0; -ENOMEM: no id is free
 */
int uroce_cme_create(struct uroce_cm *cm, uint16_t space, bool is_datagram, uint64_t user,
		     uint32_t *id);

/**
 * Assign an owner to an account. Every owner is assigned to account 0 at first. Ids that the owner
 * already has count for the former account.
 *
 * If the engine has accounts, an account has at most as many ids as are free when it gets one: one
 * half if there is one account, and less if others have ids. Destroyed ids count while they wait
 * for the peer, and requests count for the account of the listener. A request beyond the limit is
 * refused. Accounts whose hashes are equal share a limit.
 * @param account  any number
 */
void uroce_cme_set_account(struct uroce_cm *cm, uint16_t owner, uint32_t account);

/** Whether an owner may create an id. @return 0; -EDQUOT: its account has too many */
int uroce_cme_check_account(const struct uroce_cm *cm, uint16_t owner);

/** Give an id without pending events to an owner. */
void uroce_cme_set_owner(struct uroce_cm *cm, uint32_t id, uint16_t owner);

/**
 * Whether an owner may use an id: it has created the id, or has taken its CONNECT_REQUEST, and has
 * not destroyed it. The number may be any number.
 */
bool uroce_cme_is_owner(const struct uroce_cm *cm, uint32_t id, uint16_t owner);

/**
 * Bind an id to an address and a port. Port 0: a free port is chosen. An IPv4 address must be
 * given as IPv4: requests from it, and to it, are those of an IPv4 address.
 * @param is_v6only  the IPv6 wildcard does not include IPv4
 * @param is_shared  the port may be bound by other ids that ask for the same, if none listens
 * @return 0; -EINVAL: the id is bound or the address is no IP address; -EADDRINUSE;
 *	-EADDRNOTAVAIL: no port is free, or the address is IPv4 in the form of IPv6
 *	(::ffff:192.0.2.1)
 */
int uroce_cme_bind(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_addr *addr,
		   bool is_v6only, bool is_shared);

/**
 * Listen at the bound address.
 * @param backlog  connection requests of one host that may wait for uroce_cme_next_event(). The
 *	requests of all hosts may be twice as many, so that one host cannot lock out the others.
 *	A further request is refused. 0 or more than the engine's limit: the limit
 * @return 0; -EINVAL: not bound, or not idle; -EADDRINUSE
 */
int uroce_cme_listen(struct uroce_cm *cm, uint32_t id, uint32_t backlog);

/**
 * Ask a peer for a connection, or for its datagram service. The id is bound to an address without
 * wildcard, or `remote->ip_version` is 0: then `remote->port` is the low part of a service ID that
 * belongs to the port space, and the request has no IP header.
 * @return 0; -EINVAL: the id is in another state or not bound as above; the private data does not
 *	fit; a member of `param` has no valid value (of a datagram service: only the private data
 *	and the P_Key are used)
 */
int uroce_cme_connect(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_addr *remote,
		      const struct uroce_cm_av *av, const struct uroce_cm_param *param,
		      uint64_t now_ns);

/**
 * Accept a CONNECT_REQUEST.
 * @return 0; -EINVAL: the id is in another state; the private data does not fit; `param->qpn` is not
 *	in 2 .. 2^24 - 1
 */
int uroce_cme_accept(struct uroce_cm *cm, uint32_t id, const struct uroce_cm_param *param,
		     uint64_t now_ns);

/**
 * Reject a CONNECT_REQUEST, or a CONNECT_RESPONSE.
 * @param reason  enum uroce_cm_reason; for a datagram service: enum uroce_cm_sidr_status, and not
 *	UROCE_CM_SIDR_SUCCESS
 * @return 0; -EINVAL: the id is in another state; the private data does not fit; the reason is 0 or
 *	too large for its field
 */
int uroce_cme_reject(struct uroce_cm *cm, uint32_t id, uint16_t reason, const void *private_data,
		     uint8_t private_len, uint64_t now_ns);

/**
 * Active side, after CONNECT_RESPONSE: the QP is ready; send the RTU. Passive side: data arrived
 * before the RTU, which establishes the connection, too.
 * @return 0; -EINVAL: the id is in another state, or the private data does not fit
 */
int uroce_cme_establish(struct uroce_cm *cm, uint32_t id, const void *private_data,
			uint8_t private_len, uint64_t now_ns);

/**
 * End a connection, or confirm the peer's end. An ended connection is left alone.
 * @return 0; -EINVAL: there is no connection
 */
int uroce_cme_disconnect(struct uroce_cm *cm, uint32_t id, const void *private_data,
			 uint8_t private_len, uint64_t now_ns);

/**
 * Destroy an id. It has no more events. Never waits: the id tells the peer without its owner.
 * A listener's requests that have not been taken as events are rejected.
 */
void uroce_cme_destroy(struct uroce_cm *cm, uint32_t id, uint64_t now_ns);

/** Destroy all ids of an owner. It has no more events. */
void uroce_cme_destroy_owned(struct uroce_cm *cm, uint16_t owner, uint64_t now_ns);

/** Change the cookie of an id. Events that have not been taken carry the new one. */
void uroce_cme_set_user(struct uroce_cm *cm, uint32_t id, uint64_t user);

/** State and parameters of an id that the caller has not destroyed. */
void uroce_cme_query(const struct uroce_cm *cm, uint32_t id, struct uroce_cm_info *info);

/**
 * Until when a QP number must not be used for another QP, because a peer may still refer to it.
 * The QPs of datagram services do not count: every host may refer to them at any time.
 * @return 0: it is free; UROCE_CM_NEVER: an id that has not ended uses it
 */
uint64_t uroce_cme_qpn_busy_until(const struct uroce_cm *cm, uint32_t qpn);

const struct uroce_cm_stats *uroce_cme_stats(const struct uroce_cm *cm);

#endif /* UROCE_CM_CM_H */
