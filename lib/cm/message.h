/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_MESSAGE_H
#define UROCE_CM_MESSAGE_H

/**
 * @file
 * Messages of communication management [IBA 12.6 to 12.11], and their codec. A message is a MAD
 * (management datagram) of 256 bytes: a header of 24 bytes, then fields at fixed places, then
 * private data. Each message has private data of a fixed length; the receiver cannot see how much
 * of it the sender has filled.
 *
 * Numbers are in host order. GIDs and GUIDs are in wire order, as in verbs. A name that ends in
 * `_code` is a value as encoded on the wire (cm/timeout.h, verbs: enum ibv_mtu, enum ibv_rate).
 *
 * The codec preserves everything except reserved bits: the parser ignores them, and the builder
 * writes zeros. The state machines check the values of the fields, and refuse a message with
 * invalid values by a REJ.
 */

#include <stdint.h>

#include "base/be.h"
#include "cm/verdict.h"

/** Length in bytes of a MAD, and of the header of a MAD. */
#define UROCE_MAD_LEN     256u
#define UROCE_MAD_HDR_LEN 24u

/** Attribute ID of a MAD: the kind of the message [IBA 16.7.3]. */
enum uroce_cm_attr {
	UROCE_CM_REQ = 0x10, /* REQ: request for communication */
	/* MRA: message receipt acknowledgement; the answer to a message takes longer */
	UROCE_CM_MRA = 0x11,
	UROCE_CM_REJ = 0x12,  /* REJ: reject */
	UROCE_CM_REP = 0x13,  /* REP: reply to a REQ */
	UROCE_CM_RTU = 0x14,  /* RTU: ready to use; the active side confirms the REP */
	UROCE_CM_DREQ = 0x15, /* DREQ: request for disconnection */
	UROCE_CM_DREP = 0x16, /* DREP: reply to a DREQ */
	/* SIDR_REQ: service ID resolution request, which requests the QP number of a UD service */
	UROCE_CM_SIDR_REQ = 0x17,
	UROCE_CM_SIDR_REP = 0x18, /* SIDR_REP: reply to a SIDR_REQ */
	UROCE_CM_LAP = 0x19,      /* LAP: load alternate path */
	UROCE_CM_APR = 0x1a,      /* APR: alternate path response, the reply to a LAP */
};

/**
 * The attribute IDs of CM messages are in [UROCE_CM_ATTR_FIRST, UROCE_CM_ATTR_END), without a gap.
 */
#define UROCE_CM_ATTR_FIRST UROCE_CM_REQ
#define UROCE_CM_ATTR_END   (UROCE_CM_APR + 1)

/* Number of bytes of private data in each kind of CM message. */
#define UROCE_CM_REQ_PRIVATE_LEN      92
#define UROCE_CM_MRA_PRIVATE_LEN      222
#define UROCE_CM_REJ_PRIVATE_LEN      148
#define UROCE_CM_REP_PRIVATE_LEN      196
#define UROCE_CM_RTU_PRIVATE_LEN      224
#define UROCE_CM_DREQ_PRIVATE_LEN     220
#define UROCE_CM_DREP_PRIVATE_LEN     224
#define UROCE_CM_SIDR_REQ_PRIVATE_LEN 216
#define UROCE_CM_SIDR_REP_PRIVATE_LEN 136
#define UROCE_CM_LAP_PRIVATE_LEN      168
#define UROCE_CM_APR_PRIVATE_LEN      148

/** Number of bytes of additional information in a REJ, a SIDR_REP and an APR. */
#define UROCE_CM_INFO_LEN 72

/** Transport service of a REQ [IBA 12.6.5]. */
enum uroce_cm_transport {
	UROCE_CM_TRANSPORT_RC = 0,
	UROCE_CM_TRANSPORT_UC = 1,
	UROCE_CM_TRANSPORT_RD = 2,
	/* the field uroce_cm_req.extended_transport has the transport service */
	UROCE_CM_TRANSPORT_EXTENDED = 3,
};

