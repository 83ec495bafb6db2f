/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_LOG_H
#define UROCE_DATAPATH_LOG_H

/**
 * @file
 * Logs, with a log type for each kind of object. EAL's option --log-level=roce.port:debug and the
 * like select what is logged.
 *
 * The function that decides that something is an error logs it once, in one line. The line has the
 * subject, the reason and the allowed values. Levels: ERR, a feature does not work; WARNING,
 * a feature works worse; INFO, creation and destruction of objects; DEBUG, control operations. Nothing is logged per
 * packet.
 */

#include <string.h>
#include <rte_log.h>

extern int uroce_log_dev;   /* ID of the log type roce.dev */
extern int uroce_log_port;  /* ID of the log type roce.port */
extern int uroce_log_neigh; /* ID of the log type roce.neigh */
extern int uroce_log_qp;    /* ID of the log type roce.qp */
extern int uroce_log_mem;   /* ID of the log type roce.mem */

/** Log a line. Example: UROCE_LOG(ERR, port, "%s: no such port", name) */
#define UROCE_LOG(level, noun, ...)                                                                \
	rte_log(RTE_LOG_##level, uroce_log_##noun,                                                 \
		RTE_FMT("roce: " RTE_FMT_HEAD(__VA_ARGS__, ) "\n", RTE_FMT_TAIL(__VA_ARGS__, )))

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
