/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EAL_CONNECT_H
#define APPS_EAL_CONNECT_H

/**
 * @file
 * A start of EAL that waits for no other process. To find a free name for its socket of telemetry,
 * EAL connects to the sockets of the processes that use the same folder. connect() waits while the
 * backlog of such a socket is full, and the backlog that EAL sets has room for two connections. So
 * a process that is stopped, or whose telemetry thread has ended, would make other processes wait
 * for ever.
 */

/**
 * Call rte_eal_init(). If this thread connects to a Unix socket in the meantime, a full backlog of
 * the listener counts as success: EAL only needs to know that a process listens.
 */
int eal_init(int argc, char **argv);

#endif /* APPS_EAL_CONNECT_H */
