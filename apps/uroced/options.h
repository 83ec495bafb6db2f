/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_OPTIONS_H
#define UROCED_OPTIONS_H

/**
 * @file
 * The options of uroced: the arguments behind `--` on its command line, and the lines of its
 * configuration file. The command line takes precedence over the file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#include "user_limits.h"

struct options {
	/* the path of the configuration file; NULL if there is no configuration file */
	const char *config;
	char socket[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	unsigned mode;
	/* the name of the group that owns the socket; "" for the group of the process */
	char group[64];
	gid_t gid;         /* group ID of `group`, after options_find_group() */
	char leases[4096]; /* the path of the file of leases */
	const char *spec;  /* specification of the port: its name, and keys with values */
	struct user_limits limits;
	/*
	 * levels of the log in the form of the environment variable UROCE_LOG; "" if UROCE_LOG
	 * applies
	 */
	char log[256];
	/* option --no-sandbox: uroced keeps its privileges, and may make all system calls */
	bool is_unconfined;
	bool has_cm; /* options --cm and --no-cm: uroced has a connection manager */
	/*
	 * option --check: uroced checks whether it could start, prints what it would do, and ends
	 */
	bool is_check;
	/*
	 * name of the file whose line is being read, with ": " behind it, for error messages; ""
	 * for the command line
	 */
	char origin[4096 + 2];
};

extern const char options_usage[];

/**
 * Parse the arguments of uroced, and the configuration file that they name.
 * @return 0, or -1 after one line of the log
 */
int options_parse(struct options *opt, int argc, char **argv);

/**
 * Find the group ID of the group that owns the socket: (gid_t)-1 for the group of the process.
 * @return 0, or -1 after one line of the log
 */
int options_find_group(struct options *opt);

#endif /* UROCED_OPTIONS_H */
