/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_CONTEXT_H
#define UROCE_TRANSPORT_CONTEXT_H

/**
 * @file
 * The QP context: all state of a QP, grouped by the role that uses it: requester, responder, or
 * both. The file also has the predicates on this state that requester and responder share.
 *
 * The functions that lib/datapath and lib/verbs call are in qpc.h.
 *
 * The file has more than 500 lines: all fields of a QP are laid out in one struct.
 */

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "mem/mr.h"
#include "mem/sge.h"
#include "queue/cq.h"
#include "queue/srq.h"
#include "queue/srq_table.h"
#include "queue/wq.h"
#include "transport/conf.h"
#include "transport/congestion/cc.h"
#include "transport/counter.h"
#include "transport/recovery/recovery_context.h"
#include "transport/recovery/reorder_buffer.h"
#include "transport/recovery/reorder_window.h"
#include "transport/responder/resources.h"
#include "transport/recovery/rtt.h"
#include "wire/build.h"
#include "wire/parse.h"
#include "wire/psn.h"
#include "wire/syndrome.h"
#include "wire/verdict.h"

/** The value of a deadline whose timer is not armed. */
#define UROCE_NEVER UINT64_MAX

/**
 * The requester's window in PSNs: how far next_psn, the next PSN to send, may be ahead of una_psn,
 * the oldest unacknowledged PSN. The default is half of the number of entries that the ring of a
 * port usually has. The reason is a port that passes frames between two cores through a ring in
 * shared memory. While the ring is half full, the receiver reads entries from the cache that both
 * cores share. Entries that were written more recently would still be in the private cache of the
 * sender's core, which is slower to read.
 */
#define UROCE_WINDOW_PSNS 512

/**
 * The largest window of a requester, in PSNs: the number of PSNs behind a PSN gap that a responder
 * can track.
 */
#define UROCE_WINDOW_MAX UROCE_PSN_GAP_SPAN

/**
 * The size of a READ chunk, in response packets. A READ is sent as several requests, one for each
 * chunk, so that the requester's window limits the responses in flight. On the wire each request is
 * an ordinary READ. Chunks are larger where max_rd_atomic chunks of this size would not fill the
 * window.
 */
#define UROCE_READ_CHUNK_PSNS 64

/**
 * A descriptor of one frame to send. The caller of uroce_qpc_send() sets the fields marked "in",
 * and uroce_qpc_send() sets those marked "out".
 */
struct uroce_txd {
	/*
	 * in: a buffer with room for UROCE_HDR_MAX bytes of headers and for a payload behind the
	 * headers. out: the headers from Ethernet to the extension headers. A payload that an mkey
	 * describes is built behind the headers; then a slice points into this buffer.
	 */
	uint8_t *hdr;
	/* out: CRC state of the ICRC after the UDP header (see wire/icrc.h) */
	uint32_t icrc;
	uint32_t payload_len; /* out: number of payload bytes in all slices */
	uint16_t hdr_len;     /* out: length of the headers */
	uint8_t bth_off;      /* out: offset of the BTH in hdr */
	uint8_t pad_len;      /* out: number of zero bytes between payload and ICRC, 0..3 */
	uint8_t nb_slices;    /* out: number of slices of the payload */
	/* out: slices of the payload; the first nb_slices are valid */
	struct uroce_slice slice[UROCE_SGE_MAX];
};

/**
 * The state of the requester, which sends the requests of this QP. The fields that are used for
 * every packet fill two cache lines.
 */
