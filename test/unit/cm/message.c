/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The codec of CM messages: MADs of another implementation, MADs written after the standard, each
 * bit of each message alone, and MADs that are refused.
 */

#include "cm/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "cm/field.h"
#include "cm/ip_header.h"
#include "cm/reason.h"
#include "cm/service_id.h"
#include "mads.h"

#define MAD_BITS (UROCE_MAD_LEN * 8)

/*
 * Parse a MAD, and check that building the parsed message gives the same bytes.
 * @return the parsed message
 */
static struct uroce_cm_msg
parse_and_rebuild(const char *hex)
{
	uint8_t mad[UROCE_MAD_LEN], again[UROCE_MAD_LEN];
	struct uroce_cm_msg msg;

	mad_from_hex(hex, mad);
	memset(&msg, 0xee, sizeof(msg));
	memset(again, 0xee, sizeof(again));
	assert_int_equal(uroce_cm_parse(mad, &msg), UROCE_CM_VERDICT_ACCEPTED);
	uroce_cm_build(&msg, again);
	assert_memory_equal(again, mad, sizeof(mad));
	return msg;
}

static bool
has_bit(const uint8_t *bytes, unsigned bit)
{
	return bytes[bit / 8] >> (7 - bit % 8) & 1;
}

static void
set_bit(uint8_t *bytes, unsigned bit)
{
	bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
}

/* Make a MAD that has a valid header with attribute `attr`; all other bits are zero. */
static void
make_empty_mad(unsigned attr, uint8_t mad[UROCE_MAD_LEN])
{
	memset(mad, 0, UROCE_MAD_LEN);
	memcpy(mad, (const uint8_t[]){ 1, 7, 2, 3 }, 4);
	mad[17] = (uint8_t)attr;
}

static void
parse__req_of_linux(void **state)
{
	const struct uroce_cm_msg msg = parse_and_rebuild(mad_linux_req);
	const struct uroce_cm_req *req = &msg.req;
	const uint8_t client[16] = { [10] = 0xff, 0xff, 10, 77, 0, 2 };
	const uint8_t server[16] = { [10] = 0xff, 0xff, 10, 77, 0, 1 };
	struct uroce_cm_ip ip;

	(void)state;
	assert_int_equal(msg.attr, UROCE_CM_REQ);
	assert_int_equal(msg.tid, 0x2295de5a0);
	assert_int_equal(msg.attr_mod, 0);
	assert_int_equal(req->local_comm_id, 0xa0e55d29);
	assert_int_equal(req->service_id, uroce_cm_service_id(UROCE_CM_PS_TCP, 7174));
	assert_int_equal(be64_get(req->local_ca_guid), 0x50540afffe4d0002);
	assert_int_equal(req->local_qpn, 0x25);
	assert_int_equal(req->responder_resources, 1);
	assert_int_equal(req->initiator_depth, 1);
	assert_int_equal(req->remote_timeout_code, 20);
	assert_int_equal(req->transport, UROCE_CM_TRANSPORT_RC);
	assert_int_equal(req->starting_psn, 0x045b8c);
	assert_int_equal(req->local_timeout_code, 20);
	assert_int_equal(req->retry_count, 7);
	assert_int_equal(req->pkey, 0xffff);
	assert_int_equal(req->mtu_code, 3);
	assert_int_equal(req->rnr_retry_count, 7);
	assert_int_equal(req->max_cm_retries, 15);
	assert_int_equal(req->primary.local_lid, 0xffff);
	assert_int_equal(req->primary.remote_lid, 0xffff);
	assert_memory_equal(req->primary.local_gid, client, sizeof(client));
	assert_memory_equal(req->primary.remote_gid, server, sizeof(server));
	assert_int_equal(req->primary.flow_label, 0x80113);
	assert_int_equal(req->primary.rate_code, 0);
	assert_int_equal(req->primary.hop_limit, 64);
	assert_int_equal(req->primary.ack_timeout_code, 19);
	assert_int_equal(uroce_cm_ip_parse(req->private_data, &ip), UROCE_CM_VERDICT_ACCEPTED);
	assert_int_equal(ip.src_port, 0xc553);
}

