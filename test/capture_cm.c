/* SPDX-License-Identifier: BSD-3-Clause */

#include "capture_cm.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cm/field.h"
#include "cm/ip_header.h"
#include "cm/message.h"
#include "cm/reason.h"
#include "cm/service_id.h"
#include "wire/parse.h"

#define MAD_QPN 1 /* the QP of management datagrams */
/* the length of a buffer that is longer than any frame with a MAD */
#define FRAME_MAX 2048
#define MACS_LEN  12
#define TAG_LEN   4
#define BITS_TEXT 200
#define GID_LEN   16
#define GUID_LEN  8

/* The differences between a MAD and the MAD that is built from its parsed fields. */
struct difference {
	const char *field;        /* name of the first field that differs; NULL: none */
	unsigned at;              /* index in the MAD of the first byte that differs */
	char reserved[BITS_TEXT]; /* indices of bytes whose reserved bits are set: " 4 5" */
};

static const char *
about_text(unsigned about)
{
	static const char *const texts[] = { "REQ", "REP", "other" };

	return about < sizeof(texts) / sizeof(texts[0]) ? texts[about] : "reserved";
}

/* Fields whose values have names. These fields are printed even if they are zero. */
static const struct words {
	unsigned attr;
	const char *field;
	const char *(*text)(unsigned number);
} words[] = {
	{ UROCE_CM_MRA, "about", about_text },
	{ UROCE_CM_REJ, "about", about_text },
	{ UROCE_CM_REJ, "reason", uroce_cm_reason_text },
	{ UROCE_CM_SIDR_REP, "status", uroce_cm_sidr_status_text },
	{ UROCE_CM_APR, "status", uroce_cm_apr_status_text },
};

static const struct words *
find_words(unsigned attr, const char *field)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words[i].attr == attr && strcmp(words[i].field, field) == 0)
			return &words[i];
	}
	return NULL;
}

static void
print_number(const struct uroce_cm_msg *msg, const struct uroce_cm_field *field)
{
	const uint64_t number = uroce_cm_field_number(msg, field);
	const struct words *meaning = find_words(msg->attr, field->name);

	if (meaning)
		printf(" %s %" PRIu64 " (%s)", field->name, number,
		       meaning->text((unsigned)number));
	else if (number == 0 || field->shift > 0)
		return;
	else if (field->size > 1)
		printf(" %s 0x%" PRIx64, field->name, number);
	else
		printf(" %s %" PRIu64, field->name, number);
}

static void
print_bytes(const uint8_t *bytes, const struct uroce_cm_field *field)
{
	char text[INET6_ADDRSTRLEN];
	size_t len = field->width / 8;

	while (len > 0 && bytes[len - 1] == 0)
		len--;
	if (len == 0)
		return;
	printf(" %s ", field->name);
	if (field->width / 8 == GID_LEN)
		printf("%s", inet_ntop(AF_INET6, bytes, text, sizeof(text)));
	else if (field->width / 8 == GUID_LEN)
		for (size_t i = 0; i < GUID_LEN; i++)
			printf("%02x", bytes[i]);
	else
		printf("%zu bytes", len);
}

static void
print_message(const struct uroce_cm_msg *msg)
{
	unsigned nb;
	const struct uroce_cm_field *fields = uroce_cm_fields(msg->attr, &nb);

	printf("%s", uroce_cm_attr_name(msg->attr));
	for (unsigned i = 0; i < nb; i++) {
		if (strcmp(fields[i].name, "attr") == 0)
			continue;
		if (fields[i].size == 0)
			print_bytes((const uint8_t *)msg + fields[i].at, &fields[i]);
		else
			print_number(msg, &fields[i]);
	}
}

/* The name of the port space of a service ID; NULL: the service ID has no port space. */
static const char *
port_space_name(uint64_t service_id)
{
	const char *const name = uroce_cm_space_name(uroce_cm_service_port_space(service_id));

	return name[0] != '?' ? name : NULL;
}

/* Get the service ID of a message. @return whether the message has a service ID */
static bool
has_service_id(const struct uroce_cm_msg *msg, uint64_t *service_id)
{
	if (msg->attr == UROCE_CM_REQ)
		*service_id = msg->req.service_id;
	else if (msg->attr == UROCE_CM_SIDR_REQ)
		*service_id = msg->sidr_req.service_id;
	else if (msg->attr == UROCE_CM_SIDR_REP)
		*service_id = msg->sidr_rep.service_id;
	else
		return false;
	return true;
}

/*
 * Find the IP header in the private data of a message.
 * @param[out] at index of the first byte of the IP header in the MAD
 * @return the IP header; NULL: the message has none
 */
