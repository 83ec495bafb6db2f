/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The program of the connection manager of uroced. It has a device that is attached to uroced, over
 * a connection that uroced has made. uroced leases the block of QP numbers with QP 1 to this
 * device. The CM engine and QP 1 belong to the agent of the device (verbs/cm/agent.h), and each
 * client of the connection manager is a user of this agent.
 */

#include "cm_main.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "capability.h"
#include "cm_process.h"
#include "cm_server.h"
#include "creds.h"
#include "datapath/clock.h"
#include "datapath/device/dev.h"
#include "datapath/net/gid.h"
#include "eal/args.h"
#include "eal/eal.h"
#include "fd_limit.h"
#include "lcores.h"
#include "lease_file.h"
#include "log_line.h"
#include "sandbox.h"
#include "verbs/cm/agent.h"
#include "verbs/cm/agent_report.h"
#include "verbs/cm/consumer.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

/* size in MiB of the ordinary memory, without hugepages, for mbufs and for tables of the device */
#define MIB 64u

/*
 * Time in nanoseconds that clients have to listen again after a connection manager was started: as
 * long as their ports are kept. Clients try to connect at intervals of 10 to 100 ms, and may wait
 * seconds for a CPU on a busy machine.
 */
#define RETURN_NS CM_PORTS_KEPT_NS

/* the specification of the device of the connection manager, on which QP 1 is the only QP */
#define SPEC "uroced,socket=fd:3,qps=64,mrs=64"

_Static_assert(CM_FD_UROCED == 3, "SPEC names it");

struct cm {
	struct ibv_context *context;
	/*
	 * user of the agent that belongs to the connection manager itself: it keeps the agent and
	 * QP 1 in existence while there are no clients
	 */
	struct uroce_cm_manager *own;
	struct uroce_cm_agent *agent;
	const struct lease_record *record;
	struct cm_ports_file *ports;
	struct cm_server server;
};

static int
start_cm_eal(void)
{
	struct args args = { .argc = 0 };

	args_add(&args, "uroced");
	args_add(&args, "--no-pci");
	args_add(&args, "--no-huge");
	args_add(&args, "--no-telemetry");
	if (lcores_option())
		args_add(&args, lcores_option());
	return eal_start("uroced", args.argc, args.argv, false, MIB);
}

/* --- functions of the host that the server calls ------------------------------------------------- */

static int
open_manager(void *arg, uid_t uid, void (*notify)(void *), void *notify_arg,
	     struct uroce_cm_manager **manager)
{
	const struct cm *cm = arg;
	const int ret = uroce_cm_consumer_open(cm->context, notify, notify_arg, manager);

	if (ret == 0)
		uroce_cm_consumer_set_account(*manager, uid);
	return ret;
}

static bool
is_our_gid(void *arg, const uint8_t gid[16])
{
	const struct cm *cm = arg;
	struct uroce_gid_table gids;

	uroce_gid_copy(uroce_vcontext_dev(cm->context), &gids);
	return uroce_gid_find(&gids, gid) >= 0;
}

static bool
holds_qpn(void *arg, uid_t uid, uint32_t qpn, uint64_t token)
{
	const struct cm *cm = arg;

	return lease_record_is_of(&cm->record[qpn / UROCE_MUX_BLOCK % UROCE_MUX_BLOCKS], uid,
				  token);
}

static uint64_t
get_now_ns(void *arg)
{
	(void)arg;
	return uroce_clock_ns();
}

static void
read_stats(void *arg, struct uroce_cm_agent_stats *stats)
{
	const struct cm *cm = arg;

	uroce_cm_agent_read_stats(cm->agent, stats);
}

static unsigned
list_ids(void *arg, uint32_t *next, struct uroce_cm_row *rows, unsigned max)
{
	const struct cm *cm = arg;

	return uroce_cm_agent_list(cm->agent, next, rows, max);
}

/*
 * The function that uroce_cm_manager_open() gets to report events of the connection manager's own
 * user of the agent. It does nothing, because the ids of this user have no events.
 */
static void
ignore_events(void *arg)
{
	(void)arg;
}

/* --- the program --------------------------------------------------------------------------------- */

