/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DPDK_RIG_H
#define TEST_DPDK_RIG_H

/**
 * @file
 * What the data path's tests share: EAL, pairs of ring ports with a device on each, and QPs with
 * their queues and a registered buffer, connected to one another.
 *
 * Everything asserts: a rig that cannot be built is a failed test.
 */

#include <stdbool.h>
#include <stdint.h>

#include "../isolation.h"
#include "datapath/dev.h"

/** Whether the thread sanitizer looks: to it a test that changes what a device has for life is a race. */
#if defined(__SANITIZE_THREAD__)
#define RIG_HAS_TSAN true
#elif defined(__has_feature)
#define RIG_HAS_TSAN __has_feature(thread_sanitizer)
#else
#define RIG_HAS_TSAN false
#endif

/** Bring EAL up: no root, no hugepages, no PCI. @return whether it came up */
bool rig_init(void);

/**
 * Two ports, net_ring_A and net_ring_B, of `nb_queues` each: what goes out on queue i of one comes
 * in on queue i + `shift` of the other.
 */
void rig_wire(const char *a, const char *b, unsigned nb_queues, unsigned shift);

/** A device from its specification; fails the test if it does not come up. */
struct uroce_dev *rig_dev(const char *spec);

/** The two devices that most tests have. */
extern struct uroce_dev *dev_a, *dev_b;

/** Wire ports a and b, and make dev_a (192.0.2.1) and dev_b (192.0.2.2), with a worker for each queue. */
void rig_pair(unsigned nb_queues, unsigned shift);

/** Destroy dev_a and dev_b: for cmocka, at the end of a group. */
int rig_teardown(void **state);

#define RIG_BUF_LEN 65536
#define RIG_WR      64

/** A QP and all it needs. */
struct rig_qp {
	struct uroce_worker_qp wqp;
	struct uroce_dev *dev;
	struct uroce_wq sq, rq;
	struct uroce_cq scq, rcq;
	uint32_t key; /* lkey and rkey of buf */
	uint8_t *buf; /* RIG_BUF_LEN bytes */
	void *mem[4];
};

/** The domain of XRC targets and their queues. */
#define RIG_XRCD 7

/** The shared receive queue of the RC QPs that are made next; NULL: they have their own. */
extern struct uroce_srq *rig_shared;

/** A QP in RESET on one of the device's workers. */
struct rig_qp *rig_qp(struct uroce_dev *dev, unsigned worker, enum ibv_qp_type type);
void rig_qp_free(struct rig_qp *qp);

/**
 * Code of the ACK timeout of QPs that rig_connect() connects: 67 ms, so that half a second without an answer is an error.
 * Where another thread or the scheduler decides when the answer comes, a test takes RIG_TIMEOUT_LONG.
 */
extern uint8_t rig_timeout;
#define RIG_TIMEOUT_LONG 20 /* 4.3 s: 34 s without an answer, which only a hang takes */

/**
 * Take an RC, UC or XRC QP to RTS, towards `peer`; `gid` is the index of the address to use. The peer's device
 * is driven meanwhile, so that it answers for its address.
 */
void rig_connect(struct rig_qp *qp, const struct rig_qp *peer, uint8_t gid);

/** The same towards 192.0.2.2, where nobody answers. @param timeout  code; 0: nothing is sent again */
void rig_connect_nowhere(struct rig_qp *qp, uint8_t timeout);

/** What is done meanwhile, over and over, by another thread; by default the peer is driven. */
extern void (*rig_meanwhile)(struct uroce_dev *peer);

/** Modify, without an address vector. @return its result */
int rig_modify(struct rig_qp *qp, const struct ibv_qp_attr *attr, int mask);

/** Queue a one-element request over [offset, offset + len) of the buffer; its worker does not hear of it. */
void rig_queue_send(struct rig_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t offset,
		    uint32_t len, const struct rig_qp *target, uint32_t target_offset);

/** The same, and the worker hears of it. */
void rig_post_send(struct rig_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t offset,
		   uint32_t len, const struct rig_qp *target, uint32_t target_offset);
void rig_post_recv(struct rig_qp *qp, uint64_t wr_id, uint32_t offset, uint32_t len);

/** Drive the devices until the CQ has something; fails the test when it never has. */
struct ibv_wc rig_await(struct uroce_cq *cq, struct uroce_dev *a, struct uroce_dev *b);

/** Wait for it without driving anything; fails the test when it takes seconds. */
struct ibv_wc rig_wait(struct uroce_cq *cq);

/** Fill the buffer with a pattern, or check a part of it. */
void rig_fill(struct rig_qp *qp, uint8_t seed);
void rig_check(const struct rig_qp *qp, uint32_t offset, const struct rig_qp *from,
	       uint32_t from_offset, uint32_t len);

/** What the pool of a device's first worker misses, beside what is set aside for sending or to be freed. */
unsigned rig_nb_away(const struct uroce_dev *dev);

/**
 * From now on time passes by rig_drive() alone, a microsecond with each, so that no timer depends on the machine. The
 * next device that is made ends it. No other thread may drive a device meanwhile, as one does in rig_connect().
 */
void rig_own_clock(void);

/** The counter of the CPU is the clock again. Harmless where it is. */
void rig_end_own_clock(void);

/** Drive all workers of a device once. */
void rig_drive(struct uroce_dev *dev);

#endif /* TEST_DPDK_RIG_H */
