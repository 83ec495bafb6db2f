/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MUX_CM_MESSAGE_H
#define UROCE_MUX_CM_MESSAGE_H

/**
 * @file
 * Messages between a client and the connection manager of uroced (the daemon that owns the port),
 * over a UNIX socket that keeps message boundaries (SOCK_SEQPACKET), in the byte order of the
 * machine. The ids that a client has created at the connection manager end when the client closes
 * this connection.
 *
 *	client             connection manager
 *	HELLO          ->
 *	               <-  reply to HELLO
 *	request        ->           a call of the engine (cm/cm.h), such as CREATE or CONNECT
 *	               <-  reply    the result of the call, with the number of the request
 *	               <-  EVENTS   there is an event, which the client takes by NEXT_EVENT
 *	               <-  REFUSED  an error; then the connection manager closes the connection
 *
 * Each type of message has one size. A client may send a request before it has the replies to
 * earlier requests. The connection manager replies in the order of the requests. An event stays in
 * the engine until the client asks for it. So the connection manager needs no memory for messages
 * to a client that does not read.
 *
 * A request that names a QP number also contains the token of the lease of the block of this number
 * (mux/message.h). So no client can ask for a connection in the name of a QP of another client.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm/cm.h"
#include "mux/message.h"

#define UROCE_MUX_CM_VERSION 1u

/** The connection manager's socket has the path of uroced's socket with this suffix. */
#define UROCE_MUX_CM_SUFFIX ".cm"

/**
 * Maximum bytes of private data in a request of a client to uroced's connection manager. Of all CM
 * messages, RTU and DREP have the most private data.
 */
#define UROCE_MUX_CM_PRIVATE_MAX 224u

enum uroce_mux_cm_type {
	/* requests of a client; the reply to a request has the type of the request */
	UROCE_MUX_CM_HELLO = 1,
	UROCE_MUX_CM_CREATE,
	UROCE_MUX_CM_BIND,
	UROCE_MUX_CM_LISTEN,
	UROCE_MUX_CM_CONNECT,
	UROCE_MUX_CM_ACCEPT,
	UROCE_MUX_CM_REJECT,
	UROCE_MUX_CM_ESTABLISH,
	UROCE_MUX_CM_DISCONNECT,
	UROCE_MUX_CM_DESTROY,
	UROCE_MUX_CM_SET_USER,
	UROCE_MUX_CM_QUERY,
	UROCE_MUX_CM_NEXT_EVENT,
	UROCE_MUX_CM_QPN_BUSY,
	UROCE_MUX_CM_NB_REQUESTS,
	/* messages of the connection manager to a client that are not replies */
	UROCE_MUX_CM_EVENTS = UROCE_MUX_CM_NB_REQUESTS,
	UROCE_MUX_CM_REFUSED,
	UROCE_MUX_CM_NB_TYPES,
};

/** An IP address and port in a message: struct uroce_cm_addr of the CM engine. */
struct uroce_mux_cm_addr {
	uint8_t ip_version;
	uint8_t reserved; /* reserved bytes of the message, which must be 0 */
	uint16_t port;
	uint8_t ip[16];
};

/**
 * An address vector in a message: struct uroce_cm_av of the CM engine, without `port`, which is
 * always 1.
 */
struct uroce_mux_cm_av {
	uint8_t local_gid[16];
	uint8_t remote_gid[16];
	uint32_t flow_label;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint16_t reserved; /* reserved bytes of the message, which must be 0 */
};

/**
 * Parameters of a connection in a message: struct uroce_cm_param of the CM engine, without its
 * private data. Flags are 0 or 1.
 */
struct uroce_mux_cm_param {
	uint32_t qpn;
	uint32_t qkey;
	uint64_t token; /* token of the lease of the block of QP numbers that contains `qpn` */
	uint32_t ece_vendor_id;
	uint32_t ece_options;
	uint16_t pkey;
	uint8_t transport;
	uint8_t is_xrc_target;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t has_flow_control;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t has_srq;
	uint8_t mtu_code;
	uint8_t ack_timeout_code;
	uint8_t reserved[4]; /* reserved bytes of the message, which must be 0 */
};

/**
 * Private data of a CM message, in a message between a client and the connection manager. Only the
 * first `len` of `bytes` have a meaning.
 */
struct uroce_mux_cm_private {
	uint8_t len;
	uint8_t bytes[UROCE_MUX_CM_PRIVATE_MAX];
	uint8_t reserved[7]; /* reserved bytes of the message, which must be 0 */
};

/**
 * A request of a client to uroced's connection manager. The `type` determines which member of the
 * union the request has. DESTROY, QUERY and NEXT_EVENT have no member.
 */
