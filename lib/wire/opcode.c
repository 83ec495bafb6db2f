/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The opcode table. A row has the service, the operation, the position in the message and the
 * extension headers of an opcode. The preprocessor computes length and offsets from the list of
 * headers. A request of the XRC service is the request of RC with an XRCETH before all other
 * extension headers. XRC's responses are those of RC.
 */

#include "wire/opcode.h"

#include "wire/hdr.h"

/* Short names for the values that the rows of the opcode table use. */
enum {
	XRCETH = 1 << UROCE_EXT_XRCETH,
	DETH = 1 << UROCE_EXT_DETH,
	FETH = 1 << UROCE_EXT_FETH,
	RETH = 1 << UROCE_EXT_RETH,
	ATOMICETH = 1 << UROCE_EXT_ATOMICETH,
	AETH = 1 << UROCE_EXT_AETH,
	ATOMICACKETH = 1 << UROCE_EXT_ATOMICACKETH,
	IMMDT = 1 << UROCE_EXT_IMMDT,
	IETH = 1 << UROCE_EXT_IETH,

	REQUEST = UROCE_OPF_REQUEST,
	RESPONSE = UROCE_OPF_RESPONSE,
	FIRST = UROCE_OPF_FIRST,
	LAST = UROCE_OPF_LAST,
	ONLY = FIRST | LAST,
	PAYLOAD = UROCE_OPF_PAYLOAD,
	IMM = UROCE_OPF_IMM,
};

/* Compute the number of bytes of header `ext`, if `mask` has it; otherwise 0. */
#define LEN_IF(mask, ext, type) ((mask)&ext ? sizeof(struct type) : 0)
#define LEN(mask)                                                                                  \
	(LEN_IF(mask, XRCETH, uroce_xrceth) + LEN_IF(mask, DETH, uroce_deth) +                     \
	 LEN_IF(mask, FETH, uroce_feth) + LEN_IF(mask, RETH, uroce_reth) +                         \
	 LEN_IF(mask, ATOMICETH, uroce_atomiceth) + LEN_IF(mask, AETH, uroce_aeth) +               \
	 LEN_IF(mask, ATOMICACKETH, uroce_atomicacketh) + LEN_IF(mask, IMMDT, uroce_immdt) +       \
	 LEN_IF(mask, IETH, uroce_ieth))
static_assert(UROCE_EXT_NB == 9, "a new extension header needs a term in LEN and OFFSETS");

/* Compute the offset of header `ext`: the length of the extension headers before it. */
#define OFFSET(mask, ext) [UROCE_EXT_##ext] = LEN((mask) & (ext - 1))
#define OFFSETS(mask)                                                                              \
	{                                                                                          \
		OFFSET(mask, XRCETH), OFFSET(mask, DETH), OFFSET(mask, FETH), OFFSET(mask, RETH),  \
			OFFSET(mask, ATOMICETH), OFFSET(mask, AETH), OFFSET(mask, ATOMICACKETH),   \
			OFFSET(mask, IMMDT), OFFSET(mask, IETH)                                    \
	}

/*
 * Minimum and maximum payload length of an opcode [IBA 9.7.4.1.5]. A packet that does not end its
 * message has at least one byte of payload.
 */
#define FIXED(operation)                                                                           \
	((operation) == UROCE_OPERATION_ATOMIC_WRITE ? UROCE_ATOMIC_WRITE_LEN                      \
	 : (operation) == UROCE_OPERATION_CNP        ? UROCE_CNP_RESERVED_LEN                      \
						     : 0)
#define PAYLOAD_MIN(operation, facts)                                                              \
	(FIXED(operation) ? FIXED(operation) : (facts)&PAYLOAD && !((facts)&LAST) ? 1 : 0)
#define PAYLOAD_MAX(operation, facts)                                                              \
	(FIXED(operation) ? FIXED(operation) : (facts)&PAYLOAD ? UINT16_MAX : 0)

