/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_QUEUE_CQ_H
#define UROCE_QUEUE_CQ_H

/**
 * @file
 * Completion queues. Producers are workers: usually one worker, several when QPs of different
 * workers share the CQ. A producer writes a batch of entries between uroce_cq_begin() and
 * uroce_cq_end() or uroce_cq_end_later(), and so takes the producer lock once for a batch.
 * Consumers are threads of the application, one at a time under the consumer lock. Purge and resize
 * take both locks.
 *
 * A batch is published at its end, or later. A worker keeps a list of the CQs to which it has
 * written. The worker publishes the entries of these CQs after it has sent the acknowledgements of
 * the completed messages. So a consumer that has polled a completion may report it to the peer by
 * other means, because the acknowledgement was sent before. If two workers write to one CQ, each of
 * them may also publish entries of the other.
 *
 * A CQ that overflows is unusable, as the specification requires [IBA 11.6.3.1]. Entries that did
 * not fit are lost, and `is_overrun` stays set. The worker of the QP whose entry was lost raises
 * IBV_EVENT_CQ_ERR.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "base/lock.h"
#include "queue/ring.h"

/**
 * Completion queue entry, one cache line. Its first part has the layout of a work completion, so
 * that a poll only copies that part.
 */
struct uroce_cqe {
	uint64_t wr_id;
	uint32_t status; /* status of the work request (enum ibv_wc_status) */
	uint32_t opcode; /* operation that has completed (enum ibv_wc_opcode) */
	/*
	 * reason of an error status: the verdict on a received frame, or the syndrome of a NAK; 0
	 * if the status has another cause
	 */
	uint32_t vendor_err;
	uint32_t byte_len;
	/* immediate data in wire order, as received, or the rkey that was invalidated */
	uint32_t imm;
	uint32_t qpn;
	uint32_t src_qpn;  /* QP number of the sender of a UD datagram */
	uint32_t wc_flags; /* which fields of the entry are valid (enum ibv_wc_flags) */
	uint16_t pkey_index;
	uint16_t slid; /* always 0, because RoCE has no LIDs */
	uint8_t sl;
	uint8_t dlid_path_bits; /* always 0, because RoCE has no LIDs */
	/* the entry also wakes a consumer that waits for solicited completions only */
	bool is_solicited;
	uint8_t resv;
	/*
	 * value that identifies the QP for uroce_cq_purge() and for extended polls; chosen by the
	 * owner of the QP
	 */
	void *qp;
	uint64_t timestamp_ns; /* time of the worker's clock in ns when the entry was written */
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

/** States of a CQ, which determine the completions that raise an event. */
enum uroce_cq_arm {
	UROCE_CQ_UNARMED,
	/* the CQ is armed: the next completion that is solicited or has an error raises an event */
	UROCE_CQ_ARMED_SOLICITED,
	UROCE_CQ_ARMED, /* the CQ is armed: the next completion of any kind raises an event */
};

/**
 * List of CQs whose batches of entries have ended, but are published later. The CQs are in the
 * order of their oldest entry. The list belongs to one producer, and other threads do not access
 * it.
 */
struct uroce_cq_list {
	/* CQ of the list that has the oldest entry; NULL if the list is empty */
	struct uroce_cq *first;
	struct uroce_cq *last; /* last CQ of the list; valid if `first` is not NULL */
	/*
	 * an acknowledgement of a message whose completion is in the list is still to be sent;
	 * producers set this field, and the thread that publishes the list clears it
	 */
	bool is_ack_pending;
	/*
	 * whether the pending acknowledgement goes to another host; valid if is_ack_pending is set
	 */
	bool is_remote_ack_pending;
};

struct uroce_cq {
	_Alignas(64) struct uroce_ring ring;
	/*
	 * The fields from `push_lock` to `cookie` are in the cache line of the producers. Of these
	 * fields consumers write only `arm`.
	 */
	_Alignas(64) struct uroce_lock push_lock;
	uint32_t nb_open; /* number of entries of the CQ that are written and not yet published */
	/*
	 * number of the `nb_open` entries that are due, which means that they are published next
	 * (uroce_cq_list_mark_due())
	 */
	uint32_t nb_due;
	/*
	 * an entry did not fit into the CQ; `is_overrun` is set when all written entries are
	 * published
	 */
	bool has_overrun;
	/*
	 * an entry was published for which the CQ was armed; the next uroce_cq_end() or
	 * uroce_cq_publish() returns this fact, so that the event is raised
	 */
	bool is_awaited;
	/*
	 * whether the CQ is armed (enum uroce_cq_arm); consumers set the field, producers clear it
	 */
	_Atomic uint32_t arm;
	/* list of the producer that will publish the CQ's entries; NULL if the CQ is on no list */
	struct uroce_cq_list *list;
	struct uroce_cq *list_next;
	/*
	 * value by which the owner finds the CQ of an event; set before the first entry is written
	 */
	void *cookie;
	/*
	 * The fields from `poll_lock` on are in the cache line of the consumers. A producer writes
	 * only `is_overrun`, and only once.
	 */
	_Alignas(64) struct uroce_lock poll_lock;
	atomic_bool is_overrun;
};

/** Number of bytes of memory that a CQ of at least `nb_cqe` entries takes. */
size_t uroce_cq_memsize(uint32_t nb_cqe);

/**
 * Initialise an empty CQ over `mem` (64-byte aligned, uroce_cq_memsize() bytes, owned by the
 * caller).
 */
void uroce_cq_init(struct uroce_cq *cq, void *mem, uint32_t nb_cqe);

/**
 * Producer: begin a batch of entries of the CQ. The producer must end the batch, and must not block
 * before it does, because it holds the producer lock.
 */
void uroce_cq_begin(struct uroce_cq *cq);

/**
 * Producer: add an entry to the batch of the CQ. The entry is a copy of `tmpl`, and the caller
 * changes fields of the copy before the batch ends.
 * @return the entry; NULL: the CQ is full, and will be marked as overrun
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

/**
 * Producer: add an entry whose fields are 0 to the batch of the CQ, as uroce_cq_put_copy() does
 * with a template.
 */
static inline struct uroce_cqe *
uroce_cq_put(struct uroce_cq *cq)
{
	static const struct uroce_cqe none = { .status = IBV_WC_SUCCESS };

	return uroce_cq_put_copy(cq, &none);
}

/**
 * Producer: end the batch of the CQ and publish its entries.
 * @return whether an event must be raised by the caller: the CQ was armed for one of the entries,
 *	and is now disarmed
 */
bool uroce_cq_end(struct uroce_cq *cq);

/**
 * Producer: end the batch of the CQ. The entries of the batch are published when `list` is
 * published, or earlier.
 */
void uroce_cq_end_later(struct uroce_cq *cq, struct uroce_cq_list *list);

/**
 * Producer: mark all present entries of the CQs in `list` as due, which means that they are
 * published next. Entries that are added later are not due.
 */
void uroce_cq_list_mark_due(struct uroce_cq_list *list);

/**
 * Producer: remove all CQs from `list`.
 * @return the first CQ of the former list; the caller passes each CQ of the former list to
 *	uroce_cq_publish()
 */
struct uroce_cq *uroce_cq_list_take(struct uroce_cq_list *list);

/**
 * Producer: publish the entries of a CQ that was on `list`: all entries if `is_all` is set,
 * otherwise the due entries (uroce_cq_list_mark_due()). If entries remain, the CQ is put on the
 * list again.
 * @param[out] is_awaited  whether an event must be raised by the caller: the CQ was armed for one
 *	of the entries, and is now disarmed
 * @return the next CQ of the list; NULL: `cq` was the last one
 */
struct uroce_cq *uroce_cq_publish(struct uroce_cq *cq, struct uroce_cq_list *list, bool is_all,
				  bool *is_awaited);

/**
 * Consumer: poll up to `nb` completions of the CQ.
 * @return number of completions; -EOVERFLOW: the CQ overran and is empty
 */
int uroce_cq_poll(struct uroce_cq *cq, int nb, struct ibv_wc *wc);

/**
 * Consumer: poll one completion of the CQ with all its fields, also those that struct ibv_wc lacks.
 * @return 0; -ENOENT: the CQ is empty; -EOVERFLOW: the CQ overran and is empty
 */
int uroce_cq_take(struct uroce_cq *cq, struct uroce_cqe *cqe);

/**
 * Whether the CQ has no entry to poll. Without the consumer lock the result is a hint, because
 * another thread may poll at the same time.
 */
static inline bool
uroce_cq_is_empty(const struct uroce_cq *cq)
{
	return uroce_ring_head_ordered(&cq->ring) == uroce_ring_tail(&cq->ring);
}

/**
 * Consumer: whether the CQ is empty and has no overrun. A thread may spin on this function,
 * because it only reads.
 */
static inline bool
uroce_cq_has_nothing(const struct uroce_cq *cq)
{
	return uroce_cq_is_empty(cq) &&
	       !atomic_load_explicit(&cq->is_overrun, memory_order_relaxed);
}

/**
 * Consumer: arm the CQ for an event at the next completion, or, with `solicited_only`, at the next
 * solicited or failed completion. If both were requested, the event is raised at the next
 * completion.
 *
 * A completion that is published before the CQ is armed raises no event, but a later poll (or
 * uroce_cq_is_empty()) finds it. So a consumer arms the CQ, then polls again, then sleeps.
 */
void uroce_cq_arm(struct uroce_cq *cq, bool solicited_only);

/**
 * Remove every entry of the CQ whose field `qp` is equal to the argument. The other entries keep
 * their order. A producer must not call this function between uroce_cq_begin() and the end of its
 * batch.
 */
void uroce_cq_purge(struct uroce_cq *cq, const void *qp);

/**
 * Move the entries of the CQ, in order, to new memory of another size. The caller then owns the old
 * memory again. A producer must not call this function between uroce_cq_begin() and the end of its
 * batch.
 * @return 0; -EINVAL: the CQ has more entries than the new size; nothing changed
 */
int uroce_cq_resize(struct uroce_cq *cq, void *mem, uint32_t nb_cqe);

#endif /* UROCE_QUEUE_CQ_H */
