/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Port spaces: a table of bound CM ids by service ID, which is the port space and the port. A
 * bitmap of each port space shows which ports have an id, so that a free port is found quickly even
 * if few ports are free. A table of listeners by service ID and address serves the requests of
 * peers. So many ids at one port do not make the look-up of a listener long.
 */

#include "cm/port_space.h"

#include <errno.h>
#include <string.h>

#include "cm/service_id.h"

#define BITS_OF_WORD 64u

/*
 * Maximum number of ports that are tried for a CM id that is bound to port 0 (any port), if other
 * ids have these ports at other addresses. The maximum bounds the time of a bind.
 */
#define TRIES_MAX 256u

static const uint8_t any_ip[16];

static const uint8_t ipv4_prefix[12] = { [10] = 0xff, [11] = 0xff };

bool
uroce_cm_port_is_mapped_ipv4(const struct uroce_cm_addr *addr)
{
	return addr->ip_version == 6 && !memcmp(addr->ip, ipv4_prefix, sizeof(ipv4_prefix));
}

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
hash_address(const struct uroce_cm *cm, uint64_t service_id, uint8_t ip_version,
	     const uint8_t ip[16])
{
	uint64_t words[4] = { service_id, ip_version };

	memcpy(&words[2], ip, 16);
	return uroce_siphash(&cm->hash_key, words, 4);
}

static uint64_t
service_of(const struct uroce_cm_conn *conn)
{
	return (uint64_t)conn->space << 16 | conn->local.port;
}

/* Whether a CM id is bound to the address `addr`, or to a wildcard that includes it. */
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

/*
 * Whether the CM id `conn` may have its address and port: no other id excludes this binding, and
 * fewer than UROCE_CM_SHARE_MAX ids have the port.
 */
static bool
is_port_free(const struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	const struct uroce_id_table *table = &cm->by_port;
	uint32_t nb = 0;

	for (uint32_t id = uroce_id_table_first(table, hash_service(cm, service_of(conn)));
	     id != UROCE_ID_TABLE_END; id = uroce_id_table_next(table, id)) {
		const struct uroce_cm_conn *other = &cm->conns[id];
		const bool is_shared = conn->is_shared_port && other->is_shared_port &&
				       other->state != UROCE_CM_STATE_LISTEN;

		if (other != conn && service_of(other) == service_of(conn) && !is_shared &&
		    overlaps(conn, other))
			return false;
		if (++nb == UROCE_CM_SHARE_MAX)
			return false;
	}
	return true;
}

/*
 * Get the index of a port space in the arrays of struct uroce_cm. A port space that service_id.h
 * does not list shares the index of TCP.
 */
static unsigned
space_index(uint16_t space)
{
	switch (space) {
	case UROCE_CM_PS_UDP:
		return 1;
	case UROCE_CM_PS_IB:
		return 2;
	case UROCE_CM_PS_IPOIB:
		return 3;
	}
	return 0;
}

static bool
is_ephemeral(const struct uroce_cm *cm, uint16_t port)
{
	return port >= cm->conf.first_port && port <= cm->conf.last_port;
}

/*
 * Update the bit of a port in the bitmap of its port space: the bit is set if a CM id has the port.
 * Also update the number of ephemeral ports that ids have.
 */
static void
mark_port(struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	const unsigned space = space_index(conn->space);
	uint64_t *word = &cm->bound_ports[space][conn->local.port / BITS_OF_WORD];
	const uint64_t bit = UINT64_C(1) << conn->local.port % BITS_OF_WORD;
	const bool has_id =
		uroce_id_table_first(&cm->by_port, hash_service(cm, service_of(conn))) !=
		UROCE_ID_TABLE_END;

	if (has_id == ((*word & bit) != 0))
		return;
	*word ^= bit;
	if (is_ephemeral(cm, conn->local.port))
		cm->nb_ports[space] += has_id ? 1u : -1u;
}

/* --- limit of ephemeral ports of an account ------------------------------------------------------ */

static uint32_t *
count_of_account(struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	return &cm->nb_ports_of[space_index(conn->space)][conn->port_account_idx];
}

/*
 * Whether the account of a CM id may have another ephemeral port: the account has fewer ephemeral
 * ports than are free. So one account has at most one half of the ports, and each further account
 * still finds some free ports.
 */
static bool
may_add_port(struct uroce_cm *cm, const struct uroce_cm_conn *conn)
{
	const uint32_t nb = cm->conf.last_port - cm->conf.first_port + 1u;

	return !cm->conf.has_accounts ||
	       *count_of_account(cm, conn) < nb - cm->nb_ports[space_index(conn->space)];
}

/* --- choice of a free port ----------------------------------------------------------------------- */

/*
 * Find a port in [from, end) that no CM id has. Words of the bitmap without a free port are
 * skipped.
 * @return the port; `end` if there is no such port
 */
