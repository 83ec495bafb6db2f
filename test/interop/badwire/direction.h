/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_DIRECTION_H
#define BADWIRE_DIRECTION_H

/**
 * @file
 * Which way a frame goes. The ends are told by the order in which the command line names them.
 */

enum direction { A_TO_B, B_TO_A, DIRECTION_NB };

/** As rules, statistics and verdicts write it. */
static inline const char *
direction_name(enum direction direction)
{
	return direction == A_TO_B ? "a>b" : "b>a";
}

#endif /* BADWIRE_DIRECTION_H */
