/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_END_H
#define BADWIRE_END_H

/**
 * @file
 * An end of the wire: a network interface, used by a raw socket. It receives all frames that arrive
 * at the interface from outside, and never those that this host sends.
 *
 * A frame is bytes, without offloads. So checksums and segmentation that the kernel would leave to
 * a device must be off at the sender (ethtool -K ... tx off).
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "reason.h"

#define END_BURST 64

struct frame {
	/* the frame from its Ethernet header on, with the 802.1Q tag in its place */
	uint8_t *bytes;
	uint32_t len;
};

struct end {
	const char *name;
	unsigned index; /* index of the interface */
	int fd;
	uint8_t *room;                 /* memory for a burst of frames */
	struct frame burst[END_BURST]; /* the last received burst, valid until the next one */
	struct iovec out[END_BURST];   /* frames to be sent by end_flush() */
	unsigned nb_out;
	uint32_t tx_dropped; /* counter of the interface at the last query */
	uint64_t nb_sent;
	uint64_t nb_unsent;   /* refused by the kernel: too long, interface down, or queue full */
	uint64_t nb_dropped;  /* sent, and dropped by the interface: a tap whose reader is slow */
	uint64_t nb_overflow; /* lost because this program was too slow, or too long */
};

/**
 * Open an interface.
 * @return false: `why` has the reason, and nothing is open
 */
bool end_open(struct end *end, const char *name, struct reason *why);

void end_close(struct end *end);

/** Whether the interface still exists: it may be removed, and another one may get its name. */
bool end_is_there(const struct end *end);

/**
 * Receive frames into `end->burst`.
 * @return number of frames, which may be 0
 */
unsigned end_receive(struct end *end);

/** Queue a frame for end_flush(): its bytes must not change before. */
void end_put(struct end *end, uint8_t *bytes, uint32_t len);

/** Send the queued frames. */
void end_flush(struct end *end);

/** Update `end->nb_dropped` and `end->nb_overflow`. */
void end_count_losses(struct end *end);

#endif /* BADWIRE_END_H */
