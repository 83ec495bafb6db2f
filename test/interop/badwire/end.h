/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_END_H
#define BADWIRE_END_H

/**
 * @file
 * An end of the wire: a network interface and its raw socket. The end receives all frames that
 * arrive at the interface from outside, and no frames that this host sends.
 *
 * Frames are passed on as they are, without offloads. So a sender must complete the checksums and
 * the segmentation that its kernel would leave to a device (ethtool -K ... tx off).
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "reason.h"

#define END_BURST 64

struct frame {
	/* the bytes of the frame, from its Ethernet header on, with the 802.1Q tag */
	uint8_t *bytes;
	uint32_t len;
};

struct end {
	const char *name;
	unsigned index; /* index of the interface */
	int fd;
	uint8_t *room;                 /* memory for a burst of frames */
	struct frame burst[END_BURST]; /* the latest burst, valid until the next end_receive() */
	struct iovec out[END_BURST];   /* frames that end_put() has queued for end_flush() */
	unsigned nb_out;
	/* result of the latest read of the interface's counter of dropped frames */
	uint32_t tx_dropped;
	uint64_t nb_sent;
	/* frames that the kernel refused: too long, link down, or queue full */
	uint64_t nb_unsent;
	/* frames that the interface dropped, as a tap does if its reader is slow */
	uint64_t nb_dropped;
	/* received frames that were lost: no room in the socket, or too long */
	uint64_t nb_overflow;
};

/**
 * Open the raw socket of an interface.
 * @return false: `why` has the reason, and nothing is open
 */
bool end_open(struct end *end, const char *name, struct reason *why);

void end_close(struct end *end);

/**
 * Whether the interface still exists. It may have been removed, and another one may have its name.
 */
bool end_is_there(const struct end *end);

/**
 * Receive the frames that have arrived into `end->burst`.
 * @return number of frames, which may be 0
 */
unsigned end_receive(struct end *end);

/** Queue a frame for end_flush(). The bytes of the frame must not change before end_flush(). */
void end_put(struct end *end, uint8_t *bytes, uint32_t len);

/** Send the frames that end_put() has queued. */
void end_flush(struct end *end);

/** Read the counters of lost frames, and update `end->nb_dropped` and `end->nb_overflow`. */
void end_count_losses(struct end *end);

#endif /* BADWIRE_END_H */
