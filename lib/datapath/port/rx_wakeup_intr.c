/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RX wake-ups of NICs: receive interrupts. The kernel module vfio-pci writes to an eventfd when the
 * interrupt of a queue arrives. ethdev exports this eventfd, and enables and disables the interrupt.
 *
 * The success of these calls does not prove that interrupts arrive. The driver em enables the
 * interrupt of an 82574L with MSI-X, but does not assign it to a vector. So there is a trial first:
 * the interrupt is enabled, but the thread makes timed sleeps. The interrupt is proven when the
 * eventfd has become readable. A port without frames remains in its trial. The trial ends while the
 * port is busy, because an enabled interrupt may cost the NIC and the kernel time for each frame.
 */

#include "datapath/port/rx_wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include "datapath/clock.h"
#include "datapath/fds.h"
#include "datapath/log.h"
#include "datapath/port/port.h"

/* Time in ns between two checks during a trial. */
#define TRIAL_CHECK_NS UINT64_C(1000000000)

#define NS_PER_MS      UINT64_C(1000000)

/* Whether the kernel module vfio-pci has the device. Only this module gives out eventfds. */
static bool
is_vfio_device(const char *device_name)
{
	char path[PATH_MAX], driver[PATH_MAX];
	const char *base;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", device_name);
	len = readlink(path, driver, sizeof(driver) - 1);
	if (len < 0)
		return false;
	driver[len] = '\0';
	base = strrchr(driver, '/');
	return base && strcmp(base + 1, "vfio-pci") == 0;
}

bool
uroce_rx_intr_is_offered(const struct uroce_port *port, const struct rte_eth_dev_info *info)
{
	return port->policy->rx_wakeup == UROCE_RX_WAKEUP_INTR && info->device &&
	       is_vfio_device(rte_dev_name(info->device));
}

static bool
take_intr(const struct uroce_rx_wakeup *wakeup)
{
	eventfd_t nothing;

	return eventfd_read(wakeup->fd, &nothing) == 0;
}

/* Find the eventfd of a queue. It must be non-blocking, because the service thread reads it. */
static bool
find_intr_fd(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port, uint16_t queue)
{
	const int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(port->id, queue);

	if (fd < 0 || !uroce_fds_is(fd, "anon_inode:[eventfd]") ||
	    !(fcntl(fd, F_GETFL) & O_NONBLOCK))
		return false;
	wakeup->fd = fd;
	return true;
}

static bool
refuse_intr(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port, uint16_t queue)
{
	UROCE_LOG(INFO, port, "%s: RX queue %u has no receive interrupt, so it is polled",
		  port->name, queue);
	wakeup->has_no_intr = true;
	wakeup->is_intr_enabled = false;
	return false;
}

/* Record a receive interrupt. If `is_raised` is false, there was none. */
static void
note_intr(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port, bool is_raised)
{
	if (!is_raised)
		return;
	if (!wakeup->is_intr_proven)
		UROCE_LOG(INFO, port, "%s: receive interrupts arrive", port->name);
	wakeup->is_intr_proven = true;
	if (port->policy->rx_intr_gap_ms > 0)
		wakeup->intr_ns = uroce_clock_ns() + port->policy->rx_intr_gap_ms * NS_PER_MS;
}

bool
uroce_rx_intr_arm(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port, uint16_t queue,
		  uint64_t now_ns)
{
	if (wakeup->has_no_intr || now_ns < wakeup->intr_ns)
		return false;
	if (wakeup->fd < 0 && !find_intr_fd(wakeup, port, queue))
		return refuse_intr(wakeup, port, queue);
	note_intr(wakeup, port, take_intr(wakeup) && wakeup->is_intr_enabled);
	if (now_ns < wakeup->intr_ns)
		return false;
	/*
	 * The call that disables the interrupt also clears its cause, which frames that were polled
	 * have left in the NIC. Otherwise the interrupt would come at once.
	 */
	(void)rte_eth_dev_rx_intr_disable(port->id, queue);
	if (rte_eth_dev_rx_intr_enable(port->id, queue) < 0)
		return refuse_intr(wakeup, port, queue);
	wakeup->is_intr_enabled = true;
	if (!wakeup->is_intr_proven)
		wakeup->intr_ns = now_ns + TRIAL_CHECK_NS;
	return wakeup->is_intr_proven;
}

static void
disable_intr(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port, uint16_t queue)
{
	wakeup->is_intr_enabled = false;
	if (uroce_port_is_ready(port))
		(void)rte_eth_dev_rx_intr_disable(port->id, queue);
}

void
uroce_rx_intr_disarm(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port, uint16_t queue)
{
	if (wakeup->is_intr_enabled && wakeup->is_intr_proven)
		disable_intr(wakeup, port, queue);
}

void
uroce_rx_intr_end_trial(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port,
			uint16_t queue)
{
	if (!wakeup->is_intr_enabled || wakeup->is_intr_proven)
		return;
	wakeup->intr_ns = 0;
	note_intr(wakeup, port, take_intr(wakeup));
	disable_intr(wakeup, port, queue);
}

void
uroce_rx_intr_take(struct uroce_rx_wakeup *wakeup, const struct uroce_port *port, short revents)
{
	if (revents & POLLIN)
		note_intr(wakeup, port, take_intr(wakeup));
	else if (revents)
		wakeup->fd = -1;
}
