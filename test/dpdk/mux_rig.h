/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DPDK_MUX_RIG_H
#define TEST_DPDK_MUX_RIG_H

/**
 * @file
 * Two devices, dev_a and dev_b of rig.h, that are attached to uroced, and a QP on each. A switch in
 * the test program (switch.h) replaces uroced.
 */

#include "rig.h"

#include "datapath/uroced/mux_client.h"
#include "switch.h"

/** Specification of a device. Each program defines SOCKET, the path of the socket of its switch. */
#define SPEC "uroced,socket=" SOCKET

extern struct a_switch *attached_switch;
extern struct rig_qp *attached_qp[2];

/** Get device dev_a for 0, dev_b for 1. */
struct uroce_dev *attached_dev(unsigned i);

/** Start a switch that injects no faults; stop the switch and start another one. */
void attached_start(void);
void attached_restart(void);

/**
 * Start the switch. Create two devices with the configuration keys `keys`, and a pair of QPs on
 * their first workers.
 */
void attached_begin(const char *keys);
void attached_end(void);

/** Destroy the QPs and devices, but keep the switch running. */
void attached_end_devs(void);

/** Create connected QPs on worker `worker` of each device. */
void attached_connect(unsigned worker);

/**
 * Two functions for the parameter `meanwhile` of attached_wait(): the first drives both devices,
 * the second does nothing.
 */
void attached_drive(void);
void attached_nothing(void);

/** Repeat `meanwhile` until `is_so` returns true. The test fails if that takes a minute. */
void attached_wait(bool (*is_so)(void), void (*meanwhile)(void));

/**
 * Three functions for the parameter `is_so` of attached_wait(). The first tests that both devices
 * have a link, the second that neither has a link, the third that both have a link and the switch
 * has two clients.
 */
bool attached_has_link(void);
bool attached_has_no_link(void);
bool attached_has_both(void);

/** WRITE `len` bytes from dev_a to dev_b, and check that dev_b has received them. */
void attached_write(uint32_t len);

/** Get the statistics of the rings of the first worker of device `i`. */
const struct uroce_mux_client_stats *attached_stats(unsigned i);

/** Wait for the next event of a device. The event must have the type `type`. */
void attached_expect(struct uroce_dev *dev, enum ibv_event_type type);

#endif /* TEST_DPDK_MUX_RIG_H */
