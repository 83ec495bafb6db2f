/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_LOG_H
#define UROCE_DATAPATH_LOG_H

/**
 * @file
 * Logs, with a log type for each kind of object. EAL's option --log-level=roce.port:debug and the
 * like select what is logged, and so does the environment variable UROCE_LOG.
 *
 * The function that decides that something is an error logs it once, in one line. The line has the
 * subject, the reason and the allowed values. Nothing is logged per packet. Levels:
 * - ERR: a feature does not work.
 * - WARNING: a feature works worse, a call of the program is refused, or a QP fails.
 * - INFO: devices come and go; a call is refused because this library lacks a feature, which
 *   programs find out by trying.
 * - DEBUG: QPs are created, modified, connected and destroyed; ids of connection management listen
 *   and have events.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <rte_log.h>

extern int uroce_log_dev;   /* ID of the log type roce.dev */
extern int uroce_log_port;  /* ID of the log type roce.port */
extern int uroce_log_neigh; /* ID of the log type roce.neigh */
extern int uroce_log_qp;    /* ID of the log type roce.qp */
extern int uroce_log_mem;   /* ID of the log type roce.mem */
extern int uroce_log_cm;    /* ID of the log type roce.cm */

/** Log a line. Example: UROCE_LOG(ERR, port, "%s: no such port", name) */
#define UROCE_LOG(level, noun, ...)                                                                \
	rte_log(RTE_LOG_##level, uroce_log_##noun,                                                 \
		RTE_FMT("roce: " RTE_FMT_HEAD(__VA_ARGS__, ) "\n", RTE_FMT_TAIL(__VA_ARGS__, )))

/**
 * Log a line that a program can cause again and again, such as a refused call. All these lines of
 * the process together are limited to UROCE_LOG_LINES_MAX in a second. A later line reports how
 * many lines were left out.
 */
#define UROCE_LOG_LINES_MAX 50u
#define UROCE_LOG_LIMITED(level, noun, ...)                                                        \
	do {                                                                                       \
		if (uroce_log_has_room(RTE_LOG_##level, uroce_log_##noun))                         \
			UROCE_LOG(level, noun, __VA_ARGS__);                                       \
	} while (0)

/**
 * Check whether UROCE_LOG_LIMITED() may log a line now, and count the line.
 * @return false if the level of the log type does not select the line, or if the limit is reached
 */
bool uroce_log_has_room(uint32_t level, int type);

/**
 * Set the levels of the log types as the environment variable UROCE_LOG requests:
 * "LEVEL[,COMPONENT=LEVEL...]". EAL sets levels when it starts, so this function sets them once
 * before EAL has started and once afterwards. Later calls do nothing. A part of the variable that
 * is not understood has no effect, and one line is logged.
 * @param is_eal_running  rte_eal_init() has returned
 */
void uroce_log_read_env(bool is_eal_running);

/** The description, for error messages, of a text that sets the levels of log types. */
#define UROCE_LOG_LEVELS                                                                           \
	"LEVEL[,COMPONENT=LEVEL...], with the levels error, warning, notice, info and debug, and " \
	"the components dev, port, neigh, qp, mem and cm"

/** Whether a text has the form of UROCE_LOG_LEVELS, and only known levels and components. */
bool uroce_log_are_levels(const char *text);

/**
 * Set the levels of all log types to NOTICE, and then to the levels in `text`. The function may be
 * called any number of times. Other threads may log at the same time.
 * @param text  levels that uroce_log_are_levels() accepts; other parts have no effect
 */
void uroce_log_set_levels(const char *text);

/**
 * Quote a string of the caller, which may have any length. A long string is cut off and ends in
 * "...". Example:
 *
 *	UROCE_LOG(ERR, dev, "unknown key '" UROCE_QUOTED "'", UROCE_QUOTE(name))
 */
#define UROCE_QUOTED_MAX  64
#define UROCE_QUOTED      "%.*s%s"
#define UROCE_QUOTE(text) UROCE_QUOTED_MAX, (text), strlen(text) > UROCE_QUOTED_MAX ? "..." : ""

#endif /* UROCE_DATAPATH_LOG_H */