static const uint8_t *
find_ip_header(const struct uroce_cm_msg *msg, unsigned *at)
{
	uint64_t service_id;

	if (msg->attr == UROCE_CM_SIDR_REP || !has_service_id(msg, &service_id) ||
	    !uroce_cm_service_has_ip(service_id))
		return NULL;
	*at = UROCE_MAD_LEN - (msg->attr == UROCE_CM_REQ ? UROCE_CM_REQ_PRIVATE_LEN
							 : UROCE_CM_SIDR_REQ_PRIVATE_LEN);
	return msg->attr == UROCE_CM_REQ ? msg->req.private_data : msg->sidr_req.private_data;
}

static const char *
address_text(const struct uroce_cm_ip *ip, const uint8_t addr[16], char text[INET6_ADDRSTRLEN])
{
	return ip->ip_version == 4 ? inet_ntop(AF_INET, addr + 12, text, INET6_ADDRSTRLEN)
				   : inet_ntop(AF_INET6, addr, text, INET6_ADDRSTRLEN);
}

/*
 * Print the port space and the port of a message, and its IP header. Parts that the message does
 * not have are not printed.
 */
static void
print_service(const struct uroce_cm_msg *msg)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	enum uroce_cm_verdict verdict;
	struct uroce_cm_ip ip;
	uint64_t service_id;
	unsigned at;
	const uint8_t *header = find_ip_header(msg, &at);

	if (has_service_id(msg, &service_id) && port_space_name(service_id))
		printf(", %s port %u", port_space_name(service_id),
		       uroce_cm_service_port(service_id));
	if (header == NULL)
		return;
	verdict = uroce_cm_ip_parse(header, &ip);
	if (verdict != UROCE_CM_VERDICT_ACCEPTED)
		printf(", no IP header: %s", uroce_cm_verdict_text(verdict));
	else
		printf(", IPv%u from %s port %u to %s", ip.ip_version,
		       address_text(&ip, ip.src, src), ip.src_port, address_text(&ip, ip.dst, dst));
}

/* The field of a message that has one of the `bits` of a byte; NULL: the bits are reserved. */
static const char *
find_field(unsigned attr, unsigned at, uint8_t bits)
{
	unsigned nb;
	const struct uroce_cm_field *fields = uroce_cm_fields(attr, &nb);

	for (unsigned bit = 0; bit < 8; bit++) {
		const unsigned place = at * 8 + bit;

		for (unsigned i = 0; i < nb && bits << bit & 0x80; i++) {
			if (place >= fields[i].bit && place - fields[i].bit < fields[i].width)
				return fields[i].name;
		}
	}
	return NULL;
}

static void
note_reserved(struct difference *difference, unsigned at)
{
	const size_t len = strlen(difference->reserved);

	snprintf(difference->reserved + len, BITS_TEXT - len, " %u", at);
}

static void
note_field(struct difference *difference, const char *field, unsigned at)
{
	if (difference->field == NULL) {
		difference->field = field;
		difference->at = at;
	}
}

static void
compare_mad(const struct uroce_cm_msg *msg, const uint8_t *mad, struct difference *difference)
{
	uint8_t again[UROCE_MAD_LEN];

	uroce_cm_build(msg, again);
	for (unsigned at = 0; at < UROCE_MAD_LEN; at++) {
		const uint8_t bits = again[at] ^ mad[at];
		const char *field = bits ? find_field(msg->attr, at, bits) : NULL;

		if (field || again[at] & bits)
			note_field(difference, field ? field : "reserved bits", at);
		else if (bits)
			note_reserved(difference, at);
	}
}

/* The bits of byte `at` of an IP header that a receiver ignores. */
static uint8_t
ignored_in_ip_header(const struct uroce_cm_ip *ip, unsigned at)
{
	const bool is_before_ipv4 = (at >= 4 && at < 16) || (at >= 20 && at < 32);

	if (at == 1)
		return 0x0f;
	return ip->ip_version == 4 && is_before_ipv4 ? 0xff : 0;
}

static void
compare_ip_header(const struct uroce_cm_msg *msg, struct difference *difference)
{
	uint8_t again[UROCE_CM_IP_LEN];
	struct uroce_cm_ip ip;
	unsigned from;
	const uint8_t *header = find_ip_header(msg, &from);

	if (header == NULL || uroce_cm_ip_parse(header, &ip) != UROCE_CM_VERDICT_ACCEPTED)
		return;
	uroce_cm_ip_build(&ip, again);
	for (unsigned at = 0; at < UROCE_CM_IP_LEN; at++) {
		const uint8_t bits = again[at] ^ header[at];

		if (bits & ~ignored_in_ip_header(&ip, at))
			note_field(difference, "IP header", from + at);
		else if (bits)
			note_reserved(difference, from + at);
	}
}

/*
 * Print a message and the differences of the MAD that is built from it.
 * @return whether that MAD has the same bits as `mad`, except reserved bits
 */
