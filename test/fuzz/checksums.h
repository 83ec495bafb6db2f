/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUZZ_CHECKSUMS_H
#define TEST_FUZZ_CHECKSUMS_H

/**
 * @file
 * Checksums of made-up frames: no mutation finds them, and behind them is what a fuzzer wants to reach.
 */

#include <stdint.h>

/**
 * Make right what a frame has of these, where its lengths lead to them: that of IPv4, ICMP, IGMP, ICMPv6, and of MLD behind the
 * option Router Alert.
 */
void checksums_mend(uint8_t *frame, uint32_t len);

#endif /* TEST_FUZZ_CHECKSUMS_H */
