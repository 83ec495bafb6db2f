/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_CQ_H
#define UROCE_QUEUE_CQ_H

/**
 * @file
 * Completion queues.
 *
 * Producers are workers (usually one; several when QPs of different workers share the CQ); each
 * brackets a batch with begin/end, which takes the producer lock once. Consumers are application
 * threads, one at a time under the consumer lock. Purge and resize take both.
 *
 * A batch is published when it ends, or later: a worker keeps a list of the CQs that it has written to, and
 * publishes them when the acknowledgements of what completed have left. So a consumer that has seen a
 * completion may tell the peer so by other means, and the peer has the acknowledgement by then. Where two workers
 * write to a CQ meanwhile, what the one wrote may be published by the other.
 *
 * A CQ that overflows is lost, as the specification has it [IBA 11.6.3.1]: entries that did not fit
 * are gone, `is_overrun` stays set, and the owner of the QP is told so that it can raise the event.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "wire/lock.h"
#include "queue/ring.h"

/**
 * Completion queue entry: one cache line, which begins as a work completion does, so that a poll is a
 * copy of that part.
 */
struct uroce_cqe {
	uint64_t wr_id;
	uint32_t status;     /* enum ibv_wc_status */
	uint32_t opcode;     /* enum ibv_wc_opcode */
	uint32_t vendor_err; /* the verdict (or NAK syndrome) behind a bad status; 0: none */
	uint32_t byte_len;
	uint32_t imm; /* immediate data as it came (wire order), or the invalidated rkey */
	uint32_t qpn;
	uint32_t src_qpn;  /* UD */
	uint32_t wc_flags; /* enum ibv_wc_flags */
	uint16_t pkey_index;
	uint16_t slid; /* 0: of no meaning here */
	uint8_t sl;
	uint8_t dlid_path_bits; /* 0 */
	bool is_solicited;      /* wakes a consumer that waits for solicited events only */
	uint8_t resv;
	void *qp;              /* the QP's owner cookie; for purge and extended polls */
	uint64_t timestamp_ns; /* worker's clock when it was written */
};
static_assert(sizeof(struct uroce_cqe) == 64, "a CQE is one cache line");
static_assert(sizeof(struct ibv_wc) <= offsetof(struct uroce_cqe, qp), "a CQE begins as ibv_wc");

