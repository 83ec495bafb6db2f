/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_NET_H
#define UROCE_TEST_VERBS_NET_H

/**
 * @file
 * Two hosts on a cable in one process: two connected ring ports, a device on each, and the objects
 * that a connection needs. Tests include <uroce.h> and no header of lib.
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
#define ADDR_GID   1 /* index of the configured address */
#define ALL_REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/** A host. Fields that are NULL were not created. */
struct host {
	uint16_t port_id;
	struct ibv_device *device;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr; /* region over `buf` */
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_qp *qp;
	uint8_t *buf; /* BUF_LEN bytes, zeroed */
};

/** The configuration of a pair; zero means the default. */
struct pair_conf {
	enum ibv_qp_type type;
	const char *keys; /* keys of both devices in addition to addr, such as "workers=2" */
	/* drive=none: a thread of the test drives both devices while they are open */
	bool is_driven;
	enum ibv_mtu mtu;             /* path MTU; default 1024 */
	uint32_t nb_wr;               /* number of entries of each work queue; default NB_WR */
	uint32_t nb_cqe;              /* number of entries of each CQ; default 256 */
	uint8_t timeout;              /* code of the ACK timeout; default 14 */
	uint8_t retry_cnt, rnr_retry; /* retry counts; default 7, or 0 with is_impatient */
	bool is_impatient;
	bool is_quiet; /* requests complete without a completion: sq_sig_all = 0 */
	bool is_ipv6;
	bool is_crossed; /* the CQs of b, and so its QP, belong to the second worker */
};

struct pair {
	struct host a, b;
	struct pair_conf conf;
	pthread_t driver; /* thread, with is_driven */
	atomic_bool is_closing;
};

#define QKEY 0x11223344u

/**
 * Start EAL and create the cable; once, at the beginning of main. If RUNTIME_DIRECTORY is set,
 * telemetry is enabled below that folder.
 */
void net_init(void);

/** Start EAL as net_init() does, with so many MiB of memory for rings and objects. */
void net_init_with(const char *mib);

/**
 * Create the port of a host if it does not exist.
 * @return its name
 */
const char *net_plug(unsigned idx);

extern uint16_t net_port[2]; /* ids of the ports at the last net_plug() */

/** Whether both hosts are attached to a switch instead, with one common address. */
bool net_is_attached(void);

/**
 * Create a device on port 0 or 1, with "addr=192.0.2.1/24" (or .2, or 2001:db8::1) and these keys.
 */
struct ibv_device *net_device(unsigned idx, const char *keys);

/** Create both hosts with QPs in RESET. */
void pair_open(struct pair *pair, const struct pair_conf *conf);
/** Create both hosts as two contexts of one device, which is destroyed with them. */
void pair_open_on(struct pair *pair, struct ibv_device *device, const struct pair_conf *conf);
/** Move both QPs to RTS. */
void pair_connect(struct pair *pair);
void pair_close(struct pair *pair);

/**
 * Move a QP to the next state, with all required attributes.
 * @return as ibv_modify_qp(3)
 */
int to_init(struct host *host);
int to_rtr(const struct pair *pair, struct host *host, const struct host *peer);
int to_rts(const struct pair *pair, struct host *host);
int to_state(struct host *host, enum ibv_qp_state state);

enum ibv_qp_state state_of(struct host *host);
union ibv_gid gid_of(const struct host *host, int index);

struct ibv_ah_attr ah_attr_to(const struct host *peer, int index);
struct ibv_ah *ah_to(const struct host *host, const struct host *peer);

/** An element of a host's buffer. */
struct ibv_sge sge_of(const struct host *host, uint32_t offset, uint32_t len);

/** Post one request with the list `sge`, which must succeed. */
void post_send(struct host *host, enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge sge);
/** Post an RDMA request to `offset` of the peer's buffer. */
void post_rdma(struct host *host, const struct host *peer, enum ibv_wr_opcode opcode,
	       uint64_t wr_id, struct ibv_sge sge, uint32_t offset);
void post_recv(struct host *host, uint64_t wr_id, struct ibv_sge sge);

/** Poll until `cq` has a completion, and drive both hosts. The test fails after some seconds. */
struct ibv_wc wait_for(struct pair *pair, struct ibv_cq *cq);
/** Poll until `cq` has a completion, which must have this wr_id and status. */
struct ibv_wc expect_wc(struct pair *pair, struct ibv_cq *cq, uint64_t wr_id,
			enum ibv_wc_status status);
/** Drive both hosts until no frame moves; there must be no completion. */
void expect_none(struct pair *pair);

/**
 * Test a call that must wait for acknowledgements. Another thread calls `ack(ack_arg)` when the
 * call sleeps on `cond`. The test fails if the call returns earlier, or not 0.
 */
void expect_wait(int (*call)(void *object), void *object, const pthread_cond_t *cond,
		 void (*ack)(void *arg), void *ack_arg);

/** Fill memory with a pattern that depends on the seed. */
void fill(uint8_t *buf, uint32_t len, unsigned seed);

#define assert_errno(expected, call)                                                               \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_null(call);                                                                 \
		assert_int_equal(errno, expected);                                                 \
	} while (0)

#endif /* UROCE_TEST_VERBS_NET_H */
