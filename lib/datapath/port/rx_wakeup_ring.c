/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RX wake-ups of memif. A memif ring has an eventfd, and an interrupt mask in its first cache line
 * of shared memory. The receiver may clear the mask. Then the sender writes to the eventfd after
 * each burst. This is part of memif's protocol. The driver writes to the eventfd, and reads the
 * eventfd before it receives from an unmasked ring. But the driver has no call to clear the mask.
 * So this file clears the mask in a mapping of its own:
 *
 * - The eventfd is in the driver's record of the queue. The layout of the record is known for
 *   certain releases (dpdk.h). The pool and the port ID in the record are checked, and whether the
 *   descriptor is an eventfd.
 * - The memory is one of the memfds of the process: one that has a ring at the offset in the
 *   record.
 * - Each arming tests whether the ring and the eventfd are right: the mask is cleared, the eventfd
 *   is written, and the driver must read the eventfd in a receive of zero frames. If the ring is
 *   one of an earlier link, the driver does not read the eventfd.
 *
 * The mapping and the duplicate of the eventfd belong to this file. So the driver may unmap its
 * mapping and close its eventfd at any time.
 */

#include "datapath/dpdk.h"
#include "datapath/port/rx_wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>

#include "datapath/intr_call.h"
#include "datapath/fds.h"
#include "datapath/port/fault_guard.h"
#include "datapath/port/port.h"

#define PAGE 4096u

/* The beginning of a memif ring in shared memory (memif protocol, version 2). */
struct ring {
	uint32_t cookie;
	_Atomic uint16_t flags;
};

#define COOKIE     0x3e31f20u
#define FLAGS_OPEN 0u
#define FLAGS_MASK 1u

/* The beginning of the memif driver's record of a queue. */
struct memif_queue {
	const struct rte_mempool *pool;
	void *pmd;
	int type;
	uint16_t region;
	uint16_t port_id;
	uint32_t ring_offset;
	uint16_t last_head, last_tail;
	void *buffers;
	uint64_t nb_packets, nb_bytes;
	/* interrupt handle, perhaps behind a count of errors: see uroce_dpdk_memif_handle() */
	uint64_t handle[2];
};

/*
 * A search for the memif rings of a queue. The search runs in the interrupt thread, where the
 * driver also closes the rings.
 */
struct search {
	const struct uroce_port *port;
	uint16_t queue;
	int event_fd; /* duplicate of the eventfd of the ring; -1: the eventfd was not found */
	uint32_t ring_offset;
	unsigned nb; /* number of pages in `page`; each of them may contain the memif ring */
	void *page[8];
};

static bool
is_page_of_ring(const uint8_t *page, uint32_t ring_offset)
{
	const struct ring *ring = (const struct ring *)(page + ring_offset % PAGE);

	return uroce_fault_guard_is(&ring->cookie, COOKIE);
}

static void
map_rings(struct search *search)
{
	const off_t offset = search->ring_offset / PAGE * PAGE;
	struct uroce_fds fds;
	int fd;

	uroce_fds_begin(&fds);
	while (search->nb < RTE_DIM(search->page) && (fd = uroce_fds_next(&fds)) >= 0) {
		void *page;

		if (!uroce_fds_is(fd, "/memfd:memif"))
			continue;
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
		if (page == MAP_FAILED)
			continue;
		if (is_page_of_ring(page, search->ring_offset))
			search->page[search->nb++] = page;
		else
			munmap(page, PAGE);
	}
	uroce_fds_end(&fds);
}

