/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DPDK_MUX_RIG_H
#define TEST_DPDK_MUX_RIG_H

/**
 * @file
 * Two devices, dev_a and dev_b of the rig, that are attached to a switch of the test, and a QP on
 * each.
 */

#include "rig.h"

#include "datapath/uroced/mux_client.h"
#include "switch.h"

/** Specification of a device; SOCKET is the path on which the switch of the program listens. */
#define SPEC "uroced,socket=" SOCKET

extern struct a_switch *attached_switch;
extern struct rig_qp *attached_qp[2];

/** Device dev_a for 0, dev_b for 1. */
struct uroce_dev *attached_dev(unsigned i);

/** Start the switch without faults; restart it. */
void attached_start(void);
void attached_restart(void);

/**
 * Start the switch, and create two devices with these keys and a pair of QPs on their first
 * workers.
 */
void attached_begin(const char *keys);
void attached_end(void);

/** Destroy QPs and devices, but keep the switch. */
void attached_end_devs(void);

/** Create connected QPs on this worker of both devices. */
void attached_connect(unsigned worker);

/** Functions for attached_wait(): drive both devices, or do nothing. */
void attached_drive(void);
void attached_nothing(void);

/** Repeat `meanwhile` until `is_so` returns true. */
void attached_wait(bool (*is_so)(void), void (*meanwhile)(void));

/**
 * Whether both devices have a link; whether none has one; whether both have one and the switch has
 * both clients.
 */
bool attached_has_link(void);
bool attached_has_no_link(void);
bool attached_has_both(void);

/** WRITE so many bytes from one device to the other, and compare them. */
void attached_write(uint32_t len);

/** Statistics of the first rings of a device. */
const struct uroce_mux_client_stats *attached_stats(unsigned i);

/** Wait for the next event of a device, which must be of this type. */
void attached_expect(struct uroce_dev *dev, enum ibv_event_type type);

#endif /* TEST_DPDK_MUX_RIG_H */
