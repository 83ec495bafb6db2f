/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CAPTURE_H
#define PERF_CAPTURE_H

/**
 * @file
 * Writes the frames that a port receives to a pcap file. A capture works with any driver, because
 * frames are written as the driver delivers them. Transmitted frames are not captured, because a
 * frame that the driver rejects is passed to it again and would appear twice. The peer's capture
 * has the transmitted frames.
 */

/**
 * Open the capture file. Ports are added later, by capture_add_port().
 * @return 0, or -1 after one line on stderr
 */
int capture_open(const char *path);

/**
 * Capture the frames that a started port receives from now on. Without capture_open() the function
 * does nothing.
 */
int capture_add_port(const char *port_name);

/**
 * Write the buffered records to the capture file. All threads must have stopped polling the ports.
 */
void capture_close(void);

#endif /* PERF_CAPTURE_H */
