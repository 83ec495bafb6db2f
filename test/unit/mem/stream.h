/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_MEM_STREAM_H
#define TEST_UNIT_MEM_STREAM_H

/**
 * @file
 * An oracle of signed streams, independent of lib/mem: it computes CRCs bit by bit, and a whole
 * stream at once.
 */

#include <stdint.h>

#include "mem/sig.h"

/**
 * Write to `out` the bytes of a side that carries `len` bytes of data.
 * @return their number
 */
uint32_t stream_make(const struct uroce_sig_domain *domain, const uint8_t *data, uint32_t len,
		     uint8_t *out);

#endif /* TEST_UNIT_MEM_STREAM_H */
