/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUZZ_CHECKSUMS_H
#define TEST_FUZZ_CHECKSUMS_H

/**
 * @file
 * Checksums of generated frames. A fuzzer would not find valid ones, and the code to test is behind
 * their check.
 */

#include <stdint.h>

/**
 * Set the checksums of IPv4, ICMP, IGMP, ICMPv6, and of MLD behind the option Router Alert, where
 * the frame's lengths allow it.
 */
void checksums_mend(uint8_t *frame, uint32_t len);

#endif /* TEST_FUZZ_CHECKSUMS_H */
