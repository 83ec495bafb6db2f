/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_BASE_TOKEN_BUCKET_H
#define UROCE_BASE_TOKEN_BUCKET_H

/**
 * @file
 * A token bucket limits the rate of an event, and lets short bursts pass. Each event takes a token.
 * If the bucket is empty, the event exceeds the limit. Tokens are added at a constant rate until
 * the bucket is full.
 *
 * The state of a bucket is a time instead of a number of tokens, as in the generic cell rate
 * algorithm [ITU-T I.371]: the time at which the bucket will be full, if no further token is taken.
 *
 * The caller passes the time, which must not go back. One thread at a time uses a bucket.
 */

#include <stdbool.h>
#include <stdint.h>

struct uroce_token_bucket {
	/* Time at which the bucket is full if no further token is taken; 0: the bucket is full. */
	uint64_t full_ns;
};

/**
 * Take a token from a bucket.
 * @param depth  number of tokens in a full bucket, at least 1
 * @param interval_ns  time after which a token is added
 * @return whether the bucket had a token
 */
static inline bool
uroce_token_bucket_take(struct uroce_token_bucket *bucket, unsigned depth, uint64_t interval_ns,
			uint64_t now_ns)
{
	const uint64_t full_ns = bucket->full_ns > now_ns ? bucket->full_ns : now_ns;

	if (full_ns - now_ns > (depth - 1) * interval_ns)
		return false;
	bucket->full_ns = full_ns + interval_ns;
	return true;
}

#endif /* UROCE_BASE_TOKEN_BUCKET_H */
