/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The door under arbitrary bytes. What it lets in lies inside the frame, and if its ICRC is made
 * right, parses again to the same and verifies.
 */

#include "bytes.h"

#include "wire/build.h"
#include "wire/icrc.h"
#include "wire/parse.h"

static void
expect_inside(const struct uroce_pkt *pkt, const uint8_t *frame, size_t len)
{
	const uint8_t *end = frame + len;

	expect(pkt->ip > frame && pkt->ip < (const uint8_t *)pkt->bth);
	expect((const uint8_t *)(pkt->bth + 1) == pkt->ext);
	expect(pkt->ext + pkt->op->ext_len == pkt->payload);
	expect(pkt->pad_len <= 3 && pkt->op->name);
	expect(pkt->payload <= end &&
	       pkt->payload_len + pkt->pad_len + UROCE_ICRC_LEN <= (size_t)(end - pkt->payload));
}

static void
seal(const struct uroce_pkt *pkt, uint8_t *frame)
{
	uint8_t *icrc = frame + (pkt->payload + pkt->payload_len + pkt->pad_len - frame);

	uroce_icrc_store(icrc, uroce_icrc_frame(pkt->ip, (size_t)(icrc - pkt->ip)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t again[9216];
	uint8_t *frame = malloc(len ? len : 1); /* of its size, for the sanitizer */
	struct uroce_pkt pkt;

	expect(frame);
	memcpy(frame, data, len);
	const enum uroce_verdict verdict = uroce_parse(frame, (uint32_t)len, &pkt);

	expect(verdict < UROCE_VERDICT_NB);
	if (verdict <= UROCE_VERDICT_DATAGRAM) {
		expect_inside(&pkt, frame, len);
		(void)uroce_pkt_check_icrc(&pkt);
		(void)uroce_rebuild(&pkt, again, sizeof(again));
		seal(&pkt, frame);
		expect(uroce_parse(frame, (uint32_t)len, &pkt) == verdict);
		expect(uroce_pkt_check_icrc(&pkt));
	}
	free(frame);
	return 0;
}
