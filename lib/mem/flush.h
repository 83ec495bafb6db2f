/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_FLUSH_H
#define UROCE_MEM_FLUSH_H

/**
 * @file
 * What a peer's FLUSH asks for [IBA A19]: that its writes before it are globally visible, or persistent.
 *
 * Payload is placed by this CPU, so it is visible to all of them in order; a fence is all that is left
 * to do. For persistence the range's cache lines are written back; whether memory behind them keeps
 * what it gets is known to who registered it with IBV_ACCESS_FLUSH_PERSISTENT.
 */

#include <stdbool.h>
#include <stdint.h>

/** Flush `len` bytes at `addr`. */
void uroce_mem_flush(const void *addr, uint64_t len, bool is_persistent);

#endif /* UROCE_MEM_FLUSH_H */
