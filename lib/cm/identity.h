/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_IDENTITY_H
#define UROCE_CM_IDENTITY_H

/**
 * @file
 * Identity of a connection on the wire: the comm ids of both sides, the QP numbers, and the host of
 * the peer. Tables map these values to a CM id.
 *
 * A peer is identified by its CA GUID and its GID. The GUID alone does not suffice: hosts that were
 * copied from one image may have the same GUID, and must not end each other's connections.
 */

#include "cm/context.h"

/** Assign a new comm id and a new TID to a CM id. Other hosts cannot predict these values. */
void uroce_cm_identity_renew(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/**
 * Set the number of the QP that this side uses for the connection or datagram service of a CM id.
 * The QP of a datagram service is not in the table of QPs, because the QP has no single peer, and
 * many resolutions may report it.
 */
void uroce_cm_identity_set_qpn(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint32_t qpn);

/**
 * Whether so many CM ids use a QP number that no further id may use it (UROCE_CM_SHARE_MAX). Ids of
 * datagram services do not count.
 */
bool uroce_cm_identity_is_qpn_full(const struct uroce_cm *cm, uint32_t qpn);

/**
 * Set the values that identify the peer's end of a connection: the CA GUID, the comm id, and the QP
 * number (0 if there is no QP). Only a passive CM id can be found by the peer's comm id. An active
 * side needs no such look-up, and a peer could make the look-up slow by giving all connections one
 * comm id.
 */
void uroce_cm_identity_set_peer(struct uroce_cm *cm, struct uroce_cm_conn *conn, be64 guid,
				uint32_t remote_comm_id, uint32_t remote_qpn);

/**
 * Record that the connection of a CM id has ended, so that the QP of the peer may have a new
 * connection.
 */
void uroce_cm_identity_release_peer_qpn(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/** Remove a CM id from all tables that find ids by a key. */
void uroce_cm_identity_clear(struct uroce_cm *cm, struct uroce_cm_conn *conn);

/**
 * Find the CM id that has the comm id `local_comm_id`, and whose peer has the GID `remote_gid`.
 * @return NULL if there is no such id
 */
struct uroce_cm_conn *uroce_cm_identity_find(struct uroce_cm *cm, uint32_t local_comm_id,
					     const uint8_t remote_gid[16]);

/**
 * Find the passive CM id that a peer's request has created, by the peer's comm id, or by its
 * request ID of SIDR. @return NULL if there is no such id
 */
struct uroce_cm_conn *uroce_cm_identity_find_request(struct uroce_cm *cm, be64 guid,
						     const uint8_t remote_gid[16],
						     uint32_t remote_comm_id, bool is_datagram);

/**
 * Find the CM id, other than `self`, that is connected to a QP of a peer. @return NULL if there is
 * no such id
 */
struct uroce_cm_conn *uroce_cm_identity_find_peer_qpn(struct uroce_cm *cm, be64 guid,
						      const uint8_t remote_gid[16], uint32_t qpn,
						      const struct uroce_cm_conn *self);

/** Get the hash of a GID, for tables of hosts. The hash is never 0. */
uint64_t uroce_cm_identity_hash_gid(const struct uroce_cm *cm, const uint8_t gid[16]);

#endif /* UROCE_CM_IDENTITY_H */