#define UROCE_CQE_AS_WC(field, of_wc)                                                              \
	static_assert(offsetof(struct uroce_cqe, field) == offsetof(struct ibv_wc, of_wc) &&       \
			      sizeof(((struct uroce_cqe *)0)->field) ==                            \
				      sizeof(((struct ibv_wc *)0)->of_wc),                         \
		      #field " is where ibv_wc has " #of_wc)
UROCE_CQE_AS_WC(wr_id, wr_id);
UROCE_CQE_AS_WC(status, status);
UROCE_CQE_AS_WC(opcode, opcode);
UROCE_CQE_AS_WC(vendor_err, vendor_err);
UROCE_CQE_AS_WC(byte_len, byte_len);
UROCE_CQE_AS_WC(imm, imm_data);
UROCE_CQE_AS_WC(qpn, qp_num);
UROCE_CQE_AS_WC(src_qpn, src_qp);
UROCE_CQE_AS_WC(wc_flags, wc_flags);
UROCE_CQE_AS_WC(pkey_index, pkey_index);
UROCE_CQE_AS_WC(slid, slid);
UROCE_CQE_AS_WC(sl, sl);
UROCE_CQE_AS_WC(dlid_path_bits, dlid_path_bits);
#undef UROCE_CQE_AS_WC

/** What a consumer asked to be told of. */
enum uroce_cq_arm {
	UROCE_CQ_UNARMED,
	UROCE_CQ_ARMED_SOLICITED, /* next solicited or bad completion */
	UROCE_CQ_ARMED,           /* next completion */
};

/**
 * CQs of which a producer has ended batches that it will publish later, in the order of their oldest entry. Its own: no
 * other thread's.
 */
struct uroce_cq_list {
	struct uroce_cq *first; /* NULL: none */
	struct uroce_cq *last;  /* valid with `first` */
	/* for some of what completed; set by producers, cleared by who publishes */
	bool is_ack_pending;
	bool is_remote_ack_pending; /* and to another host */
};

struct uroce_cq {
	_Alignas(64) struct uroce_ring ring;
	/* the producers' line, but for `arm` */
	_Alignas(64) struct uroce_lock push_lock;
	uint32_t nb_open; /* entries put, not yet published */
	uint32_t nb_due;  /* of these, the ones that are to be published next */
	bool has_overrun; /* some of them did not fit */
	bool is_awaited; /* the consumer is to be told of a completion; done when the list is published */
	_Atomic uint32_t arm;       /* enum uroce_cq_arm; set by consumers, cleared by producers */
	struct uroce_cq_list *list; /* by which it will be published; NULL: by none */
	struct uroce_cq *list_next;
	void *cookie; /* the owner's: who is to be told; set before the first batch */
	/* the consumers' line, but for `is_overrun`, which producers set once */
	_Alignas(64) struct uroce_lock poll_lock;
	atomic_bool is_overrun;
};

/** Bytes for a CQ of at least `nb_cqe` entries. */
size_t uroce_cq_memsize(uint32_t nb_cqe);

/** Make an empty CQ over `mem` (64-byte aligned). */
void uroce_cq_init(struct uroce_cq *cq, void *mem, uint32_t nb_cqe);

/** Producer: begin a batch. Every begin has its end, with nothing that waits in between. */
void uroce_cq_begin(struct uroce_cq *cq);

/**
 * Producer: the next entry, a copy of `tmpl`, to be completed before the end; NULL: full, the CQ is
 * overrun.
 */
static inline struct uroce_cqe *
uroce_cq_put_copy(struct uroce_cq *cq, const struct uroce_cqe *tmpl)
{
	if (!uroce_ring_has_room(&cq->ring, cq->nb_open)) {
		cq->has_overrun = true;
		return NULL;
	}
	struct uroce_cqe *cqe = uroce_ring_free_slot(&cq->ring, cq->nb_open++);

	*cqe = *tmpl;
	return cqe;
}

/** The same, zeroed. */
static inline struct uroce_cqe *
uroce_cq_put(struct uroce_cq *cq)
{
	static const struct uroce_cqe none = { .status = IBV_WC_SUCCESS };

	return uroce_cq_put_copy(cq, &none);
}

/**
 * Producer: end the batch and publish it.
 * @return whether the consumer had asked to be told of it (and is now unarmed): raise the event
 */
bool uroce_cq_end(struct uroce_cq *cq);

/** Producer: end the batch; it is published with the list at the latest. */
void uroce_cq_end_later(struct uroce_cq *cq, struct uroce_cq_list *list);

/** Producer: what was put until now is due; what is put from now on is not. */
void uroce_cq_list_mark_due(struct uroce_cq_list *list);

/** Producer: empty the list. @return the first CQ of those that it had, to be published one after the other */
struct uroce_cq *uroce_cq_list_take(struct uroce_cq_list *list);

/**
 * Producer: publish the entries of a CQ that was on the list: those that are due, or all. If that leaves some it is on the
 * list again.
 * @param[out] is_awaited  whether its consumer had asked to be told (and is now unarmed): raise the event
 * @return the next CQ; NULL: it was the last one
 */
struct uroce_cq *uroce_cq_publish(struct uroce_cq *cq, struct uroce_cq_list *list, bool is_all,
				  bool *is_awaited);

/**
 * Consumer: take up to `nb` completions.
 * @return how many, or -EOVERFLOW: the CQ overran and is empty
 */
int uroce_cq_poll(struct uroce_cq *cq, int nb, struct ibv_wc *wc);

/**
 * Consumer: take one completion, with what a work completion does not tell.
 * @return 0; -ENOENT: there is none; -EOVERFLOW: the CQ overran and is empty
 */
int uroce_cq_take(struct uroce_cq *cq, struct uroce_cqe *cqe);

/** Whether a poll would find nothing; may be asked without a lock, as a hint. */
static inline bool
uroce_cq_is_empty(const struct uroce_cq *cq)
{
	return uroce_ring_head_ordered(&cq->ring) == uroce_ring_tail(&cq->ring);
}

/** Consumer: the same, and there was no overrun either. Who spins on it disturbs nobody's lines. */
static inline bool
uroce_cq_has_nothing(const struct uroce_cq *cq)
{
	return uroce_cq_is_empty(cq) &&
	       !atomic_load_explicit(&cq->is_overrun, memory_order_relaxed);
}

/**
 * Consumer: ask to be told of the next (solicited) completion. The stronger request wins.
 *
 * A completion that is published before the request takes effect raises nothing, but a poll (or
 * uroce_cq_is_empty()) after this call finds it: arm, then look once more, then sleep.
 */
void uroce_cq_arm(struct uroce_cq *cq, bool solicited_only);

/**
 * Remove every entry whose cookie is `qp`, keeping the order of the rest. Not between begin and end.
 */
void uroce_cq_purge(struct uroce_cq *cq, const void *qp);

/**
 * Move the entries to new memory of another size, in order; the old memory is the caller's again.
 * Not between begin and end.
 * @return 0, or -EINVAL: more entries are queued than the new size holds; nothing changed
 */
int uroce_cq_resize(struct uroce_cq *cq, void *mem, uint32_t nb_cqe);

#endif /* UROCE_QUEUE_CQ_H */