/** Value of uroce_cm_req.extended_transport for XRC [IBA A14.6]. */
#define UROCE_CM_EXTENDED_XRC 1

/** The message that an MRA acknowledges or a REJ rejects [IBA 12.6.6, 12.6.7]. */
enum uroce_cm_about {
	UROCE_CM_ABOUT_REQ = 0,
	UROCE_CM_ABOUT_REP = 1,
	/* in an MRA: a LAP; in a REJ: no message, for example a timeout */
	UROCE_CM_ABOUT_OTHER = 2,
};

/**
 * A path in a REQ (primary and alternate) or a LAP. All bytes of an absent alternate path are 0.
 */
struct uroce_cm_path {
	uint16_t local_lid;    /* LID of the sender; 0 or 0xffff on RoCE, which has no LIDs */
	uint16_t remote_lid;   /* LID of the receiver of the message */
	uint8_t local_gid[16]; /* GID of the sender of the message */
	uint8_t remote_gid[16];
	uint32_t flow_label;      /* 20 bits: flow label of IPv6 */
	uint8_t rate_code;        /* 6 bits: enum ibv_rate; 0 means the rate of the port */
	uint8_t traffic_class;    /* 8 bits: traffic class of IP */
	uint8_t hop_limit;        /* 8 bits: hop limit of IP */
	uint8_t sl;               /* 4 bits: service level of the path */
	uint8_t is_subnet_local;  /* 1: no router is on the path */
	uint8_t ack_timeout_code; /* 5 bits: encoded local ACK timeout for the QP (cm/timeout.h) */
};

/**
 * REQ, the request for communication [IBA 12.6.5]. "Local" is the sender of the REQ, the active
 * side; "remote" is its receiver.
 */
struct uroce_cm_req {
	uint32_t local_comm_id;
	/* 24 bits: vendor of ECE (enhanced connection establishment); 0 if ECE is not used */
	uint32_t vendor_id;
	uint64_t service_id;    /* service that the sender wants to reach (cm/service_id.h) */
	be64 local_ca_guid;     /* node GUID of the sender's device */
	uint32_t local_cm_qkey; /* Q_Key of the sender's CM; 0 means the Q_Key of QP 1 */
	uint32_t local_qkey;    /* Q_Key of the sender's QP; 0 for connected QPs */
	uint32_t local_qpn;     /* 24 bits: number of the sender's QP */
	/* maximum number of READs and atomics that the sender accepts at a time */
	uint8_t responder_resources;
	/* maximum number of READs and atomics that the sender has in flight */
	uint8_t initiator_depth;
	uint32_t local_eecn;  /* 24 bits: sender's EE context, for RD; 0 for other services */
	uint32_t remote_eecn; /* 24 bits: receiver's EE context, for RD; 0 for other services */
	uint8_t remote_timeout_code; /* 5 bits: encoded time in which the receiver answers */
	/* 2 bits: transport service of the connection (enum uroce_cm_transport) */
	uint8_t transport;
	uint8_t has_flow_control;   /* 1 bit: the sender's QP sends end-to-end credits */
	uint32_t starting_psn;      /* 24 bits: the first PSN that the sender receives */
	uint8_t local_timeout_code; /* 5 bits: encoded time in which the sender answers a REP */
	uint8_t retry_count;        /* 3 bits: retry count that the receiver's QP uses */
	uint16_t pkey;              /* partition key of the connection */
	uint8_t mtu_code;           /* 4 bits: path MTU, enum ibv_mtu */
	uint8_t has_rdc;            /* 1 bit: an RD channel exists; 0 for services other than RD */
	/* 3 bits: RNR retry count that the receiver's QP uses; 7 means no limit */
	uint8_t rnr_retry_count;
	uint8_t max_cm_retries; /* 4 bits: maximum number of repetitions of a CM message */
	uint8_t has_srq;        /* 1 bit: the sender's QP uses an SRQ */
	/*
	 * 3 bits: the transport service, if `transport` is UROCE_CM_TRANSPORT_EXTENDED; otherwise 0
	 */
	uint8_t extended_transport;
	uint8_t has_sap;              /* 1 bit: the sender supports suggested alternate paths */
	struct uroce_cm_path primary; /* the path to be used */
	struct uroce_cm_path alternate;
	/*
	 * private data; begins with the IP header if the service ID is one of RDMA IP CM
	 * (cm/ip_header.h)
	 */
	uint8_t private_data[UROCE_CM_REQ_PRIVATE_LEN];
};

