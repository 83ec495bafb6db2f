/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_SHAPE_H
#define LIMIT_SHAPE_H

/**
 * @file
 * The frames of the test: RDMA WRITEs of one size, built from templates. A message of `size` bytes
 * is one Only frame, or a First frame, Middle frames and a Last frame.
 *
 * All frames of one opcode are equal up to the AckReq byte of the BTH. So the template has the ICRC
 * state at that byte. Only the bytes behind it (AckReq, PSN, RETH, payload, pad) are added to the
 * ICRC of each frame.
 *
 * The receiver stores the constant part and the ICRC state of a frame that it has checked fully. If
 * the constant part of a later frame is equal, its check begins with the stored state.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <rte_memcpy.h>

#include "wire/build.h"

/**
 * Length of the constant part of the frames of a kind: Ethernet, IPv4, UDP, and the BTH up to the
 * AckReq byte.
 */
#define SHAPE_CONST_LEN (14 + 20 + 8 + 8)

/**
 * A kind of frame: its template, and the ICRC state of its constant part. First, Middle, Last and
 * Only are kinds.
 */
struct shape_kind {
	uint8_t hdr[UROCE_HDR_MAX]; /* all headers, up to the last extension header */
	uint16_t hdr_len;
	/*
	 * length of the frame with the ICRC; 0: the shape has no such frames, or none was received
	 * yet
	 */
	uint16_t frame_len;
	uint16_t payload_len;
	uint8_t pad_len;
	bool has_reth;
	uint32_t icrc; /* ICRC state after the constant part */
};

/** The kinds of frames of a stream of messages. */
struct shape {
	/* `last` is the Only frame if a message has one frame */
	struct shape_kind first, middle, last;
	uint32_t nb_frames; /* number of frames of a message */
	uint32_t size;      /* number of bytes of a message */
	/* bytes in the region from the start of a message to the start of the next one */
	uint32_t stride;
};

void shape_init(struct shape *shape, uint32_t size, uint32_t mtu);

/** Get the kind of the frame with index `idx` in a message. */
static inline const struct shape_kind *
shape_kind_at(const struct shape *shape, uint32_t idx)
{
	if (idx + 1 == shape->nb_frames)
		return &shape->last;
	return idx == 0 ? &shape->first : &shape->middle;
}

/** Length of the longest frame of a message. */
uint32_t shape_frame_len(const struct shape *shape);

/**
 * Write a frame without its ICRC. `frame` must have room for frame_len bytes, and for
 * UROCE_HDR_MAX. The ICRC of long payload is computed while the payload is copied.
 * @param va  virtual address in the RETH, if there is one
 * @param src  the payload
 * @return for long payload: ICRC state after the payload; otherwise undefined
 */
uint32_t shape_put(const struct shape_kind *kind, uint8_t *frame, uint32_t psn, bool has_ack_req,
		   uint64_t va, const uint8_t *src);

/**
 * Compute and store the ICRC of a frame that shape_put() has written. All frames of a burst are
 * written before this call, because wide loads directly after narrow stores would stall.
 * @param state  result of shape_put()
 */
void shape_sum(const struct shape_kind *kind, uint8_t *frame, uint32_t state);

/**
 * Copy payload. gcc compiles a copy of a small length to `rep movs` if it knows the maximum. That
 * costs as much as all other work for a small frame. So short payload is copied by overlapping
 * moves.
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

/** Syndromes of a response: an ACK, and the goodbye with which a side ends the test. */
#define SHAPE_SYNDROME_ACK 0x1f
#define SHAPE_SYNDROME_END 0x63

/** Write a response that acknowledges all frames up to `psn`. */
void shape_put_ack(const struct shape_kind *ack, uint8_t *frame, uint32_t psn, uint8_t syndrome);

/** Prepare the template of responses, for shape_put_ack(). */
void shape_init_ack(struct shape_kind *ack);

/**
 * Check a received frame. If its constant part is not that of an earlier frame, the frame is
 * parsed. Then the ICRC is checked.
 * @param seen  256 kinds, by opcode: zeroed before the first call; new kinds are added
 * @return the kind; NULL: not a frame of this test, or damaged
 */
const struct shape_kind *shape_check(struct shape_kind seen[256], const uint8_t *frame,
				     uint32_t len);

/**
 * Whether a frame is RoCEv2. Other frames may arrive, too: the kernel sends some on its interfaces.
 */
bool shape_is_roce(const uint8_t *frame, uint32_t len);

/** Get the PSN of a frame that shape_check() has accepted. */
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

/** Get the syndrome of a response that shape_check() has accepted. */
static inline uint8_t
shape_syndrome(const uint8_t *frame)
{
	return frame[SHAPE_CONST_LEN + 4];
}

/** Get the virtual address in the RETH of a frame whose kind has a RETH. */
static inline uint64_t
shape_va(const uint8_t *frame)
{
	return be64_get(((const struct uroce_reth *)(frame + SHAPE_CONST_LEN + 4))->va);
}

#endif /* LIMIT_SHAPE_H */
