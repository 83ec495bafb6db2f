/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Parses the arguments behind `--`. A wrong argument is refused with a line that names the
 * argument, the reason, and what is allowed.
 */

#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "mux/cm_message.h"
#include "mux/message.h"
#include "log_line.h"

#define SOCKET_MODE 0660u
#define PATH_MAX_   (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

const char options_usage[] =
	"uroced [EAL options] -- [options] "
	"PORT[,addr=ADDRESS/BITS...][,gw=ADDRESS][,vlan=ID][,mtu=BYTES]\n\n"
	"  --socket=PATH  UNIX socket to which clients connect (default " UROCE_MUX_SOCKET ")\n"
	"  --mode=MODE    mode of the socket, octal: users with write access may attach (default "
	"0660)\n"
	"  --group=NAME   group of the socket (default: the group of the process)\n"
	"  --leases=FILE  file of the leases of QP numbers; created if it does not exist (default "
	"PATH.leases)\n"
	"  --user-clients=N, --user-pairs=N, --user-memory=MIB, --user-blocks=N\n"
	"                 limits for all clients of one user: connections (default 512), pairs of "
	"rings\n"
	"                 (4096), MiB of mapped memory (16384), blocks of 256 QP numbers (32768)\n"
	"  --cm           start a connection manager, so that clients can use rdma_cm\n"
	"  --no-sandbox   keep privileges and system calls, for a port whose driver needs them\n"
	"  -h, --help     print this text and exit\n"
	"  --version      print the versions of uroce, DPDK and rdma-core, and exit\n";

#define LIMIT_OPTION                                                                               \
	256 /* for an option of a limit, getopt_long() returns this plus the enum user_limit */

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, 's' },
	{ "mode", required_argument, NULL, 'm' },
	{ "group", required_argument, NULL, 'g' },
	{ "leases", required_argument, NULL, 'l' },
	{ "user-clients", required_argument, NULL, LIMIT_OPTION + USER_LIMIT_CLIENTS },
	{ "user-pairs", required_argument, NULL, LIMIT_OPTION + USER_LIMIT_PAIRS },
	{ "user-memory", required_argument, NULL, LIMIT_OPTION + USER_LIMIT_MEMORY },
	{ "user-blocks", required_argument, NULL, LIMIT_OPTION + USER_LIMIT_BLOCKS },
	{ "cm", no_argument, NULL, 'c' },
	{ "no-sandbox", no_argument, NULL, 'n' },
	{ NULL, 0, NULL, 0 },
};

static int
set_socket(struct options *opt, const char *path)
{
	if (path[0] == '\0' || strlen(path) > PATH_MAX_) {
		log_line("--socket=%s: not a path of a socket: allowed are 1 to %zu characters",
			 path, PATH_MAX_);
		return -1;
	}
	opt->socket = path;
	return 0;
}

static int
set_mode(struct options *opt, const char *text)
{
	char *end;
	const unsigned long mode = strtoul(text, &end, 8);

	if (text[0] < '0' || text[0] > '7' || *end != '\0' || mode > 0777) {
		log_line("--mode=%s: not a mode: allowed is octal, 0 to 0777", text);
		return -1;
	}
	opt->mode = (unsigned)mode;
	return 0;
}

static int
set_group(struct options *opt, const char *name)
{
	const struct group *group = getgrnam(name);

	if (!group) {
		log_line("--group=%s: no such group: allowed is the name of a group of `getent "
			 "group`",
			 name);
		return -1;
	}
	opt->group = group->gr_gid;
	return 0;
}

static int
set_leases(struct options *opt, const char *path)
{
	if (path[0] == '\0' || strlen(path) >= sizeof(opt->leases)) {
		log_line("--leases=%s: no path: allowed are 1 to %zu characters", path,
			 sizeof(opt->leases) - 1);
		return -1;
	}
	(void)snprintf(opt->leases, sizeof(opt->leases), "%s", path);
	return 0;
}

static int
set_limit(struct options *opt, enum user_limit limit, const char *text)
{
	static const struct {
		const char *name;
		uint32_t most;
	} rows[NB_USER_LIMITS] = {
		[USER_LIMIT_CLIENTS] = { "user-clients", CLIENTS_MAX },
		[USER_LIMIT_PAIRS] = { "user-pairs", CLIENTS_MAX * UROCE_SHM_PAIRS_MAX },
		[USER_LIMIT_MEMORY] = { "user-memory", CLIENTS_MAX * (UROCE_SHM_SIZE_MAX >> 20) },
		[USER_LIMIT_BLOCKS] = { "user-blocks", UROCE_MUX_BLOCKS - 2 },
	};
	uint32_t *const values[NB_USER_LIMITS] = {
		[USER_LIMIT_CLIENTS] = &opt->limits.nb_clients,
		[USER_LIMIT_PAIRS] = &opt->limits.nb_pairs,
		[USER_LIMIT_MEMORY] = &opt->limits.mib,
		[USER_LIMIT_BLOCKS] = &opt->limits.nb_blocks,
	};
	char *end;
	const unsigned long value = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < 1 ||
	    value > rows[limit].most) {
		log_line("--%s=%s: not a number in the allowed range: allowed are 1 to %u",
			 rows[limit].name, text, rows[limit].most);
		return -1;
	}
	*values[limit] = (uint32_t)value;
	return 0;
}

static int
set_option(struct options *opt, int letter, char **argv)
{
	if (letter >= LIMIT_OPTION)
		return set_limit(opt, (enum user_limit)(letter - LIMIT_OPTION), optarg);
	switch (letter) {
	case 's':
		return set_socket(opt, optarg);
	case 'm':
		return set_mode(opt, optarg);
	case 'g':
		return set_group(opt, optarg);
	case 'l':
		return set_leases(opt, optarg);
	case 'c':
		opt->has_cm = true;
		return 0;
	case 'n':
		opt->is_unconfined = true;
		return 0;
	case ':':
		log_line("%s: needs a value; uroced --help shows the allowed values",
			 argv[optind - 1]);
		return -1;
	}
	log_line("%s: unknown option; uroced --help lists the allowed options", argv[optind - 1]);
	return -1;
}

int
options_parse(struct options *opt, int argc, char **argv)
{
	int letter, ret = 0;

	*opt = (struct options){ .socket = UROCE_MUX_SOCKET,
				 .mode = SOCKET_MODE,
				 .group = (gid_t)-1,
				 .limits = USER_LIMITS_DEFAULT };
	optind = 0;
	while (ret == 0 && (letter = getopt_long(argc, argv, ":", long_options, NULL)) != -1)
		ret = set_option(opt, letter, argv);
	if (ret != 0)
		return ret;
	if (optind != argc - 1) {
		log_line("%s: allowed is one: PORT[,key=value...], where PORT is the name of an "
			 "ethdev port",
			 optind == argc ? "no port" : "more than one port");
		return -1;
	}
	if (opt->has_cm && strlen(opt->socket) + strlen(UROCE_MUX_CM_SUFFIX) > PATH_MAX_) {
		log_line(
			"--socket=%s: too long for the path of the connection manager: allowed are "
			"1 to %zu characters, or no --cm",
			opt->socket, PATH_MAX_ - strlen(UROCE_MUX_CM_SUFFIX));
		return -1;
	}
	opt->spec = argv[optind];
	if (opt->leases[0] == '\0')
		(void)snprintf(opt->leases, sizeof(opt->leases), "%s.leases", opt->socket);
	return 0;
}
