/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DPDK_MUX_RIG_H
#define TEST_DPDK_MUX_RIG_H

/**
 * @file
 * Two devices that are attached to a switch of the test's: dev_a and dev_b of the rig, and a QP on each.
 */

#include "rig.h"

#include "datapath/mux_client.h"
#include "switch.h"

/** SOCKET is where this program's switch listens. */
#define SPEC "uroced,socket=" SOCKET

extern struct a_switch *attached_switch;
extern struct rig_qp *attached_qp[2];

/** dev_a, or dev_b. */
struct uroce_dev *attached_dev(unsigned i);

/** A switch that does what it is to do. */
void attached_start(void);
void attached_restart(void);

/** That, two devices with these keys, and a pair of QPs on their first workers. */
void attached_begin(const char *keys);
void attached_end(void);

/** QPs and devices end; the switch is there. */
void attached_end_devs(void);

/** QPs on these workers, from one device to the other. */
void attached_connect(unsigned worker);

/** Drive both devices; or do not. */
void attached_drive(void);
void attached_nothing(void);

/** Until it is so; meanwhile this is done. */
void attached_wait(bool (*is_so)(void), void (*meanwhile)(void));

/** Whether both, or none, have a link; or both, and the switch knows it. */
bool attached_has_link(void);
bool attached_has_no_link(void);
bool attached_has_both(void);

/** WRITE so many bytes from the one to the other, and compare. */
void attached_write(uint32_t len);

/** Of the first lanes of a device. */
const struct uroce_mux_client_stats *attached_stats(unsigned i);

/** The next event of a device is this. */
void attached_expect(struct uroce_dev *dev, enum ibv_event_type type);

#endif /* TEST_DPDK_MUX_RIG_H */
