/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_NET_H
#define UROCE_TEST_VERBS_NET_H

/**
 * @file
 * Two hosts on a cable in one process: two connected ring ports, a device on each, and the objects
 * that a connection needs. Tests that use this header include <uroce.h> and no header of lib.
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <uroce.h>

#include "../isolation.h"

#define BUF_LEN    (256u << 10)
#define NB_WR      16
#define NB_SGE     4
#define ADDR_GID   1 /* index in the GID table of the configured address */
#define ALL_REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/** A host and its verbs objects. The pointer of an object that was not created is NULL. */
struct host {
	uint16_t port_id;
	struct ibv_device *device;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr; /* region of the whole buffer `buf` */
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_qp *qp;
	uint8_t *buf; /* buffer of BUF_LEN bytes, zeroed when it is created */
};

/** The configuration of a pair. A field that is zero has its default. */
struct pair_conf {
	enum ibv_qp_type type;
	/* configuration keys of both devices in addition to addr, such as "workers=2" */
	const char *keys;
	/* a thread of the test drives both devices, which have the key drive=none */
	bool is_driven;
	enum ibv_mtu mtu;             /* path MTU; default 1024 */
	uint32_t nb_wr;               /* number of entries of each work queue; default NB_WR */
	uint32_t nb_cqe;              /* number of entries of each CQ; default 256 */
	uint8_t timeout;              /* code of the ACK timeout; default 14 */
	uint8_t retry_cnt, rnr_retry; /* retry counts; default 7, or 0 with is_impatient */
	bool is_impatient;
	bool is_quiet; /* sq_sig_all is 0: requests without IBV_SEND_SIGNALED have no completion */
	bool is_ipv6;
	bool is_crossed; /* the CQs and the QP of b belong to the second worker */
};

struct pair {
	struct host a, b;
	struct pair_conf conf;
	pthread_t driver; /* the thread that drives both devices if is_driven is set */
	atomic_bool is_closing;
};

#define QKEY 0x11223344u

/**
 * Start EAL and create the cable. Called once, at the beginning of main(). If the environment
 * variable RUNTIME_DIRECTORY is set, telemetry is enabled below that folder.
 */
void net_init(void);

/** Start EAL as net_init() does, with `mib` MiB of memory. */
void net_init_with(const char *mib);

/**
 * Create the port of host 0 or 1 if it does not exist.
 * @return name of the port
 */
const char *net_plug(unsigned idx);

extern uint16_t net_port[2]; /* port ids of the two hosts, which net_plug() sets */

/**
 * Whether both hosts are attached to a switch and have one address, instead of two ports on a
 * cable.
 */
bool net_is_attached(void);

/**
 * Create the device of host 0 or 1, with the address 192.0.2.1 or 192.0.2.2 and an IPv6 address.
 * `keys` are further configuration keys; NULL: none.
 */
struct ibv_device *net_device(unsigned idx, const char *keys);

/** Create both hosts, with a device each and QPs in RESET. */
void pair_open(struct pair *pair, const struct pair_conf *conf);
/** Create both hosts as two contexts of `device`, which pair_close() destroys. */
void pair_open_on(struct pair *pair, struct ibv_device *device, const struct pair_conf *conf);
/** Connect the QPs of both hosts, and move them from RESET to RTS. */
void pair_connect(struct pair *pair);
void pair_close(struct pair *pair);

/**
 * Move the QP of a host to the state that the function names, with all required attributes.
 * @return the result of uroce_modify_qp()
 */
int to_init(struct host *host);
int to_rtr(const struct pair *pair, struct host *host, const struct host *peer);
int to_rts(const struct pair *pair, struct host *host);
int to_state(struct host *host, enum ibv_qp_state state);

enum ibv_qp_state state_of(struct host *host);
union ibv_gid gid_of(const struct host *host, int index);

struct ibv_ah_attr ah_attr_to(const struct host *peer, int index);
struct ibv_ah *ah_to(const struct host *host, const struct host *peer);

/** Make an element for [offset, offset + len) of a host's buffer. */
struct ibv_sge sge_of(const struct host *host, uint32_t offset, uint32_t len);

/** Post a send request with the element `sge`. The post must succeed. */
void post_send(struct host *host, enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge sge);
/**
 * Post an RDMA request whose remote address is `offset` in the peer's buffer. The post must
 * succeed.
 */
void post_rdma(struct host *host, const struct host *peer, enum ibv_wr_opcode opcode,
	       uint64_t wr_id, struct ibv_sge sge, uint32_t offset);
void post_recv(struct host *host, uint64_t wr_id, struct ibv_sge sge);

/**
 * Poll `cq` until it has a completion, and drive both hosts meanwhile. The test fails if that takes
 * too long.
 */
struct ibv_wc wait_for(struct pair *pair, struct ibv_cq *cq);
/** Wait for a completion as wait_for() does. It must have this wr_id and this status. */
struct ibv_wc expect_wc(struct pair *pair, struct ibv_cq *cq, uint64_t wr_id,
			enum ibv_wc_status status);
/**
 * Drive both hosts until no frames are in flight, and check that no CQ of them has a completion.
 */
void expect_none(struct pair *pair);

/**
 * Test a call that must wait until events are acknowledged. When the call sleeps on `cond`, another
 * thread calls `ack(ack_arg)`. The test fails if the call returns earlier, or does not return 0.
 */
void expect_wait(int (*call)(void *object), void *object, const pthread_cond_t *cond,
		 void (*ack)(void *arg), void *ack_arg);

/** Fill memory with the pattern of a seed. */
void fill(uint8_t *buf, uint32_t len, unsigned seed);

#define assert_errno(expected, call)                                                               \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_null(call);                                                                 \
		assert_int_equal(errno, expected);                                                 \
	} while (0)

#endif /* UROCE_TEST_VERBS_NET_H */
