/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_DIRECTION_H
#define BADWIRE_DIRECTION_H

/**
 * @file
 * The direction of a frame between the ends A and B. The command line names the interface of A, and
 * then that of B.
 */

enum direction { A_TO_B, B_TO_A, DIRECTION_NB };

/** The name of a direction in rules, statistics and verdicts. */
static inline const char *
direction_name(enum direction direction)
{
	return direction == A_TO_B ? "a>b" : "b>a";
}

#endif /* BADWIRE_DIRECTION_H */
