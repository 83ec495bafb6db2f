/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_TALLY_H
#define BADWIRE_TALLY_H

/**
 * @file
 * Counters of one direction since the start.
 */

#include <stdint.h>
#include <stdio.h>

#include "rule.h"

struct tally {
	uint64_t nb_frames; /* number of received frames of any kind */
	uint64_t nb_bytes;
	uint64_t nb_roce;              /* number of frames to UDP port 4791 */
	uint64_t nb_malformed;         /* RoCE frames that do not parse; no rule matches them */
	uint64_t nb_bad_icrc;          /* valid RoCE frames with an invalid ICRC at reception */
	uint64_t nb_opcode[OPCODE_NB]; /* valid RoCE frames by the whole opcode byte */
	uint64_t nb_fault[FAULT_NB];   /* RoCE frames by fault; FAULT_NONE: passed */
	/* reordered frames that were sent because too few frames followed in time */
	uint64_t nb_let_go;
	uint64_t nb_sent, nb_unsent, nb_device_drops; /* counters of the end to which frames go */
	/* counter of the end from which frames come */
	uint64_t nb_overflow;
};

/** Print as a JSON object on one line. */
void tally_print(const struct tally *tally, FILE *out);

#endif /* BADWIRE_TALLY_H */
