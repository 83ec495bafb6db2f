/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_NAMES_H
#define TEST_UNIT_TRANSPORT_NAMES_H

/**
 * @file
 * Words for traces and transcripts, those of the unit tests and of the simulator alike.
 */

#include <stdint.h>
#include <infiniband/verbs.h>

/** "RETRY_EXC_ERR"; "?" for one that has no word. */
const char *name_of_status(enum ibv_wc_status status);

/** "ACK", "RNR_NAK", "NAK_SEQ" ... [IBA 9.7.5.2.8]. */
const char *name_of_aeth(uint8_t syndrome);

#endif /* TEST_UNIT_TRANSPORT_NAMES_H */
