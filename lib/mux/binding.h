/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MUX_BINDING_H
#define UROCE_MUX_BINDING_H

/**
 * @file
 * Bindings: the peer of each connected QP (RC, UC, XRC) of a client of uroced, the daemon that owns
 * the port. A packet of a connection does not have the QP number of its sender, and all clients of
 * a uroced have the same address. So the client that owns a QP states the QP's peer. uroced
 * delivers only packets of this peer to the QP: from the client that owns the peer's QP number, or,
 * if the peer is on another host, from the wire.
 *
 * The table of bindings is in the client's shared memory. The client writes the table; uroced loads
 * one word of it for each frame. A client that writes wrong words affects only its own QPs.
 *
 *	 63      48 47        24 23         0
 *	|  where   |  dest QPN  |    QPN     |   at QPN modulo the table's length; 0: no binding
 *
 * A client writes the binding of a QP before the call returns with which the QP begins to receive.
 * So the binding exists before the peer can learn that the QP receives.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "mux/shm.h"

enum uroce_binding_where {
	UROCE_BINDING_NONE,
	UROCE_BINDING_LOCAL,  /* the peer of the QP is a client of the same uroced */
	UROCE_BINDING_REMOTE, /* the peer of the QP is on another host */
};

struct uroce_binding {
	uint32_t qpn;      /* number of the client's QP that has the binding */
	uint32_t dest_qpn; /* number of the peer's QP to which the client's QP is connected */
	/*
	 * where the peer of the QP is (enum uroce_binding_where); any other value means that there
	 * is no binding
	 */
	uint16_t where;
};

static inline _Atomic uint64_t *
uroce_binding_slot(const struct uroce_shm *shm, uint32_t qpn)
{
	return &uroce_shm_bindings(shm)[qpn & (shm->plan.nb_bindings - 1)];
}

/**
 * Client: write the binding of a QP into the table of bindings. The client must not have another QP
 * whose number selects the same slot of the table.
 */
static inline void
uroce_binding_set(const struct uroce_shm *shm, const struct uroce_binding *binding)
{
	const uint64_t word = (uint64_t)binding->where << 48 |
			      (uint64_t)(binding->dest_qpn & 0xffffff) << 24 |
			      (binding->qpn & 0xffffff);

	atomic_store_explicit(uroce_binding_slot(shm, binding->qpn), word, memory_order_release);
}

/** Client: remove the binding of a QP from the table of bindings. */
static inline void
uroce_binding_clear(const struct uroce_shm *shm, uint32_t qpn)
{
	atomic_store_explicit(uroce_binding_slot(shm, qpn), 0, memory_order_release);
}

/**
 * Read the binding of a QP from the table of bindings. If the QP has no binding, the `qpn` of the
 * result is not the QP's number.
 */
static inline struct uroce_binding
uroce_binding_get(const struct uroce_shm *shm, uint32_t qpn)
{
	const uint64_t word =
		atomic_load_explicit(uroce_binding_slot(shm, qpn), memory_order_relaxed);

	return (struct uroce_binding){
		.qpn = word & 0xffffff,
		.dest_qpn = word >> 24 & 0xffffff,
		.where = (uint16_t)(word >> 48),
	};
}

#endif /* UROCE_MUX_BINDING_H */
