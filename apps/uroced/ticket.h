/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_TICKET_H
#define UROCED_TICKET_H

/**
 * @file
 * Tickets: a keyed MAC (SipHash-2-4) of a block and of the number that its client drew for itself. Who shows
 * one has been given the block by a uroced that had the key, this one or one before it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ticket_key {
	uint8_t bytes[16];
};

/** SipHash-2-4 of some bytes [Aumasson, Bernstein: SipHash, 2012]. */
uint64_t ticket_siphash(const struct ticket_key *key, const void *data, size_t len);

uint64_t ticket_make(const struct ticket_key *key, uint32_t block, uint64_t number);

/**
 * The key that a file holds; drawn, and written there, when there is no such file. It is ours alone, and no link.
 * @param[out] is_new  it was drawn: no ticket can be out
 * @return NULL; else what is wrong
 */
const char *ticket_key_load(const char *path, struct ticket_key *key, bool *is_new);

#endif /* UROCED_TICKET_H */