static void
parse__rep_of_linux(void **state)
{
	const struct uroce_cm_msg msg = parse_and_rebuild(mad_linux_rep);

	(void)state;
	assert_int_equal(msg.attr, UROCE_CM_REP);
	assert_int_equal(msg.rep.local_comm_id, 0x8454a6a1);
	assert_int_equal(msg.rep.remote_comm_id, 0xa0e55d29);
	assert_int_equal(msg.rep.local_qpn, 0x25);
	assert_int_equal(msg.rep.starting_psn, 0xb182b1);
	assert_int_equal(msg.rep.responder_resources, 1);
	assert_int_equal(msg.rep.initiator_depth, 1);
	assert_int_equal(msg.rep.ack_delay_code, 15);
	assert_int_equal(msg.rep.failover, 0);
	assert_int_equal(msg.rep.rnr_retry_count, 7);
	assert_int_equal(msg.rep.has_srq, 0);
	assert_int_equal(be64_get(msg.rep.local_ca_guid), 0x50540afffe4d0001);
}

static void
parse__rtu_dreq_and_drep_of_linux(void **state)
{
	const struct uroce_cm_msg rtu = parse_and_rebuild(mad_linux_rtu);
	const struct uroce_cm_msg dreq = parse_and_rebuild(mad_linux_dreq);
	const struct uroce_cm_msg drep = parse_and_rebuild(mad_linux_drep);

	(void)state;
	assert_int_equal(rtu.attr, UROCE_CM_RTU);
	assert_int_equal(rtu.rtu.local_comm_id, 0xa0e55d29);
	assert_int_equal(rtu.rtu.remote_comm_id, 0x8454a6a1);
	assert_int_equal(dreq.attr, UROCE_CM_DREQ);
	assert_int_equal(dreq.dreq.local_comm_id, 0xa0e55d29);
	assert_int_equal(dreq.dreq.remote_comm_id, 0x8454a6a1);
	assert_int_equal(dreq.dreq.remote_qpn, 0x25);
	assert_int_equal(drep.attr, UROCE_CM_DREP);
	assert_int_equal(drep.drep.local_comm_id, 0x8454a6a1);
	assert_int_equal(drep.drep.remote_comm_id, 0xa0e55d29);
}

static void
expect_gid(const uint8_t gid[16], uint8_t first)
{
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(gid[i], first + i);
}

static void
expect_private_data(const uint8_t *private_data)
{
	assert_memory_equal(private_data, ((const uint8_t[]){ 0x77, 0x78, 0x79, 0 }), 4);
}

static void
expect_info(const uint8_t info[UROCE_CM_INFO_LEN])
{
	assert_memory_equal(info, ((const uint8_t[]){ 0xd0, 0xd1, 0xd2, 0xd3, 0 }), 5);
	assert_memory_equal(info + 68, ((const uint8_t[]){ 0xd4, 0xd5, 0xd6, 0xd7 }), 4);
}

