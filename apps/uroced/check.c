/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The option --check finds out whether uroced could start with its options. Files are checked
 * without creating or locking them. The port is opened for a moment, and the process enters the
 * sandbox: only the attempt shows whether the kernel permits these steps. Errors are lines of the
 * log. What uroced would do is printed on stdout when all checks have passed.
 */

#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rte_ether.h>

#include "datapath/log.h"
#include "eal/command_line.h"
#include "eal/eal.h"
#include "host.h"
#include "lease_file.h"
#include "log_line.h"
#include "mux/cm_message.h"
#include "sandbox.h"
#include "start_eal.h"

/* What the checks of --check have found. */
struct findings {
	pid_t running; /* PID of the uroced that uses the file of leases; 0 if no uroced uses it */
	bool has_listener; /* a uroced listens at the path of the socket */
	bool is_new;       /* there is no file of leases yet, so uroced would create it */
	gid_t gid;
};

/* --- files --------------------------------------------------------------------------------------- */

/*
 * Check that a file could be created in the folder of a path that an option gives. The folder of
 * the default socket may be missing, because uroced creates it.
 */
static int
check_folder(const char *option, const char *path)
{
	char folder[4096];
	char *slash;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!slash)
		(void)snprintf(folder, sizeof(folder), ".");
	else
		slash[slash == folder] = '\0';
	if (access(folder, F_OK) < 0 && strncmp(UROCE_MUX_SOCKET, folder, strlen(folder)) == 0)
		*strrchr(folder, '/') = '\0';
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	log_line("%s=%s: %s: %s: allowed is a path in a folder where uroced may write", option,
		 path, folder, strerror(errno));
	return -1;
}

static int
check_leases(const struct options *opt, struct findings *found)
{
	const char *wrong = lease_file_check(opt->leases, &found->running, &found->is_new);

	if (!wrong)
		return found->is_new ? check_folder("--leases", opt->leases) : 0;
	log_line("--leases=%s: %s: " LEASE_FILE_ALLOWED, opt->leases, wrong);
	return -1;
}

/*
 * Check whether a path is free for uroced's listening socket.
 * @param[out] has_listener  a process listens at the path
 */
static int
check_socket_path(const char *path, bool *has_listener)
{
	const int connection = uroce_mux_connect(path);
	struct stat st;

	*has_listener = connection >= 0;
	if (connection >= 0)
		(void)close(connection);
	if (lstat(path, &st) < 0 || S_ISSOCK(st.st_mode))
		return check_folder("--socket", path);
	log_line("--socket=%s: it is no socket: allowed is a path without a file", path);
	return -1;
}

static int
check_sockets(const struct options *opt, struct findings *found)
{
	char path[sizeof(opt->socket) + sizeof(UROCE_MUX_CM_SUFFIX)];
	bool has_manager;

	if (check_socket_path(opt->socket, &found->has_listener) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s" UROCE_MUX_CM_SUFFIX, opt->socket);
	return opt->has_cm ? check_socket_path(path, &has_manager) : 0;
}

/*
 * Check whether a uroced runs. A uroced that runs has both the socket and the file of leases. If it
 * has only one of the two, another uroced cannot start, and the check fails.
 */
static int
check_running(const struct options *opt, const struct findings *found)
{
	if (found->has_listener == (found->running != 0))
		return 0;
	if (found->has_listener)
		log_line("--socket=%s: another uroced listens there, with another file of leases: "
			 "allowed is a path without a listening socket",
			 opt->socket);
	else
		log_line("--leases=%s: the process %d uses it, with another "
			 "socket: " LEASE_FILE_ALLOWED,
			 opt->leases, found->running);
	return -1;
}

/* Check that uroced may give its socket to the group of the option --group. */
static int
check_group(const struct options *opt)
{
	gid_t groups[256];
	const int nb = getgroups(sizeof(groups) / sizeof(groups[0]), groups);

	if (opt->gid == (gid_t)-1 || geteuid() == 0 || opt->gid == getegid())
		return 0;
	for (int i = 0; i < nb; i++) {
		if (groups[i] == opt->gid)
			return 0;
	}
	log_line("--group=%s: this user does not belong to the group: allowed is a group that "
		 "uroced belongs to",
		 opt->group);
	return -1;
}

static int
check_files(const struct options *opt, struct findings *found)
{
	if (check_leases(opt, found) < 0 || check_sockets(opt, found) < 0 ||
	    check_running(opt, found) < 0)
		return -1;
	return check_group(opt);
}

/* --- the port ------------------------------------------------------------------------------------ */

static void
print_addresses(const struct uroce_mux_host *told)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	char text[INET6_ADDRSTRLEN];

	for (unsigned i = 0; i < told->nb_addr; i++) {
		const uint8_t *ip = told->addr[i].ip;
		const bool is_v4 = memcmp(ip, v4, sizeof(v4)) == 0;

		(void)inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? ip + 12 : ip, text,
				sizeof(text));
		printf("address: %s/%u, %s answers for it\n", text,
		       told->addr[i].prefix_len - (is_v4 ? 96 : 0),
		       told->addr[i].is_kernels ? "the kernel" : "uroced");
	}
}

