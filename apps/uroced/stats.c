/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Replies to telemetry requests. The telemetry threads of EAL hold `lock` while they read data that
 * belongs to the control thread. The control thread holds this lock while it adds or removes a
 * client. A telemetry thread that waits for the connection manager holds only `ask_lock`.
 */

#include "stats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#include <unistd.h>
#include <rte_telemetry.h>

#include "cm_report.h"
#include "datapath/dpdk.h"

/*
 * Maximum number of requests to the connection manager for one telemetry reply, while the requested
 * parts of the list of ids are empty. This number times UROCE_CM_LIST_SCAN is more than the number
 * of ids that the connection manager may have.
 */
#define EMPTY_PARTS_MAX 64u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* the state of the control thread, from which telemetry reads; NULL after its end */
static struct control *asked;
/*
 * Held by a telemetry thread while it sends a request to the connection manager and waits for the
 * reply.
 */
static pthread_mutex_t ask_lock = PTHREAD_MUTEX_INITIALIZER;

static void
add(struct rte_tel_data *answer, const char *name, uint64_t value)
{
	(void)UROCE_DPDK_TEL_ADD_DICT(answer, name, value);
}

static void
add_counters(struct rte_tel_data *answer, const struct counters *counters)
{
	char name[RTE_TEL_MAX_STRING_LEN];

	add(answer, "frames_up", atomic_load_explicit(&counters->frames_up, memory_order_relaxed));
	add(answer, "bytes_up", atomic_load_explicit(&counters->bytes_up, memory_order_relaxed));
	add(answer, "frames_down",
	    atomic_load_explicit(&counters->frames_down, memory_order_relaxed));
	add(answer, "bytes_down",
	    atomic_load_explicit(&counters->bytes_down, memory_order_relaxed));
	for (unsigned i = 0; i < FRAME_NB_DROPS; i++) {
		(void)snprintf(name, sizeof(name), "drop_%s", frame_drop_text[i]);
		add(answer, name, atomic_load_explicit(&counters->drop[i], memory_order_relaxed));
	}
}

/*
 * Add the counters of the port `udp` to a telemetry reply. They are up to 100 ms old. Other ports
 * do not have them.
 */
static void
add_udp_counters(struct rte_tel_data *answer, const struct wire *wire)
{
	for (unsigned c = 0; wire->port->udp && c < UROCE_UDP_COUNTER_NB; c++)
		add(answer, uroce_udp_counter_name(c),
		    atomic_load_explicit(&wire->udp[c], memory_order_relaxed));
}

/*
 * List the attached clients: those after the client that the parameter names, or the first ones. An
 * array of a telemetry reply has room for fewer clients than uroced may have.
 */
