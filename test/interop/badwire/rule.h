/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_RULE_H
#define BADWIRE_RULE_H

/**
 * @file
 * Rules: the frames to which a fault is applied, and how often.
 *
 *	DIRECTION OPCODES FAULT [AMOUNT] HOW
 *
 *	DIRECTION  a>b, b>a, both
 *	OPCODES    all; request: any request; ack: ACK and NAK; response: READ response
 *		   and ATOMIC ACK; or one opcode, as lib/wire names it: RC_SEND_ONLY;
 *		   cm: any message of connection management; or one, as lib/cm names it:
 *		   cm:REQ
 *	FAULT      drop, duplicate, corrupt, delay US, reorder N, blackout MS
 *	HOW        a probability, 0 to 1; or `script LIST`: ordinals of matching frames, from 1: 3,7,8
 *
 * A rule counts the frames that match it since it was set, whatever happens to them. A rule for
 * both directions counts both together. A hash of the seed, the rule's index and the frame's
 * ordinal decides whether a rule applies. Only the end of a blackout depends on the clock. The
 * first rule that applies determines the fault.
 */

#include <stdbool.h>
#include <stdint.h>

#include "direction.h"
#include "fault.h"
#include "reason.h"

#define RULES_MAX  32
#define SCRIPT_MAX 512
#define OPCODE_NB  256

/** What a rule sees of a frame. */
struct traits {
	uint8_t opcode; /* the whole opcode byte */
	uint8_t attr;   /* enum uroce_cm_attr; 0: no message of connection management */
};

struct rule {
	bool is_on[DIRECTION_NB];
	bool opcodes[OPCODE_NB]; /* the opcodes that match, by the whole opcode byte */
	uint32_t attrs;          /* a bit for each enum uroce_cm_attr that matches */
	enum fault fault;
	/* amount in the unit of the fault; 0: the fault has no amount */
	uint32_t amount;
	double probability;          /* probability of the fault, if there is no script */
	uint32_t nb_script;          /* number of entries in `script`; 0: there is no script */
	uint64_t script[SCRIPT_MAX]; /* numbers of frames in ascending order */
	uint64_t nb_matched;
	uint64_t nb_struck;     /* frames to which this rule has applied its fault */
	uint64_t dark_until_ns; /* end of a blackout; 0 before the first one */
};

struct rules {
	uint64_t seed;
	unsigned nb;
	struct rule rule[RULES_MAX];
};

/** The fault of a frame. */
struct verdict {
	enum fault fault; /* never FAULT_BLACKOUT, which is reported as FAULT_DROP */
	uint32_t amount;
	uint64_t random; /* random number for further choices: which bit */
};

/**
 * Add a rule behind the others.
 * @return false, and nothing has changed
 */
bool rules_add(struct rules *rules, const char *text, struct reason *why);

void rules_clear(struct rules *rules);

/** Count a frame, and return its verdict. */
struct verdict rules_classify(struct rules *rules, enum direction direction, struct traits traits,
			      uint64_t now_ns);

#endif /* BADWIRE_RULE_H */
