/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_END_H
#define BADWIRE_END_H

/**
 * @file
 * An end of the wire: a network interface, by a raw socket. It takes what comes to the interface
 * from outside, promiscuously, and never what this host sends by it.
 *
 * A frame is bytes: no offload is asked for, so that what the kernel would still have to fill in,
 * or to cut into pieces, must be off at who sends (ethtool -K ... tx off).
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "reason.h"

#define END_BURST 64

struct frame {
	uint8_t *bytes; /* from the Ethernet header, a tag of 802.1Q in its place */
	uint32_t len;
};

struct end {
	const char *name;
	unsigned index; /* of the interface */
	int fd;
	uint8_t *room;                 /* for a burst */
	struct frame burst[END_BURST]; /* the last one received: until the next */
	struct iovec out[END_BURST];   /* put, and not sent so far */
	unsigned nb_out;
	uint32_t tx_dropped; /* of the interface, when it was looked at last */
	uint64_t nb_sent;
	uint64_t nb_unsent;   /* refused by the kernel: too long, interface down, its queue full */
	uint64_t nb_dropped;  /* sent, and dropped by the interface: a tap whose reader is slow */
	uint64_t nb_overflow; /* lost here, because we were too slow; or longer than any frame */
};

/** @return false: `why` says it, and nothing is open */
bool end_open(struct end *end, const char *name, struct reason *why);

void end_close(struct end *end);

/** Whether the interface is there: it may go away under us, and another one have its name. */
bool end_is_there(const struct end *end);

/** Take what has come: into `end->burst`. @return how many, 0 when nothing has */
unsigned end_receive(struct end *end);

/** Send a frame, with others: its bytes stay as they are until end_flush(). */
void end_put(struct end *end, uint8_t *bytes, uint32_t len);

/** Send what was put. */
void end_flush(struct end *end);

/** Bring `end->nb_dropped` and `end->nb_overflow` up to date. */
void end_count_losses(struct end *end);

#endif /* BADWIRE_END_H */
