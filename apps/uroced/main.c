/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroced: shares one port between any number of processes, each with a RoCE engine of its own.
 *
 *	uroced [EAL options] -- [--socket=PATH] [--mode=MODE] [--group=NAME] [--leases=FILE]
 *	       [--user-clients=N] [--user-pairs=N] [--user-memory=MIB] [--user-blocks=N]
 *	       [--log=LEVELS] [--no-cm] [--no-sandbox] [--config=FILE] [--check] PORT[,key=value...]
 *
 * There are three threads: the data path, which is the main thread, the control thread, and the
 * mapper [doc/design/multiplexer.md].
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "control.h"
#include "cm_main.h"
#include "creds.h"
#include "datapath/log.h"
#include "eal/command_line.h"
#include "eal/eal.h"
#include "fd_limit.h"
#include "lease_file.h"
#include "options.h"
#include "reader.h"
#include "reload.h"
#include "sandbox.h"
#include "log_line.h"
#include "start_eal.h"
#include "stats.h"
#include "mux/cm_message.h"

/*
 * maximum number of checks whether the connection manager of a former uroced has ended, and the
 * time in microseconds between two checks
 */
#define CM_TRIES   500u
#define CM_WAIT_US 10000u

/*
 * Prepare the process for its threads. Block the signals that the control thread reads from a
 * descriptor. Raise the limit of descriptors. Open the socket to the service manager, after all
 * child processes were forked, so that only uroced has it.
 */
static void
prepare(struct control *control)
{
	sigset_t signals;

	control_set_signals(&signals);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	fd_limit_raise();
	service_open(&control->service);
}

/*
 * Make a listening socket at a path, with the owner, the group and the mode that clients need.
 * @return its descriptor, or -1 after one line of the log
 */
static int
listen_at(const struct options *opt, const char *path)
{
	const int listener = uroce_mux_listen(path, opt->mode);

	if (listener < 0) {
		log_line("--socket=%s: %s: allowed is a path in a folder where uroced may write, "
			 "without a listening socket",
			 path, strerror(-listener));
		return -1;
	}
	if (opt->gid != (gid_t)-1 && chown(path, (uid_t)-1, opt->gid) < 0) {
		log_line("--group: %s cannot get this group: %s: allowed is a group that uroced "
			 "belongs to",
			 path, strerror(errno));
		(void)unlink(path);
		(void)close(listener);
		return -1;
	}
	return listener;
}

/*
 * Make the listening socket of the connection manager. If a former uroced process was killed, its
 * connection manager still listens for a moment, so wait until it has ended.
 * @return the descriptor of the socket, or -1 after one line of the log
 */
static int
listen_for_cm(const struct options *opt, const char *path)
{
	for (unsigned i = 0; i < CM_TRIES; i++) {
		const int connection = uroce_mux_connect(path);

		if (connection < 0)
			break;
		(void)close(connection);
		(void)usleep(CM_WAIT_US);
	}
	return listen_at(opt, path);
}

/*
 * Run the control thread and the data path until a signal ends uroced. The caller has done
 * everything that needs privileges.
 * @return 0, or -1 after one line of the log
 */
static int
run(struct control *control, const struct options *opt, int listener)
{
	if (!opt->is_unconfined && sandbox_enter(control->host->port->policy->driver) < 0)
		return -1;
	if (control_start(control, listener) < 0)
		return -1;
	log_line("%s is shared at %s", control->host->conf.port, opt->socket);
	data_run(control->data);
	control_join(control);
	return 0;
}

/*
 * Make the listening sockets: first the socket of the connection manager, then that of uroced. So a
 * client that finds uroced also finds the connection manager.
 * @return the socket of uroced, or -1 after one line of the log
 */
static int
listen_at_all(struct control *control, const struct options *opt, const char *cm_path)
{
	int listener = -1;

	if (opt->has_cm)
		control->cm_listener = listen_for_cm(opt, cm_path);
	if (!opt->has_cm || control->cm_listener >= 0)
		listener = listen_at(opt, opt->socket);
	if (listener < 0 && control->cm_listener >= 0)
		(void)unlink(cm_path);
	return listener;
}