struct uroce_req {
	struct uroce_ooo_responses ooo_responses;
	struct uroce_rtt rtt;
	struct uroce_loss_recovery loss_recovery;
	/* in the state UROCE_RECOVERY_RNR_WAIT: time at which the refused request is repeated */
	uint64_t rnr_deadline;
	/* RNR NAKs are ignored until this time, because earlier ones were false */
	uint64_t rnr_ignore_ns;
	/* in the state UROCE_RECOVERY_RNR_WAIT: time at which the wait began */
	uint64_t rnr_ns;
	/*
	 * in the state UROCE_RECOVERY_RNR_WAIT: PSN of the request for which the peer had no
	 * receive request
	 */
	uint32_t rnr_psn;
	/*
	 * number of false RNR NAKs in a row, saturated; an RNR NAK is false if its request was
	 * acknowledged without a retransmission
	 */
	uint8_t nb_false_rnrs;
	uint8_t resv[3]; /* padding that puts the next fields into one cache line */
	/*
	 * time at which the ACK timer expires; UROCE_NEVER: nothing is in flight, or there is no
	 * timeout
	 */
	uint64_t ack_deadline;
	uint64_t armed_ns; /* time at which ack_deadline was set */
	uint32_t una_psn;  /* the oldest PSN that is not acknowledged */
	/* PSN of the next packet to send; during retransmission, a PSN that was sent before */
	uint32_t next_psn;
	uint32_t max_psn;  /* PSN behind the newest PSN that was ever sent */
	uint32_t una_idx;  /* send queue index of the oldest incomplete request */
	uint32_t next_idx; /* send queue index of the request that next_psn belongs to */
	uint32_t next_pkt; /* number of PSNs of the request at next_idx before next_psn */
	/* send queue index behind the newest request to which PSNs were assigned */
	uint32_t begun_idx;
	/* number of packets sent after the last packet that requested an ACK */
	uint8_t since_ack_req;
	/*
	 * number of ACK timeouts, including the one that is running, after which the request fails
	 * because the port does not accept packets; 0: the ACK timer waits for the peer, and not
	 * for the port
	 */
	uint8_t port_retry_left;
	uint8_t nb_rd_out; /* number of READ and atomic requests in flight */
	uint8_t nb_probes; /* number of probes since the last response that acknowledged a packet */
	uint8_t retry_left;
	uint8_t rnr_left;
	/*
	 * status (enum ibv_wc_status) with which the request at next_idx will fail; 0: the request
	 * can be sent
	 */
	uint8_t fault;
	/*
	 * The fields is_ack_wanted, is_draining and is_local_done are used in every recovery state.
	 */
	/* the next packet requests an ACK, even if the ACK rule (req.c) does not require it */
	bool is_ack_wanted;
	/* in the QP state SQD: some requests that were begun have not yet completed */
	bool is_draining;
	/* a local request (one without packets) was executed, and may be ready to complete */
	bool is_local_done;
};

/** States of the reception of requests. The transitions are the table in ooo_request_state.c. */
enum uroce_ooo_request_state {
	UROCE_OOO_REQUEST_IN_ORDER, /* no request is known to be missing */
	/*
	 * the request with the expected PSN (epsn) is missing; until `nak_deadline` it counts as
	 * late, not as lost
	 */
	UROCE_OOO_REQUEST_REORDERING,
	/*
	 * the request with the expected PSN (epsn) is missing, and a NAK (PSN sequence error)
	 * reports it once
	 */
	UROCE_OOO_REQUEST_NAK_SENT,
	/*
	 * the request with the expected PSN (epsn) was refused by an RNR NAK; the peer retransmits
	 * it and all later requests
	 */
	UROCE_OOO_REQUEST_RNR_NAK_SENT,
	/*
	 * the PSN gap is filled; some requests that were kept behind it wait, and the next of them
	 * are executed at `nak_deadline`
	 */
	UROCE_OOO_REQUEST_DRAINING,
	UROCE_OOO_REQUEST_STATE_NB
};

/**
 * The state of the responder, which executes the peer's requests. The requester also reads the
 * first 24 bytes. The fields up to `res` are read for every request.
 */
