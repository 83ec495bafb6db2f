/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The log types of the library, their levels, and the limit of lines that programs cause. The log
 * types are registered before main(), so that EAL's option --log-level finds them.
 */

#include "datapath/log.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <rte_common.h>

RTE_LOG_REGISTER(uroce_log_dev, roce.dev, NOTICE);
RTE_LOG_REGISTER(uroce_log_port, roce.port, NOTICE);
RTE_LOG_REGISTER(uroce_log_neigh, roce.neigh, NOTICE);
RTE_LOG_REGISTER(uroce_log_qp, roce.qp, NOTICE);
RTE_LOG_REGISTER(uroce_log_mem, roce.mem, NOTICE);
RTE_LOG_REGISTER(uroce_log_cm, roce.cm, NOTICE);

#define ENV "UROCE_LOG"

/* --- the limit of lines ------------------------------------------------------------------------ */

static _Atomic(time_t) second; /* second in which the `nb_lines` lines were logged */
static atomic_uint nb_lines, nb_left_out;

bool
uroce_log_has_room(uint32_t level, int type)
{
	struct timespec now;
	time_t before;
	unsigned nb;

	if (!rte_log_can_log(type, level))
		return false;
	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	before = atomic_load(&second);
	if (now.tv_sec != before && atomic_compare_exchange_strong(&second, &before, now.tv_sec)) {
		atomic_store(&nb_lines, 0);
		nb = atomic_exchange(&nb_left_out, 0);
		if (nb > 0)
			UROCE_LOG(WARNING, dev,
				  "%u lines were left out: allowed are %u in a second", nb,
				  UROCE_LOG_LINES_MAX);
	}
	if (atomic_fetch_add(&nb_lines, 1) < UROCE_LOG_LINES_MAX)
		return true;
	atomic_fetch_add(&nb_left_out, 1);
	return false;
}

/* --- the environment --------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t level;
} levels[] = {
	{ "error", RTE_LOG_ERR }, { "warning", RTE_LOG_WARNING }, { "notice", RTE_LOG_NOTICE },
	{ "info", RTE_LOG_INFO }, { "debug", RTE_LOG_DEBUG },
};

static const struct {
	const char *name;
	int *type;
} components[] = {
	{ "dev", &uroce_log_dev }, { "port", &uroce_log_port }, { "neigh", &uroce_log_neigh },
	{ "qp", &uroce_log_qp },   { "mem", &uroce_log_mem },   { "cm", &uroce_log_cm },
};

static bool
is_word(const char *name, const char *word, size_t len)
{
	return strlen(name) == len && strncmp(name, word, len) == 0;
}

/* Find a level by its name. @return false: there is no such level */
static bool
find_level(const char *word, size_t len, uint32_t *level)
{
	for (size_t i = 0; i < RTE_DIM(levels); i++) {
		if (!is_word(levels[i].name, word, len))
			continue;
		*level = levels[i].level;
		return true;
	}
	return false;
}

/* Set the level of a component, or of all components if `len` is 0. */
static bool
set_level(const char *component, size_t len, uint32_t level)
{
	bool is_found = false;

	for (size_t i = 0; i < RTE_DIM(components); i++) {
		if (len != 0 && !is_word(components[i].name, component, len))
			continue;
		is_found = true;
		(void)rte_log_set_level((uint32_t)*components[i].type, level);
	}
	return is_found;
}

/* Apply one part of the environment variable UROCE_LOG: "LEVEL" or "COMPONENT=LEVEL". */
static bool
take_part(const char *part, size_t len)
{
	const char *const equals = memchr(part, '=', len);
	const char *const word = equals ? equals + 1 : part;
	uint32_t level;

	return find_level(word, len - (size_t)(word - part), &level) &&
	       (!equals || equals != part) &&
	       set_level(part, equals ? (size_t)(equals - part) : 0, level);
}

void
uroce_log_read_env(bool is_eal_running)
{
	static atomic_flag is_done[2] = { ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT };
	const char *part = getenv(ENV);
	size_t len;

	if (!part || part[0] == '\0' || atomic_flag_test_and_set(&is_done[is_eal_running]))
		return;
	for (;; part += len + 1) {
		len = strcspn(part, ",");
		if (!take_part(part, len) && is_eal_running)
			UROCE_LOG(WARNING, dev,
				  ENV ": '%.*s' is not understood: allowed is LEVEL"
				      "[,COMPONENT=LEVEL...], with the levels error, warning, "
				      "notice, info and debug, and the components dev, port, "
				      "neigh, qp, mem and cm",
				  (int)(len < UROCE_QUOTED_MAX ? len : UROCE_QUOTED_MAX), part);
		if (part[len] == '\0')
			return;
	}
}
