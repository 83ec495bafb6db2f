/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_RELOAD_H
#define UROCED_RELOAD_H

/**
 * @file
 * Reads the configuration of uroced again while uroced runs. The limits of a user and the levels of
 * the log may change. If another option differs, or the configuration is wrong, the reload is
 * refused: each reason is logged in a line, and nothing changes.
 */

#include <stdbool.h>

#include "options.h"

struct reload {
	/* the arguments of uroced, for options_parse() */
	int argc;
	char **argv;
	struct options now; /* the options with which uroced currently runs */
	/*
	 * levels of the log from the environment, if the options set none; "" for the default
	 * levels
	 */
	const char *env_levels;
};

struct control;

/** Note the arguments with which uroced starts, and the options that result from them. */
void reload_init(struct reload *reload, int argc, char **argv, const struct options *now);

/**
 * Read the configuration of uroced again and apply it. Only the control thread calls this function.
 * Clients that exceed a new limit stay, and further clients beyond it are refused.
 * @return false if the reload was refused
 */
bool reload_run(struct reload *reload, struct control *control);

#endif /* UROCED_RELOAD_H */
