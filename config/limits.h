/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_LIMITS_H
#define UROCE_LIMITS_H

/**
 * @file
 * Compile-time limits: what a worker or a device sets aside when it comes up. After that nothing is
 * allocated, so these bound what can be in flight, and they are a part of the memory that a device
 * costs. Change them here and build again.
 */

/**
 * QPs of a worker that may be serving READs and atomics at a time, in blocks of somewhat more than a KiB: memory is
 * touched only as far as it is used.
 */
#define UROCE_RD_BLOCKS 8192u

/** QPs of a worker that may miss a packet at a time: a KiB each, touched only as far as it is used. */
#define UROCE_REORDER_BUFFER_GAPS 1024u

/**
 * Frames that a worker keeps because they arrived ahead of a hole: some 100 bytes each, and as many
 * mbufs more in the worker's pool, so that what is kept is never missing where frames are received.
 * Two rings full: what a round trip of one port brings. Beyond it frames are dropped, as if lost.
 */
#define UROCE_REORDER_BUFFER_FRAMES 2048u

/** Memberships of QPs in multicast groups, for each device. */
#define UROCE_MCAST_MEMBERS 4096u

/** Shared receive queues of a device; of XRC: the numbers that there are. */
#define UROCE_XRC_SRQS 1024u

/** Frames on their way from one worker to another, for each worker; a power of two. */
#define UROCE_FORWARD_RING_LEN 1024u

#endif /* UROCE_LIMITS_H */