/** MRA: message receipt acknowledgement [IBA 12.6.6]. */
struct uroce_cm_mra {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t about;        /* 2 bits: the message that is acknowledged (enum uroce_cm_about) */
	uint8_t timeout_code; /* 5 bits: encoded time until the sender answers the message */
	uint8_t private_data[UROCE_CM_MRA_PRIVATE_LEN];
};

/** REJ: reject [IBA 12.6.7]. */
struct uroce_cm_rej {
	uint32_t local_comm_id; /* communication ID of the sender; 0 if the sender has none */
	/*
	 * communication ID of the receiver; 0 in a REJ with reason TIMEOUT whose sender does not
	 * know it
	 */
	uint32_t remote_comm_id;
	uint8_t about;    /* 2 bits: the message that is rejected (enum uroce_cm_about) */
	uint8_t info_len; /* 7 bits: number of bytes of `info` that are valid */
	uint16_t reason;  /* why the sender rejects: enum uroce_cm_reason (cm/reason.h) */
	uint8_t info[UROCE_CM_INFO_LEN]; /* additional information about the rejection */
	uint8_t private_data[UROCE_CM_REJ_PRIVATE_LEN];
};

/** REP, the reply to a REQ [IBA 12.6.8]. "Local" is the sender of the REP, the passive side. */
struct uroce_cm_rep {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t local_qkey; /* Q_Key of the sender's QP; 0 for connected QPs */
	uint32_t local_qpn;  /* 24 bits: number of the sender's QP */
	/* 24 bits: sender's EE context, for RD; from an XRC target, its QP number */
	uint32_t local_eecn;
	uint32_t vendor_id;    /* 24 bits: vendor of ECE; 0 if ECE is not used */
	uint32_t starting_psn; /* 24 bits: the first PSN that the sender receives */
	/* maximum number of READs and atomics that the sender accepts at a time */
	uint8_t responder_resources;
	/* maximum number of READs and atomics that the sender has in flight */
	uint8_t initiator_depth;
	uint8_t ack_delay_code; /* 5 bits: encoded target ACK delay of the sender's device */
	/* 2 bits: 0 if the alternate path is accepted, 1 if failover is not supported */
	uint8_t failover;
	uint8_t has_flow_control; /* 1 bit: the sender's QP sends end-to-end credits */
	/* 3 bits: RNR retry count that the receiver's QP uses; 7 means no limit */
	uint8_t rnr_retry_count;
	uint8_t has_srq;    /* 1 bit: the sender's QP uses an SRQ */
	be64 local_ca_guid; /* node GUID of the sender's device */
	uint8_t private_data[UROCE_CM_REP_PRIVATE_LEN];
};

/** RTU: ready to use [IBA 12.6.9]. */
struct uroce_cm_rtu {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t private_data[UROCE_CM_RTU_PRIVATE_LEN];
};

/** DREQ: request for disconnection [IBA 12.6.10]. */
struct uroce_cm_dreq {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t remote_qpn; /* 24 bits: number of the receiver's QP */
	uint8_t private_data[UROCE_CM_DREQ_PRIVATE_LEN];
};

/** DREP: reply to a DREQ [IBA 12.6.11]. */
struct uroce_cm_drep {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t private_data[UROCE_CM_DREP_PRIVATE_LEN];
};

