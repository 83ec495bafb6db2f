/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_SHAPE_H
#define LIMIT_SHAPE_H

/**
 * @file
 * The frames that are blasted: those of RDMA WRITEs of one size, made from templates.
 *
 * A message of `size` bytes is one ONLY frame, or a FIRST, MIDDLE frames and a LAST. All frames of
 * one opcode are equal up to the sixth byte of the BTH, so the ICRC state there is prepared with the
 * template, and only what follows (AckReq, PSN, RETH, payload, pad) is computed for each frame. The
 * sink does the same with the headers that it has seen: a frame whose constant part is that of an
 * earlier, fully checked frame starts from its state.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <rte_memcpy.h>

#include "wire/build.h"

/** Ethernet, IPv4, UDP, and the BTH up to the AckReq byte: what is equal in all frames. */
#define SHAPE_CONST_LEN (14 + 20 + 8 + 8)

/** Frames of one kind: a message's first, middle, last, or only ones. */
struct shape_kind {
	uint8_t hdr[UROCE_HDR_MAX]; /* Ethernet to the last extension header */
	uint16_t hdr_len;
	uint16_t frame_len; /* ICRC included; 0: no such frames (or none seen yet) */
	uint16_t payload_len;
	uint8_t pad_len;
	bool has_reth;
	uint32_t icrc; /* state after SHAPE_CONST_LEN bytes */
};

/** The frames of a stream of messages. */
struct shape {
	struct shape_kind first, middle, last; /* `last` is the ONLY frame of a one-frame message */
	uint32_t nb_frames;                    /* frames of a message */
	uint32_t size;                         /* bytes of a message */
	uint32_t stride; /* from one message's place in the region to the next's */
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
 * Write a frame but for its ICRC: room for frame_len (and UROCE_HDR_MAX) bytes at `frame`. Payload
 * that is worth it is summed while it is copied.
 * @param va   what the RETH says, where there is one
 * @param src  the payload
 * @return state after the payload when it was summed, else meaningless
 */
uint32_t shape_put(const struct shape_kind *kind, uint8_t *frame, uint32_t psn, bool has_ack_req,
		   uint64_t va, const uint8_t *src);

/**
 * Sum a frame that shape_put() wrote, and store the ICRC. A call of its own, so that a burst is
 * written first and summed then: wide loads right behind narrow stores wait for them.
 */
void shape_sum(const struct shape_kind *kind, uint8_t *frame, uint32_t state);

/**
 * Copy payload. For a length that it knows to be small gcc emits a `rep movs`, which costs as much as
 * everything else that is done with a small frame; so what is small goes in moves that overlap.
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

/** What an answer costs on the wire: Ethernet, IPv4, UDP, BTH, AETH, ICRC. */
#define SHAPE_ACK_LEN (SHAPE_CONST_LEN + 4 + 4 + 4)

/** Syndrome of an answer: all is well, or the last answer: the sink ends. */
#define SHAPE_SYNDROME_ACK 0x1f
#define SHAPE_SYNDROME_END 0x63

/** Write an answer to everything up to `psn`. */
void shape_put_ack(const struct shape_kind *ack, uint8_t *frame, uint32_t psn, uint8_t syndrome);

/** Prepare the template of answers. */
void shape_init_ack(struct shape_kind *ack);

/**
 * Check a received frame: equal to a kind seen before up to its PSN, or else parsed; then the ICRC.
 * @param seen  256 kinds, by opcode: zeroed at first; learns
 * @return its kind, or NULL: not one of ours, or damaged
 */
const struct shape_kind *shape_check(struct shape_kind seen[256], const uint8_t *frame,
				     uint32_t len);

/** Whether it is RoCEv2 at all: a kernel's interface has other things to say, too. */
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