static int
serve(struct control *control, const struct options *opt, const struct lease_file *file, int start)
{
	char cm_path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + sizeof(UROCE_MUX_CM_SUFFIX)];
	int listener = -1, ret = -1;

	(void)snprintf(cm_path, sizeof(cm_path), "%s" UROCE_MUX_CM_SUFFIX, opt->socket);
	readers_init(&control->readers, start);
	control->closing.readers = &control->readers;
	control->cm_listener = -1;
	control->cm_reports = -1;
	control->leases = lease_table_create(file->record, control_now_ns());
	control->limits = opt->limits;
	if (control->leases)
		control->leases->user_max = opt->limits.nb_blocks;
	if (!control->leases)
		log_line("no memory for leases");
	else
		control->data =
			data_create(control->host->port, control->host->neigh, control->leases);
	if (control->data)
		listener = listen_at_all(control, opt, cm_path);
	if (listener >= 0) {
		/*
		 * no block of QP numbers is leased before `lease_ns`, so that clients of the former
		 * uroced process can take back their blocks
		 */
		control->lease_ns = file->is_new ? 0 : control_now_ns() + LEASE_QUARANTINE_NS;
		stats_begin(control);
		ret = run(control, opt, listener);
		stats_end();
		(void)unlink(opt->socket);
		if (control->cm_listener >= 0)
			(void)unlink(cm_path);
	}
	data_destroy(control->data);
	free(control->leases);
	return ret;
}

/*
 * Create the default folder of the socket and of the file of leases. systemd creates this folder
 * for a service, but a fresh system does not have it. If the folder cannot be created, the error is
 * reported when the first file in it is made.
 */
static void
make_socket_folder(const struct options *opt)
{
	char folder[] = UROCE_MUX_SOCKET;

	*strrchr(folder, '/') = '\0';
	if (strcmp(opt->socket, UROCE_MUX_SOCKET) == 0)
		(void)mkdir(folder, 0755);
}

/*
 * Fork the processes that start reader processes and connection managers, before uroced has
 * threads.
 * @return a socket for readers_init(), or -1 after one line of the log
 */
static int
fork_processes(struct control *control, const struct options *opt, const struct lease_file *file)
{
	const int start = reader_start();
	int ret = 0;

	if (start < 0) {
		log_line("no process for the descriptors of clients: %s", strerror(-start));
		return -1;
	}
	control->cm_process.starter = -1;
	if (opt->has_cm)
		ret = cm_process_fork(&control->cm_process, file->fd, start, opt->is_unconfined);
	if (ret == 0)
		return start;
	log_line("no process for the connection manager: %s", strerror(-ret));
	return -1;
}

static void
read_subuids(void)
{
	const int ret = creds_read_subuids(CREDS_SUBUID_PATH);

	if (ret < 0)
		log_line("%s: %s: clients with subordinate user IDs count as users of their own",
			 CREDS_SUBUID_PATH, strerror(-ret));
}

/*
 * Share the port between clients of uroced until a signal ends uroced.
 * @param nb_eal  number of the first arguments, which are for EAL
 * @return the exit status
 */
static int
share(struct control *control, const struct options *opt, int nb_eal, char **argv)
{
	static struct host host;
	struct lease_file file;
	const char *wrong;
	int start, ret;

	make_socket_folder(opt);
	read_subuids();
	wrong = lease_file_open(&file, opt->leases);
	if (wrong) {
		log_line("--leases=%s: %s: " LEASE_FILE_ALLOWED, opt->leases, wrong);
		return EXIT_FAILURE;
	}
	/*
	 * the environment variable UROCE_LOG passes the levels of the log to the connection
	 * manager, too
	 */
	if (opt->log[0] != '\0')
		(void)setenv("UROCE_LOG", opt->log, 1);
	start = fork_processes(control, opt, &file);
	if (start < 0)
		return EXIT_FAILURE;
	prepare(control);
	ret = start_eal(nb_eal, argv, true);
	if (ret != 0)
		return ret;
	ret = -1;
	uroce_log_read_env(true);
	control->host = &host;
	if (host_open(&host, opt->spec, file.mac_seed) == 0) {
		ret = serve(control, opt, &file, start);
		host_close(&host);
	}
	eal_cleanup();
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
	static struct control control;
	static struct reload reload;
	static struct options opt;
	const int own = command_line_split(argc, argv);
	const int nb_eal = own > 0 ? own : 1;

	if (argc > 1 && strcmp(argv[1], CM_ARGUMENT) == 0)
		return cm_main(argc > 2);
	switch (command_line_question(argc, argv)) {
	case COMMAND_LINE_HELP:
		fputs(options_usage, stdout);
		return EXIT_SUCCESS;
	case COMMAND_LINE_VERSION:
		command_line_print_versions();
		return EXIT_SUCCESS;
	case COMMAND_LINE_NONE:
		break;
	}
	argv[own] = argv[0];
	if (options_parse(&opt, argc - own, argv + own) != 0 || options_find_group(&opt) != 0)
		return EXIT_USAGE;
	if (opt.is_check)
		return check(&opt, nb_eal, argv);
	reload_init(&reload, argc - own, argv + own, &opt);
	control.reload = &reload;
	return share(&control, &opt, nb_eal, argv);
}