struct uroce_mux_cm_request {
	uint32_t type;
	/* number of the CM id to which the request applies; 0 if it applies to none */
	uint32_t id;
	uint64_t number; /* number of the request, which the client chooses and the reply repeats */
	union {
		struct {
			uint32_t version;
			uint32_t reserved; /* reserved bytes of the message, which must be 0 */
		} hello;
		struct {
			uint64_t user;
			uint16_t space;
			uint8_t is_datagram;
			uint8_t reserved[5]; /* reserved bytes of the message, which must be 0 */
		} create;
		struct {
			struct uroce_mux_cm_addr addr;
			uint8_t is_v6only;
			uint8_t is_shared;
			uint16_t reserved; /* reserved bytes of the message, which must be 0 */
		} bind;
		struct {
			uint32_t backlog;
			uint32_t reserved; /* reserved bytes of the message, which must be 0 */
		} listen;
		struct {
			struct uroce_mux_cm_addr remote;
			struct uroce_mux_cm_av av;
			struct uroce_mux_cm_param param;
			struct uroce_mux_cm_private private_data;
		} connect;
		struct {
			struct uroce_mux_cm_param param;
			struct uroce_mux_cm_private private_data;
		} accept;
		struct {
			uint16_t reason;
			uint8_t reserved[6]; /* reserved bytes of the message, which must be 0 */
			struct uroce_mux_cm_private private_data;
		} reject;
		struct {
			struct uroce_mux_cm_private private_data;
		} establish, disconnect;
		struct {
			uint64_t user;
		} set_user;
		struct {
			uint32_t qpn;
			uint32_t reserved; /* reserved bytes of the message, which must be 0 */
			/* token of the lease of the block of QP numbers that contains `qpn` */
			uint64_t token;
		} qpn_busy;
	};
};

/** A reply to a request of a client, or another message of uroced's connection manager. */
struct uroce_mux_cm_reply {
	uint32_t type;
	int32_t ret; /* reply: result of the call; message EVENTS: 0; message REFUSED: -errno */
	/* number of the request to which the message replies; 0 if the message is no reply */
	uint64_t number;
	union {
		uint32_t id; /* reply to CREATE: number of the new CM id */
		/*
		 * reply to QPN_BUSY: time in ns until the QP number is free; UROCE_CM_NEVER: this
		 * time is not known
		 */
		uint64_t busy_ns;
		struct uroce_cm_info info; /* reply to QUERY: state of the CM id */
		/* reply to NEXT_EVENT: the oldest event of the client */
		struct uroce_cm_event event;
		/* message REFUSED: the reason, a sentence that ends with a zero byte */
		char why[248];
	};
};

/** Get the length in bytes of a client's request from its type. 0: the type is unknown. */
size_t uroce_mux_cm_request_size(uint32_t type);

/**
 * Get the length in bytes of a message of the connection manager from its type. 0: the type is
 * unknown.
 */
size_t uroce_mux_cm_reply_size(uint32_t type);

/**
 * Check a client's request by its bytes alone, without knowledge of its sender: its length is that
 * of its type, numbers are in their range, flags are 0 or 1, and reserved members are 0.
 * @param len  bytes that were received
 * @return NULL, or the reason why the request is refused, as the end of a sentence
 */
const char *uroce_mux_cm_check(const struct uroce_mux_cm_request *request, size_t len);

/**
 * Check a message of the connection manager: its length is that of its type, and numbers that are
 * used as an index or a length are in their range. Other members are not checked: a client trusts
 * the connection manager as it trusts uroced.
 */
bool uroce_mux_cm_is_reply(const struct uroce_mux_cm_reply *reply, size_t len);

/*
 * Conversions between members of messages and types of the CM engine. A request may be converted to
 * the engine's types only after uroce_mux_cm_check() has accepted the request.
 */
void uroce_mux_cm_put_addr(struct uroce_mux_cm_addr *to, const struct uroce_cm_addr *from);
void uroce_mux_cm_get_addr(struct uroce_cm_addr *to, const struct uroce_mux_cm_addr *from);
void uroce_mux_cm_put_av(struct uroce_mux_cm_av *to, const struct uroce_cm_av *from);
void uroce_mux_cm_get_av(struct uroce_cm_av *to, const struct uroce_mux_cm_av *from);

/**
 * Convert private data of a CM message to a member of a message to the connection manager.
 * @return 0; -EINVAL: there is more private data than the member can have
 */
int uroce_mux_cm_put_private(struct uroce_mux_cm_private *to, const void *from, uint8_t len);

/**
 * Convert the parameters of a connection from the type of the CM engine to a member of a request.
 * The token is not set.
 * @return 0; -EINVAL: there is more private data than a request can have
 */
int uroce_mux_cm_put_param(struct uroce_mux_cm_param *to, struct uroce_mux_cm_private *private_data,
			   const struct uroce_cm_param *from);

/**
 * Convert the parameters of a connection in a request to the type of the CM engine.
 * @param[out] to  its private data is not copied: `to->private_data` points into `private_data`
 */
void uroce_mux_cm_get_param(struct uroce_cm_param *to, const struct uroce_mux_cm_param *from,
			    const struct uroce_mux_cm_private *private_data);

#endif /* UROCE_MUX_CM_MESSAGE_H */
