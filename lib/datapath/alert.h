/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_ALERT_H
#define UROCE_DATAPATH_ALERT_H

/**
 * @file
 * Frames that no honest peer sends: a line of the log names the attack, the QP and the address it seems to come from.
 *
 * The transport counts such frames, and raises an event of the QP. There is a line for each kind and worker at most
 * once a second, and only when as many came in that second as chance cannot explain. So an attacker can fill
 * neither the log nor the worker's time.
 */

#include "datapath/worker.h"

/** Kinds of attacks; the table in alert.c has a row for each. */
enum uroce_alert {
	UROCE_ALERT_CNP,
	UROCE_ALERT_KEYS,
	UROCE_ALERT_CONFLICT,
	UROCE_ALERT_RNR,
	UROCE_ALERT_NB
};

/** What a worker remembers of each kind. All zero: nothing came. Its worker alone writes. */
struct uroce_alerts {
	struct uroce_alert_second {
		uint64_t begin_ns; /* of the present second; 0: none came */
		uint64_t base;     /* the counter, when it began */
		uint64_t seen;     /* the counter, when it was looked at last */
		bool is_told;      /* there was a line in this second */
	} kind[UROCE_ALERT_NB];
};

/** Events that are alarms. */
#define UROCE_ALERT_EVENTS                                                                         \
	(UROCE_QPC_CNP_IMPLAUSIBLE | UROCE_QPC_KEYS_GUESSED | UROCE_QPC_PSN_CONFLICT |             \
	 UROCE_QPC_RNR_FALSE)

/**
 * A QP has some of UROCE_ALERT_EVENTS.
 * @param counters  of the worker: they have counted what it is about
 */
void uroce_alert_raise(struct uroce_alerts *alarms, const struct uroce_qpc *qpc, uint32_t events,
		       const struct uroce_counters *counters, uint64_t now_ns);

#endif /* UROCE_DATAPATH_ALERT_H */