#define ROW(code, what, serves, does, facts, mask)                                                 \
	[code] = {                                                                                 \
		.name = what,                                                                      \
		.service = UROCE_SERVICE_##serves,                                                 \
		.operation = UROCE_OPERATION_##does,                                               \
		.flags = UROCE_OPF_VALID | (facts),                                                \
		.ext_len = LEN(mask),                                                              \
		.ext_mask = (mask),                                                                \
		.ext_off = OFFSETS(mask),                                                          \
		.payload_min = PAYLOAD_MIN(UROCE_OPERATION_##does, facts),                         \
		.payload_max = PAYLOAD_MAX(UROCE_OPERATION_##does, facts),                         \
	}
#define OP(serves, low, does, facts, mask)                                                         \
	ROW(UROCE_SERVICE_##serves << 5 | UROCE_OP_##low, #serves "_" #low, serves, does, facts,   \
	    mask)

/* Rows of the opcodes that RC, UC and XRC have in common. `xrc` is XRCETH for XRC, otherwise 0. */
#define SEND_AND_WRITE(s, xrc)                                                                     \
	OP(s, SEND_FIRST, SEND, REQUEST | FIRST | PAYLOAD, xrc),                                   \
		OP(s, SEND_MIDDLE, SEND, REQUEST | PAYLOAD, xrc),                                  \
		OP(s, SEND_LAST, SEND, REQUEST | LAST | PAYLOAD, xrc),                             \
		OP(s, SEND_LAST_IMM, SEND, REQUEST | LAST | PAYLOAD | IMM, xrc | IMMDT),           \
		OP(s, SEND_ONLY, SEND, REQUEST | ONLY | PAYLOAD, xrc),                             \
		OP(s, SEND_ONLY_IMM, SEND, REQUEST | ONLY | PAYLOAD | IMM, xrc | IMMDT),           \
		OP(s, WRITE_FIRST, WRITE, REQUEST | FIRST | PAYLOAD, xrc | RETH),                  \
		OP(s, WRITE_MIDDLE, WRITE, REQUEST | PAYLOAD, xrc),                                \
		OP(s, WRITE_LAST, WRITE, REQUEST | LAST | PAYLOAD, xrc),                           \
		OP(s, WRITE_LAST_IMM, WRITE, REQUEST | LAST | PAYLOAD | IMM, xrc | IMMDT),         \
		OP(s, WRITE_ONLY, WRITE, REQUEST | ONLY | PAYLOAD, xrc | RETH),                    \
		OP(s, WRITE_ONLY_IMM, WRITE, REQUEST | ONLY | PAYLOAD | IMM, xrc | RETH | IMMDT)

/* Rows of the opcodes that only RC and XRC have. `xrc` is XRCETH for XRC, otherwise 0. */
#define RELIABLE(s, xrc)                                                                           \
	OP(s, READ_REQUEST, READ, REQUEST | ONLY, xrc | RETH),                                     \
		OP(s, READ_RESPONSE_FIRST, READ_RESPONSE, RESPONSE | FIRST | PAYLOAD, AETH),       \
		OP(s, READ_RESPONSE_MIDDLE, READ_RESPONSE, RESPONSE | PAYLOAD, 0),                 \
		OP(s, READ_RESPONSE_LAST, READ_RESPONSE, RESPONSE | LAST | PAYLOAD, AETH),         \
		OP(s, READ_RESPONSE_ONLY, READ_RESPONSE, RESPONSE | ONLY | PAYLOAD, AETH),         \
		OP(s, ACK, ACK, RESPONSE | ONLY, AETH),                                            \
		OP(s, ATOMIC_ACK, ATOMIC_ACK, RESPONSE | ONLY, AETH | ATOMICACKETH),               \
		OP(s, CMP_SWAP, ATOMIC, REQUEST | ONLY, xrc | ATOMICETH),                          \
		OP(s, FETCH_ADD, ATOMIC, REQUEST | ONLY, xrc | ATOMICETH),                         \
		OP(s, SEND_LAST_INV, SEND, REQUEST | LAST | PAYLOAD, xrc | IETH),                  \
		OP(s, SEND_ONLY_INV, SEND, REQUEST | ONLY | PAYLOAD, xrc | IETH),                  \
		OP(s, FLUSH, FLUSH, REQUEST | ONLY, xrc | FETH | RETH),                            \
		OP(s, ATOMIC_WRITE, ATOMIC_WRITE, REQUEST | ONLY | PAYLOAD, xrc | RETH)

/*
 * The first initialiser of the opcode table gives every opcode byte the name "?". The rows of known
 * opcodes override this initialiser, so the warning about overridden initialisers is disabled.
 */
#pragma GCC diagnostic ignored "-Woverride-init"

const struct uroce_opcode uroce_opcode_table[256] = {
	[0 ... 255] = { .name = "?" },

	SEND_AND_WRITE(RC, 0),
	RELIABLE(RC, 0),

	SEND_AND_WRITE(UC, 0),

	OP(UD, SEND_ONLY, SEND, REQUEST | ONLY | PAYLOAD, DETH),
	OP(UD, SEND_ONLY_IMM, SEND, REQUEST | ONLY | PAYLOAD | IMM, DETH | IMMDT),

	ROW(UROCE_OPCODE_CNP, "CNP", CNP, CNP, ONLY | PAYLOAD, 0),

	SEND_AND_WRITE(XRC, XRCETH),
	RELIABLE(XRC, XRCETH),
};
