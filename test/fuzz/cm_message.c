/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The codec of connection management, with random MADs and random messages. A MAD is parsed, and a
 * second MAD is built from the message. The second MAD has no bit that the first MAD did not have,
 * and is parsed to the same message. The IP header in the private data is checked in the same way.
 * A message of random bytes loses the bits that do not fit its fields when it is built for the
 * first time, and loses none after that.
 *
 * The input is a MAD, and then the bytes of a message. Most MADs get their constant first bytes
 * from the test, because mutations rarely find them.
 */

#include "bytes.h"

#include "cm/ip_header.h"
#include "cm/message.h"
#include "cm/reason.h"
#include "cm/timeout.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t room, unsigned seed);

#define MAD_ATTR_AT 16

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t room, unsigned seed)
{
	static const uint8_t prefix[] = { 1, 7, 2, 3 };
	const unsigned nb_attrs = UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST;

	len = LLVMFuzzerMutate(data, len, room);
	if (len > MAD_ATTR_AT + 1 && seed % 8 > 0) {
		memcpy(data, prefix, sizeof(prefix));
		data[MAD_ATTR_AT] = 0;
		data[MAD_ATTR_AT + 1] =
			(uint8_t)(UROCE_CM_ATTR_FIRST + data[MAD_ATTR_AT + 1] % nb_attrs);
	}
	return len;
}

/* Whether each bit that is set in `some` is set in `all`. */
static bool
is_subset(const uint8_t *some, const uint8_t *all, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (some[i] & ~all[i])
			return false;
	}
	return true;
}

static void
check_ip_header(const uint8_t *header)
{
	/* memory of the exact length, so that the sanitizer detects an overrun */
	uint8_t *exact = malloc(UROCE_CM_IP_LEN);
	uint8_t again[UROCE_CM_IP_LEN];
	struct uroce_cm_ip ip, same;

	expect(exact);
	memcpy(exact, header, UROCE_CM_IP_LEN);
	if (uroce_cm_ip_parse(exact, &ip) == UROCE_CM_VERDICT_ACCEPTED) {
		expect(ip.ip_version == 4 || ip.ip_version == 6);
		uroce_cm_ip_build(&ip, again);
		expect(is_subset(again, exact, sizeof(again)));
		expect(uroce_cm_ip_parse(again, &same) == UROCE_CM_VERDICT_ACCEPTED);
		expect(memcmp(&ip, &same, sizeof(ip)) == 0);
	}
	free(exact);
}

static void
check_texts(const struct uroce_cm_msg *msg)
{
	expect(uroce_cm_attr_name(msg->attr)[0] != '?');
	expect(uroce_cm_reason_text(msg->rej.reason));
	expect(uroce_cm_sidr_status_text(msg->sidr_rep.status));
	expect(uroce_cm_apr_status_text(msg->apr.status));
	expect(uroce_cm_timeout_code(uroce_cm_timeout_ns(msg->mra.timeout_code)) ==
	       (msg->mra.timeout_code & UROCE_CM_TIMEOUT_CODE_MAX));
}

static void
check_mad(const uint8_t *mad)
{
	uint8_t again[UROCE_MAD_LEN];
	struct uroce_cm_msg msg, same;
	const enum uroce_cm_verdict verdict = uroce_cm_parse(mad, &msg);

	expect(verdict < UROCE_CM_VERDICT_NB && uroce_cm_verdict_text(verdict)[0] != '?');
	if (verdict != UROCE_CM_VERDICT_ACCEPTED)
		return;
	uroce_cm_build(&msg, again);
	expect(is_subset(again, mad, sizeof(again)));
	expect(uroce_cm_parse(again, &same) == UROCE_CM_VERDICT_ACCEPTED);
	expect(memcmp(&msg, &same, sizeof(msg)) == 0);
	check_texts(&msg);
	if (msg.attr == UROCE_CM_REQ)
		check_ip_header(msg.req.private_data);
	else if (msg.attr == UROCE_CM_SIDR_REQ)
		check_ip_header(msg.sidr_req.private_data);
}

static void
check_message(struct uroce_cm_msg *msg)
{
	const unsigned nb_attrs = UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST;
	uint8_t mad[UROCE_MAD_LEN], again[UROCE_MAD_LEN];

	msg->attr = UROCE_CM_ATTR_FIRST + msg->attr % nb_attrs;
	uroce_cm_build(msg, mad);
	expect(uroce_cm_parse(mad, msg) == UROCE_CM_VERDICT_ACCEPTED);
	uroce_cm_build(msg, again);
	expect(memcmp(mad, again, sizeof(mad)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes bytes = { .at = data, .left = len };
	/* memory of the exact length, so that the sanitizer detects an overrun */
	uint8_t *mad = malloc(UROCE_MAD_LEN);
	struct uroce_cm_msg msg;

	expect(mad);
	bytes_take(&bytes, mad, UROCE_MAD_LEN);
	bytes_take(&bytes, &msg, sizeof(msg));
	check_mad(mad);
	check_message(&msg);
	free(mad);
	return 0;
}
