/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The log types of the library, their levels, and the limit of the number of lines that a program
 * can cause. The log types are registered before main(), so that EAL's option --log-level finds
 * them.
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

/* Find a log level by its name. @return false: no level has this name */
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

/*
 * One of the parts, separated by commas, of a text that sets log levels: "LEVEL" or
 * "COMPONENT=LEVEL".
 */
struct part {
	const char *component;
	size_t len; /* length of the component's name; 0: the level is for all components */
	uint32_t level;
};

static bool
is_component(const struct part *part, size_t i)
{
	return part->len == 0 || is_word(components[i].name, part->component, part->len);
}

static bool
has_component(const struct part *part)
{
	for (size_t i = 0; i < RTE_DIM(components); i++) {
		if (is_component(part, i))
			return true;
	}
	return false;
}

/* Parse "LEVEL" or "COMPONENT=LEVEL". @return false: the text has another form */
static bool
parse_part(const char *text, size_t len, struct part *part)
{
	const char *const equals = memchr(text, '=', len);
	const char *const word = equals ? equals + 1 : text;

	*part = (struct part){ text, equals ? (size_t)(equals - text) : 0, 0 };
	return find_level(word, len - (size_t)(word - text), &part->level) &&
	       (!equals || part->len > 0) && has_component(part);
}

static void
set_part(const struct part *part)
{
	for (size_t i = 0; i < RTE_DIM(components); i++) {
		if (is_component(part, i))
			(void)rte_log_set_level((uint32_t)*components[i].type, part->level);
	}
}

/* Apply "LEVEL" or "COMPONENT=LEVEL". @return false: the text has another form */
static bool
take_part(const char *text, size_t len)
{
	struct part part;
	const bool is_good = parse_part(text, len, &part);

	if (is_good)
		set_part(&part);
	return is_good;
}

bool
uroce_log_are_levels(const char *text)
{
	struct part part;

	for (;;) {
		const size_t len = strcspn(text, ",");

		if (!parse_part(text, len, &part))
			return false;
		if (text[len] == '\0')
			return true;
		text += len + 1;
	}
}

void
uroce_log_set_levels(const char *text)
{
	static const char none[] = "notice";

	(void)take_part(none, strlen(none));
	for (;;) {
		const size_t len = strcspn(text, ",");

		(void)take_part(text, len);
		if (text[len] == '\0')
			return;
		text += len + 1;
	}
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
				  ENV ": '%.*s' is not understood: allowed is " UROCE_LOG_LEVELS,
				  (int)(len < UROCE_QUOTED_MAX ? len : UROCE_QUOTED_MAX), part);
		if (part[len] == '\0')
			return;
	}
}
