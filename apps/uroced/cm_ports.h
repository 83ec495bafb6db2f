/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CM_PORTS_H
#define UROCED_CM_PORTS_H

/**
 * @file
 * The records of the ports of listeners, which outlive the connection manager. The connection
 * manager writes a record of each listener into shared memory. When it has ended, the next
 * connection manager keeps each port for the user that had it, until this user binds the port
 * again, or for CM_PORTS_KEPT_NS. Otherwise the first user who binds the port would get the
 * connection requests of its peers.
 *
 * A port is kept by an id that belongs to the connection manager itself and is bound to the port.
 * So the rules of the CM engine about overlapping addresses apply to kept ports, and the engine
 * chooses no kept port as an ephemeral port.
 *
 * The next connection manager does not trust the records, because an attacker may have controlled
 * the previous one.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "mux/cm_message.h"
#include "verbs/cm/manager.h"

/**
 * Number of records of listeners in a table, which the id of the listener indexes. A listener whose
 * id is not smaller has no record.
 */
#define CM_PORTS_MAX 131072u

/**
 * The time in nanoseconds for which the port of a listener is kept for its user after the start of
 * a connection manager.
 */
#define CM_PORTS_KEPT_NS UINT64_C(5000000000)

/** The address and port of a listener, and the user who listens. */
struct cm_port {
	uid_t uid;
	uint16_t space; /* port space of the listener (cm/service_id.h) */
	uint8_t is_datagram;
	uint8_t is_v6only;
	struct uroce_mux_cm_addr addr;
};

struct cm_port_record {
	struct cm_port port;
	_Atomic uint32_t is_used; /* 1 if the other fields of the record are valid */
};

/**
 * The shared memory with the records of listeners' ports. It has two tables, each with a record for
 * each id. One of the two tables is valid. A connection manager first writes the other table, and
 * then makes it the valid one. So no record is lost if the connection manager ends before it has
 * written all records.
 */
struct cm_ports_file {
	_Atomic uint32_t valid; /* index of the valid table, 0 or 1; only the lowest bit counts */
	struct cm_port_record table[2][CM_PORTS_MAX];
};

struct cm_ports {
	/*
	 * shared memory with records of listeners; NULL if the ports of listeners are not recorded
	 */
	struct cm_ports_file *file;
	/* the valid table of `file`, in which this connection manager records its listeners */
	struct cm_port_record *record;
	/*
	 * the user of the CM engine whose ids keep ports for other users; NULL if no port is kept
	 */
	struct uroce_cm_manager *keeper;
	/* array of the ids of `keeper`, each of which keeps the port of a listener for its user */
	uint32_t *kept;
	uint32_t nb_kept;
	/* time until which the ports of the previous connection manager's listeners are kept */
	uint64_t end_ns;
};

/**
 * Make the shared memory for the records of listeners' ports. Its size cannot be changed.
 * @return a descriptor, or -errno
 */
int cm_ports_create(void);

/**
 * Map the shared memory with the records of listeners' ports.
 * @return NULL after an error, with errno
 */
struct cm_ports_file *cm_ports_map(int fd);

/** Whether the shared memory has a record of a listener, so that cm_ports_start() keeps a port. */
bool cm_ports_has_any(const struct cm_ports_file *file);

/**
 * Keep the ports of the previous connection manager's listeners for their users, and record the
 * listeners of this connection manager.
 * @param ports  a structure of zeros, which the function fills
 * @param keeper a user of the CM engine, which is closed when no port is kept any more; NULL to
 *         keep no port
 */
void cm_ports_start(struct cm_ports *ports, struct cm_ports_file *file,
		    struct uroce_cm_manager *keeper, uint64_t now_ns);

/**
 * Stop keeping the port of a former listener for its user, who binds the port again. The record
 * stays until cm_ports_drop().
 * @param is_at_any_address  the kept port may have another address than `port`
 * @return the id to which the record of the port belongs; UROCE_CM_NO_ID if the port is not kept
 *         for this user
 */
uint32_t cm_ports_yield(struct cm_ports *ports, const struct cm_port *port, bool is_at_any_address);

/** Delete the record of the port of the listener `id`. */
void cm_ports_drop(struct cm_ports *ports, uint32_t id);

/** Record the port of a listener, with the listener's id. */
void cm_ports_record(struct cm_ports *ports, uint32_t id, const struct cm_port *port);

/** Stop keeping the ports of former listeners if CM_PORTS_KEPT_NS have passed. */
void cm_ports_expire(struct cm_ports *ports, uint64_t now_ns);

/**
 * Free the data about ports that is not in the shared memory. The records in the shared memory
 * stay.
 */
void cm_ports_fini(struct cm_ports *ports);

#endif /* UROCED_CM_PORTS_H */
