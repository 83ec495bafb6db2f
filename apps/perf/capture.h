/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CAPTURE_H
#define PERF_CAPTURE_H

/**
 * @file
 * Captures the received frames of a port to a pcap file, with any driver: frames are written as
 * they come out of the driver. Transmitted frames are not captured: a frame that the driver rejects
 * is passed to it again, and would appear twice. The peer's capture has the transmitted frames.
 */

/**
 * Open the file; ports are added later.
 * @return 0, or -1 after one line on stderr
 */
int capture_open(const char *path);

/** Capture what a started port receives from now on. Does nothing without capture_open(). */
int capture_add_port(const char *port_name);

/** Write buffered records to the file. No thread may poll a port any more. */
void capture_close(void);

#endif /* PERF_CAPTURE_H */
