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
 *	HOW        a probability, 0 to 1; or `script LIST`: ordinals of matching frames from 1: 3,7
 *
 * A rule counts the frames that match it since it was set, whatever happens to the frames. A rule
 * for both directions has one count for both. A hash of the seed, the rule's index and the frame's
 * ordinal decides whether a rule applies to a frame. Only the end of a blackout depends on the
 * clock. The first rule that applies to a frame determines its fault.
 */

#include <stdbool.h>
#include <stdint.h>

#include "direction.h"
#include "fault.h"
#include "reason.h"

#define RULES_MAX  32
#define SCRIPT_MAX 512
#define OPCODE_NB  256

/** The properties of a frame that rules compare. */
struct traits {
	uint8_t opcode; /* opcode byte of the BTH, with the service */
	uint8_t attr;   /* attribute of the MAD; 0: no message of connection management */
};

struct rule {
	bool is_on[DIRECTION_NB];
	bool opcodes[OPCODE_NB]; /* for each opcode byte, whether it matches */
	uint32_t attrs;          /* a bit for each attribute (enum uroce_cm_attr) that matches */
	enum fault fault;
	/* amount in the unit of the fault; 0: the fault has no amount */
	uint32_t amount;
	double probability;          /* probability of the fault; not used if there is a script */
	uint32_t nb_script;          /* number of entries in `script`; 0: there is no script */
	uint64_t script[SCRIPT_MAX]; /* ordinals of matching frames, in ascending order */
	uint64_t nb_matched;
	uint64_t nb_struck;     /* number of frames to which this rule has applied its fault */
	uint64_t dark_until_ns; /* end of the latest blackout; 0: there was none */
};

struct rules {
	uint64_t seed;
	unsigned nb;
	struct rule rule[RULES_MAX];
};

/** The fault that is applied to a frame. */
struct verdict {
	enum fault fault; /* FAULT_DROP for a frame in a blackout */
	uint32_t amount;
	uint64_t random; /* random number that selects the bit to corrupt */
};

/**
 * Add a rule at the end of the list.
 * @return false: `why` has the reason, and nothing has changed
 */
bool rules_add(struct rules *rules, const char *text, struct reason *why);

void rules_clear(struct rules *rules);

/**
 * Count a frame in the rules that match it.
 * @return the fault of the frame
 */
struct verdict rules_classify(struct rules *rules, enum direction direction, struct traits traits,
			      uint64_t now_ns);

#endif /* BADWIRE_RULE_H */