static void
parse__each_field_of_a_req(void **state)
{
	const struct uroce_cm_msg msg = parse_and_rebuild(mad_full_req);
	const struct uroce_cm_req *req = &msg.req;

	(void)state;
	assert_int_equal(msg.tid, 0x0123456789abcdef);
	assert_int_equal(msg.attr_mod, 0xa1b2c3d4);
	assert_int_equal(req->local_comm_id, 0x11121314);
	assert_int_equal(req->vendor_id, 0x212223);
	assert_int_equal(req->service_id, 0x3132333435363738);
	assert_int_equal(be64_get(req->local_ca_guid), 0x4142434445464748);
	assert_int_equal(req->local_cm_qkey, 0xa3a4a5a6);
	assert_int_equal(req->local_qkey, 0x51525354);
	assert_int_equal(req->local_qpn, 0x616263);
	assert_int_equal(req->responder_resources, 5);
	assert_int_equal(req->local_eecn, 0x717273);
	assert_int_equal(req->initiator_depth, 6);
	assert_int_equal(req->remote_eecn, 0x818283);
	assert_int_equal(req->remote_timeout_code, 17);
	assert_int_equal(req->transport, UROCE_CM_TRANSPORT_RD);
	assert_int_equal(req->has_flow_control, 1);
	assert_int_equal(req->starting_psn, 0x919293);
	assert_int_equal(req->local_timeout_code, 18);
	assert_int_equal(req->retry_count, 5);
	assert_int_equal(req->pkey, 0xa1a2);
	assert_int_equal(req->mtu_code, 4);
	assert_int_equal(req->has_rdc, 1);
	assert_int_equal(req->rnr_retry_count, 3);
	assert_int_equal(req->max_cm_retries, 5);
	assert_int_equal(req->has_srq, 1);
	assert_int_equal(req->extended_transport, UROCE_CM_EXTENDED_XRC);
	assert_int_equal(req->has_sap, 1);
	expect_private_data(req->private_data);
}

static void
parse__each_field_of_the_paths_of_a_req(void **state)
{
	const struct uroce_cm_msg msg = parse_and_rebuild(mad_full_req);
	const struct uroce_cm_path *primary = &msg.req.primary, *alternate = &msg.req.alternate;

	(void)state;
	assert_int_equal(primary->local_lid, 0xb1b2);
	assert_int_equal(primary->remote_lid, 0xb3b4);
	expect_gid(primary->local_gid, 0xc0);
	expect_gid(primary->remote_gid, 0xd0);
	assert_int_equal(primary->flow_label, 0xe1e2f);
	assert_int_equal(primary->rate_code, 0x35);
	assert_int_equal(primary->traffic_class, 0xf1);
	assert_int_equal(primary->hop_limit, 0xf2);
	assert_int_equal(primary->sl, 9);
	assert_int_equal(primary->is_subnet_local, 1);
	assert_int_equal(primary->ack_timeout_code, 21);
	assert_int_equal(alternate->local_lid, 0xb5b6);
	assert_int_equal(alternate->remote_lid, 0xb7b8);
	expect_gid(alternate->local_gid, 0x10);
	expect_gid(alternate->remote_gid, 0x20);
	assert_int_equal(alternate->flow_label, 0xe3e4e);
	assert_int_equal(alternate->rate_code, 0x36);
	assert_int_equal(alternate->traffic_class, 0xf3);
	assert_int_equal(alternate->hop_limit, 0xf4);
	assert_int_equal(alternate->sl, 10);
	assert_int_equal(alternate->is_subnet_local, 0);
	assert_int_equal(alternate->ack_timeout_code, 22);
}

static void
parse__each_field_of_a_rep(void **state)
{
	const struct uroce_cm_msg msg = parse_and_rebuild(mad_full_rep);
	const struct uroce_cm_rep *rep = &msg.rep;

	(void)state;
	assert_int_equal(rep->local_comm_id, 0x11121314);
	assert_int_equal(rep->remote_comm_id, 0x21222324);
	assert_int_equal(rep->local_qkey, 0x31323334);
	assert_int_equal(rep->local_qpn, 0x414243);
	assert_int_equal(rep->local_eecn, 0x515253);
	assert_int_equal(rep->vendor_id, 0x444546);
	assert_int_equal(rep->starting_psn, 0x616263);
	assert_int_equal(rep->responder_resources, 7);
	assert_int_equal(rep->initiator_depth, 8);
	assert_int_equal(rep->ack_delay_code, 17);
	assert_int_equal(rep->failover, 2);
	assert_int_equal(rep->has_flow_control, 1);
	assert_int_equal(rep->rnr_retry_count, 5);
	assert_int_equal(rep->has_srq, 1);
	assert_int_equal(be64_get(rep->local_ca_guid), 0x7172737475767778);
	expect_private_data(rep->private_data);
}