static void
search_rings(void *arg)
{
	struct search *search = arg;
	const uint16_t id = search->port->id;
	const struct memif_queue *record = rte_eth_fp_ops[id].rxq.data[search->queue];
	const struct rte_intr_handle *handle;
	int fd;

	if (!record || record->pool != search->port->pool[search->queue] || record->port_id != id)
		return;
	handle = uroce_dpdk_memif_handle(record->handle);
	if (!handle)
		return;
	fd = rte_intr_fd_get(handle);
	/*
	 * Accept only a non-blocking eventfd, because the driver reads the eventfd and must not
	 * sleep.
	 */
	if (fd < 0 || !uroce_fds_is(fd, "anon_inode:[eventfd]") ||
	    !(fcntl(fd, F_GETFL) & O_NONBLOCK))
		return;
	/*
	 * The memif peer determines the offset of the ring in the shared memory, so the offset must
	 * be checked.
	 */
	search->ring_offset = record->ring_offset;
	if (search->ring_offset % RTE_CACHE_LINE_MIN_SIZE != 0)
		return;
	search->event_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (search->event_fd >= 0)
		map_rings(search);
}

/*
 * Clear the interrupt mask of a memif ring, write to its eventfd, and check whether the driver
 * reads the eventfd.
 * @param[out] was  previous value of the mask; may be NULL
 * @return whether the driver has read the eventfd
 */
static bool
is_opened(const struct uroce_rx_wakeup *wakeup, uint16_t port_id, uint16_t queue, uint16_t *was)
{
	struct rte_mbuf *none[1];
	eventfd_t count;

	if (!uroce_fault_guard_swap(wakeup->flags, FLAGS_OPEN, was) ||
	    eventfd_write(wakeup->fd, 1) < 0)
		return false;
	(void)uroce_fault_guard_rx(port_id, queue, none, 0);
	return eventfd_read(wakeup->fd, &count) < 0 && errno == EAGAIN;
}

static _Atomic uint16_t *
get_ring_flags(void *page, uint32_t ring_offset)
{
	return &((struct ring *)((uint8_t *)page + ring_offset % PAGE))->flags;
}

static void *
get_ring_page(_Atomic uint16_t *flags)
{
	return (void *)((uintptr_t)flags / PAGE * PAGE);
}

static bool
find_ring(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port, uint16_t queue)
{
	struct search search = { .port = port, .queue = queue, .event_fd = -1 };

	if (!uroce_dpdk_knows_memif())
		return false;
	uroce_intr_call_run(search_rings, &search);
	wakeup->fd = search.event_fd;
	for (unsigned i = 0; i < search.nb; i++) {
		uint16_t was = FLAGS_MASK;

		if (!wakeup->flags) {
			wakeup->flags = get_ring_flags(search.page[i], search.ring_offset);
			if (is_opened(wakeup, port->id, queue, &was))
				continue;
			/*
			 * If the driver does not read the eventfd, the page is the ring of another
			 * port. The RX wake-up of that port may be armed, so the mask of the ring
			 * is restored.
			 */
			(void)uroce_fault_guard_swap(wakeup->flags, was, NULL);
			wakeup->flags = NULL;
		}
		munmap(search.page[i], PAGE);
	}
	if (!wakeup->flags && wakeup->fd >= 0) {
		close(wakeup->fd);
		wakeup->fd = -1;
	}
	return wakeup->flags;
}

bool
uroce_rx_wakeup_open_ring(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
			  uint16_t queue)
{
	if (wakeup->flags && is_opened(wakeup, port->id, queue, NULL))
		return true;
	uroce_rx_wakeup_drop_ring(wakeup);
	return find_ring(wakeup, port, queue);
}

void
uroce_rx_wakeup_shut_ring(struct uroce_rx_wakeup *wakeup)
{
	if (wakeup->flags)
		(void)uroce_fault_guard_swap(wakeup->flags, FLAGS_MASK, NULL);
}

void
uroce_rx_wakeup_drop_ring(struct uroce_rx_wakeup *wakeup)
{
	if (!wakeup->flags)
		return;
	uroce_rx_wakeup_shut_ring(wakeup);
	munmap(get_ring_page(wakeup->flags), PAGE);
	close(wakeup->fd);
	*wakeup = (struct uroce_rx_wakeup){ .fd = -1 };
}
