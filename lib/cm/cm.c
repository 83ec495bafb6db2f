/* SPDX-License-Identifier: BSD-3-Clause */

/* The CM engine as a whole: its memory, the transmission of messages, and queries of CM ids. */

#include "cm/cm.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "cm/admission.h"
#include "cm/compose.h"
#include "cm/conn.h"
#include "cm/context.h"
#include "cm/outbox.h"
#include "cm/owner.h"
#include "cm/queue.h"
#include "cm/turns.h"

/* Defaults of the configuration. The timeout code and the number of retries are those of Linux. */
#define DEFAULT_BACKLOG      1024
#define DEFAULT_TIMEOUT_CODE 20
#define DEFAULT_MAX_RETRIES  15
#define DEFAULT_FIRST_PORT   32768
#define DEFAULT_LAST_PORT    60999

#define NB_TABLES            6

/*
 * While both requests and responses wait, one of every REQUEST_SHARE transmitted messages is a
 * request.
 */
#define REQUEST_SHARE 4

/*
 * Round up the length of a part of the engine's memory, so that each part begins at a cache line.
 */
static size_t
align_part(size_t len)
{
	return (len + 63) / 64 * 64;
}

static size_t
count_owners(const struct uroce_cm_conf *conf)
{
	return conf->max_owners ? conf->max_owners : 1;
}

size_t
uroce_cme_memsize(const struct uroce_cm_conf *conf)
{
	const uint32_t nb = conf->max_ids;

	assert(nb >= 1 && nb <= 1u << 24);
	return align_part(sizeof(struct uroce_cm)) + align_part(nb * sizeof(struct uroce_cm_conn)) +
	       align_part(count_owners(conf) * sizeof(struct uroce_cm_owner)) +
	       NB_TABLES * align_part(uroce_id_table_memsize(nb)) +
	       align_part(uroce_timer_heap_memsize(nb)) +
	       2 * align_part(uroce_cm_admission_nb_counts(nb) * sizeof(uint32_t));
}

static void
set_defaults(struct uroce_cm_conf *conf)
{
	if (!conf->max_backlog)
		conf->max_backlog = DEFAULT_BACKLOG;
	if (!conf->timeout_code)
		conf->timeout_code = DEFAULT_TIMEOUT_CODE;
	if (!conf->max_retries)
		conf->max_retries = DEFAULT_MAX_RETRIES;
	if (!conf->first_port || conf->last_port < conf->first_port) {
		conf->first_port = DEFAULT_FIRST_PORT;
		conf->last_port = DEFAULT_LAST_PORT;
	}
}

/* Derive two keys from the secret of the configuration: one for hashes, one for random numbers. */
static void
derive_keys(struct uroce_cm *cm)
{
	struct uroce_siphash_key secret;
	uint64_t derived[4];

	memcpy(&secret, cm->conf.secret, sizeof(secret));
	for (uint64_t i = 0; i < 4; i++)
		derived[i] = uroce_siphash(&secret, &i, 1);
	memcpy(&cm->hash_key, &derived[0], sizeof(cm->hash_key));
	memcpy(&cm->random_key, &derived[2], sizeof(cm->random_key));
}

/*
 * Place the arrays nb_half_open_of and nb_waiting_of, which count the requests of each peer host
 * (admission.h), in the engine's memory, and clear them.
 */
static void
init_counts(struct uroce_cm *cm, uint8_t *at)
{
	const uint32_t nb = uroce_cm_admission_nb_counts(cm->conf.max_ids);
	const size_t len = align_part(nb * sizeof(uint32_t));

	memset(at, 0, 2 * len);
	cm->count_mask = nb - 1;
	cm->nb_half_open_of = (uint32_t *)at;
	cm->nb_waiting_of = (uint32_t *)(at + len);
}