static void
parse__each_field_of_mra_and_rej(void **state)
{
	const struct uroce_cm_msg mra = parse_and_rebuild(mad_full_mra);
	const struct uroce_cm_msg rej = parse_and_rebuild(mad_full_rej);

	(void)state;
	assert_int_equal(mra.mra.local_comm_id, 0x11121314);
	assert_int_equal(mra.mra.remote_comm_id, 0x21222324);
	assert_int_equal(mra.mra.about, UROCE_CM_ABOUT_OTHER);
	assert_int_equal(mra.mra.timeout_code, 24);
	expect_private_data(mra.mra.private_data);
	assert_int_equal(rej.rej.local_comm_id, 0x11121314);
	assert_int_equal(rej.rej.remote_comm_id, 0x21222324);
	assert_int_equal(rej.rej.about, UROCE_CM_ABOUT_REP);
	assert_int_equal(rej.rej.info_len, 6);
	assert_int_equal(rej.rej.reason, UROCE_CM_REASON_CONSUMER_DEFINED);
	expect_info(rej.rej.info);
	expect_private_data(rej.rej.private_data);
}

static void
parse__each_field_of_dreq_and_sidr(void **state)
{
	const struct uroce_cm_msg dreq = parse_and_rebuild(mad_full_dreq);
	const struct uroce_cm_msg req = parse_and_rebuild(mad_full_sidr_req);
	const struct uroce_cm_msg rep = parse_and_rebuild(mad_full_sidr_rep);

	(void)state;
	assert_int_equal(dreq.dreq.remote_qpn, 0x313233);
	expect_private_data(dreq.dreq.private_data);
	assert_int_equal(req.sidr_req.request_id, 0x11121314);
	assert_int_equal(req.sidr_req.pkey, 0x2122);
	assert_int_equal(req.sidr_req.service_id, 0x3132333435363738);
	expect_private_data(req.sidr_req.private_data);
	assert_int_equal(rep.sidr_rep.request_id, 0x11121314);
	assert_int_equal(rep.sidr_rep.status, UROCE_CM_SIDR_REJECT);
	assert_int_equal(rep.sidr_rep.info_len, 72);
	assert_int_equal(rep.sidr_rep.vendor_id, 0x212223);
	assert_int_equal(rep.sidr_rep.qpn, 0x313233);
	assert_int_equal(rep.sidr_rep.service_id, 0x4142434445464748);
	assert_int_equal(rep.sidr_rep.qkey, 0x51525354);
	expect_info(rep.sidr_rep.info);
	expect_private_data(rep.sidr_rep.private_data);
}

static void
parse__each_field_of_lap_and_apr(void **state)
{
	const struct uroce_cm_msg lap = parse_and_rebuild(mad_full_lap);
	const struct uroce_cm_msg apr = parse_and_rebuild(mad_full_apr);
	const struct uroce_cm_path *path = &lap.lap.alternate;

	(void)state;
	assert_int_equal(lap.lap.local_comm_id, 0x11121314);
	assert_int_equal(lap.lap.remote_comm_id, 0x21222324);
	assert_int_equal(lap.lap.local_cm_qkey, 0xa3a4a5a6);
	assert_int_equal(lap.lap.remote_qpn, 0x313233);
	assert_int_equal(lap.lap.remote_timeout_code, 17);
	assert_int_equal(path->local_lid, 0xb1b2);
	assert_int_equal(path->remote_lid, 0xb3b4);
	expect_gid(path->local_gid, 0xc0);
	expect_gid(path->remote_gid, 0xd0);
	assert_int_equal(path->flow_label, 0xe1e2f);
	assert_int_equal(path->traffic_class, 0xf1);
	assert_int_equal(path->hop_limit, 0xf2);
	assert_int_equal(path->rate_code, 0x35);
	assert_int_equal(path->sl, 9);
	assert_int_equal(path->is_subnet_local, 1);
	assert_int_equal(path->ack_timeout_code, 21);
	expect_private_data(lap.lap.private_data);
	assert_int_equal(apr.apr.local_comm_id, 0x11121314);
	assert_int_equal(apr.apr.info_len, 72);
	assert_int_equal(apr.apr.status, UROCE_CM_APR_UNSUPPORTED);
	expect_info(apr.apr.info);
	expect_private_data(apr.apr.private_data);
}

