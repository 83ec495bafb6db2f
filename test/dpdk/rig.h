/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DPDK_RIG_H
#define TEST_DPDK_RIG_H

/**
 * @file
 * Common parts of the data-path tests: EAL, pairs of ring ports with a device on each, and
 * connected QPs with queues and a registered buffer.
 *
 * If a function of this file fails, the test fails.
 */

#include <stdbool.h>
#include <stdint.h>

#include "../isolation.h"
#include "datapath/device/dev.h"

/**
 * Whether the program is built with the thread sanitizer. This sanitizer reports a race if a test
 * changes a field of a device that is otherwise constant.
 */
#if defined(__SANITIZE_THREAD__)
#define RIG_HAS_TSAN true
#elif defined(__has_feature)
#define RIG_HAS_TSAN __has_feature(thread_sanitizer)
#else
#define RIG_HAS_TSAN false
#endif

/**
 * Start EAL, which needs no root, no hugepages and no PCI.
 * @return whether EAL has started
 */
bool rig_init(void);

/**
 * Create two ports, net_ring_A and net_ring_B, with `nb_queues` each. Frames sent on queue i of one
 * port arrive on queue i + `shift` of the other, modulo `nb_queues`.
 */
void rig_wire(const char *a, const char *b, unsigned nb_queues, unsigned shift);

/** Create a device. The test fails if the creation fails. */
struct uroce_dev *rig_dev(const char *spec);

/** The two devices of most tests, which rig_pair() creates. */
extern struct uroce_dev *dev_a, *dev_b;

/**
 * Create the ports a and b with `nb_queues` each, as rig_wire() does. Create dev_a (192.0.2.1) and
 * dev_b (192.0.2.2) on them, with a worker for each queue.
 */
void rig_pair(unsigned nb_queues, unsigned shift);

/** Destroy dev_a and dev_b. This is a teardown function for cmocka. */
int rig_teardown(void **state);

#define RIG_BUF_LEN 65536
#define RIG_WR      64

/** A QP with its queues, its completion queues and a registered buffer. */
struct rig_qp {
	struct uroce_worker_qp wqp;
	struct uroce_dev *dev;
	struct uroce_wq sq, rq;
	struct uroce_cq scq, rcq;
	uint32_t key; /* lkey and rkey of `buf` */
	uint8_t *buf; /* buffer of RIG_BUF_LEN bytes */
	void *mem[4];
};

/** The XRC domain of XRC_RECV QPs and of their shared receive queues. */
#define RIG_XRCD 7

/**
 * The shared receive queue of the RC QPs that rig_qp() creates. If it is NULL, each QP has its own
 * receive queue.
 */
extern struct uroce_srq *rig_shared;

/** Create a QP in RESET on worker `worker` of a device; free a QP. */
struct rig_qp *rig_qp(struct uroce_dev *dev, unsigned worker, enum ibv_qp_type type);
void rig_qp_free(struct rig_qp *qp);

/**
 * The ACK timeout that rig_connect() sets, as a code of IBA. The default code is 14, which is 67
 * ms: a QP without a response fails after half a second. A test sets RIG_TIMEOUT_LONG if the
 * response depends on another thread.
 */
extern uint8_t rig_timeout;
/*
 * The code of an ACK timeout of 4.3 s: a QP without a response fails after 34 s. Only a hang takes
 * that long.
 */
#define RIG_TIMEOUT_LONG 20

/**
 * Move an RC, UC or XRC QP to RTS, connected to `peer`.
 * @param gid  index of the QP's source address in the GID table; the peer has the same index
 */
void rig_connect(struct rig_qp *qp, const struct rig_qp *peer, uint8_t gid);

/**
 * Move a QP to RTS, connected to 192.0.2.2, which does not respond.
 * @param timeout  code of the ACK timeout, or 0 if nothing shall be retransmitted
 */
void rig_connect_nowhere(struct rig_qp *qp, uint8_t timeout);

/**
 * The function that a helper thread calls repeatedly during rig_connect(), so that the peer
 * responds to ARP and ND. By default the function is rig_drive().
 */
extern void (*rig_meanwhile)(struct uroce_dev *peer);

/**
 * Modify a QP. `mask` must not contain IBV_QP_AV.
 * @return the result of uroce_qpc_modify()
 */
int rig_modify(struct rig_qp *qp, const struct ibv_qp_attr *attr, int mask);

/**
 * Queue a send request without ringing the doorbell. The request has one element, the `len` bytes
 * at `offset` in the buffer of `qp`. Its remote address is `target_offset` in the buffer of
 * `target`.
 */
void rig_queue_send(struct rig_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t offset,
		    uint32_t len, const struct rig_qp *target, uint32_t target_offset);

/** Queue a send request as rig_queue_send() does, and ring the doorbell. */
void rig_post_send(struct rig_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t offset,
		   uint32_t len, const struct rig_qp *target, uint32_t target_offset);
void rig_post_recv(struct rig_qp *qp, uint64_t wr_id, uint32_t offset, uint32_t len);

/**
 * Drive both devices until the CQ has an entry, and poll the entry. The test fails after a minute.
 */
struct ibv_wc rig_await(struct uroce_cq *cq, struct uroce_dev *a, struct uroce_dev *b);

/**
 * Wait until the CQ has an entry, while other threads drive the devices, and poll the entry. The
 * test fails after a minute.
 */
struct ibv_wc rig_wait(struct uroce_cq *cq);

/**
 * rig_fill() fills the buffer of a QP with a pattern. rig_check() checks that a part of the buffer
 * of a QP is the same as a part of the buffer of the QP `from`.
 */
void rig_fill(struct rig_qp *qp, uint8_t seed);
void rig_check(const struct rig_qp *qp, uint32_t offset, const struct rig_qp *from,
	       uint32_t from_offset, uint32_t len);

/**
 * Get the number of mbufs that are missing from the pool of the first worker of a device. The
 * function first frees the received frames of both devices. Mbufs that are reserved or queued for
 * transmission do not count.
 */
unsigned rig_nb_away(const struct uroce_dev *dev);

/**
 * Replace the clock: after this call, only rig_drive() advances the time, by one microsecond in
 * each call, so no timer depends on the speed of the machine. The creation of a device restores the
 * clock. Until then no other thread may drive a device, so rig_connect() must not be called.
 */
void rig_own_clock(void);

/**
 * End the effect of rig_own_clock(), if there is one: the time stamp counter is the clock again.
 */
void rig_end_own_clock(void);

/** Drive all workers of a device for one round. */
void rig_drive(struct uroce_dev *dev);

#endif /* TEST_DPDK_RIG_H */
