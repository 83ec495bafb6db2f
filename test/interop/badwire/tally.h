/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_TALLY_H
#define BADWIRE_TALLY_H

/**
 * @file
 * Counters of one direction of the wire, since the start of the program.
 */

#include <stdint.h>
#include <stdio.h>

#include "rule.h"

struct tally {
	uint64_t nb_frames; /* number of received frames of any kind */
	uint64_t nb_bytes;
	uint64_t nb_roce;      /* number of frames to UDP port 4791 */
	uint64_t nb_malformed; /* RoCE frames that do not parse; no rule matches them */
	/* RoCE frames that parse, and had an invalid ICRC when they were received */
	uint64_t nb_bad_icrc;
	uint64_t nb_opcode[OPCODE_NB]; /* for each opcode byte, the number of frames that parse */
	/* number of frames with each fault; FAULT_NONE: frames without a fault */
	uint64_t nb_fault[FAULT_NB];
	/* reordered frames that were sent after a time limit, because too few frames followed */
	uint64_t nb_let_go;
	/* counters of the end that sends the frames of this direction */
	uint64_t nb_sent, nb_unsent, nb_device_drops;
	/* counter of the end that receives the frames of this direction */
	uint64_t nb_overflow;
};

/** Print the counters as a JSON object on one line. */
void tally_print(const struct tally *tally, FILE *out);

#endif /* BADWIRE_TALLY_H */
