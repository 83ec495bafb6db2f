/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_CM_ENGINE_H
#define TEST_UROCED_CM_ENGINE_H

/**
 * @file
 * A host for the server of the connection manager without a device: an engine whose messages return
 * to itself, and a clock that the test moves. Clients connect to each other over it.
 */

#include "../../apps/uroced/cm_server.h"

#define ENGINE_IDS 256u

/** The address of the host, and another one that is not of this host. */
#define ENGINE_IP4                                                                                 \
	{                                                                                          \
		192, 0, 2, 1                                                                       \
	}

/** A block of QP numbers, with its user and its token. */
struct cm_engine_lease {
	uid_t uid;
	uint32_t block;
	uint64_t token;
};

struct cm_engine {
	struct uroce_cm *cm;
	void *mem;
	uint64_t now_ns;
	struct uroce_cm_manager *manager[CM_CLIENTS_MAX]; /* by owner */
	struct cm_engine_lease lease[8];
	unsigned nb_leases;
	bool is_cut; /* messages are lost */
};

void cm_engine_init(struct cm_engine *engine);
void cm_engine_fini(struct cm_engine *engine);

/** What the server needs. */
struct cm_host cm_engine_host(struct cm_engine *engine);

/** Deliver the messages that are on the way. Owners that have events are told. */
void cm_engine_pump(struct cm_engine *engine);

/** Move the clock, and process the timers. */
void cm_engine_pass(struct cm_engine *engine, uint64_t ns);

/** The owner of a manager in the engine. */
uint16_t cm_engine_owner(const struct uroce_cm_manager *manager);

/** Number of ids that exist, including destroyed ones that wait for a peer. */
unsigned cm_engine_nb_open(const struct cm_engine *engine);

#endif /* TEST_UROCED_CM_ENGINE_H */
