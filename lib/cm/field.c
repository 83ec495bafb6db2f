/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The layouts of the CM messages [IBA 12.6, 12.8, 12.11]: a table for each message, with a row for
 * each field. Offsets are those of the standard's tables: a byte behind the header of the MAD, and
 * a bit in that byte, counted from the highest one.
 */

#include "cm/field.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cm/message.h"

#define MEMBER_AT(member)   offsetof(struct uroce_cm_msg, member)
#define MEMBER_SIZE(member) sizeof(((struct uroce_cm_msg *)0)->member)
#define BODY_BIT(byte, bit) ((UROCE_MAD_HDR_LEN + (byte)) * 8 + (bit))

/* clang-format off */
/* Row of a field table, for a number of `width` bits that begins with bit `bit` of byte `byte`. */
#define BITS(msg, member, byte, bit, width) \
	{ #member, BODY_BIT(byte, bit), width, MEMBER_AT(msg.member), MEMBER_SIZE(msg.member), 0 }
/* Row of a field table, for a number of `width` bits that begins with byte `byte`. */
#define NUMBER(msg, member, byte, width) BITS(msg, member, byte, 0, width)
/* Row of a field table, for a part of a number: `width` bits above its lowest `shift` bits. */
#define PART(msg, member, byte, width, shift) \
	{ #member, BODY_BIT(byte, 0), width, MEMBER_AT(msg.member), MEMBER_SIZE(msg.member), shift }
#define BYTES(msg, member, byte) \
	{ #member, BODY_BIT(byte, 0), 8 * MEMBER_SIZE(msg.member), MEMBER_AT(msg.member), 0, 0 }

/* Rows of a field table, for the variable fields of the header of a MAD [IBA 13.4.3]. */
#define HEADER \
	{ "tid",      8 * 8,  64, MEMBER_AT(tid),      MEMBER_SIZE(tid),      0 }, \
	{ "attr",     16 * 8, 16, MEMBER_AT(attr),     MEMBER_SIZE(attr),     0 }, \
	{ "attr_mod", 20 * 8, 32, MEMBER_AT(attr_mod), MEMBER_SIZE(attr_mod), 0 }

#define COMM_IDS(msg) \
	NUMBER(msg, local_comm_id,  0, 32), \
	NUMBER(msg, remote_comm_id, 4, 32)

/* Rows of a field table, for a path of a REQ. The path begins with byte `from`. */
#define REQ_PATH(path, from) \
	NUMBER(req, path.local_lid,        (from),         16), \
	NUMBER(req, path.remote_lid,       (from) + 2,     16), \
	BYTES (req, path.local_gid,        (from) + 4), \
	BYTES (req, path.remote_gid,       (from) + 20), \
	NUMBER(req, path.flow_label,       (from) + 36,    20), \
	BITS  (req, path.rate_code,        (from) + 39, 2, 6), \
	NUMBER(req, path.traffic_class,    (from) + 40,    8), \
	NUMBER(req, path.hop_limit,        (from) + 41,    8), \
	NUMBER(req, path.sl,               (from) + 42,    4), \
	BITS  (req, path.is_subnet_local,  (from) + 42, 4, 1), \
	NUMBER(req, path.ack_timeout_code, (from) + 43,    5)

static const struct uroce_cm_field req_fields[] = {
	HEADER,
	NUMBER(req, local_comm_id,        0,     32),
	NUMBER(req, vendor_id,            5,     24),
	NUMBER(req, service_id,           8,     64),
	BYTES (req, local_ca_guid,        16),
	NUMBER(req, local_cm_qkey,        24,    32),
	NUMBER(req, local_qkey,           28,    32),
	NUMBER(req, local_qpn,            32,    24),
	NUMBER(req, responder_resources,  35,    8),
	NUMBER(req, local_eecn,           36,    24),
	NUMBER(req, initiator_depth,      39,    8),
	NUMBER(req, remote_eecn,          40,    24),
	NUMBER(req, remote_timeout_code,  43,    5),
	BITS  (req, transport,            43, 5, 2),
	BITS  (req, has_flow_control,     43, 7, 1),
	NUMBER(req, starting_psn,         44,    24),
	NUMBER(req, local_timeout_code,   47,    5),
	BITS  (req, retry_count,          47, 5, 3),
	NUMBER(req, pkey,                 48,    16),
	NUMBER(req, mtu_code,             50,    4),
	BITS  (req, has_rdc,              50, 4, 1),
	BITS  (req, rnr_retry_count,      50, 5, 3),
	NUMBER(req, max_cm_retries,       51,    4),
	BITS  (req, has_srq,              51, 4, 1),
	BITS  (req, extended_transport,   51, 5, 3),
	REQ_PATH(primary, 52),
	REQ_PATH(alternate, 96),
	BITS  (req, has_sap,              139, 5, 1),
	BYTES (req, private_data,         140),
};

static const struct uroce_cm_field mra_fields[] = {
	HEADER,
	COMM_IDS(mra),
	NUMBER(mra, about,        8, 2),
	NUMBER(mra, timeout_code, 9, 5),
	BYTES (mra, private_data, 10),
};

static const struct uroce_cm_field rej_fields[] = {
	HEADER,
	COMM_IDS(rej),
	NUMBER(rej, about,        8,  2),
	NUMBER(rej, info_len,     9,  7),
	NUMBER(rej, reason,       10, 16),
	BYTES (rej, info,         12),
	BYTES (rej, private_data, 84),
};

static const struct uroce_cm_field rep_fields[] = {
	HEADER,
	COMM_IDS(rep),
	NUMBER(rep, local_qkey,          8,     32),
	NUMBER(rep, local_qpn,           12,    24),
	PART  (rep, vendor_id,           15,    8, 16),
	NUMBER(rep, local_eecn,          16,    24),
	PART  (rep, vendor_id,           19,    8, 8),
	NUMBER(rep, starting_psn,        20,    24),
	PART  (rep, vendor_id,           23,    8, 0),
	NUMBER(rep, responder_resources, 24,    8),
	NUMBER(rep, initiator_depth,     25,    8),
	NUMBER(rep, ack_delay_code,      26,    5),
	BITS  (rep, failover,            26, 5, 2),
	BITS  (rep, has_flow_control,    26, 7, 1),
	NUMBER(rep, rnr_retry_count,     27,    3),
	BITS  (rep, has_srq,             27, 3, 1),
	BYTES (rep, local_ca_guid,       28),
	BYTES (rep, private_data,        36),
};

static const struct uroce_cm_field rtu_fields[] = {
	HEADER,
	COMM_IDS(rtu),
	BYTES (rtu, private_data, 8),
};

static const struct uroce_cm_field dreq_fields[] = {
	HEADER,
	COMM_IDS(dreq),
	NUMBER(dreq, remote_qpn,   8, 24),
	BYTES (dreq, private_data, 12),
};

static const struct uroce_cm_field drep_fields[] = {
	HEADER,
	COMM_IDS(drep),
	BYTES (drep, private_data, 8),
};

static const struct uroce_cm_field sidr_req_fields[] = {
	HEADER,
	NUMBER(sidr_req, request_id,   0, 32),
	NUMBER(sidr_req, pkey,         4, 16),
	NUMBER(sidr_req, service_id,   8, 64),
	BYTES (sidr_req, private_data, 16),
};

static const struct uroce_cm_field sidr_rep_fields[] = {
	HEADER,
	NUMBER(sidr_rep, request_id,   0,  32),
	NUMBER(sidr_rep, status,       4,  8),
	NUMBER(sidr_rep, info_len,     5,  8),
	PART  (sidr_rep, vendor_id,    6,  16, 8),
	NUMBER(sidr_rep, qpn,          8,  24),
	PART  (sidr_rep, vendor_id,    11, 8, 0),
	NUMBER(sidr_rep, service_id,   12, 64),
	NUMBER(sidr_rep, qkey,         20, 32),
	BYTES (sidr_rep, info,         24),
	BYTES (sidr_rep, private_data, 96),
};

static const struct uroce_cm_field lap_fields[] = {
	HEADER,
	COMM_IDS(lap),
	NUMBER(lap, local_cm_qkey,              8,     32),
	NUMBER(lap, remote_qpn,                 12,    24),
	NUMBER(lap, remote_timeout_code,        15,    5),
	NUMBER(lap, alternate.local_lid,        20,    16),
	NUMBER(lap, alternate.remote_lid,       22,    16),
	BYTES (lap, alternate.local_gid,        24),
	BYTES (lap, alternate.remote_gid,       40),
	NUMBER(lap, alternate.flow_label,       56,    20),
	NUMBER(lap, alternate.traffic_class,    59,    8),
	NUMBER(lap, alternate.hop_limit,        60,    8),
	BITS  (lap, alternate.rate_code,        61, 2, 6),
	NUMBER(lap, alternate.sl,               62,    4),
	BITS  (lap, alternate.is_subnet_local,  62, 4, 1),
	NUMBER(lap, alternate.ack_timeout_code, 63,    5),
	BYTES (lap, private_data,               64),
};

static const struct uroce_cm_field apr_fields[] = {
	HEADER,
	COMM_IDS(apr),
	NUMBER(apr, info_len,     8, 8),
	NUMBER(apr, status,       9, 8),
	BYTES (apr, info,         12),
	BYTES (apr, private_data, 84),
};

#define LAYOUT(fields) { fields, sizeof(fields) / sizeof((fields)[0]) }

static const struct layout {
	const struct uroce_cm_field *fields;
	unsigned nb;
} layouts[UROCE_CM_ATTR_END - UROCE_CM_ATTR_FIRST] = {
	[UROCE_CM_REQ - UROCE_CM_ATTR_FIRST] = LAYOUT(req_fields),
	[UROCE_CM_MRA - UROCE_CM_ATTR_FIRST] = LAYOUT(mra_fields),
	[UROCE_CM_REJ - UROCE_CM_ATTR_FIRST] = LAYOUT(rej_fields),
	[UROCE_CM_REP - UROCE_CM_ATTR_FIRST] = LAYOUT(rep_fields),
	[UROCE_CM_RTU - UROCE_CM_ATTR_FIRST] = LAYOUT(rtu_fields),
	[UROCE_CM_DREQ - UROCE_CM_ATTR_FIRST] = LAYOUT(dreq_fields),
	[UROCE_CM_DREP - UROCE_CM_ATTR_FIRST] = LAYOUT(drep_fields),
	[UROCE_CM_SIDR_REQ - UROCE_CM_ATTR_FIRST] = LAYOUT(sidr_req_fields),
	[UROCE_CM_SIDR_REP - UROCE_CM_ATTR_FIRST] = LAYOUT(sidr_rep_fields),
	[UROCE_CM_LAP - UROCE_CM_ATTR_FIRST] = LAYOUT(lap_fields),
	[UROCE_CM_APR - UROCE_CM_ATTR_FIRST] = LAYOUT(apr_fields),
};
/* clang-format on */

const struct uroce_cm_field *
uroce_cm_fields(unsigned attr, unsigned *nb)
{
	const bool is_known = attr >= UROCE_CM_ATTR_FIRST && attr < UROCE_CM_ATTR_END;
	const struct layout *layout = is_known ? &layouts[attr - UROCE_CM_ATTR_FIRST] : NULL;

	*nb = layout ? layout->nb : 0;
	return layout ? layout->fields : NULL;
}

uint64_t
uroce_cm_field_number(const struct uroce_cm_msg *msg, const struct uroce_cm_field *field)
{
	union uroce_cm_member member = { .u64 = 0 };

	memcpy(&member, (const uint8_t *)msg + field->at, field->size);
	return field->size == sizeof(member.u8)    ? member.u8
	       : field->size == sizeof(member.u16) ? member.u16
	       : field->size == sizeof(member.u32) ? member.u32
						   : member.u64;
}
