/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DPDK_UDP_PAIR_H
#define TEST_DPDK_UDP_PAIR_H

/**
 * Two devices on the port `udp`, at two addresses of the loopback interface, with a connected QP on
 * each. A test program makes a network namespace if it may. Otherwise the program uses IPv4
 * addresses that depend on its process ID, so that other tests do not use them, and has no IPv6
 * addresses.
 *
 * If a function of this file fails, the test fails.
 */

#include "rig.h"

#include <netinet/in.h>

#include "datapath/udp/udp_queue.h"

extern bool udp_has_namespace; /* the result of udp_make_namespace() */
extern char udp_addr_a[INET6_ADDRSTRLEN], udp_addr_b[INET6_ADDRSTRLEN];
extern struct rig_qp *udp_from, *udp_to; /* two connected QPs, of dev_a and of dev_b */

/**
 * Make a network namespace whose loopback interface is up. The interface gets the addresses
 * 2001:db8::1 and 2001:db8::2 in addition to 127.0.0.1 and ::1.
 * @return whether the kernel has allowed the namespace
 */
bool udp_make_namespace(void);

/**
 * Add an address to the loopback interface, or remove it.
 * @param fd  a socket of IPv6
 * @param what  SIOCSIFADDR or SIOCDIFADDR
 * @return 0, or -1 if the kernel has refused the change
 */
int udp_change_ipv6(int fd, const char *text, unsigned long what);

/** Add an address to the loopback interface, and wait until sockets can bind to it. */
int udp_add_ipv6(int fd, const char *text);

/** Choose two IPv4 addresses for udp_open_pair(). */
void udp_choose_ipv4(void);

/**
 * Open a device at an address.
 * @param drive  value of the key `drive`
 * @param more  further keys, with a comma in front
 */
struct uroce_dev *udp_open_dev(const char *addr, const char *drive, const char *more);

/** Make a QP of dev_a and one of dev_b, and connect them. */
void udp_connect_pair(enum ibv_qp_type type);

/**
 * Open dev_a at udp_addr_a and dev_b at udp_addr_b, with a QP each, and connect the QPs.
 * @param drive  value of the key `drive` of dev_b; the test drives dev_a
 * @param more  further keys of both devices, with a comma in front
 */
void udp_open_driven_pair(const char *drive, const char *more, enum ibv_qp_type type);

/** Open two devices as udp_open_driven_pair() does, but let the test drive both devices. */
void udp_open_pair(const char *more, enum ibv_qp_type type);

/** Open a pair of RC QPs at addresses of IPv4. This is a setup function for cmocka. */
int udp_setup_ipv4(void **state);

/** Free both QPs, and destroy both devices. This is a teardown function for cmocka. */
int udp_teardown(void **state);

/** Open a pair of RC QPs. dev_b has a socket for udp_addr_b, and one for the next address. */
void udp_open_two_sockets(void);

/**
 * Open a UDP socket of IPv4 that is not one of a port.
 * @param[out] to_addr  the UDP port of dev_b at udp_addr_b
 */
int udp_open_sender(struct sockaddr_in *to_addr);

/** Get the queue of the first worker of a device. */
struct uroce_udp_queue *udp_queue_of(const struct uroce_dev *dev);

/**
 * Get the number of frames that the first worker of a device has dropped because of a wrong ICRC.
 */
uint64_t udp_bad_icrcs(const struct uroce_dev *dev);

/**
 * Write 64 KiB from udp_from to udp_to, read them back to another offset of the buffer, and check
 * the data.
 */
void udp_write_and_read(void);

#endif /* TEST_DPDK_UDP_PAIR_H */