struct uroce_resp {
	/*
	 * in the state UROCE_OOO_REQUEST_REORDERING: the time at which the PSN gap at the expected
	 * PSN is reported; in UROCE_OOO_REQUEST_DRAINING: the time at which the next of the
	 * requests that were kept behind a filled gap are executed; otherwise UROCE_NEVER
	 */
	uint64_t nak_deadline;
	uint32_t pending; /* bit i is set if the resource res[i] has responses to send */
	uint32_t epsn;    /* the PSN that is expected next */
	/*
	 * operation of the message that is being received (enum uroce_operation);
	 * UROCE_OPERATION_NONE between messages
	 */
	uint8_t operation;
	uint8_t syndrome;  /* syndrome of the ACK or NAK that is to be sent */
	uint8_t ooo_state; /* state of the reception of requests: enum uroce_ooo_request_state */
	/*
	 * an ACK or a NAK is pending. This flag is not part of `ooo_state`, because an ACK may be
	 * pending in every state
	 */
	bool has_aeth;
	/*
	 * It is not known yet whether a late packet or a retransmission filled the last PSN gap;
	 * the next packet shows this. This flag is not part of `ooo_state`, because the next gap
	 * may be open meanwhile.
	 */
	bool is_fill_doubtful;
	/*
	 * The peer goes back N, so this QP reports PSN gaps to it without delay. The flag stays set
	 * after the gaps are filled, so it is not part of `ooo_state`.
	 */
	bool is_peer_gbn;
	uint8_t resv[2];
	uint32_t msn; /* number of messages completed, modulo 2^24 */
	/* number of payload bytes that were received of the present message */
	uint32_t msg_len;
	/*
	 * packets that arrived ahead of the expected PSN (epsn); NULL if there are no such packets
	 */
	struct uroce_psn_gap *gap;
	struct uroce_reorder_window reorder_window;
	/* receive request that was taken from the SRQ, see recv.c; NULL: no request is taken */
	struct uroce_recv_wqe *recv;
	uint64_t write_va;
	uint32_t write_rkey; /* rkey of the WRITE that is being received */
	uint32_t write_len;  /* length in bytes of the WRITE that is being received */
	uint32_t aeth_psn;   /* PSN of the NAK or RNR NAK that is to be sent */
	/*
	 * number of READs and atomics received so far; this number modulo UROCE_RD_ATOMIC_MAX is
	 * the index in `res` of the next one
	 */
	uint32_t res_head;
	/* The fields from `res` to `passed_head` are used for PSN gaps, READs and atomics. */
	/*
	 * a ring of UROCE_RD_ATOMIC_MAX resources: what the responder remembers of READs and
	 * atomics, so that it can repeat responses; NULL: the QP has no ring from the worker's pool
	 */
	struct uroce_rd_res *res;
	/*
	 * the PSN behind the newest request that was dropped ahead of the expected PSN (epsn);
	 * UROCE_OOO_PSN_NONE: no such request was dropped. This field is not part of `ooo_state`,
	 * because requests may be dropped in every state but UROCE_OOO_REQUEST_IN_ORDER
	 */
	uint32_t dropped_end;
	uint32_t fill_psn; /* PSN of the packet that filled the last PSN gap */
	uint32_t fill_ns;  /* time in nanoseconds for which the last PSN gap was open */
	/*
	 * value of `res_head` when an ACK was last sent for a request that is behind all READs and
	 * atomics received until then
	 */
	uint32_t passed_head;
};

/** The value of the fields ooo_first_psn and dropped_end when they refer to no packet. */
#define UROCE_OOO_PSN_NONE UINT32_MAX

/**
 * The part of the header template that is not header bytes: values that all frames of a QP with the
 * same opcode and the same length share. The header bytes of these frames are in the QP's struct
 * uroce_path.
 */
struct uroce_hdr_template {
	/* CRC state of the ICRC after the UDP header of the frames (see wire/icrc.h) */
	uint32_t icrc;
	/*
	 * number of payload bytes of the frames; UROCE_HDR_TEMPLATE_NONE: the template is not valid
	 */
	uint32_t payload_len;
	uint16_t hdr_len;
	uint8_t pad_len;
	uint8_t opcode;
};

#define UROCE_HDR_TEMPLATE_NONE UINT32_MAX

/** The error that put a QP into ERR (UC, UD: SQE). All zero: the QP has not failed. */
struct uroce_failure {
	uint32_t psn; /* PSN of the request that failed */
	/* status (enum ibv_wc_status) with which a send request of this QP has failed */
	uint8_t status;
	uint8_t verdict; /* reason (enum uroce_verdict) why a request of the peer has failed */
	/* a request of the peer failed, so `verdict` is valid; false: `status` is valid */
	bool is_peers;
};

/**
 * A QP context. Only the transport writes its fields; everyone else may read them.
 *
 * With many QPs, contexts do not stay in the cache, and each cache line of a context is fetched
 * from memory. So fields are grouped by the role that uses them: some lines are for both roles,
 * some for one role. While nothing is lost or fails, a packet touches only the lines of its role.
 */
