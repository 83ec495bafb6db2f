/* SPDX-License-Identifier: BSD-3-Clause */

/* The opcodes of the specification, one line for each opcode. */

#include "spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* clang-format off */
#define REQ(service, operation) \
	UROCE_SERVICE_##service, UROCE_OPERATION_##operation, UROCE_VERDICT_REQUEST
#define RESP(service, operation) \
	UROCE_SERVICE_##service, UROCE_OPERATION_##operation, UROCE_VERDICT_RESPONSE
#define DGRAM(service, operation) \
	UROCE_SERVICE_##service, UROCE_OPERATION_##operation, UROCE_VERDICT_DATAGRAM

const struct spec_opcode spec_opcodes[] = {
	{ 0x00, "RC_SEND_FIRST", "", 0, FULL_PAYLOAD, "first", REQ(RC, SEND) },
	{ 0x01, "RC_SEND_MIDDLE", "", 0, FULL_PAYLOAD, "middle", REQ(RC, SEND) },
	{ 0x02, "RC_SEND_LAST", "", 0, ANY_PAYLOAD, "last", REQ(RC, SEND) },
	{ 0x03, "RC_SEND_LAST_IMM", "ImmDt", 4, ANY_PAYLOAD, "last", REQ(RC, SEND) },
	{ 0x04, "RC_SEND_ONLY", "", 0, ANY_PAYLOAD, "only", REQ(RC, SEND) },
	{ 0x05, "RC_SEND_ONLY_IMM", "ImmDt", 4, ANY_PAYLOAD, "only", REQ(RC, SEND) },
	{ 0x06, "RC_WRITE_FIRST", "RETH", 16, FULL_PAYLOAD, "first", REQ(RC, WRITE) },
	{ 0x07, "RC_WRITE_MIDDLE", "", 0, FULL_PAYLOAD, "middle", REQ(RC, WRITE) },
	{ 0x08, "RC_WRITE_LAST", "", 0, ANY_PAYLOAD, "last", REQ(RC, WRITE) },
	{ 0x09, "RC_WRITE_LAST_IMM", "ImmDt", 4, ANY_PAYLOAD, "last", REQ(RC, WRITE) },
	{ 0x0a, "RC_WRITE_ONLY", "RETH", 16, ANY_PAYLOAD, "only", REQ(RC, WRITE) },
	{ 0x0b, "RC_WRITE_ONLY_IMM", "RETH ImmDt", 20, ANY_PAYLOAD, "only", REQ(RC, WRITE) },
	{ 0x0c, "RC_READ_REQUEST", "RETH", 16, NO_PAYLOAD, "only", REQ(RC, READ) },
	{ 0x0d, "RC_READ_RESPONSE_FIRST", "AETH", 4, FULL_PAYLOAD, "first", RESP(RC, READ_RESPONSE) },
	{ 0x0e, "RC_READ_RESPONSE_MIDDLE", "", 0, FULL_PAYLOAD, "middle", RESP(RC, READ_RESPONSE) },
	{ 0x0f, "RC_READ_RESPONSE_LAST", "AETH", 4, ANY_PAYLOAD, "last", RESP(RC, READ_RESPONSE) },
	{ 0x10, "RC_READ_RESPONSE_ONLY", "AETH", 4, ANY_PAYLOAD, "only", RESP(RC, READ_RESPONSE) },
	{ 0x11, "RC_ACK", "AETH", 4, NO_PAYLOAD, "only", RESP(RC, ACK) },
	{ 0x12, "RC_ATOMIC_ACK", "AETH AtomicAckETH", 12, NO_PAYLOAD, "only", RESP(RC, ATOMIC_ACK) },
	{ 0x13, "RC_CMP_SWAP", "AtomicETH", 28, NO_PAYLOAD, "only", REQ(RC, ATOMIC) },
	{ 0x14, "RC_FETCH_ADD", "AtomicETH", 28, NO_PAYLOAD, "only", REQ(RC, ATOMIC) },
	{ 0x16, "RC_SEND_LAST_INV", "IETH", 4, ANY_PAYLOAD, "last", REQ(RC, SEND) },
	{ 0x17, "RC_SEND_ONLY_INV", "IETH", 4, ANY_PAYLOAD, "only", REQ(RC, SEND) },
	{ 0x1c, "RC_FLUSH", "FETH RETH", 20, NO_PAYLOAD, "only", REQ(RC, FLUSH) },
	{ 0x1d, "RC_ATOMIC_WRITE", "RETH", 16, PAYLOAD_8, "only", REQ(RC, ATOMIC_WRITE) },
	{ 0x20, "UC_SEND_FIRST", "", 0, FULL_PAYLOAD, "first", REQ(UC, SEND) },
	{ 0x21, "UC_SEND_MIDDLE", "", 0, FULL_PAYLOAD, "middle", REQ(UC, SEND) },
	{ 0x22, "UC_SEND_LAST", "", 0, ANY_PAYLOAD, "last", REQ(UC, SEND) },
	{ 0x23, "UC_SEND_LAST_IMM", "ImmDt", 4, ANY_PAYLOAD, "last", REQ(UC, SEND) },
	{ 0x24, "UC_SEND_ONLY", "", 0, ANY_PAYLOAD, "only", REQ(UC, SEND) },
	{ 0x25, "UC_SEND_ONLY_IMM", "ImmDt", 4, ANY_PAYLOAD, "only", REQ(UC, SEND) },
	{ 0x26, "UC_WRITE_FIRST", "RETH", 16, FULL_PAYLOAD, "first", REQ(UC, WRITE) },
	{ 0x27, "UC_WRITE_MIDDLE", "", 0, FULL_PAYLOAD, "middle", REQ(UC, WRITE) },
	{ 0x28, "UC_WRITE_LAST", "", 0, ANY_PAYLOAD, "last", REQ(UC, WRITE) },
	{ 0x29, "UC_WRITE_LAST_IMM", "ImmDt", 4, ANY_PAYLOAD, "last", REQ(UC, WRITE) },
	{ 0x2a, "UC_WRITE_ONLY", "RETH", 16, ANY_PAYLOAD, "only", REQ(UC, WRITE) },
	{ 0x2b, "UC_WRITE_ONLY_IMM", "RETH ImmDt", 20, ANY_PAYLOAD, "only", REQ(UC, WRITE) },
	{ 0x64, "UD_SEND_ONLY", "DETH", 8, ANY_PAYLOAD, "only", DGRAM(UD, SEND) },
	{ 0x65, "UD_SEND_ONLY_IMM", "DETH ImmDt", 12, ANY_PAYLOAD, "only", DGRAM(UD, SEND) },
	{ 0x81, "CNP", "", 0, PAYLOAD_16, "only", DGRAM(CNP, CNP) },
	{ 0xa0, "XRC_SEND_FIRST", "XRCETH", 4, FULL_PAYLOAD, "first", REQ(XRC, SEND) },
	{ 0xa1, "XRC_SEND_MIDDLE", "XRCETH", 4, FULL_PAYLOAD, "middle", REQ(XRC, SEND) },
	{ 0xa2, "XRC_SEND_LAST", "XRCETH", 4, ANY_PAYLOAD, "last", REQ(XRC, SEND) },
	{ 0xa3, "XRC_SEND_LAST_IMM", "XRCETH ImmDt", 8, ANY_PAYLOAD, "last", REQ(XRC, SEND) },
	{ 0xa4, "XRC_SEND_ONLY", "XRCETH", 4, ANY_PAYLOAD, "only", REQ(XRC, SEND) },
	{ 0xa5, "XRC_SEND_ONLY_IMM", "XRCETH ImmDt", 8, ANY_PAYLOAD, "only", REQ(XRC, SEND) },
	{ 0xa6, "XRC_WRITE_FIRST", "XRCETH RETH", 20, FULL_PAYLOAD, "first", REQ(XRC, WRITE) },
	{ 0xa7, "XRC_WRITE_MIDDLE", "XRCETH", 4, FULL_PAYLOAD, "middle", REQ(XRC, WRITE) },
	{ 0xa8, "XRC_WRITE_LAST", "XRCETH", 4, ANY_PAYLOAD, "last", REQ(XRC, WRITE) },
	{ 0xa9, "XRC_WRITE_LAST_IMM", "XRCETH ImmDt", 8, ANY_PAYLOAD, "last", REQ(XRC, WRITE) },
	{ 0xaa, "XRC_WRITE_ONLY", "XRCETH RETH", 20, ANY_PAYLOAD, "only", REQ(XRC, WRITE) },
	{ 0xab, "XRC_WRITE_ONLY_IMM", "XRCETH RETH ImmDt", 24, ANY_PAYLOAD, "only", REQ(XRC, WRITE) },
	{ 0xac, "XRC_READ_REQUEST", "XRCETH RETH", 20, NO_PAYLOAD, "only", REQ(XRC, READ) },
	{ 0xad, "XRC_READ_RESPONSE_FIRST", "AETH", 4, FULL_PAYLOAD, "first", RESP(XRC, READ_RESPONSE) },
	{ 0xae, "XRC_READ_RESPONSE_MIDDLE", "", 0, FULL_PAYLOAD, "middle", RESP(XRC, READ_RESPONSE) },
	{ 0xaf, "XRC_READ_RESPONSE_LAST", "AETH", 4, ANY_PAYLOAD, "last", RESP(XRC, READ_RESPONSE) },
	{ 0xb0, "XRC_READ_RESPONSE_ONLY", "AETH", 4, ANY_PAYLOAD, "only", RESP(XRC, READ_RESPONSE) },
	{ 0xb1, "XRC_ACK", "AETH", 4, NO_PAYLOAD, "only", RESP(XRC, ACK) },
	{ 0xb2, "XRC_ATOMIC_ACK", "AETH AtomicAckETH", 12, NO_PAYLOAD, "only", RESP(XRC, ATOMIC_ACK) },
	{ 0xb3, "XRC_CMP_SWAP", "XRCETH AtomicETH", 32, NO_PAYLOAD, "only", REQ(XRC, ATOMIC) },
	{ 0xb4, "XRC_FETCH_ADD", "XRCETH AtomicETH", 32, NO_PAYLOAD, "only", REQ(XRC, ATOMIC) },
	{ 0xb6, "XRC_SEND_LAST_INV", "XRCETH IETH", 8, ANY_PAYLOAD, "last", REQ(XRC, SEND) },
	{ 0xb7, "XRC_SEND_ONLY_INV", "XRCETH IETH", 8, ANY_PAYLOAD, "only", REQ(XRC, SEND) },
	{ 0xbc, "XRC_FLUSH", "XRCETH FETH RETH", 24, NO_PAYLOAD, "only", REQ(XRC, FLUSH) },
	{ 0xbd, "XRC_ATOMIC_WRITE", "XRCETH RETH", 20, PAYLOAD_8, "only", REQ(XRC, ATOMIC_WRITE) },
};
/* clang-format on */