static bool
covers_bit(const struct uroce_cm_field *field, unsigned bit)
{
	return bit >= field->bit && bit < (unsigned)field->bit + field->width;
}

static unsigned
nb_fields_of_bit(unsigned attr, unsigned bit)
{
	unsigned nb, nb_covering = 0;
	const struct uroce_cm_field *fields = uroce_cm_fields(attr, &nb);

	for (unsigned i = 0; i < nb; i++)
		nb_covering += covers_bit(&fields[i], bit);
	return nb_covering;
}

/* No two fields have a bit in common, and the private data extends to the end of each message. */
static void
fields__do_not_overlap(void **state)
{
	static const uint16_t private_len[] = {
		92, 222, 148, 196, 224, 220, 224, 216, 136, 168, 148
	};

	(void)state;
	for (unsigned attr = UROCE_CM_ATTR_FIRST; attr < UROCE_CM_ATTR_END; attr++) {
		unsigned nb;
		const struct uroce_cm_field *fields = uroce_cm_fields(attr, &nb);
		const struct uroce_cm_field *last = &fields[nb - 1];

		for (unsigned bit = 0; bit < MAD_BITS; bit++)
			assert_true(nb_fields_of_bit(attr, bit) <= 1);
		assert_string_equal(last->name, "private_data");
		assert_int_equal(last->bit + last->width, MAD_BITS);
		assert_int_equal(last->width / 8, private_len[attr - UROCE_CM_ATTR_FIRST]);
	}
}

/*
 * Set each bit of a MAD alone, except in the first four bytes and the attribute ID. A bit that
 * belongs to a field must be in the rebuilt MAD, and no other bit may be.
 */
static void
build__keeps_each_bit_of_a_field_and_no_other(void **state)
{
	(void)state;
	for (unsigned attr = UROCE_CM_ATTR_FIRST; attr < UROCE_CM_ATTR_END; attr++) {
		for (unsigned bit = 4 * 8; bit < MAD_BITS; bit++) {
			uint8_t mad[UROCE_MAD_LEN], again[UROCE_MAD_LEN];
			struct uroce_cm_msg msg;

			if (bit / 8 == 16 || bit / 8 == 17)
				continue;
			make_empty_mad(attr, mad);
			set_bit(mad, bit);
			assert_int_equal(uroce_cm_parse(mad, &msg), UROCE_CM_VERDICT_ACCEPTED);
			uroce_cm_build(&msg, again);
			assert_int_equal(has_bit(again, bit), nb_fields_of_bit(attr, bit));
			mad[bit / 8] = again[bit / 8];
			assert_memory_equal(again, mad, sizeof(mad));
		}
	}
}

/*
 * @return the number of bytes of a message that are not zero, without its attribute and the member
 * of `field`
 */
static unsigned
nb_other_bytes(const struct uroce_cm_msg *msg, const struct uroce_cm_field *field)
{
	struct uroce_cm_msg rest = *msg;
	unsigned nb = 0;

	rest.attr = 0;
	memset((uint8_t *)&rest + field->at, 0, field->size ? field->size : field->width / 8);
	for (unsigned i = 0; i < sizeof(rest); i++)
		nb += ((const uint8_t *)&rest)[i] != 0;
	return nb;
}

