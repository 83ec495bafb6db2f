/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_CONF_H
#define UROCE_DATAPATH_CONF_H

/**
 * @file
 * The configuration of a device: one string of rte_kvargs syntax becomes a struct.
 *
 *	PORT[,addr=192.0.2.1/24][,addr=2001:db8::1/64][,gw=192.0.2.254][,mtu=1024][,workers=2]
 *	[,cc=dcqcn][,cc_ai_mbps=40]...
 *
 * PORT is the name of an ethdev port (net_memif0, 0000:01:00.0); or `uroced`, whose socket may be said:
 *
 *	uroced[,socket=PATH][,workers=2]...
 *
 * Addresses, gateways and VLAN are uroced's to say then.
 */

#include <stdbool.h>
#include <stdint.h>
#include <rte_ethdev.h>

#include "mux/message.h"
#include "transport/cc.h"

#define UROCE_ADDRS_MAX   8
#define UROCE_WORKERS_MAX 32

/** The port that is none of ethdev's: of a device that is attached to uroced. */
#define UROCE_PORT_UROCED "uroced"

/** QPs of such a device: as many as it may have numbers. */
#define UROCE_ATTACHED_QPS_MAX (UROCE_MUX_LEASES_MAX * UROCE_MUX_BLOCK)

/** Who calls uroce_worker_poll(); key `drive`. */
enum uroce_drive {
	UROCE_DRIVE_APP,   /* "app": poll_cq on an empty CQ, and a service thread meanwhile */
	UROCE_DRIVE_LCORE, /* "lcore": a dedicated lcore for each worker */
	UROCE_DRIVE_NONE,  /* "none": the embedder, and nobody else */
};

/** An address of the device. */
struct uroce_addr {
	uint8_t ip[16];     /* IPv4 in its mapped form: at the same time the GID */
	uint8_t prefix_len; /* bits of ip that name the network: 96 + n for an IPv4 /n */
};

struct uroce_dev_conf {
	char port[RTE_ETH_NAME_MAX_LEN];
	struct uroce_addr addr[UROCE_ADDRS_MAX]; /* key addr, in order */
	unsigned nb_addr; /* 0: taken from the kernel interface behind the port */
	uint8_t gw4[16];  /* key gw; all zero: none */
	uint8_t gw6[16];
	uint16_t path_mtu; /* key mtu: 256, 512, 1024, 2048 or 4096; 0: the largest that fits */
	uint16_t vlan_tci; /* key vlan: 1..4094 */
	bool has_vlan;
	unsigned nb_workers;     /* key workers; 1 */
	enum uroce_drive drive;  /* key drive; app */
	uint32_t max_qp;         /* key qps; 16384 */
	uint32_t max_mr;         /* key mrs; 16384 */
	struct uroce_cc_conf cc; /* keys cc and cc_*; none */
	bool is_icrc_off;        /* key icrc=off: said of a library that has none, for benchmarks */
	bool is_attached;        /* the port is UROCE_PORT_UROCED */
	char socket[108];        /* key socket: where uroced listens; UROCE_MUX_SOCKET */
	bool is_handed_over;     /* the port belongs to the embedder: not configured, not started */
};

/**
 * Parse a specification.
 * @param[out] conf  written on success only
 * @return 0, or -EINVAL after one logged line that says which key, why and what is allowed
 */
int uroce_dev_conf_parse(const char *spec, struct uroce_dev_conf *conf);

#endif /* UROCE_DATAPATH_CONF_H */
