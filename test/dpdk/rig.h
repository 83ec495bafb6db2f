/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DPDK_RIG_H
#define TEST_DPDK_RIG_H

/**
 * @file
 * Common parts of the data-path tests: EAL, pairs of ring ports with a device on each, and
 * connected QPs with queues and a registered buffer.
 *
 * All functions assert: a rig that cannot be built is a failed test.
 */

#include <stdbool.h>
#include <stdint.h>

#include "../isolation.h"
#include "datapath/device/dev.h"

/**
 * Whether the thread sanitizer is active. It reports tests that change constant fields of a device
 * as races.
 */
#if defined(__SANITIZE_THREAD__)
#define RIG_HAS_TSAN true
#elif defined(__has_feature)
#define RIG_HAS_TSAN __has_feature(thread_sanitizer)
#else
#define RIG_HAS_TSAN false
#endif

/**
 * Start EAL: no root, no hugepages, no PCI.
 * @return whether it started
 */
bool rig_init(void);

/**
 * Create two ports, net_ring_A and net_ring_B, with `nb_queues` each. Frames sent on queue i of one
 * port arrive on queue i + `shift` of the other.
 */
void rig_wire(const char *a, const char *b, unsigned nb_queues, unsigned shift);

/** Create a device. The test fails if that fails. */
struct uroce_dev *rig_dev(const char *spec);

/** The two devices that most tests have. */
extern struct uroce_dev *dev_a, *dev_b;

/**
 * Create ports a and b, and dev_a (192.0.2.1) and dev_b (192.0.2.2) on them, with a worker for each
 * queue.
 */
void rig_pair(unsigned nb_queues, unsigned shift);

/** Destroy dev_a and dev_b; a teardown function for cmocka. */
int rig_teardown(void **state);

#define RIG_BUF_LEN 65536
#define RIG_WR      64

/** A QP with its queues and memory. */
struct rig_qp {
	struct uroce_worker_qp wqp;
	struct uroce_dev *dev;
	struct uroce_wq sq, rq;
	struct uroce_cq scq, rcq;
	uint32_t key; /* lkey and rkey of `buf` */
	uint8_t *buf; /* buffer of RIG_BUF_LEN bytes */
	void *mem[4];
};

/** The XRC domain of targets and their queues. */
#define RIG_XRCD 7

/**
 * The shared receive queue of RC QPs that are created from now on; NULL: they have queues of their
 * own.
 */
extern struct uroce_srq *rig_shared;

/** Create a QP in RESET on one of the device's workers; free it. */
struct rig_qp *rig_qp(struct uroce_dev *dev, unsigned worker, enum ibv_qp_type type);
void rig_qp_free(struct rig_qp *qp);

/**
 * Code of the ACK timeout for rig_connect(): 67 ms, so that half a second without a response is an
 * error. A test uses RIG_TIMEOUT_LONG where another thread or the scheduler determines the time of
 * the response.
 */
extern uint8_t rig_timeout;
/* 4.3 s; an error after 34 s without a response, which only a hang takes */
#define RIG_TIMEOUT_LONG 20

/**
 * Move an RC, UC or XRC QP to RTS, connected to `peer`. `gid` is the index of its address. The
 * peer's device is driven meanwhile, so that it resolves its address.
 */
void rig_connect(struct rig_qp *qp, const struct rig_qp *peer, uint8_t gid);

/**
 * Move a QP to RTS, connected to 192.0.2.2, which does not respond.
 * @param timeout  code; 0: nothing is retransmitted
 */
void rig_connect_nowhere(struct rig_qp *qp, uint8_t timeout);

/** Called repeatedly by another thread during rig_connect(); by default it drives the peer. */
extern void (*rig_meanwhile)(struct uroce_dev *peer);

/**
 * Modify a QP, without an address vector.
 * @return the result
 */
int rig_modify(struct rig_qp *qp, const struct ibv_qp_attr *attr, int mask);

/** Queue a request of one element, [offset, offset + len) of the buffer, without a doorbell. */
void rig_queue_send(struct rig_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t offset,
		    uint32_t len, const struct rig_qp *target, uint32_t target_offset);

/** Queue a request as rig_queue_send() does, and ring the doorbell. */
void rig_post_send(struct rig_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t offset,
		   uint32_t len, const struct rig_qp *target, uint32_t target_offset);
void rig_post_recv(struct rig_qp *qp, uint64_t wr_id, uint32_t offset, uint32_t len);

/** Drive the devices until the CQ has an entry; the test fails if that takes too long. */
struct ibv_wc rig_await(struct uroce_cq *cq, struct uroce_dev *a, struct uroce_dev *b);

/** Wait for an entry without driving a device; the test fails if that takes seconds. */
struct ibv_wc rig_wait(struct uroce_cq *cq);

/** Fill the buffer with a pattern; compare a part of it with another buffer. */
void rig_fill(struct rig_qp *qp, uint8_t seed);
void rig_check(const struct rig_qp *qp, uint32_t offset, const struct rig_qp *from,
	       uint32_t from_offset, uint32_t len);

/**
 * Number of mbufs missing from the pool of a device's first worker, not counting those reserved for
 * transmission or waiting to be freed.
 */
unsigned rig_nb_away(const struct uroce_dev *dev);

/**
 * From now on time passes by rig_drive() alone, one microsecond with each call, so that no timer
 * depends on the machine. The next device that is created ends this. No other thread may drive a
 * device meanwhile, as one does in rig_connect().
 */
void rig_own_clock(void);

/** Use the CPU's counter as the clock again. No effect if it is the clock already. */
void rig_end_own_clock(void);

/** Drive all workers of a device once. */
void rig_drive(struct uroce_dev *dev);

#endif /* TEST_DPDK_RIG_H */