/* Check that the member of `field` has the value that consists of ones in all bits of the field. */
static void
expect_all_ones(const struct uroce_cm_msg *msg, const struct uroce_cm_field *field)
{
	const uint8_t *member = (const uint8_t *)msg + field->at;
	uint64_t value = 0;

	if (field->size == 0) {
		for (unsigned i = 0; i < field->width / 8u; i++)
			assert_int_equal(member[i], 0xff);
		return;
	}
	for (unsigned i = 0; i < field->size; i++)
		value |= (uint64_t)(htobe16(1) == 1 ? member[field->size - 1 - i] : member[i])
			 << 8 * i;
	assert_int_equal(value, UINT64_MAX >> (64 - field->width) << field->shift);
}

static void
parse__all_ones_in_one_field_leave_the_others_zero(void **state)
{
	(void)state;
	for (unsigned attr = UROCE_CM_ATTR_FIRST; attr < UROCE_CM_ATTR_END; attr++) {
		unsigned nb;
		const struct uroce_cm_field *fields = uroce_cm_fields(attr, &nb);

		for (unsigned i = 0; i < nb; i++) {
			uint8_t mad[UROCE_MAD_LEN];
			struct uroce_cm_msg msg;

			if (fields[i].at == offsetof(struct uroce_cm_msg, attr))
				continue;
			make_empty_mad(attr, mad);
			for (unsigned bit = 0; bit < fields[i].width; bit++)
				set_bit(mad, fields[i].bit + bit);
			assert_int_equal(uroce_cm_parse(mad, &msg), UROCE_CM_VERDICT_ACCEPTED);
			expect_all_ones(&msg, &fields[i]);
			assert_int_equal(nb_other_bytes(&msg, &fields[i]), 0);
		}
	}
}

static void
build__drops_what_does_not_fit_a_field(void **state)
{
	struct uroce_cm_msg msg = { .attr = UROCE_CM_REP };
	uint8_t mad[UROCE_MAD_LEN], wanted[UROCE_MAD_LEN];

	(void)state;
	msg.rep.local_qpn = 0xff000025;
	msg.rep.rnr_retry_count = 0xff;
	msg.rep.vendor_id = 0xff123456;
	uroce_cm_build(&msg, mad);
	make_empty_mad(UROCE_CM_REP, wanted);
	wanted[24 + 14] = 0x25;
	wanted[24 + 15] = 0x12;
	wanted[24 + 19] = 0x34;
	wanted[24 + 23] = 0x56;
	wanted[24 + 27] = 0xe0;
	assert_memory_equal(mad, wanted, sizeof(mad));
}

static void
parse__reserved_bits_are_ignored(void **state)
{
	struct uroce_cm_msg msg, again;
	uint8_t mad[UROCE_MAD_LEN];

	(void)state;
	mad_from_hex(mad_linux_req, mad);
	assert_int_equal(uroce_cm_parse(mad, &msg), UROCE_CM_VERDICT_ACCEPTED);
	memset(mad + 4, 0xff, 4);  /* status and class-specific fields */
	memset(mad + 18, 0xff, 2); /* reserved field of the MAD header */
	mad[24 + 4] = 0xff;
	mad[24 + 94] |= 0x07;
	mad[24 + 139] |= 0x03;
	assert_int_equal(uroce_cm_parse(mad, &again), UROCE_CM_VERDICT_ACCEPTED);
	assert_memory_equal(&again, &msg, sizeof(msg));
}

