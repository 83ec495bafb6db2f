/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroced: shares one port between any number of processes, each with an engine of its own.
 *
 *	uroced [EAL options] -- [--socket=PATH] [--mode=MODE] [--group=NAME] [--leases=FILE]
 *	       [--user-clients=N] [--user-pairs=N] [--user-memory=MIB] [--user-blocks=N]
 *	       [--no-sandbox] PORT[,key=value...]
 *
 * There are three threads: the data path, which is the main thread, the control thread, and the
 * mapper [doc/design/multiplexer.md].
 */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <unistd.h>
#include <rte_eal.h>

#include "control.h"
#include "datapath/log.h"
#include "eal/args.h"
#include "eal/command_line.h"
#include "eal/eal.h"
#include "lease_file.h"
#include "options.h"
#include "reader.h"
#include "sandbox.h"
#include "log_line.h"
#include "stats.h"

#define MIB 256u /* MiB of ordinary memory for mbufs, if there are no hugepages */

/*
 * Start EAL. Unless the user gives other options, EAL has telemetry, and one lcore that may run on
 * all CPUs of the process.
 */
static int
start_eal(int argc, char **argv)
{
	static char lcores[4096] = "--lcores=0@(";
	size_t len = strlen(lcores);
	struct args args = { .argc = 0 };
	cpu_set_t cpus;

	for (int i = 0; i < argc && i < ARGS_MAX; i++)
		args_add(&args, argv[i]);
	if (!args_has(argc, argv, "telemetry", 0) && !args_has(argc, argv, "no-telemetry", 0))
		args_add(&args, "--telemetry");
	if (!args_has(argc, argv, "lcores", 0) && !args_has(argc, argv, "l", 'l') &&
	    !args_has(argc, argv, "c", 'c') && sched_getaffinity(0, sizeof(cpus), &cpus) == 0) {
		for (int cpu = 0; cpu < CPU_SETSIZE && len < sizeof(lcores) - 8; cpu++) {
			if (CPU_ISSET(cpu, &cpus))
				len += (size_t)snprintf(lcores + len, sizeof(lcores) - len, "%d,",
							cpu);
		}
		lcores[len - 1] = ')';
		args_add(&args, lcores);
	}
	return eal_start(argv[0], args.argc, args.argv, false, MIB);
}

/*
 * Block the signals that end uroced, so that the control thread can read them from a descriptor.
 * Allow as many descriptors as possible, because each client needs some.
 */
static void
prepare(void)
{
	struct rlimit files;
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* Make the listening socket. @return its descriptor, or -1 after one line of the log */
static int
listen_at(const struct options *opt)
{
	const int listener = uroce_mux_listen(opt->socket, opt->mode);

	if (listener < 0) {
		log_line("--socket=%s: %s: allowed is a path in a folder where uroced may write, "
			 "without a listening socket",
			 opt->socket, strerror(-listener));
		return -1;
	}
	if (opt->group != (gid_t)-1 && chown(opt->socket, (uid_t)-1, opt->group) < 0) {
		log_line("--group: %s cannot get this group: %s: allowed is a group that uroced "
			 "belongs to",
			 opt->socket, strerror(errno));
		(void)unlink(opt->socket);
		(void)close(listener);
		return -1;
	}
	return listener;
}

/*
 * Run the control thread and the data path until a signal ends uroced. Everything that needs
 * privileges has been done.
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

static int
serve(struct control *control, const struct options *opt, const struct lease_file *file, int start)
{
	int listener = -1, ret = -1;

	readers_init(&control->readers, start);
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
		listener = listen_at(opt);
	if (listener >= 0) {
		/*
		 * no block is leased before `lease_ns`, so that clients of the former uroced
		 * process can take back their blocks
		 */
		control->lease_ns = file->is_new ? 0 : control_now_ns() + LEASE_QUARANTINE_NS;
		stats_begin(control);
		ret = run(control, opt, listener);
		stats_end();
		(void)unlink(opt->socket);
	}
	data_destroy(control->data);
	free(control->leases);
	return ret;
}

/*
 * Create the folder of the default socket and of its file of leases, which systemd creates for a
 * service. A fresh system does not have this folder. A failure becomes the error of the first file
 * in the folder.
 */
static void
make_socket_folder(const struct options *opt)
{
	char folder[] = UROCE_MUX_SOCKET;

	*strrchr(folder, '/') = '\0';
	if (strcmp(opt->socket, UROCE_MUX_SOCKET) == 0)
		(void)mkdir(folder, 0755);
}

int
main(int argc, char **argv)
{
	static struct control control;
	static struct host host;
	const int own = command_line_split(argc, argv);
	struct options opt;
	const char *wrong;
	struct lease_file file;
	int ret, start;

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
	if (options_parse(&opt, argc - own, argv + own) != 0)
		return EXIT_USAGE;
	make_socket_folder(&opt);
	wrong = lease_file_open(&file, opt.leases);
	if (wrong) {
		log_line("--leases=%s: %s: allowed is a path where uroced may write, without a "
			 "file, or with a file of leases of its user, mode 0600, that no other "
			 "uroced uses",
			 opt.leases, wrong);
		return EXIT_FAILURE;
	}
	start = reader_start();
	if (start < 0) {
		log_line("no process for the descriptors of clients: %s", strerror(-start));
		return EXIT_FAILURE;
	}
	prepare();
	ret = start_eal(own > 0 ? own : 1, argv);
	if (ret != 0)
		return ret;
	ret = -1;
	uroce_log_read_env(true);
	control.host = &host;
	if (host_open(&host, opt.spec, file.mac_seed) == 0) {
		ret = serve(&control, &opt, &file, start);
		host_close(&host);
	}
	(void)rte_eal_cleanup();
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
