/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_MEM_STREAM_H
#define TEST_UNIT_MEM_STREAM_H

/**
 * @file
 * An oracle of signed streams, apart from lib/mem: sums a bit at a time, and all of a stream at once.
 */

#include <stdint.h>

#include "mem/sig.h"

/** The bytes of a side that carries `len` bytes of data, to `out`. @return how many */
uint32_t stream_make(const struct uroce_sig_domain *domain, const uint8_t *data, uint32_t len,
		     uint8_t *out);

#endif /* TEST_UNIT_MEM_STREAM_H */
