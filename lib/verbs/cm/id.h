/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_ID_H
#define UROCE_VERBS_CM_ID_H

/**
 * @file
 * The objects behind <uroce_cm.h>: ids, their ends at the connection managers of devices, and the
 * multicast groups of an id.
 *
 * Programs hold `struct rdma_cm_id *`. The objects here begin with the struct of librdmacm, and
 * have "vcm" in their name.
 *
 * One mutex, uroce_vcm_lock, guards all objects. It is held during calls of a connection manager,
 * none of which waits for a peer. It is not held while a QP is created, moved or destroyed.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_cma.h>

#include "cm/cm.h"
#include "verbs/cm/manager.h"
#include "wire/build.h"

struct uroce_vcm_channel;
struct uroce_vcm_device;
struct uroce_vcm_id;

/** Guards all objects of this folder. */
extern pthread_mutex_t uroce_vcm_lock;

/** Hop limit of connections and of datagrams to groups, which Linux uses, too. */
#define UROCE_VCM_HOP_LIMIT 64

/** The P_Key of all connections; it is the only one that a device has. */
#define UROCE_VCM_PKEY 0xffff

/** Where an id is in its life, as its program sees it. */
enum uroce_vcm_state {
	UROCE_VCM_IDLE,
	UROCE_VCM_BOUND,          /* has a local address */
	UROCE_VCM_ADDR_QUERY,     /* resolves the address of the peer */
	UROCE_VCM_ADDR_RESOLVED,  /* has a device, and the address of the peer */
	UROCE_VCM_ROUTE_RESOLVED, /* may connect */
	UROCE_VCM_CONNECT,        /* has asked for a connection, or for a datagram service */
	UROCE_VCM_RESPONSE,       /* the peer has accepted; the program must establish */
	UROCE_VCM_LISTEN,
	UROCE_VCM_REQUEST,  /* a peer asks for a connection or a datagram service */
	UROCE_VCM_ACCEPTED, /* the answer to the request was sent */
	UROCE_VCM_CONNECTED,
	UROCE_VCM_ENDED, /* rejected, unreachable, or disconnected */
};

/** An id at the connection manager of a device. */
struct uroce_vcm_end {
	struct uroce_vcm_id *id;
	struct uroce_vcm_device *device;
	uint32_t number;            /* name of the id at the connection manager */
	struct uroce_vcm_end *next; /* next end of the id */
	/* links of the list of the device's ends; `*link` is the pointer to this end */
	struct uroce_vcm_end *next_of_device, **link;
};

/** A multicast group that an id has joined. */
struct uroce_vcm_group {
	struct uroce_vcm_group *next; /* next group of the id */
	union ibv_gid gid;
	void *context; /* cookie of the program */
	bool is_send_only;
	bool is_attached; /* the QP of the id is attached to the group */
	unsigned nb_unacked;
};

/** How a peer is reached. */
struct uroce_vcm_route {
	struct uroce_vcm_device *device;
	struct uroce_cm_addr src; /* with the port 0 */
	struct uroce_cm_addr dst;
};

/** A resolution of an address that has not ended. */
struct uroce_vcm_resolution {
	struct uroce_vcm_id *next; /* next id that resolves an address */
	struct uroce_vcm_route route;
	uint32_t scope;       /* scope ID of the peer's address */
	uint64_t deadline_ns; /* when to give up */
	uint64_t request_ns;  /* kept for uroce_dev_try_resolve() */
};

struct uroce_vcm_id {
	struct rdma_cm_id cm; /* what the program holds */
	enum uroce_vcm_state state;
	bool is_sync;                    /* `cm.channel` belongs to the id alone */
	bool is_passive;                 /* a CONNECT_REQUEST has made the id */
	bool is_addr_lost;               /* ADDR_CHANGE was raised */
	bool has_failed;                 /* CONNECT_ERROR was raised, so no other end is reported */
	bool has_end;                    /* DISCONNECTED was raised */
	bool is_end_taken;               /* the program has taken DISCONNECTED */
	struct uroce_vcm_end *ends;      /* one; a listener at all devices may have several */
	struct uroce_vcm_device *device; /* device of `cm.verbs`; NULL: not bound to a device */
	struct uroce_vcm_resolution resolution;
	struct uroce_vcm_group *groups;
	/* events that the program took and has not acknowledged */
	unsigned nb_unacked;
	/* CONNECT_REQUESTs that wait for the program, and their limit; of a listener */
	unsigned nb_waiting, backlog;
	/* options */
	uint8_t tos;
	uint8_t ack_timeout_code;
	bool has_ack_timeout;
	bool is_shared; /* RDMA_OPTION_ID_REUSEADDR */
	bool is_v6only; /* RDMA_OPTION_ID_AFONLY */
	struct ibv_ece local_ece;
	/* what the program gave to connect() or accept(), for the moves of the QP */
	uint8_t responder_resources, initiator_depth;
	struct ibv_sa_path_rec path; /* memory of `cm.route.path_rec` */
	/* of uroce_cm_create_ep(): QPs of new connections of the listener */
	struct ibv_qp_init_attr *qp_init;
	struct ibv_pd *qp_init_pd;
	/* CQs, with their channels, that were made for the QP or the SRQ of the id */
	bool has_send_cq, has_recv_cq;
};

static inline struct uroce_vcm_id *
uroce_vcm_id(struct rdma_cm_id *cm)
{
	return (struct uroce_vcm_id *)cm;
}

/** Whether an id is for datagrams. */
static inline bool
uroce_vcm_is_datagram(const struct uroce_vcm_id *id)
{
	return id->cm.qp_type == IBV_QPT_UD;
}

/** Convert the result of a function to that of a public call: 0, or -1 with errno. */
static inline int
uroce_vcm_ret(int ret)
{
	if (ret == 0)
		return 0;
	errno = -ret;
	return -1;
}

#endif /* UROCE_VERBS_CM_ID_H */
