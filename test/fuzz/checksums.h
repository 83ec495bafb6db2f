/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUZZ_CHECKSUMS_H
#define TEST_FUZZ_CHECKSUMS_H

/**
 * @file
 * Valid checksums for frames of a fuzzer. A fuzzer would rarely find a valid checksum, and the code
 * that is tested drops frames with wrong ones.
 */

#include <stdint.h>

/**
 * Set the checksums of IPv4, ICMP, IGMP and ICMPv6, if the lengths in the frame allow that. A
 * message of MLD may follow the option Router Alert.
 */
void checksums_mend(uint8_t *frame, uint32_t len);

#endif /* TEST_FUZZ_CHECKSUMS_H */