struct uroce_cm *
uroce_cme_init(void *mem, const struct uroce_cm_conf *conf)
{
	struct uroce_cm *cm = mem;
	struct uroce_id_table *const tables[NB_TABLES] = { &cm->by_local,    &cm->by_remote,
							   &cm->by_peer_qpn, &cm->by_qpn,
							   &cm->by_port,     &cm->by_listening };
	uint8_t *at = (uint8_t *)mem + align_part(sizeof(*cm));

	memset(cm, 0, sizeof(*cm));
	cm->conf = *conf;
	set_defaults(&cm->conf);
	derive_keys(cm);
	cm->conns = (struct uroce_cm_conn *)at;
	at += align_part(conf->max_ids * sizeof(struct uroce_cm_conn));
	cm->owners = (struct uroce_cm_owner *)at;
	at += align_part(count_owners(conf) * sizeof(struct uroce_cm_owner));
	for (unsigned i = 0; i < NB_TABLES; i++) {
		uroce_id_table_init(tables[i], at, conf->max_ids);
		at += align_part(uroce_id_table_memsize(conf->max_ids));
	}
	uroce_timer_heap_init(&cm->timers, at, conf->max_ids);
	init_counts(cm, at + align_part(uroce_timer_heap_memsize(conf->max_ids)));
	uroce_cm_queue_init(&cm->free_ids);
	uroce_cm_queue_init(&cm->lingering);
	uroce_cm_turns_init(&cm->responses);
	uroce_cm_turns_init(&cm->requests);
	uroce_cm_owner_init(cm);
	return cm;
}

static void
transmit(struct uroce_cm *cm, const struct uroce_cm_msg *msg, const struct uroce_cm_av *av,
	 struct uroce_cm_tx *tx)
{
	uroce_cm_count(cm->stats.nb_tx, msg->attr);
	tx->av = *av;
	tx->is_request = uroce_cm_outbox_is_request(msg->attr);
	uroce_cm_build(msg, tx->mad);
}

/*
 * Fill `tx` with the message that the CM id `conn` has to send, and record that the message was
 * sent.
 * @return false: `conn` is NULL, because no id has a message to send
 */
static bool
transmit_of(struct uroce_cm *cm, struct uroce_cm_conn *conn, struct uroce_cm_tx *tx,
	    uint64_t now_ns)
{
	struct uroce_cm_msg msg;

	if (!conn)
		return false;
	uroce_cm_compose(cm, conn, &msg);
	transmit(cm, &msg, &conn->av, tx);
	tx->has_id = true;
	tx->account_idx = conn->account_idx;
	uroce_cm_conn_sent(cm, conn, now_ns);
	return true;
}

static bool
transmit_request(struct uroce_cm *cm, struct uroce_cm_tx *tx, uint64_t now_ns)
{
	return transmit_of(cm, uroce_cm_turns_pop(cm, &cm->requests), tx, now_ns);
}

static bool
transmit_id_response(struct uroce_cm *cm, struct uroce_cm_tx *tx, uint64_t now_ns)
{
	return transmit_of(cm, uroce_cm_turns_pop(cm, &cm->responses), tx, now_ns);
}

static bool
transmit_reply(struct uroce_cm *cm, struct uroce_cm_tx *tx)
{
	const struct uroce_cm_reply *reply = uroce_cm_outbox_pop_reply(cm);
	struct uroce_cm_msg msg;

	if (!reply)
		return false;
	uroce_cm_compose_reply(reply, &msg);
	transmit(cm, &msg, &reply->av, tx);
	tx->has_id = false;
	tx->account_idx = 0;
	return true;
}

/*
 * Fill `tx` with the response of a CM id, or with a reply that belongs to no id. If messages of
 * both kinds wait, the kinds alternate.
 */
static bool
transmit_response(struct uroce_cm *cm, struct uroce_cm_tx *tx, uint64_t now_ns)
{
	cm->is_replies_turn = !cm->is_replies_turn;
	if (cm->is_replies_turn && transmit_reply(cm, tx))
		return true;
	return transmit_id_response(cm, tx, now_ns) || transmit_reply(cm, tx);
}

