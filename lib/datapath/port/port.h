/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_PORT_H
#define UROCE_DATAPATH_PORT_H

/**
 * @file
 * The port of a device: an ethdev port, a connection to uroced, or UDP sockets. A port has
 * properties from ethdev and from the policy table (port_policy.c), queues and mempools, and a
 * link.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "datapath/device/conf.h"
#include "datapath/device/event.h"
#include "datapath/net/netif.h"
#include "datapath/port/rx_wakeup.h"
#include "mux/message.h"

/** Maximum number of frames in a burst. */
#define UROCE_BURST 64u

/**
 * Number of bytes around the payload of the longest RoCE frame: Ethernet with a VLAN tag, IPv6,
 * UDP, BTH, extension headers (RETH, immediate data, XRCETH), ICRC. Padding does not count, because
 * only a payload shorter than the MTU has padding.
 */
#define UROCE_FRAME_OVERHEAD (14u + 4 + 40 + 8 + 12 + 24 + 4)

/**
 * IP MTU that is requested from ports that allow it. RoCE networks use this value for path MTU
 * 4096.
 */
#define UROCE_PORT_MTU 4200u

/** Length of an Ethernet header and one VLAN tag, which an IP MTU does not include. */
#define UROCE_PORT_L2 18u

struct uroce_port;

/** Maximum number of ports of a process: ethdev ports, connections to uroced, and ports `udp`. */
#define UROCE_PORTS_MAX (RTE_MAX_ETHPORTS + 16)

struct uroce_mux_client;
struct uroce_udp_port;

/**
 * Name of the row of the policy table (port_policy.c) for a device that is attached to a uroced
 * whose port is `udp`.
 */
#define UROCE_PORT_UROCED_UDP UROCE_PORT_UROCED "+" UROCE_PORT_UDP

/** How frames are received and transmitted on a port. */
enum uroce_burst_kind {
	UROCE_BURST_ETHDEV,
	/*
	 * bursts of an ethdev port whose rings are in memory that a peer process may remove
	 * (fault_guard.h)
	 */
	UROCE_BURST_GUARDED,
	/* bursts through the rings of uroced instead of an ethdev port (mux_client.h) */
	UROCE_BURST_MUX,
	/*
	 * A port that only transmits, because the receive burst of its driver returns invalid
	 * frames.
	 */
	UROCE_BURST_TX_ONLY,
	UROCE_BURST_UDP, /* bursts through UDP sockets instead of an ethdev port (udp_port.h) */
};

/** A row of the policy table: properties of a driver that ethdev does not report. */
struct uroce_port_policy {
	/*
	 * Name of the driver, as in rte_eth_dev_info.driver_name; NULL: the row is for every driver
	 * that has no row of its own.
	 */
	const char *driver;
	/*
	 * The length of the longest frame is the value of the argument `limit_key`, or else
	 * `limit`. If both are unset, the MTU determines this length.
	 */
	/*
	 * Name of the argument of the virtual device that sets the maximum length of a frame; NULL:
	 * there is no such argument.
	 */
	const char *limit_key;
	/*
	 * maximum length of a frame in bytes if the argument `limit_key` is not given; 0: not set
	 */
	uint16_t limit;
	/*
	 * bytes of `limit` that the driver needs itself: the longest frame has `limit` minus these
	 * bytes
	 */
	uint16_t limit_overhead;
	/* IP MTU to configure; 0: UROCE_PORT_MTU, or the maximum of the port if that is less */
	uint16_t mtu;
	uint16_t rx_headroom; /* additional headroom of received frames, in bytes */
	/* Number of mbufs that the driver holds in addition to those in its rings. */
	uint16_t extra_mbufs;
	/* Speed of the link in Mbit/s, as the driver reports it; 0: the driver reports none. */
	uint32_t mbps;
	/* The driver requires mbufs of `limit` bytes, even if frames are shorter. */
	bool is_limit_strict;
	bool has_multi_seg; /* the driver transmits chained mbufs correctly */
	bool has_ext_buf;   /* the driver transmits external buffers correctly */
	bool may_block;     /* a call of the driver may sleep in the kernel */
	/* a burst is a system call, which takes longer than the other work of a worker's round */
	bool is_burst_syscall;
	bool is_virtual; /* the driver accesses mbufs by virtual address */
	/*
	 * The port shares an interface with the kernel, and takes its addresses, its neighbours and
	 * the state of its link from the kernel.
	 */
	bool is_kernel;
	/*
	 * The MAC that the driver reports is that of the other end of the link, so this end needs
	 * another MAC.
	 */
	bool is_far_mac;
	/*
	 * The port does not know the IPv4 identification that the sender of a frame has used, and
	 * may write another one. So a received frame is accepted if its ICRC is right for any
	 * identification.
	 */
	bool is_ident_unknown;
	/*
	 * Frames pass UDP sockets of the kernel, those of this process or those of uroced. The
	 * kernel finds the next hops, which all have the MAC uroce_udp_peer_mac. The UDP source
	 * port of all paths is that of the sockets.
	 */
	bool is_udp;
	/* The rings are in memory of another process, and disappear when that process ends. */
	bool has_peer;
	uint8_t burst; /* how frames are received and transmitted, an enum uroce_burst_kind */
	/* how a received frame wakes a sleeping thread, an enum uroce_rx_wakeup_kind */
	uint8_t rx_wakeup;
	/*
	 * Minimum time in ms between two receive interrupts, to which the driver sets the NIC: a
	 * frame that arrives sooner waits. 0: an interrupt comes at once.
	 */
	uint8_t rx_intr_gap_ms;
	/*
	 * With receive interrupts the driver may not report changes of the link. ethdev must not
	 * rely on such reports then, so that each link check asks the driver.
	 */
	bool is_lsc_exclusive;
	/* The capabilities(7) that a process needs to create a port of this driver; NULL: none. */
	const char *capability;
};

