/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_CAPTURE_H
#define BADWIRE_CAPTURE_H

/**
 * @file
 * What came from the ends, as a capture, and what was done to it, as text beside it.
 *
 * FILE has each frame as it came, before any fault. FILE.verdicts has a line for each, `INDEX
 * DIRECTION VERDICT`: the first frame has index 1, as Wireshark counts; the verdict is pass,
 * drop, duplicate, corrupt, delay or reorder. Both are whole when the capture is ended.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "direction.h"
#include "fault.h"
#include "reason.h"

#define CAPTURE_PATH_MAX 4096

struct capture {
	struct pcap *kind; /* NULL: nothing is captured, and the rest means nothing */
	struct pcap_dumper *frames;
	FILE *verdicts;
	uint64_t nb;
	char path[CAPTURE_PATH_MAX];
};

/** Begin a capture; one that was under way is ended. @return false: nothing has changed */
bool capture_begin(struct capture *capture, const char *path, struct reason *why);

/** End it, if there is one. @return false: its files are not whole */
bool capture_end(struct capture *capture, struct reason *why);

/** Write a frame as it came. */
void capture_frame(struct capture *capture, const uint8_t *frame, uint32_t len);

/** Write what is done to the frame that was written last. */
void capture_verdict(struct capture *capture, enum direction direction, enum fault fault);

#endif /* BADWIRE_CAPTURE_H */
