/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_CM_ENGINE_H
#define TEST_UROCED_CM_ENGINE_H

/**
 * @file
 * A host for the server of the connection manager, without a device. The host has an engine whose
 * messages return to the engine itself, and a clock that the test advances. Clients on this host
 * connect to each other.
 */

#include "../../apps/uroced/cm_server.h"

#define ENGINE_IDS 256u

/** The IPv4 address of the host. */
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
	/* the managers; the index of a manager is its number as an owner */
	struct uroce_cm_manager *manager[CM_CLIENTS_MAX];
	struct cm_engine_lease lease[8];
	unsigned nb_leases;
	bool is_cut; /* true if all messages are lost */
};

void cm_engine_init(struct cm_engine *engine);
void cm_engine_fini(struct cm_engine *engine);

/** Get the calls by which the server of the connection manager uses this host. */
struct cm_host cm_engine_host(struct cm_engine *engine);

/** Deliver the messages that the engine has to send, and notify the managers that have events. */
void cm_engine_pump(struct cm_engine *engine);

/** Advance the clock by `ns`, and process the timers that expire in this time. */
void cm_engine_pass(struct cm_engine *engine, uint64_t ns);

/** Get the number that the engine has for a manager as the owner of ids. */
uint16_t cm_engine_owner(const struct uroce_cm_manager *manager);

/** Get the number of ids that exist, including destroyed ones that wait for a peer. */
unsigned cm_engine_nb_open(const struct cm_engine *engine);

#endif /* TEST_UROCED_CM_ENGINE_H */
