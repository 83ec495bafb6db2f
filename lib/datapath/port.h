/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_PORT_H
#define UROCE_DATAPATH_PORT_H

/**
 * @file
 * The ethdev port under a device: what ethdev tells of it, what it does not tell (the policy
 * table), its queues and pools, its link.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "datapath/conf.h"
#include "datapath/event.h"
#include "datapath/netif.h"
#include "datapath/rx_wakeup.h"
#include "mux/message.h"

/** Frames taken and given at a time. */
#define UROCE_BURST 64u

/** Bytes around the payload of the longest RoCE frame: Ethernet with tag, IPv6, UDP, BTH, extension
 * headers (RETH, immediate data, XRCETH), ICRC. Pad only where payload is short of the MTU. */
#define UROCE_FRAME_OVERHEAD (14u + 4 + 40 + 8 + 12 + 24 + 4)

/** IP MTU that we ask of ports that let us: what RoCE networks use for path MTU 4096. */
#define UROCE_PORT_MTU 4200u

/** Ethernet header and one tag: what an IP MTU does not count. */
#define UROCE_PORT_L2 18u

struct uroce_port;

/** Ports of one process at a time: those of ethdev, and those that are attached to uroced. */
#define UROCE_PORTS_MAX (RTE_MAX_ETHPORTS + 16)

struct uroce_mux_client;

/** How frames go in and out. */
enum uroce_burst_kind {
	UROCE_BURST_ETHDEV,
	UROCE_BURST_GUARDED, /* the same, of which the memory may go (fault_guard.h) */
	UROCE_BURST_MUX,     /* no port of ethdev: over uroced's (mux_client.h) */
	UROCE_BURST_TX_ONLY, /* what its receive burst returns was sent by nobody */
};

/** What ethdev does not tell, by driver. */
struct uroce_port_policy {
	const char *driver; /* as in rte_eth_dev_info.driver_name; NULL: every other */
	/* the longest frame: what `limit_key` says, else `limit`; 0: what the MTU allows */
	const char *limit_key;   /* argument of the virtual device; NULL: none */
	uint16_t limit;          /* its default */
	uint16_t limit_overhead; /* bytes of it that are not the frame's */
	uint16_t mtu;            /* IP MTU to configure; 0: UROCE_PORT_MTU or the most it allows */
	uint16_t rx_headroom;    /* bytes it leaves before a received frame, beyond the usual */
	uint16_t extra_mbufs;    /* it holds more than its rings */
	uint32_t mbps;           /* of its link, as it tells; 0: it does not say */
	bool is_limit_strict;    /* mbufs must hold `limit`, whatever we need */
	bool has_multi_seg;      /* sends chained mbufs whole */
	bool has_ext_buf;        /* sends external buffers correctly */
	bool may_block;          /* a call to it may sleep in the kernel */
	bool is_virtual;         /* reaches mbufs by virtual address */
	bool is_kernel;          /* shares the kernel's interface: addresses, neighbours, link */
	bool is_far_mac;         /* its MAC is that of the other end: we need another */
	bool has_peer;           /* its rings are another process's memory, which goes with it */
	uint8_t burst;           /* enum uroce_burst_kind */
	uint8_t rx_wakeup;       /* enum uroce_rx_wakeup_kind: how who sleeps hears of a frame */
	const char
		*capability; /* of capabilities(7), without which there is no such port; or NULL */
};

/** The row of a driver; the last, general one if it has none. */
const struct uroce_port_policy *uroce_port_policy_of(const char *driver);

/** The row of the virtual device that has this name; the last, general one if it is none. */
const struct uroce_port_policy *uroce_port_policy_by_name(const char *port_name);

/** What a process needs to make a port of this name, for messages; NULL: nothing. */
const char *uroce_port_policy_capability(const char *port_name);

/**
 * The longest frame that a port's driver and arguments allow.
 * @param args  of the virtual device ("bsize=4400,..."); NULL: none
 * @return bytes without FCS, and in `raw` what an mbuf must hold; 0: what the MTU allows
 */