/*
 * Fill `tx` with the next message. Responses come before requests. But after REQUEST_SHARE - 1
 * responses in a row, a waiting request comes first.
 */
static bool
transmit_next(struct uroce_cm *cm, struct uroce_cm_tx *tx, uint64_t now_ns)
{
	const bool is_requests_turn = cm->nb_responses_in_row == REQUEST_SHARE - 1;

	if (!is_requests_turn && transmit_response(cm, tx, now_ns)) {
		cm->nb_responses_in_row++;
		return true;
	}
	cm->nb_responses_in_row = 0;
	return transmit_request(cm, tx, now_ns) || transmit_response(cm, tx, now_ns);
}

unsigned
uroce_cme_send(struct uroce_cm *cm, struct uroce_cm_tx *out, unsigned max, uint64_t now_ns)
{
	unsigned nb = 0;

	while (nb < max && transmit_next(cm, &out[nb], now_ns))
		nb++;
	return nb;
}

bool
uroce_cme_has_tx(const struct uroce_cm *cm)
{
	return cm->responses.nb || cm->requests.nb || cm->first_reply != cm->end_reply;
}

void
uroce_cme_expire(struct uroce_cm *cm, uint64_t now_ns)
{
	while (uroce_cme_expire_some(cm, now_ns, UINT_MAX))
		;
}

void
uroce_cme_query(const struct uroce_cm *cm, uint32_t id, struct uroce_cm_info *info)
{
	const struct uroce_cm_conn *conn = &cm->conns[id];

	assert(id < cm->nb_begun && conn->is_used && conn->has_owner);
	*info = (struct uroce_cm_info){
		.user = conn->user,
		.state = conn->state,
		.is_active = conn->is_active,
		.is_datagram = conn->is_datagram,
		.service_id = conn->service_id,
		.local_comm_id = conn->local_comm_id,
		.remote_comm_id = conn->remote_comm_id,
		.local = conn->local,
		.remote = conn->remote,
		.av = conn->av,
		.transport = conn->transport,
		.pkey = conn->pkey,
		.local_qpn = conn->local_qpn,
		.remote_qpn = conn->remote_qpn,
		.sq_psn = conn->remote_psn,
		.rq_psn = conn->local_psn,
		.remote_qkey = conn->remote_qkey,
		.mtu_code = conn->mtu_code,
		.responder_resources = conn->responder_resources,
		.initiator_depth = conn->initiator_depth,
		.ack_timeout_code = conn->ack_timeout_code,
		.retry_count = conn->retry_count,
		.rnr_retry_count = conn->rnr_retry_count,
		.has_flow_control = conn->peer_has_flow_control,
		.has_srq = conn->peer_has_srq,
		.ece_vendor_id = conn->peer_ece_vendor_id,
		.ece_options = conn->peer_ece_options,
	};
}

uint64_t
uroce_cme_qpn_busy_until(const struct uroce_cm *cm, uint32_t qpn)
{
	const uint64_t number = qpn;
	uint64_t until_ns = 0;

	for (uint32_t id =
		     uroce_id_table_first(&cm->by_qpn, uroce_siphash(&cm->hash_key, &number, 1));
	     id != UROCE_ID_TABLE_END; id = uroce_id_table_next(&cm->by_qpn, id)) {
		const struct uroce_cm_conn *conn = &cm->conns[id];
		const bool has_ended = conn->state == UROCE_CM_STATE_TIMEWAIT ||
				       conn->state == UROCE_CM_STATE_REJ_SENT;
		const uint64_t end_ns = has_ended ? cm->timers.deadline_ns[id] : UROCE_CM_NEVER;

		if (conn->local_qpn == qpn && end_ns > until_ns)
			until_ns = end_ns;
	}
	return until_ns;
}

const struct uroce_cm_stats *
uroce_cme_stats(const struct uroce_cm *cm)
{
	return &cm->stats;
}