static void
print_port(const struct host *host)
{
	const struct uroce_mux_host *told = &host->told;

	printf("port: %s, driver %s, MAC " RTE_ETHER_ADDR_PRT_FMT
	       ", frames up to %u bytes, link %s\n",
	       host->conf.port,
	       host->port->policy->driver ? host->port->policy->driver : "of a NIC", told->mac[0],
	       told->mac[1], told->mac[2], told->mac[3], told->mac[4], told->mac[5],
	       told->frame_limit, told->is_up ? "up" : "down");
	print_addresses(told);
}

/* Open the port of uroced for a moment. @return the exit status */
static int
check_port(const struct options *opt, int argc, char **argv)
{
	static struct host host;
	int ret = start_eal(argc, argv, false);

	if (ret != 0)
		return ret;
	uroce_log_read_env(true);
	ret = host_probe(&host, opt->spec);
	if (ret == 0 && !opt->is_unconfined)
		ret = sandbox_enter(host.port->policy->driver);
	if (ret == 0) {
		print_port(&host);
		host_close(&host);
	}
	eal_cleanup();
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/*
 * Check the specification of a port, which is not opened because a running uroced has it.
 * @return the exit status
 */
static int
check_spec(const struct options *opt, pid_t running)
{
	static struct uroce_dev_conf conf;

	if (host_check_spec(opt->spec, &conf) < 0)
		return EXIT_FAILURE;
	printf("port: %s, not opened, and the options of EAL are not checked: the uroced with PID "
	       "%d runs\n",
	       conf.port, running);
	return EXIT_SUCCESS;
}

/* --- the option --check -------------------------------------------------------------------------- */

static void
print_options(const struct options *opt, const struct findings *found)
{
	const struct user_limits *limits = &opt->limits;

	printf("socket: %s, mode %04o, group %s\n", opt->socket, opt->mode,
	       opt->group[0] != '\0' ? opt->group : "of the process");
	printf("leases: %s, %s\n", opt->leases,
	       found->is_new ? "which would be created" : "which exists");
	printf("limits of each user: %u clients, %u pairs of rings, %u MiB, %u blocks\n",
	       limits->nb_clients, limits->nb_pairs, limits->mib, limits->nb_blocks);
	printf("connection manager: %s\n", opt->has_cm ? "yes" : "no");
	printf("sandbox: %s\n", opt->is_unconfined ? "no" : "yes");
	printf("log: %s\n", opt->log[0] != '\0' ? opt->log : "the levels of UROCE_LOG");
}

int
check(const struct options *opt, int argc, char **argv)
{
	struct findings found = { .running = 0 };
	int ret;

	if (check_files(opt, &found) < 0)
		return EXIT_FAILURE;
	ret = found.running != 0 ? check_spec(opt, found.running) : check_port(opt, argc, argv);
	if (ret == EXIT_SUCCESS)
		print_options(opt, &found);
	return ret;
}
