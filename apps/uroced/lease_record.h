/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LEASE_RECORD_H
#define UROCED_LEASE_RECORD_H

/**
 * @file
 * The record of the last lease of a block of QP numbers: the user that holds the block, and the
 * token of the lease, which is a random number. Records are in a mapped file (lease_file.h).
 * Writing a record takes no system call, and the kernel keeps the written data if uroced is killed.
 *
 * A record consists of two 64-bit words. The writer first marks the block as held by nobody, then
 * writes the token, and writes the user last. So a record that was written in part marks the block
 * as held by nobody.
 *
 * The control thread writes and reads records.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lease_record {
	_Atomic uint64_t token;
	/*
	 * The user ID of the holder is in the upper half, and LEASE_RECORD_HELD in the lower half.
	 * Any other value of the lower half means that nobody holds the block of QP numbers.
	 */
	_Atomic uint64_t holder;
};

/**
 * Value of the lower half of lease_record.holder while a client holds the block of QP numbers, and
 * after this client has hung up, until the block is released.
 */
#define LEASE_RECORD_HELD UINT32_C(0x68656c64)

/** Mark a block of QP numbers as held by a user, with the token of the lease. */
void lease_record_hold(struct lease_record *record, uint32_t uid, uint64_t token);

/** Mark a block of QP numbers as held by nobody. */
void lease_record_release(struct lease_record *record);

/**
 * Check whether a block of QP numbers is held by a client, or was held by a client that has hung up
 * without releasing it.
 * @param[out] uid  the user of that client
 * @return false if nobody holds the block
 */
bool lease_record_is_held(const struct lease_record *record, uint32_t *uid);

/** Check whether the last lease of a block of QP numbers has this user and this token. */
bool lease_record_is_of(const struct lease_record *record, uint32_t uid, uint64_t token);

#endif /* UROCED_LEASE_RECORD_H */
