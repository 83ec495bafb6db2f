/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_NET_H
#define UROCE_TEST_VERBS_NET_H

/**
 * @file
 * Two hosts on a cable, in one process: ring ports back to back, a device on each, and what a
 * connection needs. The tests include <uroce.h> and nothing of lib.
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

/** A host: everything that is left NULL was not made. */
struct host {
	uint16_t port_id;
	struct ibv_device *device;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr; /* over buf */
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_qp *qp;
	uint8_t *buf; /* BUF_LEN bytes, zeroed */
};

/** How the QPs of a pair are; zero means the default. */
struct pair_conf {
	enum ibv_qp_type type;
	const char *keys; /* of both devices, beside addr: "workers=2" */
	bool is_driven;   /* drive=none: a thread of ours drives both while they are open */
	enum ibv_mtu mtu; /* 1024 */
	uint32_t nb_wr;   /* NB_WR */
	uint32_t nb_cqe;  /* 256 */
	uint8_t timeout;  /* code; 14 */
	uint8_t retry_cnt, rnr_retry; /* 7, or 0 with is_impatient */
	bool is_impatient;
	bool is_quiet; /* sq_sig_all = 0 */
	bool is_ipv6;
	bool is_crossed; /* b's CQs, and so its QP, are the second worker's */
};

struct pair {
	struct host a, b;
	struct pair_conf conf;
	pthread_t driver; /* with is_driven */
	atomic_bool is_closing;
};

#define QKEY 0x11223344u

/** EAL, and the cable. Once, at the begin of main. Below RUNTIME_DIRECTORY there is telemetry, if that is set. */
void net_init(void);

/** The same with so many MiB of memory for rings and objects. */
void net_init_with(const char *mib);

/** The port of a host, made when there is none. @return its name */
const char *net_plug(unsigned idx);

extern uint16_t net_port[2]; /* as they were last plugged */

/** Whether both hosts are attached to a switch instead, and have an address in common. */
bool net_is_attached(void);

/** A device on port 0 or 1, with "addr=192.0.2.1/24" (or .2, or 2001:db8::1) and the keys. */
struct ibv_device *net_device(unsigned idx, const char *keys);

/** Both hosts up to QPs in RESET. */
void pair_open(struct pair *pair, const struct pair_conf *conf);
/** The same, as two contexts of one device, which goes with them. */
void pair_open_on(struct pair *pair, struct ibv_device *device, const struct pair_conf *conf);
/** Both QPs to RTS. */
void pair_connect(struct pair *pair);
void pair_close(struct pair *pair);

/** One step of a QP, with all the attributes that it requires. @return of modify */
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

/** Post one request, whose list is `sge`; must succeed. */
void post_send(struct host *host, enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge sge);
/** RDMA: to `offset` of the peer's buffer. */
void post_rdma(struct host *host, const struct host *peer, enum ibv_wr_opcode opcode,
	       uint64_t wr_id, struct ibv_sge sge, uint32_t offset);
void post_recv(struct host *host, uint64_t wr_id, struct ibv_sge sge);

/** Poll until a completion of `cq` comes, driving both hosts. Fails the test after some seconds. */
struct ibv_wc wait_for(struct pair *pair, struct ibv_cq *cq);
/** The same, and its status must be this. */
struct ibv_wc expect_wc(struct pair *pair, struct ibv_cq *cq, uint64_t wr_id,
			enum ibv_wc_status status);
/** Let both hosts run until nothing moves; there must be no completion. */
void expect_none(struct pair *pair);

/**
 * A call that must wait for acknowledgements: `ack(ack_arg)` is called by another thread, and not before the call
 * is seen asleep on `cond`. Fails the test if the call returns earlier, or not 0.
 */
void expect_wait(int (*call)(void *object), void *object, const pthread_cond_t *cond,
		 void (*ack)(void *arg), void *ack_arg);

/** Fill with a pattern of a seed. */
void fill(uint8_t *buf, uint32_t len, unsigned seed);

#define assert_errno(expected, call)                                                               \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_null(call);                                                                 \
		assert_int_equal(errno, expected);                                                 \
	} while (0)

#endif /* UROCE_TEST_VERBS_NET_H */
