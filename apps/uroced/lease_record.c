/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Writes and reads the records of leases, which are in a mapped file. Each store is a release, so
 * no store becomes visible before an earlier one. If a process is killed between two stores, its
 * record marks the block of QP numbers as held by nobody.
 */

#include "lease_record.h"

void
lease_record_hold(struct lease_record *record, uint32_t uid, uint64_t token)
{
	lease_record_release(record);
	atomic_store_explicit(&record->token, token, memory_order_release);
	atomic_store_explicit(&record->holder, (uint64_t)uid << 32 | LEASE_RECORD_HELD,
			      memory_order_release);
}

void
lease_record_release(struct lease_record *record)
{
	atomic_store_explicit(&record->holder, 0, memory_order_release);
}

bool
lease_record_is_held(const struct lease_record *record, uint32_t *uid)
{
	const uint64_t holder = atomic_load_explicit(&record->holder, memory_order_acquire);

	*uid = (uint32_t)(holder >> 32);
	return (uint32_t)holder == LEASE_RECORD_HELD;
}

bool
lease_record_is_of(const struct lease_record *record, uint32_t uid, uint64_t token)
{
	uint32_t holder_uid;

	return lease_record_is_held(record, &holder_uid) && holder_uid == uid &&
	       atomic_load_explicit(&record->token, memory_order_relaxed) == token;
}
