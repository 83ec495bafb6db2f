/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_TRANSPORT_RECOVERY_PAIR_H
#define TEST_TRANSPORT_RECOVERY_PAIR_H

/**
 * @file
 * Two QPs for tests of loss recovery, with a path MTU of RECOVERY_MTU bytes. Host A sends. The
 * teardown function is close_pair().
 */

#include "rc.h"

#define RECOVERY_MTU 256

/** Setup function: host B has a reorder buffer. */
int recovery_open_holding(void **state);

/** Setup function: host B drops packets that arrive out of order (go-back-N). */
int recovery_open_dropping(void **state);

/** Setup function: host B has a reorder buffer, and the window has 8 packets. */
int recovery_open_narrow(void **state);

/** Post a WRITE of A that has this number of packets. */
void recovery_write(uint32_t nb);

/**
 * Run until nothing is in flight. Check that the memory of B equals that of A, and that there was
 * no ACK timeout.
 * @return the number of packets that A has retransmitted so far
 */
uint64_t recovery_run(void);

/** Lose a packet, so that the requester finds out that the peer is go-back-N. */
void recovery_find_out(void);

#endif /* TEST_TRANSPORT_RECOVERY_PAIR_H */
