/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_CONF_H
#define UROCE_DATAPATH_CONF_H

/**
 * @file
 * The configuration of a device: a string in the syntax of rte_kvargs is parsed into a struct.
 *
 *	PORT[,addr=192.0.2.1/24][,addr=2001:db8::1/64][,gw=192.0.2.254][,mtu=1024][,workers=2]
 *	[,cc=dcqcn][,cc_ai_mbps=40]...
 *
 * PORT is the name of an ethdev port (net_memif0, 0000:01:00.0), or `uroced` for a port that the
 * daemon uroced owns and shares. The path of uroced's socket is optional:
 *
 *	uroced[,socket=PATH][,workers=2]...
 *
 * With `uroced` the daemon determines addresses, gateways and VLAN.
 *
 * `udp` is a port on UDP sockets of the kernel, on addresses of the host:
 *
 *	udp,addr=192.0.2.1[,addr=2001:db8::1][,mtu=1024]...
 *	udp,iface=eth0[,mtu=1024]...
 *	udp[,mtu=1024]...
 */

#include <stdbool.h>
#include <stdint.h>
#include <net/if.h>
#include <rte_ethdev.h>

#include "mux/message.h"
#include "transport/congestion/cc.h"

#define UROCE_ADDRS_MAX   8
#define UROCE_WORKERS_MAX 32

/**
 * The port name of a device that is attached to the daemon uroced. It is not the name of an ethdev
 * port.
 */
#define UROCE_PORT_UROCED "uroced"

/** The port name of a device on UDP sockets. It is not the name of an ethdev port. */
#define UROCE_PORT_UDP "udp"

/**
 * Maximum number of QPs of a device that is attached to the daemon uroced: the number of QPNs that
 * uroced leases to a client process.
 */
#define UROCE_ATTACHED_QPS_MAX (UROCE_MUX_LEASES_MAX * UROCE_MUX_BLOCK)

/**
 * The threads that drive the workers of a device, which means that they call uroce_worker_poll().
 * The key `drive` of the configuration string selects them.
 */
enum uroce_drive {
	/*
	 * "app": threads that call ibv_poll_cq() on an empty CQ drive the workers; otherwise a
	 * service thread does.
	 */
	UROCE_DRIVE_APP,
	UROCE_DRIVE_LCORE, /* "lcore": a dedicated lcore drives each worker */
	/* "none": only the application, in a loop of its own, calls uroce_worker_poll() */
	UROCE_DRIVE_NONE,
};

/** An address of a device, with the length of its network prefix. */
struct uroce_addr {
	uint8_t ip[16]; /* the GID of the address; an IPv4 address is in its IPv4-mapped form */
	/* Length of the network prefix of `ip`, in bits: 96 + n for an IPv4 /n. */
	uint8_t prefix_len;
};

struct uroce_dev_conf {
	char port[RTE_ETH_NAME_MAX_LEN];
	/* Addresses of the device, from the key addr, in the order of the configuration string. */
	struct uroce_addr addr[UROCE_ADDRS_MAX];
	/*
	 * Number of addresses in `addr`; 0: the addresses are those of the kernel interface behind
	 * the port.
	 */
	unsigned nb_addr;
	uint8_t gw4[16]; /* gateway of IPv4, from the key gw; all zero: there is no gateway */
	uint8_t gw6[16];
	/*
	 * Path MTU, from the key mtu: 256, 512, 1024, 2048 or 4096; 0: the largest that the port
	 * carries.
	 */
	uint16_t path_mtu;
	uint16_t vlan_tci; /* VLAN ID, from the key vlan: 1 to 4094 */
	bool has_vlan;
	/*
	 * The key gid0 has the value addr: GID index 0 is the first address of the device, and the
	 * port's link-local address comes last. Otherwise the link-local address has GID index 0.
	 */
	bool is_addr_first;
	unsigned nb_workers; /* number of workers, from the key workers; default 1 */
	/* threads that drive the workers, from the key drive; default: UROCE_DRIVE_APP */
	enum uroce_drive drive;
	uint32_t max_qp; /* maximum number of QPs, from the key qps; default 16384 */
	/* maximum number of memory regions, from the key mrs; default 16384 */
	uint32_t max_mr;
	/*
	 * Parameters of congestion control, from the keys cc and cc_*; default: no congestion
	 * control.
	 */
	struct uroce_cc_conf cc;
	/*
	 * the configuration string has icrc=off: the user acknowledges that the library was built
	 * without ICRCs, for benchmarks
	 */
	bool is_icrc_off;
	/* the port is UROCE_PORT_UROCED: the device is attached to the daemon uroced */
	bool is_attached;
	bool is_udp; /* the port is UROCE_PORT_UDP: the device uses UDP sockets of the kernel */
	/*
	 * Name of the interface whose addresses a device on UDP sockets has, from the key iface. If
	 * the name is empty, the device has the addresses of `addr`, or else all addresses of the
	 * host.
	 */
	char iface[IF_NAMESIZE];
	/* path of uroced's socket, from the key socket; default UROCE_MUX_SOCKET */
	char socket[108];
	/*
	 * The port belongs to the DPDK application that links this library: the library neither
	 * configures nor starts the port.
	 */
	bool is_handed_over;
};

/**
 * Parse a configuration string.
 * @param[out] conf  the parsed configuration; written on success only
 * @return 0, or -EINVAL after one logged line with the key, the reason and the allowed values
 */
int uroce_dev_conf_parse(const char *spec, struct uroce_dev_conf *conf);

#endif /* UROCE_DATAPATH_CONF_H */