static bool
check_message(const struct uroce_cm_msg *msg, const uint8_t *mad)
{
	struct difference difference = { .field = NULL };

	compare_mad(msg, mad, &difference);
	compare_ip_header(msg, &difference);
	print_message(msg);
	print_service(msg);
	if (difference.reserved[0] != '\0')
		printf(", reserved bits set in byte%s", difference.reserved);
	if (difference.field)
		printf(": differs when built again: byte %u of the MAD (%s)\n", difference.at,
		       difference.field);
	else
		printf(": ok\n");
	return difference.field == NULL;
}

static void
print_place(const struct cm_tally *tally, uint64_t number, const struct uroce_pkt *pkt)
{
	const struct uroce_ipv4 *v4 = (const struct uroce_ipv4 *)pkt->ip;
	const struct uroce_ipv6 *v6 = (const struct uroce_ipv6 *)pkt->ip;
	const int family = pkt->is_ipv6 ? AF_INET6 : AF_INET;
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];

	printf("%s: frame %" PRIu64 ": %s > %s: ", tally->name, number,
	       inet_ntop(family, pkt->is_ipv6 ? v6->src : v4->src, src, sizeof(src)),
	       inet_ntop(family, pkt->is_ipv6 ? v6->dst : v4->dst, dst, sizeof(dst)));
}

static void
check_datagram(struct cm_tally *tally, const struct uroce_pkt *pkt)
{
	const uint8_t *mad = pkt->payload;
	enum uroce_cm_verdict verdict;
	struct uroce_cm_msg msg;

	if (pkt->payload_len != UROCE_MAD_LEN) {
		printf("no MAD: %u bytes instead of %u, skipped\n", pkt->payload_len,
		       UROCE_MAD_LEN);
		tally->nb_others++;
		return;
	}
	verdict = uroce_cm_parse(mad, &msg);
	if (verdict == UROCE_CM_VERDICT_BAD_BASE_VERSION ||
	    verdict == UROCE_CM_VERDICT_OTHER_CLASS) {
		printf("%s, class 0x%02x, method 0x%02x, skipped\n", uroce_cm_verdict_text(verdict),
		       mad[1], mad[3]);
		tally->nb_others++;
		return;
	}
	tally->nb_messages++;
	if (verdict != UROCE_CM_VERDICT_ACCEPTED)
		printf("refused: %s\n", uroce_cm_verdict_text(verdict));
	else if (check_message(&msg, mad))
		tally->nb_ok++;
}

/* Whether a frame is a datagram to QP 1. */
static bool
is_to_mad_qp(const uint8_t *frame, uint32_t len, struct uroce_pkt *pkt)
{
	return uroce_parse(frame, len, pkt) == UROCE_VERDICT_DATAGRAM && pkt->dest_qpn == MAD_QPN;
}

static bool
is_tag_type(const uint8_t *ethertype)
{
	return (ethertype[0] == 0x81 && ethertype[1] == 0x00) ||
	       (ethertype[0] == 0x88 && ethertype[1] == 0xa8);
}

/*
 * The length of the VLAN tags that must be removed, because lib/wire parses one tag: all tags
 * before the last one. An 802.1ad tag is removed even if it is the only tag.
 */
static uint32_t
outer_tags_len(const uint8_t *frame, uint32_t len)
{
	uint32_t tags_len = 0;

	while (len >= MACS_LEN + tags_len + 2 * TAG_LEN &&
	       is_tag_type(frame + MACS_LEN + tags_len) &&
	       (frame[MACS_LEN + tags_len] == 0x88 ||
		is_tag_type(frame + MACS_LEN + tags_len + TAG_LEN)))
		tags_len += TAG_LEN;
	return tags_len;
}

void
cm_check_frame(struct cm_tally *tally, uint64_t number, const uint8_t *frame, uint32_t len,
	       uint32_t full_len)
{
	const uint32_t skip = outer_tags_len(frame, len);
	uint8_t whole[FRAME_MAX] = { 0 };
	struct uroce_pkt pkt;

	if (full_len < len)
		full_len = len;
	/* a frame longer than FRAME_MAX, or shorter than two MAC addresses, has no MAD */
	if (full_len - skip > sizeof(whole) || len - skip < MACS_LEN)
		return;
	memcpy(whole, frame, MACS_LEN);
	memcpy(whole + MACS_LEN, frame + MACS_LEN + skip, len - skip - MACS_LEN);
	if (!is_to_mad_qp(whole, full_len - skip, &pkt))
		return;
	print_place(tally, number, &pkt);
	if (pkt.payload + pkt.payload_len <= whole + len - skip) {
		check_datagram(tally, &pkt);
	} else {
		printf("only %u of its %u bytes were captured\n", len, full_len);
		tally->nb_messages++;
	}
}
