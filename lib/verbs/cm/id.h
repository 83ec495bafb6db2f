/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_ID_H
#define UROCE_VERBS_CM_ID_H

/**
 * @file
 * The objects behind <uroce_cm.h>: ids, their ends (ids at the connection managers of devices), and
 * the multicast groups of an id.
 *
 * Programs hold `struct rdma_cm_id *`. The structs of these objects begin with the struct of
 * librdmacm, and have "vcm" in their name.
 *
 * One mutex, uroce_vcm_lock, guards all objects. A thread holds it during calls of a connection
 * manager, because these calls do not wait for a peer. A thread does not hold it while it creates,
 * moves or destroys a QP.
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

/**
 * Lock that guards ids, their ends (struct uroce_vcm_end), their multicast groups, event channels,
 * and the list of open devices.
 */
extern pthread_mutex_t uroce_vcm_lock;

/** Hop limit of connections and of datagrams to multicast groups: the value of Linux. */
#define UROCE_VCM_HOP_LIMIT 64

/** The P_Key of all connections: a device has no other P_Key. */
#define UROCE_VCM_PKEY 0xffff

/** State of an id, as its program sees the id. */
enum uroce_vcm_state {
	UROCE_VCM_IDLE,
	UROCE_VCM_BOUND,      /* the id has a local address */
	UROCE_VCM_ADDR_QUERY, /* the address of the peer is being resolved */
	/* the id is bound to a device, and the address of the peer is resolved */
	UROCE_VCM_ADDR_RESOLVED,
	UROCE_VCM_ROUTE_RESOLVED, /* the route is resolved, so the program may connect */
	/* the program has requested a connection, or a datagram service */
	UROCE_VCM_CONNECT,
	/* the peer has accepted, and the program has to call uroce_cm_establish() */
	UROCE_VCM_RESPONSE,
	UROCE_VCM_LISTEN,
	UROCE_VCM_REQUEST,  /* a peer has requested a connection, or a datagram service */
	UROCE_VCM_ACCEPTED, /* the program has accepted, and the reply was sent to the peer */
	UROCE_VCM_CONNECTED,
	/* the connection was rejected or disconnected, or the peer was unreachable */
	UROCE_VCM_ENDED,
};

/** An end of a program's id: the id that it has at the connection manager of one device. */
struct uroce_vcm_end {
	struct uroce_vcm_id *id;
	struct uroce_vcm_device *device;
	uint32_t number;            /* number of the id at the connection manager of `device` */
	struct uroce_vcm_end *next; /* next entry in the list of ends of `id` */
	/* links in the list of the ends at the device; `*link` is the pointer to this end */
	struct uroce_vcm_end *next_of_device, **link;
};

/** A multicast group that an id has joined. */
struct uroce_vcm_group {
	struct uroce_vcm_group *next; /* next entry in the list of groups of the id */
	union ibv_gid gid;
	void *context; /* cookie that the program has given to the group */
	bool is_send_only;
	bool is_attached; /* the QP of the id is attached to the group */
	unsigned nb_unacked;
};

/** The device and the addresses of the path to a peer. */
struct uroce_vcm_route {
	struct uroce_vcm_device *device;
	struct uroce_cm_addr src; /* source address, with port 0 */
	struct uroce_cm_addr dst;
};

/** A resolution of an address that is in progress. */
struct uroce_vcm_resolution {
	struct uroce_vcm_id *next; /* next entry in the list of ids that resolve an address */
	struct uroce_vcm_route route;
	uint32_t scope;      /* scope ID in the peer's address, as the program gave it */
	uint64_t timeout_ns; /* time in which the address has to be resolved */
	/* time at which the resolution fails; 0: no request for the MAC was sent yet */
	uint64_t deadline_ns;
	/* time of the next request for the MAC of the destination, see uroce_dev_try_resolve() */
	uint64_t request_ns;
};

struct uroce_vcm_id {
	struct rdma_cm_id cm; /* the part of the id to which the program has a pointer */
	enum uroce_vcm_state state;
	/*
	 * the id is synchronous: calls with it wait for their event, and `cm.channel` belongs to
	 * this id alone
	 */
	bool is_sync;
	bool is_passive; /* the id was made for a CONNECT_REQUEST */
	/* ADDR_CHANGE was raised for the id, because the device has lost the address of the id */
	bool is_addr_lost;
	/* CONNECT_ERROR was raised for the id, so a later end of the connection is not reported */
	bool has_failed;
	bool has_end;      /* DISCONNECTED was raised for the id */
	bool is_end_taken; /* the program has taken the DISCONNECTED of the id */
	/*
	 * list of the ends of the id (struct uroce_vcm_end); one entry, or several if the id is
	 * bound at all devices
	 */
	struct uroce_vcm_end *ends;
	/*
	 * device to which the id is bound, the one of the context `cm.verbs`; NULL: the id is bound
	 * to no device
	 */
	struct uroce_vcm_device *device;
	struct uroce_vcm_resolution resolution;
	struct uroce_vcm_group *groups;
	/* number of events of the id that the program took and has not acknowledged */
	unsigned nb_unacked;
	/*
	 * if the id is a listener: number of CONNECT_REQUESTs that wait for the program, and their
	 * maximum
	 */
	unsigned nb_waiting, backlog;
	/* the fields from `tos` to `is_v6only` are options of uroce_cm_set_option() */
	uint8_t tos;
	uint8_t ack_timeout_code;
	bool has_ack_timeout;
	bool is_shared; /* value of the option RDMA_OPTION_ID_REUSEADDR */
	bool is_v6only; /* value of the option RDMA_OPTION_ID_AFONLY */
	struct ibv_ece local_ece;
	/*
	 * limits of READs and atomics that the program gave to connect or accept; the QP gets them
	 */
	uint8_t responder_resources, initiator_depth;
	struct ibv_sa_path_rec path; /* path record to which `cm.route.path_rec` points */
	/*
	 * for a listener of uroce_cm_create_ep(): attributes and PD for the QPs of new connections;
	 * NULL: the new connections get no QPs
	 */
	struct ibv_qp_init_attr *qp_init;
	struct ibv_pd *qp_init_pd;
	/*
	 * the library has made the send CQ, or the receive CQ, and its channel, for the QP or the
	 * SRQ of the id
	 */
	bool has_send_cq, has_recv_cq;
};

static inline struct uroce_vcm_id *
uroce_vcm_id(struct rdma_cm_id *cm)
{
	return (struct uroce_vcm_id *)cm;
}

/** Whether an id is for datagrams, and not for connections. */
static inline bool
uroce_vcm_is_datagram(const struct uroce_vcm_id *id)
{
	return id->cm.qp_type == IBV_QPT_UD;
}

/**
 * Convert 0 or -errno of an internal function to the result of a public call: 0, or -1 with errno.
 */
static inline int
uroce_vcm_ret(int ret)
{
	if (ret == 0)
		return 0;
	errno = -ret;
	return -1;
}

#endif /* UROCE_VERBS_CM_ID_H */