struct uroce_qpc {
	/* Both roles use the fields from `type` to `cc`. */
	uint8_t type; /* type of the QP (enum ibv_qp_type) */
	/* state of the QP (enum ibv_qp_state), which uroce_qpc_set_state() writes */
	uint8_t state;
	uint8_t service;     /* transport service of the QP (enum uroce_service) */
	uint8_t mtu_shift;   /* log2 of the path MTU */
	bool is_established; /* the event IBV_EVENT_COMM_EST was raised */
	bool is_req_gbn;
	bool is_resp_gbn;
	/*
	 * uroce_qpc_send() has built frames that refer to memory of the user's requests, and has
	 * not returned them to its caller yet. So these requests must not be flushed
	 */
	bool is_zero_copy;
	/*
	 * if the next burst has an odd number of frames, requests get the odd frame, not responses
	 */
	bool is_req_turn;
	/* a batch of receive completions is open and not yet published, see completion.h */
	bool is_recv_open;
	/*
	 * The fields end_status and end_vendor_err are for the completion of the oldest send
	 * request, after this request has failed. The completion is written when no port transmits
	 * from memory of the request any more.
	 */
	/*
	 * status (enum ibv_wc_status) of the completion of the oldest send request; 0: the request
	 * did not fail and is flushed
	 */
	uint8_t end_status;
	uint8_t end_vendor_err;
	/*
	 * TX references: number of pieces of memory of send requests that a port still transmits
	 * from without a copy
	 */
	_Atomic uint32_t nb_tx_refs;
	uint32_t qpn;
	/* pending events (enum uroce_qpc_event, or-ed), which the caller reads and clears */
	uint32_t events;
	uint16_t window_psns;
	/* maximum number of response packets that one READ request on the wire requests */
	uint16_t chunk_psns;
	uint16_t pkey;
	/* while there is more to send, one of every `ack_every` packets requests an ACK */
	uint8_t ack_every;
	/* UC: number of wrong keys that were received since bad_key_ns; see msg.c */
	uint8_t nb_bad_keys;
	struct uroce_mr_table *mrs;
	/* number of the protection domain of the QP, or, for XRC_RECV, of `srq` */
	uint32_t pdn;
	uint32_t access; /* access rights that the QP grants to the peer (enum ibv_access_flags) */
	/*
	 * state of congestion control; both roles use the first 16 bytes, the requester also the
	 * last 16
	 */
	struct uroce_cc cc;
	/*
	 * The fields from `sq` to `unpublished` are used by the requester, and when receive
	 * requests complete.
	 */
	struct uroce_wq *sq;
	struct uroce_cq *send_cq;
	struct uroce_wq *rq;
	struct uroce_cq *recv_cq;
	void *cookie;
	/*
	 * the worker's list of CQs with unpublished completions; NULL: the QP publishes its
	 * completions at once
	 */
	struct uroce_cq_list *unpublished;
	/* Both roles use the fields `path` and `hdr_template` to build frames. */
	struct uroce_path path; /* headers of the frames to the peer; RC, UC: valid from RTR on */
	/*
	 * the template for frames with the opcode and the length of the last frame; for these
	 * frames the headers in `path` are complete except for the PSN
	 */
	struct uroce_hdr_template hdr_template;
	/* The responder uses the field `resp`. */
	struct uroce_resp resp;
	/*
	 * Both roles use the fields `counters` and `reorder_buffer`, and the first 32 bytes of
	 * `stats`.
	 */
	/* the worker's counters; NULL: events are counted in `stats` only */
	struct uroce_counters *counters;
	struct uroce_qpc_stats stats;
	/* the worker's reorder buffer; NULL: out-of-order packets are dropped */
	struct uroce_reorder_buffer *reorder_buffer;
	/* The requester uses the field `req`, and the first 8 bytes of `attr`. */
	struct uroce_req req;
	struct uroce_qpc_attr attr; /* the attributes that ibv_modify_qp() has set */
	/* The fields from `srq` on are used rarely. */
	/* the SRQ of the QP; XRC_RECV: the SRQ to which the last request was addressed */
	struct uroce_srq *srq;
	const struct uroce_srq_table *srqs;
	/*
	 * the worker's pool of resources, from which `resp.res` is taken; NULL: the QP refuses
	 * READs and atomics
	 */
	struct uroce_rd_pool *rd_pool;
	const struct uroce_qpc_limits *limits;
	const uint16_t *pkeys;
	uint32_t dest_qpn; /* RC, UC: QPN of the peer */
	uint32_t qkey;     /* UD: Q_Key of the QP */
	uint32_t xrcd;
	bool is_pipelined;
	/*
	 * valid if is_pipelined is set: the QP went to SQD because the data of a request had a bad
	 * signature
	 */
	bool is_stopped;
	/*
	 * twice the largest number of PSNs that the peer had outstanding at once; see ooo_request.c
	 */
	uint16_t ooo_window_psns;
	/*
	 * PSN of the out-of-order packet that opened the last PSN gap; UROCE_OOO_PSN_NONE: this
	 * packet is not known
	 */
	uint32_t ooo_first_psn;
	uint32_t ooo_first_sum; /* hash of the packet at ooo_first_psn */
	/* time at which the first of the `nb_bad_keys` wrong keys was received */
	uint64_t bad_key_ns;
	/* the reason why the QP failed last; valid after the event UROCE_QPC_FAILED */
	struct uroce_failure failure;
};