/** SIDR_REQ: request for service ID resolution [IBA 12.11.1]. */
struct uroce_cm_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
	/*
	 * private data; begins with the IP header if the service ID is one of RDMA IP CM
	 * (cm/ip_header.h)
	 */
	uint8_t private_data[UROCE_CM_SIDR_REQ_PRIVATE_LEN];
};

/** SIDR_REP: reply to a SIDR_REQ [IBA 12.11.2]. */
struct uroce_cm_sidr_rep {
	uint32_t request_id;
	uint8_t status;     /* status of the resolution (enum uroce_cm_sidr_status, cm/reason.h) */
	uint8_t info_len;   /* number of bytes of `info` that are valid */
	uint32_t vendor_id; /* 24 bits: vendor of ECE; 0 if ECE is not used */
	uint32_t qpn;       /* 24 bits: QP number of the service */
	uint64_t service_id;
	uint32_t qkey; /* Q_Key of the QP of the service */
	uint8_t info[UROCE_CM_INFO_LEN];
	uint8_t private_data[UROCE_CM_SIDR_REP_PRIVATE_LEN];
};

/** LAP: load alternate path [IBA 12.8.1]. */
struct uroce_cm_lap {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t local_cm_qkey;      /* Q_Key of the sender's CM; 0 means the Q_Key of QP 1 */
	uint32_t remote_qpn;         /* 24 bits: number of the receiver's QP */
	uint8_t remote_timeout_code; /* 5 bits: encoded time in which the receiver answers */
	struct uroce_cm_path alternate;
	uint8_t private_data[UROCE_CM_LAP_PRIVATE_LEN];
};

/** APR: reply to a LAP [IBA 12.8.2]. */
struct uroce_cm_apr {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t info_len; /* number of bytes of `info` that are valid */
	uint8_t status;   /* status of the alternate path (enum uroce_cm_apr_status, cm/reason.h) */
	uint8_t info[UROCE_CM_INFO_LEN];
	uint8_t private_data[UROCE_CM_APR_PRIVATE_LEN];
};

/** Any CM message. `attr` determines which member of the union is valid. */
struct uroce_cm_msg {
	enum uroce_cm_attr attr;
	uint32_t attr_mod; /* attribute modifier of the MAD: options of ECE; 0 if ECE is not used */
	uint64_t tid;      /* transaction ID; a reply has the transaction ID of its request */
	union {
		struct uroce_cm_req req;
		struct uroce_cm_mra mra;
		struct uroce_cm_rej rej;
		struct uroce_cm_rep rep;
		struct uroce_cm_rtu rtu;
		struct uroce_cm_dreq dreq;
		struct uroce_cm_drep drep;
		struct uroce_cm_sidr_req sidr_req;
		struct uroce_cm_sidr_rep sidr_rep;
		struct uroce_cm_lap lap;
		struct uroce_cm_apr apr;
	};
};

/**
 * Parse a MAD into a CM message.
 * @param[out] msg  filled if the MAD is accepted; bytes that no field uses are zero, so that equal
 *	messages have equal bytes
 * @return UROCE_CM_VERDICT_ACCEPTED, or the reason why the MAD is refused
 */
enum uroce_cm_verdict uroce_cm_parse(const uint8_t mad[UROCE_MAD_LEN], struct uroce_cm_msg *msg);

/**
 * Build the MAD of a CM message. Reserved bits are zero. Bits of a number that do not fit its
 * field are dropped.
 * @param msg  `attr` is one of enum uroce_cm_attr
 * @param[out] mad  every byte is written
 */
void uroce_cm_build(const struct uroce_cm_msg *msg, uint8_t mad[UROCE_MAD_LEN]);

/**
 * Get the name of a CM message, as the standard writes it ("SIDR_REQ"). The result is never NULL;
 * for an unknown attribute it is "?".
 */
const char *uroce_cm_attr_name(unsigned attr);

#endif /* UROCE_CM_MESSAGE_H */
