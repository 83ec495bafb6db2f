/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_SHAPE_H
#define LIMIT_SHAPE_H

/**
 * @file
 * The frames of the test: RDMA WRITEs of one size, built from templates.
 *
 * A message of `size` bytes is one Only frame, or a First, Middle frames and a Last. All frames of
 * one opcode are equal up to the sixth byte of the BTH. So the ICRC state at that byte is stored in
 * the template. Only what follows (AckReq, PSN, RETH, payload, pad) is computed for each frame. The
 * receiver does the same with headers that it has seen: a frame whose constant part equals that of
 * an earlier, fully checked frame starts from the stored state.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <rte_memcpy.h>

#include "wire/build.h"

/**
 * Bytes that are equal in all frames of a kind: Ethernet, IPv4, UDP, and the BTH up to the AckReq
 * byte.
 */
#define SHAPE_CONST_LEN (14 + 20 + 8 + 8)

/** Frames of one kind: First, Middle, Last or Only. */
struct shape_kind {
	uint8_t hdr[UROCE_HDR_MAX]; /* headers from Ethernet to the last extension header */
	uint16_t hdr_len;
	/* length with ICRC; 0: there are no such frames, or none was received yet */
	uint16_t frame_len;
	uint16_t payload_len;
	uint8_t pad_len;
	bool has_reth;
	uint32_t icrc; /* ICRC state after SHAPE_CONST_LEN bytes */
};

/** The kinds of frames of a stream of messages. */
struct shape {
	/* `last` is the Only frame of a message of one frame */
	struct shape_kind first, middle, last;
	uint32_t nb_frames; /* number of frames of a message */
	uint32_t size;      /* number of bytes of a message */
	uint32_t stride;    /* distance of the places of two messages in the region */
};

void shape_init(struct shape *shape, uint32_t size, uint32_t mtu);

/** The kind of the `idx`-th frame of a message. */
static inline const struct shape_kind *
shape_kind_at(const struct shape *shape, uint32_t idx)
{
	if (idx + 1 == shape->nb_frames)
		return &shape->last;
	return idx == 0 ? &shape->first : &shape->middle;
}

/** Longest frame of the shape. */
uint32_t shape_frame_len(const struct shape *shape);

/**
 * Write a frame without its ICRC, into room for frame_len (and UROCE_HDR_MAX) bytes at `frame`. The
 * ICRC of large payload is computed while it is copied.
 * @param va   virtual address in the RETH, if there is one
 * @param src  the payload
 * @return ICRC state after the payload if it was computed, otherwise undefined
 */
uint32_t shape_put(const struct shape_kind *kind, uint8_t *frame, uint32_t psn, bool has_ack_req,
		   uint64_t va, const uint8_t *src);

/**
 * Compute the ICRC of a frame that shape_put() wrote, and store it. This is a separate call, so
 * that all frames of a burst are written first: wide loads directly after narrow stores would
 * stall.
 */
void shape_sum(const struct shape_kind *kind, uint8_t *frame, uint32_t state);

/**
 * Copy payload. gcc compiles copies of a small known length to `rep movs`, which costs as much as
 * all other work for a small frame. So small lengths are copied by overlapping moves.
 */
static inline void
shape_copy(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	uint64_t first, last;

	if (len < 8 || len > 16) {
		rte_memcpy(dst, src, len);
		return;
	}
	memcpy(&first, src, 8);
	memcpy(&last, src + len - 8, 8);
	memcpy(dst, &first, 8);
	memcpy(dst + len - 8, &last, 8);
}

/** Bytes of a response on the wire: Ethernet, IPv4, UDP, BTH, AETH, ICRC. */
#define SHAPE_ACK_LEN (SHAPE_CONST_LEN + 4 + 4 + 4)

/** Syndromes of a response: an ACK, or the last response before the sink ends. */
#define SHAPE_SYNDROME_ACK 0x1f
#define SHAPE_SYNDROME_END 0x63

/** Write a response that acknowledges all frames up to `psn`. */
void shape_put_ack(const struct shape_kind *ack, uint8_t *frame, uint32_t psn, uint8_t syndrome);

/** Prepare the template of responses. */
void shape_init_ack(struct shape_kind *ack);

/**
 * Check a received frame: its constant part is compared with earlier kinds, or else the frame is
 * parsed. Then the ICRC is checked.
 * @param seen  256 kinds by opcode, zeroed before the first call; new kinds are added
 * @return its kind, or NULL: not a frame of this test, or damaged
 */
const struct shape_kind *shape_check(struct shape_kind seen[256], const uint8_t *frame,
				     uint32_t len);

/** Whether the frame is RoCEv2: the kernel sends other frames on its interfaces, too. */
bool shape_is_roce(const uint8_t *frame, uint32_t len);

/** PSN of a frame that shape_check() accepted. */
static inline uint32_t
shape_psn(const uint8_t *frame)
{
	return be24_get(((const struct uroce_bth *)(frame + SHAPE_CONST_LEN - 8))->psn);
}

static inline bool
shape_has_ack_req(const uint8_t *frame)
{
	return frame[SHAPE_CONST_LEN] & UROCE_BTH_ACK_REQ;
}

/** Syndrome of an answer that shape_check() accepted. */
static inline uint8_t
shape_syndrome(const uint8_t *frame)
{
	return frame[SHAPE_CONST_LEN + 4];
}

/** Virtual address in the RETH of a frame whose kind has one. */
static inline uint64_t
shape_va(const uint8_t *frame)
{
	return be64_get(((const struct uroce_reth *)(frame + SHAPE_CONST_LEN + 4))->va);
}

#endif /* LIMIT_SHAPE_H */
