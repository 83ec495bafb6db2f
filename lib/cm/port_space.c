/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Port spaces: a table of bound ids by service ID, which is the port space and the port.
 */

#include "cm/port_space.h"

#include <errno.h>
#include <string.h>

#include "cm/service_id.h"

static const uint8_t any_ip[16];

static bool
is_wildcard(const struct uroce_cm_addr *addr)
{
	return !memcmp(addr->ip, any_ip, sizeof(any_ip));
}

static uint64_t
hash_service(const struct uroce_cm *cm, uint64_t service_id)
{
	return uroce_siphash(&cm->hash_key, &service_id, 1);
}

static uint64_t
service_of(const struct uroce_cm_conn *conn)
{
	return (uint64_t)conn->space << 16 | conn->local.port;
}

/* Whether the address that an id is bound to includes a destination address. */
static bool
covers(const struct uroce_cm_conn *conn, const struct uroce_cm_addr *addr)
{
	if (conn->local.ip_version == addr->ip_version)
		return is_wildcard(&conn->local) || !memcmp(conn->local.ip, addr->ip, 16);
	return conn->local.ip_version == 6 && is_wildcard(&conn->local) && !conn->is_v6only;
}

static bool
overlaps(const struct uroce_cm_conn *a, const struct uroce_cm_conn *b)
{
	if (a->local.ip_version == b->local.ip_version)
		return is_wildcard(&a->local) || covers(b, &a->local);
	return covers(a, &b->local) || covers(b, &a->local);
}

/* Whether `conn` can have its address and port beside the other ids. */
static bool
is_port_free(const struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	const struct uroce_id_table *table = &cm->by_port;

	for (uint32_t id = uroce_id_table_first(table, hash_service(cm, service_of(conn)));
	     id != UROCE_ID_TABLE_END; id = uroce_id_table_next(table, id)) {
		const struct uroce_cm_conn *other = &cm->conns[id];
		const bool is_shared = conn->is_shared_port && other->is_shared_port &&
				       other->state != UROCE_CM_STATE_LISTEN;

		if (other != conn && service_of(other) == service_of(conn) && !is_shared &&
		    overlaps(conn, other))
			return false;
	}
	return true;
}

/* Choose a free port. @return false: all are in use */
static bool
choose_port(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	const uint32_t first = cm->conf.first_port;
	const uint32_t nb = cm->conf.last_port - first + 1u;
	const uint32_t start = (uint32_t)(uroce_cm_random(cm) % nb);

	for (uint32_t i = 0; i < nb; i++) {
		conn->local.port = (uint16_t)(first + (start + i) % nb);
		if (is_port_free(cm, conn))
			return true;
	}
	return false;
}

int
uroce_cm_port_bind(struct uroce_cm *cm, struct uroce_cm_conn *conn,
		   const struct uroce_cm_addr *addr, bool is_v6only, bool is_shared)
{
	if (conn->is_bound || (addr->ip_version != 4 && addr->ip_version != 6))
		return -EINVAL;
	conn->local = *addr;
	conn->is_v6only = is_v6only;
	conn->is_shared_port = is_shared;
	if (addr->port && !is_port_free(cm, conn))
		return -EADDRINUSE;
	if (!addr->port && !choose_port(cm, conn))
		return -EADDRNOTAVAIL;
	uroce_id_table_add(&cm->by_port, uroce_cm_id_of(cm, conn),
			   hash_service(cm, service_of(conn)));
	conn->is_bound = true;
	return 0;
}

void
uroce_cm_port_release(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (conn->is_bound)
		uroce_id_table_remove(&cm->by_port, uroce_cm_id_of(cm, conn));
	conn->is_bound = false;
}

bool
uroce_cm_port_may_listen(const struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	const struct uroce_id_table *table = &cm->by_port;

	for (uint32_t id = uroce_id_table_first(table, hash_service(cm, service_of(conn)));
	     id != UROCE_ID_TABLE_END; id = uroce_id_table_next(table, id)) {
		const struct uroce_cm_conn *other = &cm->conns[id];

		if (other != conn && service_of(other) == service_of(conn) && overlaps(conn, other))
			return false;
	}
	return true;
}

uint32_t
uroce_cm_port_find_listener(const struct uroce_cm *cm, uint64_t service_id,
			    const struct uroce_cm_addr *dst, bool is_datagram)
{
	const struct uroce_id_table *table = &cm->by_port;
	uint32_t id = uroce_id_table_first(table, hash_service(cm, service_id));

	while (id != UROCE_ID_TABLE_END) {
		const struct uroce_cm_conn *conn = &cm->conns[id];

		if (conn->state == UROCE_CM_STATE_LISTEN && service_of(conn) == service_id &&
		    conn->is_datagram == is_datagram && covers(conn, dst))
			break;
		id = uroce_id_table_next(table, id);
	}
	return id;
}
