/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_MEM_STREAM_H
#define TEST_UNIT_MEM_STREAM_H

/**
 * @file
 * An oracle for streams of data with block signatures. It is independent of lib/mem: it computes
 * CRCs bit by bit, and a stream as a whole.
 */

#include <stdint.h>

#include "mem/sig.h"

/**
 * Write `len` bytes of data and their signatures to `out`.
 * @param domain  the format of the signatures
 * @return the number of bytes written
 */
uint32_t stream_make(const struct uroce_sig_domain *domain, const uint8_t *data, uint32_t len,
		     uint8_t *out);

#endif /* TEST_UNIT_MEM_STREAM_H */
