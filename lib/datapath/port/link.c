/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The link of a port.
 *
 * memif has two special requirements. A client that finds no server, or is refused because the
 * server is not up yet, must be restarted by the library. And each new link has new memory for its
 * rings. Until each page of this memory has been used once, every frame would cause a page fault.
 * So all pages are populated when the link comes up.
 */

#include "datapath/dpdk.h"

#include "datapath/port/link.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <rte_cycles.h>
#include <rte_common.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include "datapath/clock.h"
#include "datapath/intr_call.h"
#include "datapath/log.h"
#include "datapath/madvise.h"
#include "datapath/port/memif_socket.h"
#include "datapath/udp/udp_port.h"

/* Maximum time in ns to wait for the reply of a memif server. */
#define ANSWER_NS UINT64_C(60000000000)

/*
 * Maximum time in ns to wait for the link of a NIC that was started, and the time in us between two
 * checks. The negotiation of 1000BASE-T takes up to 4 s.
 */
#define LINK_UP_NS   UINT64_C(5000000000)
#define LINK_WAIT_US 1000u

/* Name that the memif driver gives to the shared memory of its rings. */
#define MEMIF_REGION "memfd:memif_region"

/*
 * Maximum length in bytes of the ring memory that is populated. The memif peer determines the size
 * of this memory, and is not trusted. The maximum is many times the size of usual rings. Further
 * pages are populated by page faults.
 */
#define POPULATE_MAX ((uintptr_t)256 << 20)

/*
 * Populate the pages of a memif port's rings, because a page fault for each frame would cost some
 * microseconds.
 */
static void
populate_rings(const struct uroce_port *port)
{
	FILE *maps = port->policy->has_peer ? fopen("/proc/self/maps", "re") : NULL;
	char line[512];
	uintptr_t begin, end, left = POPULATE_MAX;

	while (maps && left > 0 && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, MEMIF_REGION) ||
		    sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2)
			continue;
		const uintptr_t len = RTE_MIN(end - begin, left);

		(void)uroce_madvise((void *)begin, len, MADV_POPULATE_WRITE);
		left -= len;
	}
	if (maps)
		fclose(maps);
}

static void
on_link_up(struct uroce_port *port)
{
	atomic_store(&port->has_been_up, true);
	populate_rings(port);
}

void
uroce_link_set(struct uroce_port *port, bool is_up)
{
	const bool was_up = atomic_exchange(&port->is_up, is_up);

	if (was_up == is_up)
		return;
	if (is_up)
		on_link_up(port);
	else
		atomic_fetch_add_explicit(&port->nb_downs, 1, memory_order_relaxed);
	UROCE_LOG(INFO, port, "%s: link is %s", port->name, is_up ? "up" : "down");
	uroce_event_push(port->events, is_up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, NULL);
}

/* Handle the removal of the port. Drivers and buses may report a removal several times. */
static void
set_gone(struct uroce_port *port)
{
	if (atomic_exchange(&port->is_gone, true))
		return;
	UROCE_LOG(WARNING, port, "%s: the port was removed", port->name);
	uroce_link_set(port, false);
	uroce_event_push(port->events, IBV_EVENT_DEVICE_FATAL, NULL);
}

/*
 * Handle the driver's request for a reset: report the port as failed. The library does not reset
 * its ports. If the DPDK application resets a port that it has handed over, the link check finds
 * that the link is up again.
 */
static void
set_reset(struct uroce_port *port)
{
	UROCE_LOG(WARNING, port, "%s: the driver asks for a reset", port->name);
	uroce_link_set(port, false);
	uroce_event_push(port->events, IBV_EVENT_DEVICE_FATAL, NULL);
}

static bool
is_link_up(struct uroce_port *port)
{
	struct rte_eth_link link;

	if (port->udp)
		return uroce_udp_port_is_up(port);
	if (!uroce_port_is_ready(port) || rte_eth_link_get_nowait(port->id, &link) < 0 ||
	    link.link_status != RTE_ETH_LINK_UP)
		return false;
	return port->netif.if_index == 0 || uroce_netif_is_up(&port->netif) > 0;
}

void
uroce_link_check(struct uroce_port *port)
{
	bool is_up;

	if (uroce_port_is_gone(port) || port->mux_client)
		return;
	is_up = is_link_up(port);
	/* A store would take the cache line from all workers, which read it in each round. */
	if (is_up != uroce_port_is_up(port))
		uroce_link_set(port, is_up);
	/* The port may have been removed after is_link_up() has found that its link is up. */
	if (uroce_port_is_gone(port))
		uroce_link_set(port, false);
}

/*
 * Wait until the link of a NIC is up, because the start of the port begins its negotiation. Programs
 * look at the state of the port immediately after they have opened the device, and many give up if
 * the port is down.
 */
static void
await_link(struct uroce_port *port)
{
	const uint64_t until_ns = uroce_clock_ns() + LINK_UP_NS;

	while (!is_link_up(port) && uroce_clock_ns() < until_ns)
		rte_delay_us_sleep(LINK_WAIT_US);
}