static int
list_clients(const char *cmd, const char *params, struct rte_tel_data *answer)
{
	unsigned long begin = params ? strtoul(params, NULL, 10) + 1 : 0;
	bool has_room = true;

	(void)cmd;
	(void)rte_tel_data_start_array(answer, RTE_TEL_INT_VAL);
	pthread_mutex_lock(&lock);
	for (; asked && begin < CLIENTS_MAX && has_room; begin++) {
		const struct client *client = asked->client[begin];

		has_room = !client || !client->is_attached ||
			   rte_tel_data_add_array_int(answer, (int)begin) == 0;
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

static void
describe(struct rte_tel_data *answer, const struct client *client)
{
	add(answer, "pid", (uint64_t)client->pid);
	add(answer, "uid", client->uid);
	add(answer, "lanes", client->shm.plan.nb_pairs);
	add(answer, "area_bytes", client->shm.plan.size);
	add(answer, "leases", atomic_load_explicit(&client->nb_leases, memory_order_relaxed));
	add(answer, "wakes", atomic_load_explicit(&client->counters.wakes, memory_order_relaxed));
	add(answer, "busy_ns",
	    atomic_load_explicit(&client->counters.busy_ns, memory_order_relaxed));
	add_counters(answer, &client->counters);
}

static int
tell_client(const char *cmd, const char *params, struct rte_tel_data *answer)
{
	const unsigned long slot = params ? strtoul(params, NULL, 10) : CLIENTS_MAX;
	int ret = -ENOENT;

	(void)cmd;
	pthread_mutex_lock(&lock);
	if (asked && slot < CLIENTS_MAX && asked->client[slot] &&
	    asked->client[slot]->is_attached) {
		(void)rte_tel_data_start_dict(answer);
		describe(answer, asked->client[slot]);
		ret = 0;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* Check whether the client in a slot is the first one of its user in the table of clients. */
static bool
is_first_of_user(unsigned slot)
{
	for (unsigned i = 0; i < slot; i++) {
		if (asked->client[i] && asked->client[i]->uid == asked->client[slot]->uid)
			return false;
	}
	return true;
}

static int
list_users(const char *cmd, const char *params, struct rte_tel_data *answer)
{
	(void)cmd;
	(void)params;
	(void)rte_tel_data_start_array(answer, RTE_TEL_INT_VAL);
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; asked && i < CLIENTS_MAX; i++) {
		if (asked->client[i] && is_first_of_user(i))
			(void)rte_tel_data_add_array_int(answer, (int)asked->client[i]->uid);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

/*
 * Add the sums over the clients of a user to a telemetry reply. Rings and leases are counted for
 * attached clients only, because the control thread owns these fields of other clients.
 */
static void
add_user(struct rte_tel_data *answer, uid_t uid)
{
	const struct mapper_sum mapped = mapper_sum_of(&asked->mapper, uid);
	uint64_t nb_clients = 0, nb_pairs = 0, nb_leases = 0;

	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		const struct client *client = asked->client[i];

		if (!client || client->uid != uid)
			continue;
		nb_clients++;
		if (!client->is_attached)
			continue;
		nb_pairs += client->shm.plan.nb_pairs;
		nb_leases += atomic_load_explicit(&client->nb_leases, memory_order_relaxed);
	}
	add(answer, "clients", nb_clients);
	add(answer, "pairs", nb_pairs);
	add(answer, "areas", mapped.nb_areas);
	add(answer, "area_bytes", mapped.nb_bytes);
	add(answer, "leases", nb_leases);
}

static int
describe_user(const char *cmd, const char *params, struct rte_tel_data *answer)
{
	int ret = -ENOENT;

	(void)cmd;
	pthread_mutex_lock(&lock);
	if (asked && params) {
		(void)rte_tel_data_start_dict(answer);
		add_user(answer, (uid_t)strtoul(params, NULL, 10));
		ret = 0;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

static void
add_refusals(struct rte_tel_data *answer)
{
	static const char *const names[NB_USER_LIMITS] = {
#define X(name, text) [USER_LIMIT_##name] = (text),
		USER_LIMITS(X)
#undef X
	};

	for (unsigned i = 0; i < NB_USER_LIMITS; i++)
		add(answer, names[i],
		    atomic_load_explicit(&asked->refused[i], memory_order_relaxed));
}

static void
add_limits(struct rte_tel_data *answer)
{
	add(answer, "limit_clients", asked->limits.nb_clients);
	add(answer, "limit_pairs", asked->limits.nb_pairs);
	add(answer, "limit_bytes", (uint64_t)asked->limits.mib << 20);
	add(answer, "limit_leases", asked->limits.nb_blocks);
}

static int
tell_host(const char *cmd, const char *params, struct rte_tel_data *answer)
{
	(void)cmd;
	(void)params;
	(void)rte_tel_data_start_dict(answer);
	pthread_mutex_lock(&lock);
	if (asked) {
		(void)rte_tel_data_add_dict_string(answer, "port", asked->host->conf.port);
		add(answer, "is_up", uroce_port_is_up(asked->host->port));
		add(answer, "busy_ns",
		    atomic_load_explicit(&asked->data->busy_ns, memory_order_relaxed));
		add(answer, "clients", asked->nb_attached);
		add_limits(answer);
		add_refusals(answer);
		add_counters(answer, &asked->data->wire.counters);
		add_udp_counters(answer, &asked->data->wire);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

/* --- the connection manager ---------------------------------------------------------------------- */

/*
 * Get a descriptor of the socket to the connection manager. The descriptor is a duplicate, because
 * the control thread may close its own descriptor meanwhile.
 * @return the descriptor; -1 if there is no connection manager, or no free descriptor
 */
static int
open_reports(void)
{
	int fd = -1;

	pthread_mutex_lock(&lock);
	if (asked && asked->cm_reports >= 0)
		fd = fcntl(asked->cm_reports, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&lock);
	return fd;
}

/*
 * Send a request of telemetry to the connection manager, and wait for its report.
 * @return 0, or -errno
 */
static int
query_manager(struct cm_report_request *request, struct cm_report *report)
{
	const int fd = open_reports();
	int ret;

	if (fd < 0)
		return -ENOENT;
	pthread_mutex_lock(&ask_lock);
	ret = cm_report_ask(fd, request, report, CM_REPORT_TIMEOUT_MS);
	pthread_mutex_unlock(&ask_lock);
	(void)close(fd);
	return ret;
}

static int
tell_cm(const char *cmd, const char *params, struct rte_tel_data *answer)
{
	struct cm_report_request request = { .kind = CM_REPORT_STATS };
	struct cm_report report;
	int ret;

	(void)cmd;
	(void)params;
	ret = query_manager(&request, &report);
	if (ret == 0)
		uroce_cm_reply_stats(answer, &report.stats);
	return ret;
}

static int
list_cm_ids(const char *cmd, const char *params, struct rte_tel_data *answer)
{
	struct cm_report_request request = { .kind = CM_REPORT_IDS };
	struct cm_report report;
	int ret = 0;

	(void)cmd;
	report.ids.next = uroce_cm_reply_first(params);
	report.ids.nb = 0;
	for (unsigned i = 0; i < EMPTY_PARTS_MAX && ret == 0 && report.ids.nb == 0 &&
			     report.ids.next != UROCE_CM_NO_ID;
	     i++) {
		request.first = report.ids.next;
		ret = query_manager(&request, &report);
	}
	if (ret == 0)
		uroce_cm_reply_rows(answer, report.ids.row, report.ids.owner, report.ids.nb);
	return ret;
}

static void
register_cm_commands(void)
{
	(void)rte_telemetry_register_cmd("/uroced/cm", tell_cm,
					 "Messages of the connection manager");
	(void)rte_telemetry_register_cmd("/uroced/cm_ids", list_cm_ids,
					 "Listeners and connections of all clients. Parameter: the "
					 "id after which the list begins");
}

void
stats_begin(struct control *control)
{
	pthread_mutex_lock(&lock);
	asked = control;
	pthread_mutex_unlock(&lock);
	control->stats_lock = &lock;
	(void)rte_telemetry_register_cmd("/uroced/clients", list_clients,
					 "The numbers of the clients that are attached. Parameter: "
					 "the number after which the list begins");
	(void)rte_telemetry_register_cmd("/uroced/client", tell_client,
					 "A client. Parameter: the number of the client");
	(void)rte_telemetry_register_cmd("/uroced/users", list_users,
					 "The users that have clients");
	(void)rte_telemetry_register_cmd(
		"/uroced/user", describe_user,
		"The sums of the clients of a user. Parameter: the UID of the user");
	(void)rte_telemetry_register_cmd("/uroced/host", tell_host,
					 "Traffic of the wire, drops, refusals and load of uroced");
	register_cm_commands();
}

void
stats_end(void)
{
	pthread_mutex_lock(&lock);
	asked = NULL;
	pthread_mutex_unlock(&lock);
}
