/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LEASE_RECORD_H
#define UROCED_LEASE_RECORD_H

/**
 * @file
 * What outlives uroced of a lease: which user holds a block, and the ticket that its client was given, a random number.
 * Records lie in a file that is mapped (lease_file.h), so to write one takes no system call, and the kernel has it
 * when uroced is killed. The last lease of a block is the only one that its record knows.
 *
 * A record is written in two words. The writer marks it as nobody's first and as somebody's last, so one that
 * was left half written is nobody's.
 *
 * The control thread writes and reads.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lease_record {
	_Atomic uint64_t token;
	_Atomic uint64_t holder; /* user in the upper half; LEASE_RECORD_HELD, or else nobody */
};

/** The lower half of `holder` while somebody holds the block, and after he hung up. */
#define LEASE_RECORD_HELD UINT32_C(0x68656c64)

/** Somebody holds it from now on. */
void lease_record_hold(struct lease_record *record, uint32_t uid, uint64_t token);

/** Nobody does. */
void lease_record_release(struct lease_record *record);

/** @param[out] uid  of who holds it, or did so last and hung up. @return false: nobody does */
bool lease_record_is_held(const struct lease_record *record, uint32_t *uid);

/** Whether its last lease is this user's, and was given with this ticket. */
bool lease_record_is_of(const struct lease_record *record, uint32_t uid, uint64_t token);

#endif /* UROCED_LEASE_RECORD_H */
