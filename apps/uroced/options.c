/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Parses the arguments of uroced behind `--`, and the lines of its configuration file. A wrong
 * argument or line is refused with a message that names the file if there is one, the option, the
 * reason, and what is allowed. Arguments are parsed twice: the first time only to find the
 * configuration file, whose lines are set before the arguments.
 */

#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "config.h"
#include "datapath/log.h"
#include "mux/cm_message.h"
#include "mux/message.h"
#include "log_line.h"

#define SOCKET_MODE 0660u
#define PATH_MAX_   (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

const char options_usage[] =
	"uroced [EAL options] -- [options] "
	"PORT[,addr=ADDRESS/BITS...][,gw=ADDRESS][,vlan=ID][,mtu=BYTES]\n"
	"uroced --no-pci --no-huge -- [options] udp[,addr=ADDRESS...][,iface=NAME][,mtu=BYTES]\n\n"
	"  --check        check the options and the port, print what would be done, and exit\n"
	"  --config=FILE  file with more of these options; SIGHUP reads it again\n"
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
	"  --log=LEVEL[,COMPONENT=LEVEL...]\n"
	"                 levels of the log, as UROCE_LOG has them\n"
	"  --no-cm        start no connection manager: clients cannot use rdma_cm\n"
	"  --cm           start a connection manager (default)\n"
	"  --no-sandbox   keep privileges and system calls, for a port whose driver needs them\n"
	"  -h, --help     print this text and exit\n"
	"  --version      print the versions of uroce, DPDK and rdma-core, and exit\n";

/*
 * The value that getopt_long() returns for an option that sets a limit of a user is LIMIT_OPTION
 * plus the enum user_limit. LIMIT_OPTION is above the values of all letters.
 */
#define LIMIT_OPTION 256

static const struct option long_options[] = {
	{ "check", no_argument, NULL, 'k' },
	{ "config", required_argument, NULL, 'f' },
	{ "log", required_argument, NULL, 'o' },
	{ "socket", required_argument, NULL, 's' },
	{ "mode", required_argument, NULL, 'm' },
	{ "group", required_argument, NULL, 'g' },
	{ "leases", required_argument, NULL, 'l' },
	{ "user-clients", required_argument, NULL, LIMIT_OPTION + USER_LIMIT_CLIENTS },
	{ "user-pairs", required_argument, NULL, LIMIT_OPTION + USER_LIMIT_PAIRS },
	{ "user-memory", required_argument, NULL, LIMIT_OPTION + USER_LIMIT_MEMORY },
	{ "user-blocks", required_argument, NULL, LIMIT_OPTION + USER_LIMIT_BLOCKS },
	{ "cm", no_argument, NULL, 'c' },
	{ "no-cm", no_argument, NULL, 'C' },
	{ "no-sandbox", no_argument, NULL, 'n' },
	{ NULL, 0, NULL, 0 },
};

static int
set_socket(struct options *opt, const char *path)
{
	if (path[0] == '\0' || strlen(path) > PATH_MAX_) {
		log_line("%s--socket=%s: not a path of a socket: allowed are 1 to %zu characters",
			 opt->origin, path, PATH_MAX_);
		return -1;
	}
	(void)snprintf(opt->socket, sizeof(opt->socket), "%s", path);
	return 0;
}

static int
set_mode(struct options *opt, const char *text)
{
	char *end;
	const unsigned long mode = strtoul(text, &end, 8);

	if (text[0] < '0' || text[0] > '7' || *end != '\0' || mode > 0777) {
		log_line("%s--mode=%s: not a mode: allowed is octal, 0 to 0777", opt->origin, text);
		return -1;
	}
	opt->mode = (unsigned)mode;
	return 0;
}

static int
set_group(struct options *opt, const char *name)
{
	if (name[0] == '\0' || strlen(name) >= sizeof(opt->group)) {
		log_line("%s--group=%s: not a name of a group: allowed are 1 to %zu characters",
			 opt->origin, name, sizeof(opt->group) - 1);
		return -1;
	}
	(void)snprintf(opt->group, sizeof(opt->group), "%s", name);
	return 0;
}

static int
set_leases(struct options *opt, const char *path)
{
	if (path[0] == '\0' || strlen(path) >= sizeof(opt->leases)) {
		log_line("%s--leases=%s: no path: allowed are 1 to %zu characters", opt->origin,
			 path, sizeof(opt->leases) - 1);
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
		log_line("%s--%s=%s: not a number in the allowed range: allowed are 1 to %u",
			 opt->origin, rows[limit].name, text, rows[limit].most);
		return -1;
	}
	*values[limit] = (uint32_t)value;
	return 0;
}

static int
set_log(struct options *opt, const char *levels)
{
	if (strlen(levels) >= sizeof(opt->log) || !uroce_log_are_levels(levels)) {
		log_line("%s--log=%s: not understood: allowed is " UROCE_LOG_LEVELS, opt->origin,
			 levels);
		return -1;
	}
	(void)snprintf(opt->log, sizeof(opt->log), "%s", levels);
	return 0;
}

static int
set_option(struct options *opt, int letter, const char *value)
{
	if (letter >= LIMIT_OPTION)
		return set_limit(opt, (enum user_limit)(letter - LIMIT_OPTION), value);
	switch (letter) {
	case 's':
		return set_socket(opt, value);
	case 'm':
		return set_mode(opt, value);
	case 'g':
		return set_group(opt, value);
	case 'l':
		return set_leases(opt, value);
	case 'o':
		return set_log(opt, value);
	case 'f':
		opt->config = value;
		return 0;
	}
	return -1;
}