static void
parse__wrong_headers_are_refused(void **state)
{
	static const struct {
		uint8_t at, value;
		enum uroce_cm_verdict verdict;
	} refused[] = {
		{ 0, 0, UROCE_CM_VERDICT_BAD_BASE_VERSION },
		{ 0, 2, UROCE_CM_VERDICT_BAD_BASE_VERSION },
		{ 0, 0x80, UROCE_CM_VERDICT_BAD_BASE_VERSION }, /* the base version of OPA */
		/* management class of subnet administration */
		{ 1, 0x03, UROCE_CM_VERDICT_OTHER_CLASS },
		/* management class of performance management */
		{ 1, 0x04, UROCE_CM_VERDICT_OTHER_CLASS },
		{ 1, 0x87, UROCE_CM_VERDICT_OTHER_CLASS },
		{ 2, 1, UROCE_CM_VERDICT_BAD_CLASS_VERSION },
		{ 2, 3, UROCE_CM_VERDICT_BAD_CLASS_VERSION },
		{ 3, 0x01, UROCE_CM_VERDICT_BAD_METHOD }, /* the method Get */
		{ 3, 0x81, UROCE_CM_VERDICT_BAD_METHOD }, /* the method GetResp */
		{ 3, 0x83, UROCE_CM_VERDICT_BAD_METHOD },
		{ 16, 0x01, UROCE_CM_VERDICT_UNKNOWN_ATTR },
		{ 17, 0x01, UROCE_CM_VERDICT_UNKNOWN_ATTR }, /* the attribute ClassPortInfo */
		{ 17, 0x0f, UROCE_CM_VERDICT_UNKNOWN_ATTR },
		/* the attribute "suggested alternate path" */
		{ 17, 0x1b, UROCE_CM_VERDICT_UNKNOWN_ATTR },
		{ 17, 0xff, UROCE_CM_VERDICT_UNKNOWN_ATTR },
	};
	struct uroce_cm_msg msg, untouched;
	uint8_t mad[UROCE_MAD_LEN];

	(void)state;
	memset(&untouched, 0x5a, sizeof(untouched));
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		mad_from_hex(mad_linux_req, mad);
		mad[refused[i].at] = refused[i].value;
		memset(&msg, 0x5a, sizeof(msg));
		assert_int_equal(uroce_cm_parse(mad, &msg), refused[i].verdict);
		assert_memory_equal(&msg, &untouched, sizeof(msg));
	}
}

static void
attr_name__of_each_message(void **state)
{
	(void)state;
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_REQ), "REQ");
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_MRA), "MRA");
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_REJ), "REJ");
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_REP), "REP");
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_RTU), "RTU");
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_DREQ), "DREQ");
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_DREP), "DREP");
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_SIDR_REQ), "SIDR_REQ");
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_SIDR_REP), "SIDR_REP");
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_LAP), "LAP");
	assert_string_equal(uroce_cm_attr_name(UROCE_CM_APR), "APR");
	assert_string_equal(uroce_cm_attr_name(0x0f), "?");
	assert_string_equal(uroce_cm_attr_name(0x1b), "?");
}

static void
fields__of_an_unknown_attribute(void **state)
{
	unsigned nb = 99;

	(void)state;
	assert_null(uroce_cm_fields(0x0f, &nb));
	assert_int_equal(nb, 0);
	assert_null(uroce_cm_fields(0x1b, &nb));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__req_of_linux),
		cmocka_unit_test(parse__rep_of_linux),
		cmocka_unit_test(parse__rtu_dreq_and_drep_of_linux),
		cmocka_unit_test(parse__each_field_of_a_req),
		cmocka_unit_test(parse__each_field_of_the_paths_of_a_req),
		cmocka_unit_test(parse__each_field_of_a_rep),
		cmocka_unit_test(parse__each_field_of_mra_and_rej),
		cmocka_unit_test(parse__each_field_of_dreq_and_sidr),
		cmocka_unit_test(parse__each_field_of_lap_and_apr),
		cmocka_unit_test(fields__do_not_overlap),
		cmocka_unit_test(build__keeps_each_bit_of_a_field_and_no_other),
		cmocka_unit_test(parse__all_ones_in_one_field_leave_the_others_zero),
		cmocka_unit_test(build__drops_what_does_not_fit_a_field),
		cmocka_unit_test(parse__reserved_bits_are_ignored),
		cmocka_unit_test(parse__wrong_headers_are_refused),
		cmocka_unit_test(attr_name__of_each_message),
		cmocka_unit_test(fields__of_an_unknown_attribute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