const size_t spec_nb_opcodes = sizeof(spec_opcodes) / sizeof(spec_opcodes[0]);

uint16_t
spec_payload_len(const struct spec_opcode *spec, uint16_t len)
{
	switch (spec->payload) {
	case NO_PAYLOAD:
		return 0;
	case ANY_PAYLOAD:
		return len;
	case FULL_PAYLOAD:
		return len < 4 ? 4 : (uint16_t)(len & ~3);
	case PAYLOAD_8:
		return 8;
	case PAYLOAD_16:
		return 16;
	}
	return 0;
}

const struct spec_opcode *
spec_find(const char *name)
{
	for (size_t i = 0; i < spec_nb_opcodes; i++) {
		if (strcmp(spec_opcodes[i].name, name) == 0)
			return &spec_opcodes[i];
	}
	fail_msg("no opcode %s", name);
	return NULL;
}

void
spec_make(struct frame *frame, const struct frame_conf *conf, const struct spec_opcode *spec,
	  uint16_t len)
{
	struct frame_conf of_opcode = *conf;

	of_opcode.opcode = spec->code;
	of_opcode.ext_len = spec->ext_len;
	of_opcode.payload_len = spec_payload_len(spec, len);
	of_opcode.pad_len = (uint8_t)(-of_opcode.payload_len & 3);
	frame_make(frame, &of_opcode);
}