/*
 * The offset of the cache line that a field is in. The static assertions that use this macro check
 * the layout on which uroce_qpc_fetch(), uroce_qpc_fetch_req() and uroce_qpc_fetch_resp() rely. A
 * new field that makes an assertion fail belongs at the end of the struct, behind the fields that
 * are used for each packet.
 */
#define UROCE_QPC_LINE(field) (offsetof(struct uroce_qpc, field) / 64 * 64)

static_assert(offsetof(struct uroce_qpc, cc.conf) == 64,
	      "the first fields of all roles are in one cache line");
static_assert(offsetof(struct uroce_qpc, cc.ask_ns) % 64 == 0 &&
		      offsetof(struct uroce_qpc, path) ==
			      offsetof(struct uroce_qpc, cc.ask_ns) + 64,
	      "the fields before the path are one cache line");
static_assert(offsetof(struct uroce_qpc, resp.msn) == offsetof(struct uroce_qpc, path) + 128,
	      "the pending AETH is in the last line of the path");
static_assert(offsetof(struct uroce_qpc, resp.res) == offsetof(struct uroce_qpc, path) + 192,
	      "the fields of the responder begin a cache line");
static_assert(UROCE_QPC_LINE(counters) == UROCE_QPC_LINE(resp.res) &&
		      UROCE_QPC_LINE(stats.rx_bytes) == UROCE_QPC_LINE(resp.res) &&
		      UROCE_QPC_LINE(stats.tx_packets) == UROCE_QPC_LINE(resp.res),
	      "the counters of every packet are in the line of resp.res");
static_assert(offsetof(struct uroce_qpc, req.ooo_responses.deadline) % 64 == 0 &&
		      UROCE_QPC_LINE(req.ooo_responses.deadline) == UROCE_QPC_LINE(req.rtt) &&
		      UROCE_QPC_LINE(req.rtt) == UROCE_QPC_LINE(req.loss_recovery.nb_probe_steps),
	      "the fields that a response changes are in one cache line");
static_assert(offsetof(struct uroce_qpc, req.ack_deadline) % 64 == 0 &&
		      UROCE_QPC_LINE(req.ack_deadline) == UROCE_QPC_LINE(attr.rnr_retry),
	      "the send position is in one cache line");

/**
 * Set the state of the QP. Threads that post read the state by uroce_qpc_state_seen(), and must see
 * either the old or the new value. The store orders no other access to memory.
 */
static inline void
uroce_qpc_set_state(struct uroce_qpc *qpc, enum ibv_qp_state state)
{
	__atomic_store_n(&qpc->state, (uint8_t)state, __ATOMIC_RELAXED);
}

/** Read the state of the QP in a thread other than the worker's. */
static inline enum ibv_qp_state
uroce_qpc_state_seen(const struct uroce_qpc *qpc)
{
	return (enum ibv_qp_state)__atomic_load_n(&qpc->state, __ATOMIC_RELAXED);
}

/** Prefetch the cache lines of a context that both roles use. The call changes no state. */
static inline void
uroce_qpc_fetch(const struct uroce_qpc *qpc)
{
	__builtin_prefetch(qpc, 1);
	__builtin_prefetch(&qpc->path, 1);
	__builtin_prefetch(&qpc->resp, 1);
	__builtin_prefetch(&qpc->stats, 1);
}

/**
 * Prefetch the cache lines of a context that the requester uses besides those of uroce_qpc_fetch().
 */
