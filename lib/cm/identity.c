/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The comm ids and QP numbers that identify a connection, and the tables that map such a number to
 * a CM id.
 */

#include "cm/identity.h"

#include <string.h>

static uint64_t
hash_number(const struct uroce_cm *cm, uint64_t number)
{
	return uroce_siphash(&cm->hash_key, &number, 1);
}

/* Hash a number that a peer has chosen, together with the CA GUID and the GID of the peer. */
static uint64_t
hash_of_peer(const struct uroce_cm *cm, be64 guid, const uint8_t gid[16], uint64_t number)
{
	uint64_t words[4] = { number };

	memcpy(&words[1], guid.b, 8);
	memcpy(&words[2], gid, 16);
	return uroce_siphash(&cm->hash_key, words, 4);
}

uint64_t
uroce_cm_identity_hash_gid(const struct uroce_cm *cm, const uint8_t gid[16])
{
	uint64_t words[2];

	memcpy(words, gid, sizeof(words));
	return uroce_siphash(&cm->hash_key, words, 2) | 1;
}

static bool
is_same_peer(const struct uroce_cm_conn *conn, be64 guid, const uint8_t gid[16])
{
	return !memcmp(conn->remote_guid.b, guid.b, sizeof(guid.b)) &&
	       !memcmp(conn->av.remote_gid, gid, 16);
}

static void
table_remove(struct uroce_cm *cm, struct uroce_id_table *table, struct uroce_cm_conn *conn,
	     bool *is_in)
{
	if (*is_in)
		uroce_id_table_remove(table, uroce_cm_id_of(cm, conn));
	*is_in = false;
}

/* Whether any CM id has the local comm id `comm_id`. */
static bool
is_comm_id_used(const struct uroce_cm *cm, uint32_t comm_id)
{
	const struct uroce_id_table *table = &cm->by_local;
	uint32_t id = uroce_id_table_first(table, hash_number(cm, comm_id));

	while (id != UROCE_ID_TABLE_END && cm->conns[id].local_comm_id != comm_id)
		id = uroce_id_table_next(table, id);
	return id != UROCE_ID_TABLE_END;
}

void
uroce_cm_identity_renew(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	uint32_t comm_id;

	table_remove(cm, &cm->by_local, conn, &conn->is_in_local);
	do
		comm_id = (uint32_t)uroce_cm_random(cm);
	while (!comm_id || is_comm_id_used(cm, comm_id));
	conn->local_comm_id = comm_id;
	uroce_id_table_add(&cm->by_local, uroce_cm_id_of(cm, conn), hash_number(cm, comm_id));
	conn->is_in_local = true;
	conn->tid = uroce_cm_random(cm);
}

void
uroce_cm_identity_set_qpn(struct uroce_cm *cm, struct uroce_cm_conn *conn, uint32_t qpn)
{
	table_remove(cm, &cm->by_qpn, conn, &conn->is_in_qpn);
	conn->local_qpn = qpn;
	if (conn->is_datagram)
		return;
	uroce_id_table_add(&cm->by_qpn, uroce_cm_id_of(cm, conn), hash_number(cm, qpn));
	conn->is_in_qpn = true;
}

bool
uroce_cm_identity_is_qpn_full(const struct uroce_cm *cm, uint32_t qpn)
{
	const struct uroce_id_table *table = &cm->by_qpn;
	uint32_t nb = 0;

	for (uint32_t id = uroce_id_table_first(table, hash_number(cm, qpn));
	     id != UROCE_ID_TABLE_END && nb < UROCE_CM_SHARE_MAX;
	     id = uroce_id_table_next(table, id))
		nb++;
	return nb == UROCE_CM_SHARE_MAX;
}

void
uroce_cm_identity_release_peer_qpn(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	table_remove(cm, &cm->by_peer_qpn, conn, &conn->is_in_peer_qpn);
}

void
uroce_cm_identity_set_peer(struct uroce_cm *cm, struct uroce_cm_conn *conn, be64 guid,
			   uint32_t remote_comm_id, uint32_t remote_qpn)
{
	const uint32_t id = uroce_cm_id_of(cm, conn);
	const uint8_t *gid = conn->av.remote_gid;

	table_remove(cm, &cm->by_remote, conn, &conn->is_in_remote);
	uroce_cm_identity_release_peer_qpn(cm, conn);
	conn->remote_guid = guid;
	conn->remote_comm_id = remote_comm_id;
	conn->remote_qpn = remote_qpn;
	if (!conn->is_active) {
		uroce_id_table_add(&cm->by_remote, id, hash_of_peer(cm, guid, gid, remote_comm_id));
		conn->is_in_remote = true;
	}
	if (!remote_qpn)
		return;
	uroce_id_table_add(&cm->by_peer_qpn, id, hash_of_peer(cm, guid, gid, remote_qpn));
	conn->is_in_peer_qpn = true;
}

void
uroce_cm_identity_clear(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	table_remove(cm, &cm->by_local, conn, &conn->is_in_local);
	table_remove(cm, &cm->by_remote, conn, &conn->is_in_remote);
	table_remove(cm, &cm->by_qpn, conn, &conn->is_in_qpn);
	uroce_cm_identity_release_peer_qpn(cm, conn);
}

struct uroce_cm_conn *
uroce_cm_identity_find(struct uroce_cm *cm, uint32_t local_comm_id, const uint8_t remote_gid[16])
{
	const struct uroce_id_table *table = &cm->by_local;

	for (uint32_t id = uroce_id_table_first(table, hash_number(cm, local_comm_id));
	     id != UROCE_ID_TABLE_END; id = uroce_id_table_next(table, id)) {
		struct uroce_cm_conn *conn = &cm->conns[id];

		if (conn->local_comm_id == local_comm_id)
			return memcmp(conn->av.remote_gid, remote_gid, 16) ? NULL : conn;
	}
	return NULL;
}

struct uroce_cm_conn *
uroce_cm_identity_find_request(struct uroce_cm *cm, be64 guid, const uint8_t remote_gid[16],
			       uint32_t remote_comm_id, bool is_datagram)
{
	const struct uroce_id_table *table = &cm->by_remote;

	for (uint32_t id = uroce_id_table_first(table,
						hash_of_peer(cm, guid, remote_gid, remote_comm_id));
	     id != UROCE_ID_TABLE_END; id = uroce_id_table_next(table, id)) {
		struct uroce_cm_conn *conn = &cm->conns[id];

		if (conn->is_datagram == is_datagram && conn->remote_comm_id == remote_comm_id &&
		    is_same_peer(conn, guid, remote_gid))
			return conn;
	}
	return NULL;
}

struct uroce_cm_conn *
uroce_cm_identity_find_peer_qpn(struct uroce_cm *cm, be64 guid, const uint8_t remote_gid[16],
				uint32_t qpn, const struct uroce_cm_conn *self)
{
	const struct uroce_id_table *table = &cm->by_peer_qpn;

	for (uint32_t id = uroce_id_table_first(table, hash_of_peer(cm, guid, remote_gid, qpn));
	     id != UROCE_ID_TABLE_END; id = uroce_id_table_next(table, id)) {
		struct uroce_cm_conn *conn = &cm->conns[id];

		if (conn != self && conn->remote_qpn == qpn && is_same_peer(conn, guid, remote_gid))
			return conn;
	}
	return NULL;
}
