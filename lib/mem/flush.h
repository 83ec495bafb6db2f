/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_FLUSH_H
#define UROCE_MEM_FLUSH_H

/**
 * @file
 * The effect of a peer's FLUSH [IBA A19]: it makes the peer's earlier writes globally visible, or
 * persistent.
 *
 * The payload of packets is stored by this CPU, so a memory fence is enough for visibility. For
 * persistence the cache lines of the range are written back. Whether the memory is persistent is
 * known only to the program that registered it with IBV_ACCESS_FLUSH_PERSISTENT.
 */

#include <stdbool.h>
#include <stdint.h>

/** Flush `len` bytes at `addr`: make them visible, or persistent if `is_persistent` is set. */
void uroce_mem_flush(const void *addr, uint64_t len, bool is_persistent);

#endif /* UROCE_MEM_FLUSH_H */