static inline void
uroce_qpc_fetch_req(const struct uroce_qpc *qpc)
{
	__builtin_prefetch(&qpc->sq);
	__builtin_prefetch(&qpc->req.ooo_responses.deadline, 1);
	__builtin_prefetch(&qpc->req.ack_deadline, 1);
}

/**
 * Prefetch the cache lines of a context that the responder uses besides those of uroce_qpc_fetch().
 * @param has_recv  whether a receive request will complete
 */
static inline void
uroce_qpc_fetch_resp(const struct uroce_qpc *qpc, bool has_recv)
{
	__builtin_prefetch(&qpc->resp.msn, 1);
	if (has_recv)
		__builtin_prefetch(&qpc->rq);
}

/**
 * Prefetch the receive request that the next message will use. The context should be in the cache,
 * because this call reads the context.
 */
static inline void
uroce_qpc_fetch_recv(const struct uroce_qpc *qpc)
{
	if (!qpc->rq)
		return;
	__builtin_prefetch(&qpc->rq->ring);
	__builtin_prefetch(&qpc->rq->ring.tail, 1);
	__builtin_prefetch(uroce_ring_at(&qpc->rq->ring, uroce_ring_tail(&qpc->rq->ring)));
}

/**
 * Prefetch the send requests that are sent or acknowledged next. The context and the first cache
 * line of the send queue should be in the cache, because this call reads them. If all requests were
 * sent, the next slot is free, and is not prefetched: among many QPs the next post comes much later.
 */
static inline void
uroce_qpc_fetch_queue(const struct uroce_qpc *qpc)
{
	if (!qpc->sq)
		return;
	const struct uroce_ring *ring = &qpc->sq->ring;

	__builtin_prefetch(&ring->tail, 1);
	__builtin_prefetch(uroce_ring_at(ring, qpc->req.una_idx), 1);
	if (qpc->req.next_idx != uroce_ring_head(ring))
		__builtin_prefetch(uroce_ring_at(ring, qpc->req.next_idx), 1);
}

/** Get the local ACK timeout of the QP [IBA 9.9.2.1.1] in nanoseconds; 0: the QP has no timeout. */
static inline uint64_t
uroce_qpc_ack_timeout_ns(const struct uroce_qpc *qpc)
{
	return uroce_ack_timeout_ns(qpc->attr.timeout);
}

/**
 * Whether a port still transmits from memory of the QP's requests. While a port does, these
 * requests are not flushed.
 */
static inline bool
uroce_qpc_has_tx_refs(const struct uroce_qpc *qpc)
{
	/*
	 * acquire A6 pairs with release R6 in zero_copy.c: if the count is 0, all reads of the
	 * memory by the port are over
	 */
	return atomic_load_explicit(&qpc->nb_tx_refs, memory_order_acquire) != 0;
}

/** Whether the QP's service has acknowledgements: RC or XRC. */
static inline bool
uroce_qpc_is_reliable(const struct uroce_qpc *qpc)
{
	return qpc->service == UROCE_SERVICE_RC || qpc->service == UROCE_SERVICE_XRC;
}

/**
 * Whether loss recovery has packets to retransmit before the packet at the send position is sent.
 */
static inline bool
uroce_req_has_retransmit(const struct uroce_req *req)
{
	return req->loss_recovery.due || req->ooo_responses.due ||
	       req->ooo_responses.state == UROCE_OOO_RESPONSE_LOST;
}

/** Whether the requester waits for the RNR timer and sends nothing. */
static inline bool
uroce_req_is_rnr_wait(const struct uroce_req *req)
{
	return req->loss_recovery.state == UROCE_RECOVERY_RNR_WAIT;
}

/**
 * Whether the oldest packet in flight (at una_psn) was retransmitted alone (fast retransmission),
 * while new packets may follow.
 */
static inline bool
uroce_req_is_fast_retx(const struct uroce_req *req)
{
	return req->loss_recovery.state == UROCE_RECOVERY_FAST_RETX ||
	       req->loss_recovery.state == UROCE_RECOVERY_LOSS_FAST_RETX;
}

/** Whether a response is missing although the peer has executed later requests (implied NAK). */
static inline bool
uroce_req_has_answer_gap(const struct uroce_req *req)
{
	return req->ooo_responses.state != UROCE_OOO_RESPONSE_IN_ORDER;
}

#endif /* UROCE_TRANSPORT_CONTEXT_H */
