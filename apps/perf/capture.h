/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CAPTURE_H
#define PERF_CAPTURE_H

/**
 * @file
 * Frames of a port to a pcap file, on any driver: what the port receives is written as it comes out
 * of the driver. What it sends is not, for a frame that the driver had no room for is offered again
 * and would be seen twice; the other side's capture has it.
 */

/**
 * Open the file; ports are added later.
 * @return 0, or -1 after one line on stderr
 */
int capture_open(const char *path);

/** Write what a started port receives from now on; no capture_open(): nothing. */
int capture_add_port(const char *port_name);

/** Write out what is buffered. Ports must have stopped being polled. */
void capture_close(void);

#endif /* PERF_CAPTURE_H */
