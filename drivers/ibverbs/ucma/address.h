/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_ADDRESS_H
#define UCMA_ADDRESS_H

/**
 * @file
 * Functions for the socket addresses in commands and responses of librdmacm.
 */

#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

/**
 * Get the length of a socket address from its family: AF_INET, AF_INET6 or AF_IB.
 * @param room  number of bytes that the command of librdmacm has for the address
 * @return 0: the address is of another family, or has more bytes than `room`
 */
size_t address_len(const void *addr, size_t room);

/**
 * Compute the GID of an IP address on RoCEv2. The GID is all zero if the family is no IP family.
 */
void address_gid(const void *addr, uint8_t gid[16]);

/**
 * Get the port of a socket address of any family that address_len() accepts.
 * @return 0: the address has no port
 */
uint16_t address_port(const void *addr);

#endif /* UCMA_ADDRESS_H */
