/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_ALERT_H
#define UROCE_DATAPATH_ALERT_H

/**
 * @file
 * Alerts: a log line names a suspected attack, the QP, and the source address of the frames.
 *
 * The transport counts frames that no honest peer sends, and raises an event of the QP. Each worker
 * logs each kind of attack at most once a second. It logs only if more frames arrive in that second
 * than chance can explain. So an attacker can neither fill the log nor consume the worker's time.
 */

#include "datapath/worker/worker.h"

/** Kinds of attacks; the table in alert.c has a row for each kind. */
enum uroce_alert {
	UROCE_ALERT_CNP,
	UROCE_ALERT_KEYS,
	UROCE_ALERT_CONFLICT,
	UROCE_ALERT_RNR,
	UROCE_ALERT_NB
};

/**
 * The alert state of a worker: one record for each kind of attack. A record is all zero until the
 * first frame of its kind of attack arrives. Only the worker writes this state.
 */
struct uroce_alerts {
	struct uroce_alert_second {
		/*
		 * Time at which the present second began, in which the frames of this kind of
		 * attack are counted; 0: no such frame has arrived.
		 */
		uint64_t begin_ns;
		/* value of the counter of this kind of attack at the start of the second */
		uint64_t base;
		uint64_t seen; /* value of the counter of this kind of attack at the latest check */
		/* a line about this kind of attack was logged since `begin_ns` */
		bool is_logged;
	} kind[UROCE_ALERT_NB];
};

/** The set of QP events (enum uroce_qpc_event) that raise alerts. */
#define UROCE_ALERT_EVENTS                                                                         \
	(UROCE_QPC_CNP_IMPLAUSIBLE | UROCE_QPC_KEYS_GUESSED | UROCE_QPC_PSN_CONFLICT |             \
	 UROCE_QPC_RNR_FALSE)

/**
 * Handle the alert events of a QP: log a line for each kind of attack that has reached its
 * threshold.
 * @param events  events of the QP; those outside of UROCE_ALERT_EVENTS are ignored
 * @param counters  counters of the worker; they already include the frames that caused the events
 */
void uroce_alert_raise(struct uroce_alerts *alerts, const struct uroce_qpc *qpc, uint32_t events,
		       const struct uroce_counters *counters, uint64_t now_ns);

#endif /* UROCE_DATAPATH_ALERT_H */