uint32_t uroce_port_policy_limit(const struct uroce_port_policy *policy, const char *args,
				 uint32_t *raw);

/**
 * What can be told of a port before EAL makes it, by the arguments that EAL is going to get. MAC and MTU of one
 * that shares the kernel's interface are that one's; of another the MAC is the one that it is to have.
 */
struct uroce_port_plan {
	uint8_t mac[6];
	uint32_t frame_limit;       /* as of a port */
	int if_index;               /* the kernel's interface that it shares; 0: none */
	uint32_t mbps;              /* of its link; RTE_ETH_SPEED_NUM_UNKNOWN */
	struct uroce_mux_host host; /* uroced's, if it is attached to that; else zero */
};

/**
 * Plan a port.
 * @param vdev  its name and arguments, as EAL's --vdev takes them
 * @return 0; -EINVAL: what it is to be is not known before it is there; -ENODEV: no such interface
 */
int uroce_port_plan(const char *vdev, struct uroce_port_plan *plan);

/** The same of a port that is to be attached to uroced, which tells. @return 0, or -errno after one logged line */
int uroce_port_plan_attached(const char *socket, struct uroce_port_plan *plan);

/** Whether its link may be expected to be up. */
bool uroce_port_plan_is_up(const struct uroce_port_plan *plan);

/** Give an open port a MAC, instead of the one that it found for itself. */
void uroce_port_set_mac(struct uroce_port *port, const uint8_t mac[6]);

struct uroce_port {
	uint16_t id; /* of ethdev, if it is one of its ports: below RTE_MAX_ETHPORTS */
	char name[RTE_ETH_NAME_MAX_LEN];
	const struct uroce_port_policy *policy;
	uint8_t mac[6];
	int socket_id;
	uint32_t frame_limit; /* bytes of the longest frame, tag included, FCS not */
	uint16_t nb_queues;   /* RX and TX queue pairs */
	bool is_handed_over;
	bool is_client; /* it connects to a peer, again when the link is lost */
	bool is_configured;
	bool is_started;
	bool can_zero_copy; /* payload may be sent from where it lies */
	bool has_callbacks;
	bool has_all_multicast; /* its filter lets in what is sent to any group */
	uint64_t restart_ns;    /* not to be started again before */
	struct rte_mempool *pool[UROCE_WORKERS_MAX]; /* by queue */
	struct uroce_netif netif;                    /* if policy->is_kernel */
	struct uroce_mux_client *mux_client;         /* uroced's; NULL: it is a port of ethdev */
	struct uroce_event_queue *events;
	atomic_bool is_up;
	_Atomic uint64_t nb_downs; /* times that it was up and is not any more */
	atomic_bool has_been_up;
	atomic_bool is_ready; /* started: bursts may be called */
	atomic_bool is_gone;  /* removed from under us: never touch it again */
};

/**
 * Find the port, set it up and start it (unless it was handed over: then just look at it).
 * @param plan  as which it was announced; all zero: it was not
 * @return 0, or -errno after one logged line
 */
int uroce_port_open(const struct uroce_dev_conf *conf, const struct uroce_port_plan *plan,
		    struct uroce_event_queue *events, struct uroce_port **port);

/** Stop and close it (unless it was handed over), free its pools. */
void uroce_port_close(struct uroce_port *port);

/** Of its link; RTE_ETH_SPEED_NUM_NONE: not known now, _UNKNOWN: not at all. */
uint32_t uroce_port_mbps(const struct uroce_port *port);

static inline bool
uroce_port_is_up(const struct uroce_port *port)
{
	return atomic_load_explicit(&port->is_up, memory_order_relaxed);
}

/** Whether bursts may be called. */
static inline bool
uroce_port_is_ready(const struct uroce_port *port)
{
	return atomic_load_explicit(&port->is_ready, memory_order_acquire) &&
	       !atomic_load_explicit(&port->is_gone, memory_order_relaxed);
}

static inline bool
uroce_port_is_gone(const struct uroce_port *port)
{
	return atomic_load_explicit(&port->is_gone, memory_order_relaxed);
}

#endif /* UROCE_DATAPATH_PORT_H */