/*
 * Whether uroced has clients, or had clients when it ended: a record of the file of leases shows
 * that a client holds a block of QP numbers other than the first block, which is the connection
 * manager's.
 */
static bool
has_clients(const struct lease_record *record)
{
	uint32_t uid;

	for (unsigned i = 1; i < UROCE_MUX_BLOCKS; i++)
		if (lease_record_is_held(&record[i], &uid))
			return true;
	return false;
}

/*
 * Attach the device of the connection manager to uroced, and create QP 1.
 * @return 0, or -1 after one line of the log
 */
static int
start_device(struct cm *cm)
{
	const bool has_listeners = has_clients(cm->record);
	struct ibv_device *device = uroce_create_device(SPEC);
	int ret;

	cm->context = device ? uroce_open_device(device) : NULL;
	if (!cm->context) {
		log_line("connection manager: no device: %m");
		return -1;
	}
	ret = uroce_cm_manager_open(cm->context, ignore_events, NULL, &cm->own);
	if (ret == 0)
		ret = uroce_cm_agent_get(uroce_vcontext(cm->context)->device, &cm->agent);
	if (ret < 0)
		log_line("connection manager: no QP 1: %s", strerror(-ret));
	else if (has_listeners)
		uroce_cm_agent_await_listeners(cm->agent, RETURN_NS);
	return ret < 0 ? -1 : 0;
}

static int
start_server(struct cm *cm)
{
	const struct cm_host host = {
		.arg = cm,
		.open = open_manager,
		.is_our_gid = is_our_gid,
		.holds_qpn = holds_qpn,
		.now_ns = get_now_ns,
		.read_stats = read_stats,
		.list = list_ids,
		.max_ids = UROCE_CM_SHARED_AGENT_IDS,
	};
	int ret = cm_server_init(&cm->server, &host, CM_FD_LISTENER, CM_FD_UROCED, CM_FD_READERS,
				 CM_FD_REPORTS);

	if (ret == 0)
		ret = cm_server_keep_ports(&cm->server, cm->ports);
	if (ret < 0)
		log_line("connection manager: no server: %s", strerror(-ret));
	return ret;
}

int
cm_main(bool is_unconfined)
{
	static struct cm cm;
	int ret;

	/*
	 * exec() has made the process dumpable again (prctl(2)). Until the process is in the
	 * sandbox, uroced, which has the same user ID and which an attacker may control, could
	 * write its memory.
	 */
	if (!is_unconfined)
		(void)prctl(PR_SET_DUMPABLE, 0);
	(void)prctl(PR_SET_NAME, "uroced-cm");
	(void)signal(SIGPIPE, SIG_IGN);
	/*
	 * the process gives up its capabilities before it has other threads, which would inherit
	 * them; EAL and the device need no capabilities
	 */
	ret = is_unconfined ? 0 : capability_drop(0);
	if (ret < 0) {
		log_line("connection manager: its capabilities stay: %s", strerror(-ret));
		return EXIT_FAILURE;
	}
	/*
	 * an error in the file /etc/subuid is not reported by this process: uroced, which reads the
	 * same file, has reported it
	 */
	(void)creds_read_subuids(CREDS_SUBUID_PATH);
	cm.record = lease_file_map(CM_FD_LEASES);
	if (!cm.record) {
		log_line("connection manager: no file of leases: %m");
		return EXIT_FAILURE;
	}
	cm.ports = cm_ports_map(CM_FD_PORTS);
	if (!cm.ports) {
		log_line("connection manager: no memory of ports: %m");
		return EXIT_FAILURE;
	}
	fd_limit_raise();
	if (start_cm_eal() < 0)
		return EXIT_FAILURE;
	/*
	 * The connection manager receives no message of uroced before it is in the sandbox, because
	 * an attacker may control uroced.
	 */
	if (!is_unconfined && sandbox_enter_cm() < 0)
		return EXIT_FAILURE;
	if (start_device(&cm) < 0 || start_server(&cm) < 0)
		return EXIT_FAILURE;
	cm_server_run(&cm.server);
	cm_server_fini(&cm.server);
	return EXIT_SUCCESS;
}
