/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_TALLY_H
#define BADWIRE_TALLY_H

/**
 * @file
 * What was counted of one direction, since the wire was there.
 */

#include <stdint.h>
#include <stdio.h>

#include "rule.h"

struct tally {
	uint64_t nb_frames; /* that came, of any kind */
	uint64_t nb_bytes;
	uint64_t nb_roce;              /* to UDP port 4791 */
	uint64_t nb_malformed;         /* of those: they do not parse, and no rule matches them */
	uint64_t nb_bad_icrc;          /* of those that do, as they came */
	uint64_t nb_opcode[OPCODE_NB]; /* of those that do, by the whole byte */
	uint64_t nb_fault[FAULT_NB];   /* by what was done; FAULT_NONE: RoCE that passed */
	uint64_t nb_let_go;            /* reordered, but too few came after them in time */
	uint64_t nb_sent, nb_unsent, nb_device_drops; /* of the end that it goes to */
	uint64_t nb_overflow;                         /* of the end that it comes from */
};

/** As an object of JSON, on one line. */
void tally_print(const struct tally *tally, FILE *out);

#endif /* BADWIRE_TALLY_H */
