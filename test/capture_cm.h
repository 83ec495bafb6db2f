/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CAPTURE_CM_H
#define TEST_CAPTURE_CM_H

/**
 * @file
 * Compares lib/cm with the MADs of a capture, which are the datagrams to QP 1. One line is printed
 * for each MAD, with the fields that are not zero.
 *
 * A message of communication management is ok if the MAD that is built from its parsed fields has
 * the same bits. Reserved bits are an exception: a receiver ignores them, and the builder writes
 * zero. A message with reserved bits that are set is ok, and its line names their bytes. A message
 * that was captured in part, or is refused by the parser, is not ok. A frame whose end behind the
 * MAD was not captured is checked. Of several VLAN tags, the last one counts. MADs of other classes
 * are named and not checked.
 */

#include <stdint.h>

struct cm_tally {
	const char *name;     /* name of the capture file */
	uint64_t nb_messages; /* messages of communication management */
	uint64_t nb_ok;
	uint64_t nb_others; /* datagrams to QP 1 that are no such messages */
};

/**
 * Check a frame, and print a line if it is a datagram to QP 1.
 * @param number  number of the frame in the file
 * @param len  bytes that were captured
 * @param full_len  bytes of the frame on the wire
 */
void cm_check_frame(struct cm_tally *tally, uint64_t number, const uint8_t *frame, uint32_t len,
		    uint32_t full_len);

#endif /* TEST_CAPTURE_CM_H */
