/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_OPTIONS_H
#define UROCED_OPTIONS_H

/**
 * @file
 * The command line behind `--`.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "user_limits.h"

struct options {
	const char *socket;
	unsigned mode;
	gid_t group;       /* of the socket; (gid_t)-1: the process's */
	char leases[4096]; /* the file of who holds which block */
	const char *spec;  /* of the port */
	struct user_limits limits;
	bool is_unconfined; /* privileges are kept */
	bool is_help;
};

extern const char options_usage[];

/** @return 0, or -1 after one line */
int options_parse(struct options *opt, int argc, char **argv);

#endif /* UROCED_OPTIONS_H */
