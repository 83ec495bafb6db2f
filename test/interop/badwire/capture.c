/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Writes captures. The time of a frame is the time at which this program reads it from its socket,
 * so times never decrease.
 */

#include "capture.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <string.h>
#include <sys/time.h>

#define SNAPLEN 262144 /* snapshot length in the file header; no frame is longer */

/*
 * Open the capture file and the file of the verdicts. If the second open fails, the first file
 * remains open.
 */
static bool
open_files(struct capture *capture, struct reason *why)
{
	char path[CAPTURE_PATH_MAX + sizeof(".verdicts")];

	capture->kind = pcap_open_dead(DLT_EN10MB, SNAPLEN);
	if (!capture->kind)
		return refuse(why, "%s: no memory for a capture", capture->path);
	capture->frames = pcap_dump_open(capture->kind, capture->path);
	if (!capture->frames)
		return refuse(why, "%s: allowed is a file that can be written",
			      pcap_geterr(capture->kind));
	(void)snprintf(path, sizeof(path), "%s.verdicts", capture->path);
	capture->verdicts = fopen(path, "we");
	return capture->verdicts ||
	       refuse(why, "%s: %s: allowed is a file that can be written", path, strerror(errno));
}

/* Close both files of a capture. @return whether all data is in the files */
static bool
close_files(struct capture *capture)
{
	bool is_whole = true;

	if (capture->frames) {
		is_whole = pcap_dump_flush(capture->frames) == 0;
		pcap_dump_close(capture->frames);
	}
	if (capture->verdicts) {
		is_whole &= !ferror(capture->verdicts);
		is_whole &= fclose(capture->verdicts) == 0;
	}
	if (capture->kind)
		pcap_close(capture->kind);
	capture->kind = NULL;
	return is_whole;
}

bool
capture_begin(struct capture *capture, const char *path, struct reason *why)
{
	struct capture begun = { .kind = NULL };

	if (path[0] == '\0' || strlen(path) >= sizeof(begun.path))
		return refuse(why, "pcap %s: no file: allowed are 1 to %zu characters, or off",
			      path, sizeof(begun.path) - 1);
	if (capture->kind && strcmp(path, capture->path) == 0)
		return refuse(why, "pcap %s: is being written: allowed after pcap off", path);
	(void)snprintf(begun.path, sizeof(begun.path), "%s", path);
	if (!open_files(&begun, why)) {
		(void)close_files(&begun);
		return false;
	}
	/* ignore an error of the previous capture, because this command begins a new capture */
	(void)capture_end(capture, why);
	*capture = begun;
	return true;
}

bool
capture_end(struct capture *capture, struct reason *why)
{
	if (!capture->kind || close_files(capture))
		return true;
	return refuse(why, "pcap %s: not all of it could be written: is there room?",
		      capture->path);
}

void
capture_frame(struct capture *capture, const uint8_t *frame, uint32_t len)
{
	struct pcap_pkthdr hdr = { .caplen = len, .len = len };

	if (!capture->kind)
		return;
	(void)gettimeofday(&hdr.ts, NULL);
	pcap_dump((u_char *)capture->frames, &hdr, frame);
	capture->nb++;
}

void
capture_verdict(struct capture *capture, enum direction direction, enum fault fault)
{
	if (capture->kind)
		fprintf(capture->verdicts, "%" PRIu64 " %s %s\n", capture->nb,
			direction_name(direction), fault_table[fault].name);
}
