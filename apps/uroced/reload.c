/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Compares the options that were read again, at a reload of the configuration, with those with
 * which uroced runs. A table has the options that cannot change while uroced runs, with the reason.
 */

#include "reload.h"

#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "datapath/log.h"
#include "log_line.h"

static bool
is_socket_same(const struct options *a, const struct options *b)
{
	return strcmp(a->socket, b->socket) == 0;
}

static bool
is_mode_same(const struct options *a, const struct options *b)
{
	return a->mode == b->mode;
}

static bool
is_group_same(const struct options *a, const struct options *b)
{
	return strcmp(a->group, b->group) == 0;
}

static bool
are_leases_same(const struct options *a, const struct options *b)
{
	return strcmp(a->leases, b->leases) == 0;
}

static bool
is_cm_same(const struct options *a, const struct options *b)
{
	return a->has_cm == b->has_cm;
}

static bool
is_sandbox_same(const struct options *a, const struct options *b)
{
	return a->is_unconfined == b->is_unconfined;
}

static const struct {
	const char *name;
	bool (*is_same)(const struct options *a, const struct options *b);
	const char *why;
} fixed[] = {
	{ "socket", is_socket_same, "clients connect to the socket that was made at the start" },
	{ "mode", is_mode_same, "in its sandbox uroced cannot change the mode of a file" },
	{ "group", is_group_same, "in its sandbox uroced cannot change the owner of a file" },
	{ "leases", are_leases_same, "the file has the leases of the present clients" },
	{ "cm", is_cm_same,
	  "the process that starts connection managers is made at the start or not at all" },
	{ "no-sandbox", is_sandbox_same, "the sandbox is entered at the start or not at all" },
};

/*
 * Log each option that differs after a reload of the configuration, and that cannot change while
 * uroced runs.
 * @return whether there is such an option
 */
static bool
refuse_fixed(const struct options *now, const struct options *next)
{
	bool is_refused = false;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (fixed[i].is_same(now, next))
			continue;
		log_line(
			"reload refused: --%s cannot change while uroced runs: %s: allowed are "
			"changes of --user-clients, --user-pairs, --user-memory, --user-blocks and "
			"--log, or a restart",
			fixed[i].name, fixed[i].why);
		is_refused = true;
	}
	return is_refused;
}

static void
apply_limits(struct control *control, const struct user_limits *limits)
{
	pthread_mutex_lock(control->stats_lock);
	control->limits = *limits;
	control->leases->user_max = limits->nb_blocks;
	pthread_mutex_unlock(control->stats_lock);
	log_line("reload: limits of each user: %u clients, %u pairs of rings, %u MiB, %u blocks",
		 limits->nb_clients, limits->nb_pairs, limits->mib, limits->nb_blocks);
}

static void
apply_levels(const struct reload *reload, const struct options *next)
{
	const char *levels = next->log[0] != '\0' ? next->log : reload->env_levels;

	if (strcmp(reload->now.log, next->log) == 0)
		return;
	uroce_log_set_levels(levels);
	log_line("reload: levels of the log: %s", levels[0] != '\0' ? levels : "notice");
}

void
reload_init(struct reload *reload, int argc, char **argv, const struct options *now)
{
	const char *levels = getenv("UROCE_LOG");

	*reload = (struct reload){
		.argc = argc, .argv = argv, .now = *now, .env_levels = levels ? levels : ""
	};
}

bool
reload_run(struct reload *reload, struct control *control)
{
	struct options next;

	if (!reload->now.config) {
		log_line("reload refused: there is no configuration file: allowed is a uroced "
			 "with --config=FILE");
		return false;
	}
	if (options_parse(&next, reload->argc, reload->argv) != 0) {
		log_line("reload refused: nothing has changed: allowed is a configuration that "
			 "uroced --check accepts");
		return false;
	}
	if (refuse_fixed(&reload->now, &next))
		return false;
	apply_limits(control, &next.limits);
	apply_levels(reload, &next);
	reload->now = next;
	return true;
}
