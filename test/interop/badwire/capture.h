/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BADWIRE_CAPTURE_H
#define BADWIRE_CAPTURE_H

/**
 * @file
 * A capture of the received frames, and a text file of the faults that were applied to them. FILE
 * has each frame as it was received, before a fault is applied. FILE.verdicts has a line for each
 * frame: `INDEX DIRECTION VERDICT`. The first frame has index 1, as in Wireshark. The verdict is
 * pass, drop, duplicate, corrupt, delay or reorder. Both files are complete when the capture has
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
	/*
	 * libpcap handle of the capture; NULL: there is no capture, and the other fields have no
	 * meaning
	 */
	struct pcap *kind;
	struct pcap_dumper *frames;
	FILE *verdicts;
	uint64_t nb;
	char path[CAPTURE_PATH_MAX];
};

/**
 * Begin a capture, and end the previous capture, if there is one.
 * @return false: the capture has not begun, and the previous one continues
 */
bool capture_begin(struct capture *capture, const char *path, struct reason *why);

/**
 * End the capture, if there is one.
 * @return false: the files of the capture are not complete
 */
bool capture_end(struct capture *capture, struct reason *why);

/** Write a frame to the capture, as it was received. */
void capture_frame(struct capture *capture, const uint8_t *frame, uint32_t len);

/** Write the verdict of the frame that was written last. */
void capture_verdict(struct capture *capture, enum direction direction, enum fault fault);

#endif /* BADWIRE_CAPTURE_H */
