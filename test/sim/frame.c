/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Builds frames and manages their pool. The pool returns the frame that was freed last, because its
 * bytes are in the cache.
 */

#include "frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "wire/hdr.h"
#include "wire/icrc.h"

#define BLOCK_FRAMES 64

struct frame *
frame_take(struct frame_pool *pool)
{
	if (!pool->free) {
		struct frame *block = malloc(BLOCK_FRAMES * sizeof(*block));

		pool->blocks = realloc(pool->blocks, (pool->nb_blocks + 1) * sizeof(block));
		assert(block && pool->blocks);
		pool->blocks[pool->nb_blocks++] = block;
		for (unsigned i = 0; i < BLOCK_FRAMES; i++)
			frame_give(pool, &block[i]);
	}
	struct frame *frame = pool->free;

	pool->free = frame->next;
	frame->next = NULL;
	frame->is_spoilt = false;
	frame->is_to_group = false;
	return frame;
}

void
frame_give(struct frame_pool *pool, struct frame *frame)
{
	frame->next = pool->free;
	pool->free = frame;
}

void
frame_pool_free(struct frame_pool *pool)
{
	for (uint32_t i = 0; i < pool->nb_blocks; i++)
		free(pool->blocks[i]);
	free(pool->blocks);
	*pool = (struct frame_pool){ 0 };
}

void
frame_build(struct frame *frame, const struct uroce_txd *txd)
{
	const uint8_t *bth = frame->bytes + txd->bth_off;
	const uint8_t *ext = bth + sizeof(struct uroce_bth);
	uint8_t *at = frame->bytes + txd->hdr_len;
	uint32_t crc = uroce_icrc_bth(txd->icrc, bth);
	uint32_t gathered = 0;

	assert(txd->hdr == frame->bytes && txd->hdr_len <= UROCE_HDR_MAX);
	assert(txd->payload_len <= 4096 && txd->pad_len <= 3);
	crc = uroce_crc32(crc, ext, (size_t)(at - ext));
	for (unsigned i = 0; i < txd->nb_slices; i++) {
		crc = uroce_crc32_copy(crc, at, txd->slice[i].addr, txd->slice[i].len);
		at += txd->slice[i].len;
		gathered += txd->slice[i].len;
	}
	assert(gathered == txd->payload_len);
	memset(at, 0, txd->pad_len);
	crc = uroce_crc32(crc, at, txd->pad_len);
	at += txd->pad_len;
	uroce_icrc_store(at, crc);
	frame->len = (uint32_t)(at + UROCE_ICRC_LEN - frame->bytes);
}

static uint8_t *
ip_of(struct frame *frame)
{
	return frame->bytes + sizeof(struct uroce_eth);
}

bool
frame_is_covered(const struct frame *frame, uint16_t at)
{
	const unsigned ip = sizeof(struct uroce_eth);
	const bool is_ipv6 = frame->bytes[ip] >> 4 == 6;
	const unsigned udp = ip + (is_ipv6 ? sizeof(struct uroce_ipv6) : sizeof(struct uroce_ipv4));
	const unsigned off = at - ip;

	if (at < ip)
		return false;
	if (at == udp + 6 || at == udp + 7 || at == udp + sizeof(struct uroce_udp) + 4)
		return false;
	if (is_ipv6)
		return off > 3 && off != 7;
	return off != 1 && off != 8 && off != 10 && off != 11;
}

static void
sum_ipv4(struct uroce_ipv4 *ip)
{
	uint32_t sum = 0;

	ip->checksum = be16_make(0);
	for (unsigned i = 0; i < sizeof(*ip) / sizeof(be16); i++)
		sum += be16_get(((const be16 *)ip)[i]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->checksum = be16_make((uint16_t)~sum);
}

bool
frame_mark(struct frame *frame)
{
	uint8_t *at = ip_of(frame);

	if (at[0] >> 4 == 6) {
		struct uroce_ipv6 *ip = (struct uroce_ipv6 *)at;
		const uint32_t word = be32_get(ip->version_flow);

		if (!(word >> 20 & 3))
			return false;
		ip->version_flow = be32_make(word | 3u << 20);
		return true;
	}
	struct uroce_ipv4 *ip = (struct uroce_ipv4 *)at;

	if (!(ip->tos & 3))
		return false;
	ip->tos |= 3;
	sum_ipv4(ip);
	return true;
}