static bool
is_negotiating(const struct uroce_port *port)
{
	return uroce_port_is_ethdev(port) && port->is_started && !port->policy->is_virtual;
}

/* Handle an ethdev event of the port. EAL's interrupt thread calls this function. */
static int
on_port_event(uint16_t port_id, enum rte_eth_event_type type, void *arg, void *ret_param)
{
	struct uroce_port *port = arg;

	(void)port_id;
	(void)ret_param;
	if (type == RTE_ETH_EVENT_INTR_RMV)
		set_gone(port);
	else if (type == RTE_ETH_EVENT_INTR_RESET)
		set_reset(port);
	else
		uroce_link_check(port);
	return 0;
}

/*
 * Handle an event of the device of the port. EAL's interrupt thread calls this function. Most
 * drivers do not report the removal of their device, but the PCI bus does: the kernel module
 * vfio-pci asks the process to release the device.
 */
static void
on_device_event(const char *device_name, enum rte_dev_event_type type, void *arg)
{
	(void)device_name;
	if (type == RTE_DEV_EVENT_REMOVE)
		set_gone(arg);
}

/*
 * Watch the device of the port. The name of the device is kept, because the driver forgets the
 * device when the port is closed.
 */
static void
watch_device(struct uroce_port *port)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port->id, &info) < 0 || !info.device)
		return;
	(void)snprintf(port->device_name, sizeof(port->device_name), "%s",
		       rte_dev_name(info.device));
	(void)rte_dev_event_callback_register(port->device_name, on_device_event, port);
}

static const enum rte_eth_event_type watched[] = {
	RTE_ETH_EVENT_INTR_LSC,
	RTE_ETH_EVENT_INTR_RMV,
	RTE_ETH_EVENT_INTR_RESET,
};

void
uroce_link_watch(struct uroce_port *port)
{
	if (is_negotiating(port))
		await_link(port);
	atomic_store(&port->is_up, is_link_up(port));
	if (uroce_port_is_up(port))
		on_link_up(port);
	if (!uroce_port_is_ethdev(port))
		return;
	for (unsigned i = 0; i < RTE_DIM(watched); i++)
		(void)rte_eth_dev_callback_register(port->id, watched[i], on_port_event, port);
	watch_device(port);
	port->has_callbacks = true;
}

void
uroce_link_unwatch(struct uroce_port *port)
{
	if (!port->has_callbacks)
		return;
	for (unsigned i = 0; i < RTE_DIM(watched); i++) {
		/*
		 * -EAGAIN means that the callback is running, so the loop tries once more to
		 * unregister it
		 */
		while (rte_eth_dev_callback_unregister(port->id, watched[i], on_port_event, port) ==
		       -EAGAIN)
			rte_delay_us_sleep(10);
	}
	while (rte_dev_event_callback_unregister(port->device_name, on_device_event, port) ==
	       -EAGAIN)
		rte_delay_us_sleep(10);
	port->has_callbacks = false;
}

/*
 * Whether the connection of a memif client still waits for the server's reply. Such a connection
 * must not be closed too early. If a server accepts a connection that was closed before the reply,
 * the server closes a descriptor that its EAL still watches, and EAL panics. So the connection is
 * kept for longer than a process can be starved of CPU time. A connection that the server has
 * refused is already closed.
 */
static bool
is_connecting(const struct uroce_port *port, uint64_t now_ns)
{
	return port->is_started && now_ns < port->restart_ns + ANSWER_NS &&
	       uroce_memif_socket_is_connected(port);
}

bool
uroce_link_is_lost(const struct uroce_port *port, uint64_t now_ns)
{
	return port->is_client && !uroce_port_is_up(port) && !uroce_port_is_gone(port) &&
	       now_ns >= port->restart_ns && !is_connecting(port, now_ns);
}

/*
 * Restart a memif client. The driver's log line that no server listens is suppressed, because the
 * line was logged before.
 */
static void
start_quietly(void *arg)
{
	struct uroce_port *port = arg;
	const int type = rte_log_register("pmd.net.memif");
	const int level = type >= 0 ? rte_log_get_level((uint32_t)type) : -1;

	if (level >= 0)
		(void)rte_log_set_level((uint32_t)type, RTE_LOG_CRIT);
	if (port->is_started)
		(void)rte_eth_dev_stop(port->id);
	port->is_started = rte_eth_dev_start(port->id) == 0;
	atomic_store_explicit(&port->is_ready, port->is_started, memory_order_release);
	if (level >= 0)
		(void)rte_log_set_level((uint32_t)type, (uint32_t)level);
}

void
uroce_link_restart(struct uroce_port *port, uint64_t now_ns)
{
	port->restart_ns = now_ns + UROCE_LINK_RESTART_NS;
	uroce_intr_call_run(start_quietly, port);
}
