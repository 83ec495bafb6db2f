/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_ID_LIST_H
#define UROCE_CM_ID_LIST_H

/**
 * @file
 * Lists of CM ids, for tools that show what an engine does. The list has every id that is not free:
 * also those that were destroyed and wait for the peer, and requests that no user has received yet.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cm/cm.h"

/**
 * Maximum number of CM ids that one call of uroce_cme_list() examines. The limit bounds the time of
 * a call.
 */
#define UROCE_CM_LIST_SCAN 4096u

/** A CM id in a list. A field that struct uroce_cm_info has, too, has the same meaning in both. */
struct uroce_cm_row {
	uint32_t id;
	/*
	 * the listener, if the CM id is a request that no user has received yet; otherwise
	 * UROCE_CM_NO_ID
	 */
	uint32_t listener;
	uint16_t owner; /* number of the user that has, or had, the CM id */
	/* the user has received the CM id, or will receive it by a CONNECT_REQUEST */
	bool has_owner;
	bool is_active;
	bool is_datagram;
	uint8_t state;  /* state of the CM id (enum uroce_cm_state, cm/state.h) */
	uint16_t space; /* port space of the CM id (cm/service_id.h) */
	struct uroce_cm_addr local;
	struct uroce_cm_addr remote;
	uint64_t service_id;
	uint32_t local_qpn;
	uint32_t remote_qpn;
	/* communication ID that this side has assigned to the CM id; 0 if there is none */
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	/* if the CM id is a listener: number of requests that wait for its user */
	uint32_t nb_waiting;
	/* if the CM id is a listener: maximum number of requests of one host that may wait */
	uint32_t max_backlog;
	uint16_t nb_retries; /* number of repetitions of the last message of the CM id */
	/*
	 * time in ns until the CM id repeats its message, or leaves a state such as TIMEWAIT;
	 * UROCE_CM_NEVER: no timer runs
	 */
	uint64_t left_ns;
};

/**
 * List CM ids in the order of their numbers. An id that is created or freed between two calls may
 * be missing.
 * @param[in,out] next  first id to examine; on return, the id at which the next call continues, or
 *	UROCE_CM_NO_ID at the end. The list may continue although this call has found no id
 * @return number of ids in `rows`, at most `max`
 */
unsigned uroce_cme_list(const struct uroce_cm *cm, uint32_t *next, struct uroce_cm_row *rows,
			unsigned max, uint64_t now_ns);

#endif /* UROCE_CM_ID_LIST_H */
