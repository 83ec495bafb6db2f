/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_OPTIONS_H
#define UROCED_OPTIONS_H

/**
 * @file
 * The arguments of uroced, which are behind `--` on its command line.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "user_limits.h"

struct options {
	const char *socket;
	unsigned mode;
	/* the group that owns the socket; (gid_t)-1 for the group of the process */
	gid_t group;
	char leases[4096]; /* the path of the file of leases */
	const char *spec;  /* the specification of the port: its name and keys */
	struct user_limits limits;
	/* --no-sandbox: uroced keeps its privileges, and may make all system calls */
	bool is_unconfined;
	bool has_cm; /* --cm: uroced has a connection manager */
};

extern const char options_usage[];

/** Parse the arguments. @return 0, or -1 after one line of the log */
int options_parse(struct options *opt, int argc, char **argv);

#endif /* UROCED_OPTIONS_H */