static uint32_t
find_unbound_port(const uint64_t *ports, uint32_t from, uint32_t end)
{
	uint32_t port = from;

	while (port < end) {
		const uint64_t used = ports[port / BITS_OF_WORD] >> port % BITS_OF_WORD;

		if (!(used & 1))
			return port;
		if (used == UINT64_MAX >> port % BITS_OF_WORD)
			port += BITS_OF_WORD - port % BITS_OF_WORD;
		else
			port++;
	}
	return end;
}

/*
 * Choose a port for a CM id that is bound to port 0 (any port): a port that no id has, or else a
 * port that ids have only at other addresses. At most TRIES_MAX ports of the second kind are tried.
 * @return false if no port was found
 */
static bool
choose_port(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	const uint64_t *ports = cm->bound_ports[space_index(conn->space)];
	const uint32_t first = cm->conf.first_port;
	const uint32_t end = cm->conf.last_port + 1u;
	const uint32_t start = first + (uint32_t)(uroce_cm_random(cm) % (end - first));
	uint32_t port = find_unbound_port(ports, start, end);

	if (port == end) {
		port = find_unbound_port(ports, first, start);
		if (port == start)
			port = end;
	}
	if (port != end) {
		conn->local.port = (uint16_t)port;
		/*
		 * the bit of the port may be clear although a CM id has the port, because some port
		 * spaces share a bitmap
		 */
		if (is_port_free(cm, conn))
			return true;
	}
	for (uint32_t i = 0; i < end - first && i < TRIES_MAX; i++) {
		conn->local.port = (uint16_t)(first + (start - first + i) % (end - first));
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
	if (uroce_cm_port_is_mapped_ipv4(addr))
		return -EADDRNOTAVAIL;
	conn->local = *addr;
	conn->is_v6only = is_v6only;
	conn->is_shared_port = is_shared;
	conn->port_account_idx = conn->account_idx;
	if ((!addr->port || is_ephemeral(cm, addr->port)) && !may_add_port(cm, conn))
		return -EDQUOT;
	if (addr->port && !is_port_free(cm, conn))
		return -EADDRINUSE;
	if (!addr->port && !choose_port(cm, conn))
		return -EADDRNOTAVAIL;
	uroce_id_table_add(&cm->by_port, uroce_cm_id_of(cm, conn),
			   hash_service(cm, service_of(conn)));
	mark_port(cm, conn);
	if (is_ephemeral(cm, conn->local.port))
		++*count_of_account(cm, conn);
	conn->is_bound = true;
	return 0;
}

void
uroce_cm_port_release(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	if (!conn->is_bound)
		return;
	if (conn->is_in_listening)
		uroce_id_table_remove(&cm->by_listening, uroce_cm_id_of(cm, conn));
	conn->is_in_listening = false;
	uroce_id_table_remove(&cm->by_port, uroce_cm_id_of(cm, conn));
	mark_port(cm, conn);
	if (is_ephemeral(cm, conn->local.port))
		--*count_of_account(cm, conn);
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

void
uroce_cm_port_listen(struct uroce_cm *cm, struct uroce_cm_conn *conn)
{
	uroce_id_table_add(
		&cm->by_listening, uroce_cm_id_of(cm, conn),
		hash_address(cm, service_of(conn), conn->local.ip_version, conn->local.ip));
	conn->is_in_listening = true;
}

/*
 * Find the listener whose address is exactly `ip` (an address or a wildcard), and includes the
 * destination `dst` of a request.
 */
static uint32_t
find_at(const struct uroce_cm *cm, uint64_t service_id, uint8_t ip_version, const uint8_t ip[16],
	const struct uroce_cm_addr *dst)
{
	const struct uroce_id_table *table = &cm->by_listening;
	uint32_t id = uroce_id_table_first(table, hash_address(cm, service_id, ip_version, ip));

	while (id != UROCE_ID_TABLE_END &&
	       (service_of(&cm->conns[id]) != service_id || !covers(&cm->conns[id], dst)))
		id = uroce_id_table_next(table, id);
	return id;
}

uint32_t
uroce_cm_port_find_listener(const struct uroce_cm *cm, uint64_t service_id,
			    const struct uroce_cm_addr *dst, bool is_datagram)
{
	uint32_t id = find_at(cm, service_id, dst->ip_version, dst->ip, dst);

	if (id == UROCE_CM_NO_ID)
		id = find_at(cm, service_id, 4, any_ip, dst);
	if (id == UROCE_CM_NO_ID)
		id = find_at(cm, service_id, 6, any_ip, dst);
	return id != UROCE_CM_NO_ID && cm->conns[id].is_datagram == is_datagram ? id
										: UROCE_CM_NO_ID;
}
