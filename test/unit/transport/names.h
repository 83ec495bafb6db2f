/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_TRANSPORT_NAMES_H
#define TEST_UNIT_TRANSPORT_NAMES_H

/**
 * @file
 * Names of completion statuses and AETH syndromes for traces, used by the unit tests and the
 * simulator.
 */

#include <stdint.h>
#include <infiniband/verbs.h>

/** The name of a completion status, such as "RETRY_EXC_ERR"; "?": the status is unknown. */
const char *name_of_status(enum ibv_wc_status status);

/** The name of an AETH syndrome: "ACK", "RNR_NAK", "NAK_SEQ" ... [IBA 9.7.5.2.8]. */
const char *name_of_aeth(uint8_t syndrome);

#endif /* TEST_UNIT_TRANSPORT_NAMES_H */