/* --- options without a value --------------------------------------------------------------------- */

/*
 * Find the flag in `opt` that an option without a value sets. @return NULL if the option has a
 * value
 */
static bool *
find_flag(struct options *opt, int letter)
{
	switch (letter) {
	case 'c':
	case 'C':
		return &opt->has_cm;
	case 'n':
		return &opt->is_unconfined;
	case 'k':
		return &opt->is_check;
	}
	return NULL;
}

/* Get the value that an option without a value gives to its flag, such as false for --no-cm. */
static bool
get_flag_value(int letter)
{
	return letter != 'C';
}

/* --- the configuration file ---------------------------------------------------------------------- */

/*
 * Set the flag of an option from "yes" or "no". In the configuration file, these values stand for
 * options that have no value on the command line.
 */
static int
set_flag(const struct options *opt, bool *flag, const struct option *option, const char *value)
{
	const bool is_yes = strcmp(value, "yes") == 0;

	if (is_yes || strcmp(value, "no") == 0) {
		*flag = get_flag_value(option->val) == is_yes;
		return 0;
	}
	log_line("%s%s = %s: allowed are yes and no", opt->origin, option->name, value);
	return -1;
}

static int
set_line(void *arg, const char *name, const char *value)
{
	struct options *opt = arg;
	const struct option *option = long_options;
	bool *flag;

	while (option->name && strcmp(option->name, name) != 0)
		option++;
	if (!option->name || option->val == 'f' || option->val == 'k') {
		log_line("%s%s: no option of this file: allowed are those of uroced --help, "
			 "without --, but for config and check",
			 opt->origin, name);
		return -1;
	}
	flag = find_flag(opt, option->val);
	return flag ? set_flag(opt, flag, option, value) : set_option(opt, option->val, value);
}

static int
read_config(struct options *opt)
{
	int ret;

	(void)snprintf(opt->origin, sizeof(opt->origin), "%s: ", opt->config);
	ret = config_read(opt->config, set_line, opt);
	opt->origin[0] = '\0';
	return ret;
}

/* --- the command line ---------------------------------------------------------------------------- */

/*
 * Find the name of the configuration file among the arguments. Wrong arguments are refused later.
 * getopt_long() changes the order of the arguments, and a wrong order would give an option a wrong
 * value. So getopt_long() gets a copy of the arguments.
 */
static int
find_config(struct options *opt, int argc, char **argv)
{
	char **copy = calloc((size_t)argc + 1, sizeof(*copy));
	int letter;

	if (!copy) {
		log_line("no memory for the arguments");
		return -1;
	}
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	optind = 0;
	while ((letter = getopt_long(argc, copy, ":", long_options, NULL)) != -1) {
		if (letter == 'f')
			opt->config = optarg;
	}
	free(copy);
	return 0;
}

static int
set_argument(struct options *opt, int letter, char **argv)
{
	bool *flag = find_flag(opt, letter);

	if (flag) {
		*flag = get_flag_value(letter);
		return 0;
	}
	if (letter != ':' && letter != '?')
		return set_option(opt, letter, optarg);
	log_line(letter == ':' ? "%s: needs a value; uroced --help shows the allowed values"
			       : "%s: unknown option; uroced --help lists the allowed options",
		 argv[optind - 1]);
	return -1;
}

static int
set_arguments(struct options *opt, int argc, char **argv)
{
	int letter, ret = 0;

	optind = 0;
	while (ret == 0 && (letter = getopt_long(argc, argv, ":", long_options, NULL)) != -1)
		ret = set_argument(opt, letter, argv);
	if (ret == 0 && optind != argc - 1) {
		log_line("%s: allowed is one: PORT[,key=value...], where PORT is the name of an "
			 "ethdev port",
			 optind == argc ? "no port" : "more than one port");
		return -1;
	}
	opt->spec = argv[optind];
	return ret;
}

int
options_parse(struct options *opt, int argc, char **argv)
{
	*opt = (struct options){ .socket = UROCE_MUX_SOCKET,
				 .mode = SOCKET_MODE,
				 .has_cm = true,
				 .limits = USER_LIMITS_DEFAULT };
	if (find_config(opt, argc, argv) != 0 || (opt->config && read_config(opt) != 0))
		return -1;
	if (set_arguments(opt, argc, argv) != 0)
		return -1;
	if (opt->has_cm && strlen(opt->socket) + strlen(UROCE_MUX_CM_SUFFIX) > PATH_MAX_) {
		log_line(
			"--socket=%s: too long for the path of the connection manager: allowed are "
			"1 to %zu characters, or --no-cm",
			opt->socket, PATH_MAX_ - strlen(UROCE_MUX_CM_SUFFIX));
		return -1;
	}
	if (opt->leases[0] == '\0')
		(void)snprintf(opt->leases, sizeof(opt->leases), "%s.leases", opt->socket);
	return 0;
}

int
options_find_group(struct options *opt)
{
	const struct group *group;

	opt->gid = (gid_t)-1;
	if (opt->group[0] == '\0')
		return 0;
	group = getgrnam(opt->group);
	if (!group) {
		log_line("--group=%s: no such group: allowed is the name of a group of `getent "
			 "group`",
			 opt->group);
		return -1;
	}
	opt->gid = group->gr_gid;
	return 0;
}