/**
 * Get the row of a driver in the policy table. Drivers without a row of their own have the last,
 * general row.
 */
const struct uroce_port_policy *uroce_port_policy_of(const char *driver);

/**
 * Get the policy row of the virtual device with this name. Other names have the last, general row.
 */
const struct uroce_port_policy *uroce_port_policy_by_name(const char *port_name);

/**
 * Get the names of the capabilities(7) that a process needs to create a port with this name, for
 * messages; NULL: the process needs none.
 */
const char *uroce_port_policy_capability(const char *port_name);

/**
 * Compute the length of the longest frame that a port's driver and arguments allow.
 * @param args  arguments of the virtual device ("bsize=4400,..."); NULL: there are no arguments
 * @param[out] raw  number of bytes that an mbuf must hold
 * @return number of bytes without FCS; 0: the MTU determines the length
 */
uint32_t uroce_port_policy_limit(const struct uroce_port_policy *policy, const char *args,
				 uint32_t *raw);

/**
 * The properties of a port before EAL creates it, derived from the arguments that EAL will get. If
 * the port shares an interface with the kernel, it has the MAC and MTU of the interface. For other
 * ports the plan chooses the MAC.
 */
struct uroce_port_plan {
	uint8_t mac[6];
	uint32_t frame_limit; /* length of the longest frame in bytes, as in struct uroce_port */
	/* Index of the kernel interface that the port shares; 0: no interface. */
	int if_index;
	uint32_t mbps; /* speed of the link in Mbit/s; RTE_ETH_SPEED_NUM_UNKNOWN: not known */
	/*
	 * properties that uroced reports of its host, if the port will be attached to uroced;
	 * otherwise all zero
	 */
	struct uroce_mux_host host;
};

/**
 * Plan an ethdev port: determine its properties before it exists.
 * @param vdev  name and arguments of the port, in the syntax of EAL's option --vdev
 * @return 0; -EINVAL: the properties of such a port are unknown before it exists; -ENODEV: the
 *   kernel interface does not exist
 */
int uroce_port_plan(const char *vdev, struct uroce_port_plan *plan);

/**
 * Determine the properties of a port that will be attached to uroced, by a query to uroced.
 * @return 0, or -errno after one logged line
 */
int uroce_port_plan_attached(const char *socket, struct uroce_port_plan *plan);

/**
 * Determine the properties of a device's port before it is open. The port may be an ethdev port, a
 * port that will be attached to uroced, or UDP sockets.
 * @param vdev  as for uroce_port_plan(), for an ethdev port
 * @return 0, or -errno after one logged line
 */
int uroce_port_plan_for(const struct uroce_dev_conf *conf, const char *vdev,
			struct uroce_port_plan *plan);

/** Whether the link of a port that is not open yet is expected to be up. */
bool uroce_port_plan_is_up(const struct uroce_port_plan *plan);

/** Set the MAC of an open port, in place of the MAC that the port had. */
void uroce_port_set_mac(struct uroce_port *port, const uint8_t mac[6]);

/*
 * All workers read the port in each round. It changes only with the state of the port, and is
 * allocated in cache lines of its own (line_heap.h).
 */
