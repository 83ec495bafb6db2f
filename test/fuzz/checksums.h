/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUZZ_CHECKSUMS_H
#define TEST_FUZZ_CHECKSUMS_H

/**
 * Valid checksums for frames of a fuzzer. A fuzzer would rarely find a valid checksum by mutation,
 * and the tested code drops frames with wrong checksums.
 */

#include <stdint.h>

/**
 * Set the checksums of IPv4, ICMP, IGMP and ICMPv6 in a frame, if the length fields of the frame
 * allow that. An MLD message may be behind a hop-by-hop header, which has the option Router Alert.
 */
void checksums_mend(uint8_t *frame, uint32_t len);

#endif /* TEST_FUZZ_CHECKSUMS_H */
