/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_RULE_H
#define BADWIRE_RULE_H

/**
 * @file
 * Rules: which frames meet which fault, and how often.
 *
 *	DIRECTION OPCODES FAULT [AMOUNT] HOW
 *
 *	DIRECTION  a>b, b>a, both
 *	OPCODES    all; request: what asks for something; ack: ACK and NAK; response: READ response
 *	           and ATOMIC ACK; or one opcode, as lib/wire names it: RC_SEND_ONLY
 *	FAULT      drop, duplicate, corrupt, delay US, reorder N, blackout MS
 *	HOW        a probability, 0 to 1; or `script LIST`: ordinals of matching frames, from 1: 3,7,8
 *
 * A rule counts the frames that match it from when it was set, whatever becomes of them; one for
 * both directions counts both together. Whether it strikes is told by a hash of the seed, the
 * rule's place and the frame's ordinal, and by nothing else, but for the frames of a blackout,
 * which are told by the clock. The first rule that strikes has the frame.
 */

#include <stdbool.h>
#include <stdint.h>

#include "direction.h"
#include "fault.h"
#include "reason.h"

#define RULES_MAX  32
#define SCRIPT_MAX 512
#define OPCODE_NB  256

struct rule {
	bool is_on[DIRECTION_NB];
	bool opcodes[OPCODE_NB]; /* by the whole byte */
	enum fault fault;
	uint32_t amount;             /* in the fault's unit; 0 where it has none */
	double probability;          /* without a script */
	uint32_t nb_script;          /* 0: there is none */
	uint64_t script[SCRIPT_MAX]; /* ascending */
	uint64_t nb_matched;
	uint64_t nb_struck;     /* frames that met the fault by this rule */
	uint64_t dark_until_ns; /* of a blackout; 0 before the first */
};

struct rules {
	uint64_t seed;
	unsigned nb;
	struct rule rule[RULES_MAX];
};

/** What is to be done to a frame. */
struct verdict {
	enum fault fault; /* never FAULT_BLACKOUT, which drops */
	uint32_t amount;
	uint64_t dice; /* for what is left to chance: which bit */
};

/** Add what `text` says behind the others. @return false, and nothing has changed */
bool rules_add(struct rules *rules, const char *text, struct reason *why);

void rules_clear(struct rules *rules);

/** Count a frame, and say what becomes of it. */
struct verdict rules_judge(struct rules *rules, enum direction direction, uint8_t opcode,
			   uint64_t now_ns);

#endif /* BADWIRE_RULE_H */
