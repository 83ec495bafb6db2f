/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_CAPTURE_H
#define BADWIRE_CAPTURE_H

/**
 * @file
 * A capture of the received frames, and a text file of the faults that were applied to them.
 *
 * FILE has each frame as it was received, before any fault. FILE.verdicts has a line for each
 * frame: `INDEX DIRECTION VERDICT`. The first frame has index 1, as in Wireshark. The verdict is
 * pass, drop, duplicate, corrupt, delay or reorder. Both files are complete when the capture is
 * ended.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "direction.h"
#include "fault.h"
#include "reason.h"

#define CAPTURE_PATH_MAX 4096

struct capture {
	struct pcap *kind; /* NULL: no capture, and the other fields have no meaning */
	struct pcap_dumper *frames;
	FILE *verdicts;
	uint64_t nb;
	char path[CAPTURE_PATH_MAX];
};

/**
 * Begin a capture; a previous one is ended.
 * @return false: nothing has changed
 */
bool capture_begin(struct capture *capture, const char *path, struct reason *why);

/**
 * End the capture, if there is one.
 * @return false: its files are not complete
 */
bool capture_end(struct capture *capture, struct reason *why);

/** Write a frame as it was received. */
void capture_frame(struct capture *capture, const uint8_t *frame, uint32_t len);

/** Write the fault of the last written frame. */
void capture_verdict(struct capture *capture, enum direction direction, enum fault fault);

#endif /* BADWIRE_CAPTURE_H */
