/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The records of listeners' ports in shared memory. The field `is_used` of a record is cleared
 * before the other fields are written, and set afterwards. So a record that was written in part is
 * not used.
 */

#include "cm_ports.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* --- the shared memory --------------------------------------------------------------------------- */

int
cm_ports_create(void)
{
	const int fd = memfd_create("uroced-cm-ports", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(struct cm_ports_file)) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
		return fd;
	error = errno;
	(void)close(fd);
	return -error;
}

struct cm_ports_file *
cm_ports_map(int fd)
{
	struct cm_ports_file *file =
		mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return file == MAP_FAILED ? NULL : file;
}

static bool
is_used(const struct cm_port_record *record)
{
	return atomic_load_explicit(&record->is_used, memory_order_acquire) == 1;
}

static void
clear(struct cm_port_record *record)
{
	atomic_store_explicit(&record->is_used, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void
fill(struct cm_port_record *record, const struct cm_port *port)
{
	clear(record);
	record->port = *port;
	atomic_store_explicit(&record->is_used, 1, memory_order_release);
}

bool
cm_ports_has_any(const struct cm_ports_file *file)
{
	const struct cm_port_record *record = file->table[file->valid & 1];
	uint32_t id = 0;

	while (id < CM_PORTS_MAX && !is_used(&record[id]))
		id++;
	return id < CM_PORTS_MAX;
}

/* --- ports that are kept ------------------------------------------------------------------------- */

/*
 * Whether a record of a listener's port, which another process has written, has only values that a
 * client could have sent.
 */
static bool
is_valid(const struct cm_port *port)
{
	const struct uroce_mux_cm_request create = {
		.type = UROCE_MUX_CM_CREATE,
		.create = { .space = port->space, .is_datagram = port->is_datagram },
	};
	const struct uroce_mux_cm_request bind = {
		.type = UROCE_MUX_CM_BIND,
		.bind = { .addr = port->addr, .is_v6only = port->is_v6only },
	};

	return port->addr.port != 0 &&
	       !uroce_mux_cm_check(&create, uroce_mux_cm_request_size(create.type)) &&
	       !uroce_mux_cm_check(&bind, uroce_mux_cm_request_size(bind.type));
}

/*
 * Bind a new id of the keeper to a port, so that the port stays reserved for its user.
 * @return the new id, or UROCE_CM_NO_ID
 */
static uint32_t
keep_port(struct uroce_cm_manager *keeper, const struct cm_port *port)
{
	struct uroce_cm_addr addr;
	uint32_t id;

	if (keeper->ops->create(keeper, port->space, port->is_datagram, 0, &id) < 0)
		return UROCE_CM_NO_ID;
	uroce_mux_cm_get_addr(&addr, &port->addr);
	if (id < CM_PORTS_MAX && keeper->ops->bind(keeper, id, &addr, port->is_v6only, false) == 0)
		return id;
	(void)keeper->ops->destroy(keeper, id);
	return UROCE_CM_NO_ID;
}

static void
keep_all(struct cm_ports *ports, const struct cm_port_record *before)
{
	for (uint32_t i = 0; i < CM_PORTS_MAX; i++) {
		struct cm_port port;
		uint32_t id;

		if (!is_used(&before[i]))
			continue;
		port = before[i].port;
		if (!is_valid(&port))
			continue;
		id = keep_port(ports->keeper, &port);
		if (id == UROCE_CM_NO_ID)
			continue;
		ports->kept[ports->nb_kept++] = id;
		fill(&ports->record[id], &port);
	}
}

void
cm_ports_start(struct cm_ports *ports, struct cm_ports_file *file, struct uroce_cm_manager *keeper,
	       uint64_t now_ns)
{
	const uint32_t before = file->valid & 1;

	ports->file = file;
	ports->record = file->table[before ^ 1];
	for (uint32_t i = 0; i < CM_PORTS_MAX; i++)
		clear(&ports->record[i]);
	ports->keeper = keeper;
	ports->end_ns = now_ns + CM_PORTS_KEPT_NS;
	ports->kept = keeper ? calloc(CM_PORTS_MAX, sizeof(ports->kept[0])) : NULL;
	if (ports->kept)
		keep_all(ports, file->table[before]);
	atomic_store_explicit(&file->valid, before ^ 1, memory_order_release);
}

static bool
has_same_address(const struct cm_port *a, const struct cm_port *b)
{
	return a->addr.ip_version == b->addr.ip_version &&
	       memcmp(a->addr.ip, b->addr.ip, sizeof(a->addr.ip)) == 0;
}

static bool
is_same(const struct cm_port *a, const struct cm_port *b, bool is_at_any_address)
{
	return a->uid == b->uid && a->space == b->space && a->addr.port == b->addr.port &&
	       (is_at_any_address || has_same_address(a, b));
}

uint32_t
cm_ports_yield(struct cm_ports *ports, const struct cm_port *port, bool is_at_any_address)
{
	uint32_t i = 0, id;

	while (i < ports->nb_kept &&
	       !is_same(&ports->record[ports->kept[i]].port, port, is_at_any_address))
		i++;
	if (i == ports->nb_kept)
		return UROCE_CM_NO_ID;
	id = ports->kept[i];
	ports->kept[i] = ports->kept[--ports->nb_kept];
	(void)ports->keeper->ops->destroy(ports->keeper, id);
	return id;
}

void
cm_ports_drop(struct cm_ports *ports, uint32_t id)
{
	if (ports->file && id < CM_PORTS_MAX)
		clear(&ports->record[id]);
}

void
cm_ports_record(struct cm_ports *ports, uint32_t id, const struct cm_port *port)
{
	if (ports->file && id < CM_PORTS_MAX)
		fill(&ports->record[id], port);
}

static void
close_keeper(struct cm_ports *ports)
{
	if (ports->keeper)
		ports->keeper->ops->close(ports->keeper);
	ports->keeper = NULL;
	free(ports->kept);
	ports->kept = NULL;
	ports->nb_kept = 0;
}

void
cm_ports_expire(struct cm_ports *ports, uint64_t now_ns)
{
	if (!ports->keeper || now_ns < ports->end_ns)
		return;
	for (uint32_t i = 0; i < ports->nb_kept; i++)
		clear(&ports->record[ports->kept[i]]);
	close_keeper(ports);
}

void
cm_ports_fini(struct cm_ports *ports)
{
	close_keeper(ports);
	*ports = (struct cm_ports){ .file = NULL };
}