struct uroce_port {
	/* port ID of ethdev; RTE_MAX_ETHPORTS or above: the port is not an ethdev port */
	uint16_t id;
	char name[RTE_ETH_NAME_MAX_LEN];
	/* name of the device whose events are watched; valid if has_callbacks */
	char device_name[RTE_DEV_NAME_MAX_LEN];
	const struct uroce_port_policy *policy;
	uint8_t mac[6];
	int socket_id;
	uint32_t frame_limit; /* length of the longest frame in bytes, with VLAN tag, without FCS */
	uint16_t nb_queues;   /* number of queue pairs; a pair is an RX queue and a TX queue */
	/*
	 * Number of payload bytes in flight for which the receive buffer of a port `udp` has room;
	 * 0: the port's rings have room for the usual window.
	 */
	uint32_t window_bytes;
	bool is_handed_over;
	/* the port is a memif client, which connects to its server again when the link is lost */
	bool is_client;
	bool has_service_thread; /* drive=app: a thread of the library or of uroced may sleep */
	bool has_rx_intr;        /* the port was set up with receive interrupts */
	bool is_configured;
	bool is_started;
	/* Payload may be transmitted from the application's memory, without a copy. */
	bool can_zero_copy;
	bool has_callbacks;
	bool has_listener; /* the port is a memif server, and listens */
	/* the port's MAC filter accepts the frames of all multicast groups */
	bool has_all_multicast;
	/* time in ns (uroce_clock_ns()) before which the port must not be restarted */
	uint64_t restart_ns;
	struct rte_mempool *pool[UROCE_WORKERS_MAX]; /* mempool of mbufs for each queue */
	/* Kernel interface that the port shares; valid if policy->is_kernel or for a port `udp`. */
	struct uroce_netif netif;
	/* Connection to uroced; NULL: the port is not attached to uroced. */
	struct uroce_mux_client *mux_client;
	struct uroce_udp_port *udp; /* the sockets of a port `udp`; NULL for every other port */
	struct uroce_event_queue *events;
	atomic_bool is_up;
	_Atomic uint64_t nb_downs; /* number of changes of the link from up to down */
	atomic_bool has_been_up;
	atomic_bool is_ready; /* the port is started, and bursts may be called */
	atomic_bool is_gone;  /* the port was removed, and can only be stopped and closed */
};

/**
 * Find, configure and start the port of a device. A port that belongs to the DPDK application,
 * which has handed it over, is only inspected.
 * @param plan  the plan of the port, whose properties programs have seen; all zero: the port was
 *   not planned
 * @return 0, or -errno after one logged line
 */
int uroce_port_open(const struct uroce_dev_conf *conf, const struct uroce_port_plan *plan,
		    struct uroce_event_queue *events, struct uroce_port **port);

/**
 * Stop and close the port, and free its mempools. A port that the DPDK application has handed over
 * is not stopped.
 */
void uroce_port_close(struct uroce_port *port);

/**
 * Get the speed of the port's link in Mb/s. RTE_ETH_SPEED_NUM_NONE: unknown at present.
 * RTE_ETH_SPEED_NUM_UNKNOWN: never known.
 */
uint32_t uroce_port_mbps(const struct uroce_port *port);

/** Whether the port is an ethdev port. */
static inline bool
uroce_port_is_ethdev(const struct uroce_port *port)
{
	return port->id < RTE_MAX_ETHPORTS;
}

/**
 * Get the largest path MTU whose packets fit into frames of `frame_limit` bytes.
 * @param frame_limit  length in bytes, as in struct uroce_port
 * @return 256 to 4096; 0: the frames are too short for any path MTU
 */
static inline uint16_t
uroce_port_largest_mtu(uint32_t frame_limit)
{
	uint16_t mtu = 4096;

	while (mtu >= 256 && mtu + UROCE_FRAME_OVERHEAD > frame_limit)
		mtu /= 2;
	return mtu >= 256 ? mtu : 0;
}

static inline bool
uroce_port_is_up(const struct uroce_port *port)
{
	return atomic_load_explicit(&port->is_up, memory_order_relaxed);
}

/** Whether receive and transmit bursts of the port may be called. */
static inline bool
uroce_port_is_ready(const struct uroce_port *port)
{
	return atomic_load_explicit(&port->is_ready, memory_order_acquire) &&
	       !atomic_load_explicit(&port->is_gone, memory_order_relaxed);
}

/** Get the kind of RX wake-ups of an open port. */
static inline enum uroce_rx_wakeup_kind
uroce_port_rx_wakeup(const struct uroce_port *port)
{
	const enum uroce_rx_wakeup_kind kind = (enum uroce_rx_wakeup_kind)port->policy->rx_wakeup;

	return kind == UROCE_RX_WAKEUP_INTR && !port->has_rx_intr ? UROCE_RX_WAKEUP_NONE : kind;
}

static inline bool
uroce_port_is_gone(const struct uroce_port *port)
{
	return atomic_load_explicit(&port->is_gone, memory_order_relaxed);
}

#endif /* UROCE_DATAPATH_PORT_H */
