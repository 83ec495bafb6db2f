/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_SERVICE_ID_H
#define UROCE_CM_SERVICE_ID_H

/**
 * @file
 * Service IDs of RDMA IP CM: a port space and a port [IBA A11]. Other service IDs have no port.
 *
 *  | 0:32 | port space:16 | port:16 |
 */

#include <stdbool.h>
#include <stdint.h>

/**
 * Port spaces of RDMA IP CM, with the values of rdma_cma.h. The low byte of TCP, UDP and IB is a
 * protocol number of IP.
 */
enum uroce_cm_port_space {
	UROCE_CM_PS_IPOIB = 0x0002,
	UROCE_CM_PS_TCP = 0x0106,
	UROCE_CM_PS_UDP = 0x0111,
	UROCE_CM_PS_IB = 0x013f,
};

static inline uint64_t
uroce_cm_service_id(enum uroce_cm_port_space space, uint16_t port)
{
	return (uint64_t)space << 16 | port;
}

/**
 * Get the port space of a service ID. The result is a value outside of the enum if the service ID
 * has none.
 */
static inline uint64_t
uroce_cm_service_port_space(uint64_t service_id)
{
	return service_id >> 16;
}

static inline uint16_t
uroce_cm_service_port(uint64_t service_id)
{
	return (uint16_t)service_id;
}

/**
 * Whether the private data of a REQ or SIDR_REQ for this service ID may begin with the IP header of
 * cm/ip_header.h. Service IDs with this header are 0x0000000001xxxxxx [IBA A11]. Linux sends the
 * header also in the port space of IPoIB, which is outside of this range.
 */
static inline bool
uroce_cm_service_has_ip(uint64_t service_id)
{
	return service_id >> 24 == 1 || service_id >> 16 == UROCE_CM_PS_IPOIB;
}

/**
 * Whether the private data of a REQ or SIDR_REQ for this service ID must begin with the IP header
 * of cm/ip_header.h. In port spaces without this rule a program may address by GID, and private
 * data that does not parse as the header belongs to the consumer.
 */
static inline bool
uroce_cm_service_needs_ip(uint64_t service_id)
{
	const uint64_t space = uroce_cm_service_port_space(service_id);

	return space == UROCE_CM_PS_TCP || space == UROCE_CM_PS_UDP || space == UROCE_CM_PS_IPOIB;
}

/**
 * Get the name of a port space, such as "TCP" for RDMA_PS_TCP. The result is never NULL; for an
 * unknown port space it is "?".
 */
const char *uroce_cm_space_name(uint64_t space);

#endif /* UROCE_CM_SERVICE_ID_H */
