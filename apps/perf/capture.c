/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes captures as classic pcap files with nanosecond timestamps and Ethernet frames. The threads
 * that poll the ports write the records; in loopback there are two such threads. The lock of stdio
 * keeps records of different threads apart.
 */

#include "capture.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define SNAP_LEN      65535u
#define LINK_ETHERNET 1u

struct file_head {
	/*
	 * magic number of a pcap file: it means that timestamps are in nanoseconds, and shows the
	 * byte order of the file
	 */
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy;
	uint32_t snap_len;
	uint32_t link;
};

struct record_head {
	uint32_t s, ns;
	uint32_t kept_len;
	uint32_t frame_len;
};

static FILE *file;

int
capture_open(const char *path)
{
	const struct file_head head = { .magic = 0xa1b23c4d,
					.major = 2,
					.minor = 4,
					.snap_len = SNAP_LEN,
					.link = LINK_ETHERNET };

	file = fopen(path, "wb");
	if (file != NULL && fwrite(&head, sizeof(head), 1, file) == 1)
		return 0;
	fprintf(stderr, "uroce-perf: --capture %s: %s; allowed: a file that can be written\n", path,
		strerror(errno));
	return -1;
}

static void
write_frame(const struct rte_mbuf *frame, const struct timespec *now)
{
	struct record_head head = { .s = (uint32_t)now->tv_sec,
				    .ns = (uint32_t)now->tv_nsec,
				    .kept_len = frame->pkt_len,
				    .frame_len = frame->pkt_len };

	flockfile(file);
	fwrite(&head, sizeof(head), 1, file);
	for (; frame != NULL; frame = frame->next)
		fwrite(rte_pktmbuf_mtod(frame, const void *), frame->data_len, 1, file);
	funlockfile(file);
}

static uint16_t
on_receive(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t nb, uint16_t max,
	   void *arg)
{
	struct timespec now;

	(void)port, (void)queue, (void)max, (void)arg;
	if (nb == 0)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	for (uint16_t i = 0; i < nb; i++)
		write_frame(frames[i], &now);
	return nb;
}

int
capture_add_port(const char *port_name)
{
	struct rte_eth_dev_info info;
	uint16_t port;

	if (file == NULL)
		return 0;
	if (rte_eth_dev_get_port_by_name(port_name, &port) != 0 ||
	    rte_eth_dev_info_get(port, &info) != 0) {
		fprintf(stderr,
			"uroce-perf: --capture: %s is not one of DPDK's ports, which this option "
			"needs: allowed are ports of the EAL options\n",
			port_name);
		return -1;
	}
	for (uint16_t queue = 0; queue < info.nb_rx_queues; queue++) {
		if (rte_eth_add_rx_callback(port, queue, on_receive, NULL) == NULL) {
			fprintf(stderr, "uroce-perf: --capture: port %s: %s\n", port_name,
				rte_strerror(rte_errno));
			return -1;
		}
	}
	return 0;
}

void
capture_close(void)
{
	if (file == NULL)
		return;
	if (fclose(file) != 0)
		fprintf(stderr, "uroce-perf: --capture: %s\n", strerror(errno));
	file = NULL;
}
