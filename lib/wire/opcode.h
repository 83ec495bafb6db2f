/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_OPCODE_H
#define UROCE_WIRE_OPCODE_H

/**
 * @file
 * The BTH opcodes as a table [IBA 9.2.1, table 38; IBA A17].
 *
 * An opcode byte has the service in its upper 3 bits and the operation in its lower 5 bits. A row
 * of the table states properties: the extension headers, the role that handles the packet, and the
 * position of the packet in its message. Lengths and offsets are computed from the properties.
 */

#include <stdbool.h>
#include <stdint.h>

/** The transport service of a packet: the upper three bits of the opcode byte. */
enum uroce_service {
	UROCE_SERVICE_RC = 0,
	UROCE_SERVICE_UC = 1,
	UROCE_SERVICE_RD = 2, /* the RD service is not supported: all its opcodes are unknown */
	UROCE_SERVICE_UD = 3,
	UROCE_SERVICE_CNP = 4,
	UROCE_SERVICE_XRC = 5,
};

/**
 * The operation of a packet and its position in its message: the lower five bits of the opcode
 * byte.
 */
enum uroce_opcode_low {
	UROCE_OP_SEND_FIRST = 0x00,
	UROCE_OP_SEND_MIDDLE = 0x01,
	UROCE_OP_SEND_LAST = 0x02,
	UROCE_OP_SEND_LAST_IMM = 0x03,
	UROCE_OP_SEND_ONLY = 0x04,
	UROCE_OP_SEND_ONLY_IMM = 0x05,
	UROCE_OP_WRITE_FIRST = 0x06,
	UROCE_OP_WRITE_MIDDLE = 0x07,
	UROCE_OP_WRITE_LAST = 0x08,
	UROCE_OP_WRITE_LAST_IMM = 0x09,
	UROCE_OP_WRITE_ONLY = 0x0a,
	UROCE_OP_WRITE_ONLY_IMM = 0x0b,
	UROCE_OP_READ_REQUEST = 0x0c,
	UROCE_OP_READ_RESPONSE_FIRST = 0x0d,
	UROCE_OP_READ_RESPONSE_MIDDLE = 0x0e,
	UROCE_OP_READ_RESPONSE_LAST = 0x0f,
	UROCE_OP_READ_RESPONSE_ONLY = 0x10,
	UROCE_OP_ACK = 0x11,
	UROCE_OP_ATOMIC_ACK = 0x12,
	UROCE_OP_CMP_SWAP = 0x13,
	UROCE_OP_FETCH_ADD = 0x14,
	UROCE_OP_SEND_LAST_INV = 0x16,
	UROCE_OP_SEND_ONLY_INV = 0x17,
	UROCE_OP_FLUSH = 0x1c,
	UROCE_OP_ATOMIC_WRITE = 0x1d,
};

/** Opcode of the congestion notification packet (CNP), the complete byte [IBA A17.9.3]. */
#define UROCE_OPCODE_CNP 0x81

static inline uint8_t
uroce_opcode_make(enum uroce_service service, enum uroce_opcode_low low)
{
	return (uint8_t)(service << 5 | low);
}

/** Kinds of extension headers, in the order in which they follow the BTH on the wire. */
enum uroce_ext {
	UROCE_EXT_XRCETH,
	UROCE_EXT_DETH,
	UROCE_EXT_FETH,
	UROCE_EXT_RETH,
	UROCE_EXT_ATOMICETH,
	UROCE_EXT_AETH,
	UROCE_EXT_ATOMICACKETH,
	UROCE_EXT_IMMDT,
	UROCE_EXT_IETH,
	UROCE_EXT_NB
};

/**
 * Operation that a packet requests, or to which it responds. Middle and Last packets have the
 * operation of their message.
 */
enum uroce_operation {
	UROCE_OPERATION_NONE,
	UROCE_OPERATION_SEND,
	UROCE_OPERATION_WRITE,
	UROCE_OPERATION_READ,
	UROCE_OPERATION_ATOMIC, /* the operations CMP_SWAP and FETCH_ADD */
	UROCE_OPERATION_ATOMIC_WRITE,
	UROCE_OPERATION_FLUSH,
	UROCE_OPERATION_ACK, /* acknowledgement, which has an AETH and no payload */
	UROCE_OPERATION_READ_RESPONSE,
	UROCE_OPERATION_ATOMIC_ACK,
	UROCE_OPERATION_CNP,
};

/** Properties of a row of the opcode table, or-ed. An Only packet has both FIRST and LAST. */
enum uroce_opcode_flag {
	UROCE_OPF_VALID = 1 << 0,
	UROCE_OPF_REQUEST = 1 << 1,
	UROCE_OPF_RESPONSE = 1 << 2,
	UROCE_OPF_FIRST = 1 << 3,   /* the packet begins a message */
	UROCE_OPF_LAST = 1 << 4,    /* the packet ends a message */
	UROCE_OPF_PAYLOAD = 1 << 5, /* the packet may have payload */
	/* the packet has immediate data, and completes a receive request */
	UROCE_OPF_IMM = 1 << 6,
};

struct uroce_opcode {
	const char *name;  /* name such as "RC_SEND_FIRST"; "?" for an unknown opcode */
	uint8_t service;   /* service of the packet (enum uroce_service) */
	uint8_t operation; /* operation of the packet (enum uroce_operation) */
	/* flags of the row (enum uroce_opcode_flag, or-ed); 0 for an unknown opcode */
	uint8_t flags;
	uint8_t ext_len;   /* number of bytes of the extension headers after the BTH */
	uint16_t ext_mask; /* bit i is set if header i of enum uroce_ext follows the BTH */
	/*
	 * maximum number of payload bytes for the opcode; the path MTU, which may be less, is
	 * checked by the QP
	 */
	uint16_t payload_max;
	uint8_t payload_min; /* minimum number of payload bytes */
	/*
	 * offset of each extension header from the end of the BTH; undefined if the header is not
	 * in `ext_mask`
	 */
	uint8_t ext_off[UROCE_EXT_NB];
};

/** Table that has a row for each opcode byte. The flags of an unknown opcode are 0. */
extern const struct uroce_opcode uroce_opcode_table[256];

static inline bool
uroce_opcode_is_only(const struct uroce_opcode *op)
{
	const uint8_t only = UROCE_OPF_FIRST | UROCE_OPF_LAST;

	return (op->flags & only) == only;
}

#endif /* UROCE_WIRE_OPCODE_H */
