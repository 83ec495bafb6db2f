/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MUX_BINDING_H
#define UROCE_MUX_BINDING_H

/**
 * @file
 * Bindings: which peer each connected QP of a client has (RC, UC, XRC). A packet of a connection does not name the QP that
 * sent it, and all clients of a uroced have one address. So the client that owns a QP says which peer the QP is connected
 * to, and uroced delivers to the QP what comes from this peer alone: from the client that owns the peer's QP number, or,
 * where the peer is on another host, from the wire.
 *
 * The table is in the client's area. The client writes it, uroced loads one word of it for each frame. A client that
 * writes something wrong opens or closes its own QPs only.
 *
 *	 63      48 47        24 23         0
 *	|  where   |  dest QPN  |    QPN     |   at QPN modulo the table's length; 0: no binding
 *
 * Who owns a QP binds it before the call returns by which the QP begins to receive: a peer that is told of it then finds
 * the binding.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "mux/shm.h"

enum uroce_binding_where {
	UROCE_BINDING_NONE,
	UROCE_BINDING_LOCAL,  /* the peer is behind the same uroced */
	UROCE_BINDING_REMOTE, /* the peer is on another host */
};

struct uroce_binding {
	uint32_t qpn;      /* the client's own */
	uint32_t dest_qpn; /* the peer's */
	uint16_t where;    /* enum uroce_binding_where; others are none */
};

static inline _Atomic uint64_t *
uroce_binding_slot(const struct uroce_shm *shm, uint32_t qpn)
{
	return &uroce_shm_bindings(shm)[qpn & (shm->plan.nb_bindings - 1)];
}

/** The client: bind a QP. No other QP of the client may have a number of the same slot. */
static inline void
uroce_binding_set(const struct uroce_shm *shm, const struct uroce_binding *binding)
{
	const uint64_t word = (uint64_t)binding->where << 48 |
			      (uint64_t)(binding->dest_qpn & 0xffffff) << 24 |
			      (binding->qpn & 0xffffff);

	atomic_store_explicit(uroce_binding_slot(shm, binding->qpn), word, memory_order_release);
}

/** The client: the QP has no peer any more. */
static inline void
uroce_binding_clear(const struct uroce_shm *shm, uint32_t qpn)
{
	atomic_store_explicit(uroce_binding_slot(shm, qpn), 0, memory_order_release);
}

/** What is said of a QP; its `qpn` is another one where nothing is. */
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
