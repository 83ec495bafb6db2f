/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Executes the commands of a case: a table of commands, each of which writes its results into the
 * transcript.
 *
 * The words of a command are separated by spaces. A word with a `=` is an option of its command;
 * options have no fixed order. A command that names a packet by a number counts from 0, beginning
 * with the next packet that the host sends.
 */

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../app_ops.h"
#include "../forge.h"
#include "../mcast.h"
#include "../host.h"
#include "../oracle.h"
#include "../shared.h"
#include "../../unit/transport/names.h"
#include "ladder.h"

#define WORDS_MAX 16
#define MEM_LEN   (1u << 18)
#define LAND_AT   4096
#define ANSWER_AT 65536
#define SRC_AT    1024

struct stage {
	struct world *world;
	FILE *out;
	struct qp *ends[2]; /* the two ends: A, B */
	bool is_open;       /* requests may be pending when the case ends */
	char *words[WORDS_MAX];
	unsigned nb_words;
};

static const char *
option(const struct stage *stage, const char *name)
{
	const size_t len = strlen(name);

	for (unsigned i = 1; i < stage->nb_words; i++) {
		if (!strncmp(stage->words[i], name, len) && stage->words[i][len] == '=')
			return stage->words[i] + len + 1;
	}
	return NULL;
}

static uint64_t
number(const struct stage *stage, const char *name, uint64_t otherwise)
{
	const char *text = option(stage, name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static bool
has_word(const struct stage *stage, const char *word)
{
	for (unsigned i = 1; i < stage->nb_words; i++) {
		if (!strcmp(stage->words[i], word))
			return true;
	}
	return false;
}

static const char *
word(const struct stage *stage, unsigned nth)
{
	return nth < stage->nb_words ? stage->words[nth] : "";
}

/* The end, A or B, whose letter follows the name of the command. */
static struct qp *
end_of(const struct stage *stage)
{
	return stage->ends[word(stage, 1)[0] == 'B'];
}

/* --- creating the two ends --- */

static enum ibv_qp_type
type_of(const char *name)
{
	if (name && !strcmp(name, "UC"))
		return IBV_QPT_UC;
	if (name && !strcmp(name, "XRC"))
		return IBV_QPT_XRC_SEND;
	return name && !strcmp(name, "UD") ? IBV_QPT_UD : IBV_QPT_RC;
}

static enum ibv_mtu
mtu_of(uint64_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (128u << mtu < bytes)
		mtu++;
	return mtu;
}

/*
 * Create parameters of congestion control. An option with the name of a parameter sets that
 * parameter; the others have their defaults.
 */
static const struct uroce_cc_conf *
make_cc(const struct stage *stage)
{
	struct uroce_cc_conf *cc = world_alloc(stage->world, sizeof(*cc));

	uroce_cc_conf_init(cc);
	(void)uroce_cc_find(option(stage, "cc"), &cc->ops);
	for (unsigned i = 0; i < UROCE_CC_PARAMS; i++) {
		const struct uroce_cc_param *param = &uroce_cc_params[i];

		uroce_cc_conf_set(cc, param, (uint32_t)number(stage, param->name, param->value));
	}
	return cc;
}

/*
 * Create the shared receive queues of a host: two for an XRC target, one for other types if the
 * stage has the option srq.
 */
static void
make_shared(const struct stage *stage, const struct qp_conf *conf, struct host *host)
{
	const uint32_t nb = (uint32_t)number(stage, "srq", 4);

	if (conf->type == IBV_QPT_XRC_SEND) {
		for (unsigned i = 0; i < XRC_SRQS; i++)
			host->xrc[i] = shared_create(stage->world, host, nb, conf->recv_len, true);
	} else if (option(stage, "srq")) {
		host->shared = shared_create(stage->world, host, nb, conf->recv_len, false);
	}
}

static void
set_stage(struct stage *stage)
{
	struct world *world = stage->world;
	struct qp_conf conf = {
		.type = type_of(option(stage, "type")),
		.mtu = mtu_of(number(stage, "mtu", 1024)),
		.all_signaled = true,
		.sq_len = (uint32_t)number(stage, "sq", 32),
		.rq_len = 32,
		.max_sge = 2,
		.max_inline = 64,
		.max_requests = 64,
		.mem_len = MEM_LEN,
		.recv_len = (uint32_t)number(stage, "recv_len", 4096),
		.nb_bufs = 32,
		.timeout = (uint8_t)number(stage, "timeout", 4),
		.retry_cnt = (uint8_t)number(stage, "retry", 7),
		.rnr_retry = (uint8_t)number(stage, "rnr_retry", 7),
		.min_rnr_timer = (uint8_t)number(stage, "rnr_timer", 1),
		.max_rd_atomic = (uint8_t)number(stage, "rd", 16),
		.max_dest_rd_atomic = (uint8_t)number(stage, "dest_rd", 16),
		.access = (unsigned)number(stage, "access", 15),
		.is_req_gbn = has_word(stage, "req_gbn"),
		.is_resp_gbn = has_word(stage, "resp_gbn"),
	};

	if (option(stage, "cc"))
		conf.cc = make_cc(stage);
	for (unsigned i = 0; i < 2; i++) {
		struct host *host = world_add_host(world);

		host->link.delay_ns = (uint32_t)number(stage, "delay_us", 0) * 1000;
		if (!host->link.delay_ns)
			host->link.delay_ns = 500;
		host->link.rate_bps = number(stage, "mbps", 0) * 1000000;
		host->burst = (uint32_t)number(stage, "burst", 32);
		if (option(stage, "hold"))
			host_add_hold(world, host, 4, (uint32_t)number(stage, "hold", 32));
		make_shared(stage, &conf, host);
	}
	conf.is_shared = option(stage, "srq") && conf.type != IBV_QPT_XRC_SEND;
	for (unsigned i = 0; i < 2; i++) {
		conf.psn = (uint32_t)number(stage, i ? "psn_b" : "psn", i ? 1000 : 0);
		conf.all_signaled = !has_word(stage, "unsignaled");
		if (i && conf.type == IBV_QPT_XRC_SEND)
			conf.type = IBV_QPT_XRC_RECV;
		stage->ends[i] = qp_create(world, &world->hosts[i], &conf);
		stage->ends[i]->is_silent = true;
		stage->ends[i]->is_kept = true;
		stage->ends[i]->kept =
			world_alloc(world, KEPT_MAX * sizeof(stage->ends[i]->kept[0]));
	}
	stage->ends[0]->is_to_group = has_word(stage, "group");
	if (has_word(stage, "group"))
		group_join(stage->ends[1]);
	stage->is_open = has_word(stage, "open");
	if (has_word(stage, "forged")) {
		stage->ends[0]->is_forged = true;
		stage->ends[1]->is_forged = true;
	}
	if (!has_word(stage, "rtr")) {
		qp_connect(stage->ends[0], stage->ends[1]);
		return;
	}
	/* with the option rtr, A moves to RTS and B stays in RTR */
	qp_link(stage->ends[0], stage->ends[1]);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		qp_modify(stage->ends[0], (enum ibv_qp_state)state);
		if (state < IBV_QPS_RTS)
			qp_modify(stage->ends[1], (enum ibv_qp_state)state);
	}
}

/* --- execution of the commands --- */

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
} opcodes[] = {
	{ "WRITE", IBV_WR_RDMA_WRITE },
	{ "WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM },
	{ "SEND", IBV_WR_SEND },
	{ "SEND_IMM", IBV_WR_SEND_WITH_IMM },
	{ "READ", IBV_WR_RDMA_READ },
	{ "CMP_SWAP", IBV_WR_ATOMIC_CMP_AND_SWP },
	{ "FETCH_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ "SEND_INV", IBV_WR_SEND_WITH_INV },
	{ "ATOMIC_WRITE", (enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE },
	{ "FLUSH", (enum ibv_wr_opcode)UROCE_WR_FLUSH },
	{ "BIND", IBV_WR_BIND_MW },
	{ "LOCAL_INV", IBV_WR_LOCAL_INV },
};

static enum ibv_wr_opcode
opcode_of(const char *name)
{
	for (unsigned i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		if (!strcmp(opcodes[i].name, name))
			return opcodes[i].opcode;
	}
	fprintf(stderr, "golden: no such operation: %s\n", name);
	exit(2);
}

static const struct {
	const char *name;
	enum bad bad;
} bads[] = {
	{ "key", BAD_KEY },
	{ "dead_key", BAD_DEAD_KEY },
	{ "pd", BAD_PD },
	{ "range", BAD_RANGE },
	{ "right", BAD_RIGHT },
	{ "align", BAD_ALIGN },
	{ "dead_window", BAD_DEAD_KEY }, /* do not change the rkey: its window was invalidated */
	{ "refused", BAD_RIGHT },        /* do not change the rkey: the QP refuses the operation */
	{ "lkey", BAD_LKEY },
	{ "too_long", BAD_TOO_LONG },
	{ "recv_key", BAD_RECV_KEY },
	{ "srq", BAD_SRQ },
	{ "lkey_late", BAD_LKEY_LATE },
};

static void
make_bad(struct qp *qp, struct request *req, const char *name)
{
	for (unsigned i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		if (!strcmp(bads[i].name, name))
			req->bad = bads[i].bad;
	}
	assert(req->bad);
	if (!strcmp(name, "refused") || !strcmp(name, "dead_window"))
		return;
	if (req->bad == BAD_KEY)
		req->rkey ^= 0x77;
	/* the responder does not check the rkey of an empty request */
	if (!req->len && req->bad == BAD_KEY)
		req->bad = BAD_NONE;
	if (req->bad == BAD_DEAD_KEY || req->bad == BAD_PD || req->bad == BAD_RIGHT) {
		req->remote = NOISE_IOVA;
		req->rkey = req->bad == BAD_PD         ? qp->peer->host->foreign_key
			    : req->bad == BAD_DEAD_KEY ? qp->peer->host->dead_key
						       : qp->peer->host->noise_key;
	}
	if (req->bad == BAD_RANGE)
		req->remote = qp->peer->iova + MEM_LEN - req->len + 1;
	if (req->bad == BAD_ALIGN)
		req->remote += 4;
}

/*
 * Set the fields of a request that depend on its opcode, or on one of the options window, mortal,
 * srq and tag.
 */
static void
aim(const struct stage *stage, const struct qp *qp, struct request *req)
{
	if ((int)req->opcode == UROCE_WR_ATOMIC_WRITE) {
		req->len = 8;
		req->land = 8 * (uint32_t)number(stage, "word", 0);
		req->remote = qp->peer->iova + req->land;
	}
	if ((int)req->opcode == UROCE_WR_FLUSH) {
		req->compare_add = req->len;
		req->len = 0;
		req->swap = UROCE_FLUSH_GLOBAL;
	}
	if (has_word(stage, "window")) {
		req->rkey = qp->peer->window;
		req->remote -= qp->peer->is_window_zero_based ? qp->peer->iova : 0;
	}
	if (has_word(stage, "mortal")) {
		req->is_mortal = true;
		req->rkey = qp->peer->mortal.key;
		if (req->opcode == IBV_WR_RDMA_READ)
			req->remote = qp->peer->iova + req->land;
		req->remote -= qp->peer->mortal.is_zero_based ? qp->peer->iova : 0;
	}
	req->srq = (uint8_t)number(stage, "srq", 0);
	if (req->opcode == IBV_WR_SEND_WITH_INV)
		req->imm = qp->peer->window;
	if (request_is_local(req)) {
		req->len = 0;
		req->imm = (qp->own_key & ~0xffu) | (uint32_t)number(stage, "tag", 1);
	}
}

static enum uroce_mw_kind
kind_of(const struct stage *stage)
{
	const char *name = option(stage, "kind");

	if (name && !strcmp(name, "1"))
		return UROCE_MW_1;
	return name && !strcmp(name, "2A") ? UROCE_MW_2A : UROCE_MW_2B;
}

static void
do_mortal(struct stage *stage)
{
	conduct_make_mortal(end_of(stage), option(stage, "kind") ? (uint8_t)kind_of(stage) : 0,
			    has_word(stage, "zero_based"));
}

static void
do_withdraw(struct stage *stage)
{
	if (!conduct_withdraw(end_of(stage)))
		fprintf(stage->out, "nothing to withdraw\n");
}

static void
do_cancel(struct stage *stage)
{
	struct qp *qp = end_of(stage);
	const uint32_t nth = (uint32_t)strtoul(word(stage, 2), NULL, 0);
	const int ret = uroce_qpc_cancel(&qp->qpc, nth);

	fprintf(stage->out, "%d\n", ret);
	if (ret == 1)
		oracle_cancelled(qp, nth);
}

/* Modify attributes without a change of the state. */
static void
do_tune(struct stage *stage)
{
	struct qp *qp = end_of(stage);
	const struct ibv_qp_attr attr = {
		.timeout = (uint8_t)number(stage, "timeout", 0),
		.retry_cnt = (uint8_t)number(stage, "retry", 0),
		.path_mig_state = (enum ibv_mig_state)number(stage, "mig", 0),
	};
	const int mask = (option(stage, "timeout") ? IBV_QP_TIMEOUT : 0) |
			 (option(stage, "retry") ? IBV_QP_RETRY_CNT : 0) |
			 (option(stage, "mig") ? IBV_QP_PATH_MIG_STATE : 0);
	const int ret = uroce_qpc_modify(&qp->qpc, &attr, mask, NULL, stage->world->now_ns);

	if (ret)
		fprintf(stage->out, "refused %d\n", ret);
	else if (option(stage, "retry"))
		qp->conf.retry_cnt = attr.retry_cnt;
}

static void
do_draining(struct stage *stage)
{
	struct ibv_qp_attr attr;

	uroce_qpc_query(&end_of(stage)->qpc, &attr);
	fprintf(stage->out, "%s\n", attr.sq_draining ? "yes" : "no");
}

/* The shared receive queue that the option srq of a command selects. */
static struct shared *
shared_of(const struct stage *stage)
{
	const struct qp *qp = end_of(stage);

	return qp->srqs[0] ? qp->srqs[number(stage, "srq", 0)] : qp->shared;
}

static void
do_arm(struct stage *stage)
{
	struct shared *shared = shared_of(stage);
	const uint32_t limit = (uint32_t)strtoul(word(stage, 2), NULL, 0);

	if (uroce_srq_arm(&shared->srq, limit))
		fprintf(stage->out, "below it already\n");
	shared->limit = uroce_srq_limit(&shared->srq);
}

static void
do_leave(struct stage *stage)
{
	group_leave(end_of(stage));
}

static void
do_windows(struct stage *stage)
{
	end_of(stage)->is_window_zero_based = has_word(stage, "zero_based");
	qp_make_windows(end_of(stage), kind_of(stage));
}

static void
do_post(struct stage *stage)
{
	struct qp *qp = end_of(stage);
	struct request *req = qp_plan(qp);
	const uint32_t nth = qp->nb_planned - 1;

	req->opcode = opcode_of(word(stage, 2));
	req->len = request_is_atomic(req) ? 8 : (uint32_t)strtoul(word(stage, 3), NULL, 0);
	/*
	 * the option src: a READ that is to return the bytes of an earlier WRITE must have the src
	 * of that WRITE
	 */
	req->src = SRC_AT + (uint32_t)number(stage, "src", nth) * 5000;
	req->imm = (uint32_t)number(stage, "imm", 0x01020304);
	req->flags = (has_word(stage, "fence") ? IBV_SEND_FENCE : 0) |
		     (has_word(stage, "solicited") ? IBV_SEND_SOLICITED : 0) |
		     (has_word(stage, "inline") ? IBV_SEND_INLINE : 0) |
		     (has_word(stage, "signaled") ? IBV_SEND_SIGNALED : 0);
	req->compare_add = number(stage, "add", number(stage, "compare", 0));
	req->swap = number(stage, "swap", 0);
	req->local = ANSWER_AT + (uint32_t)number(stage, "at", nth * 2048);
	req->land = request_is_atomic(req) ? 8 * (uint32_t)number(stage, "word", 0)
					   : LAND_AT + (uint32_t)number(stage, "land", 0);
	if (req->opcode == IBV_WR_RDMA_READ) {
		req->remote = NOISE_IOVA + req->src;
		req->rkey = qp->peer->host->noise_key;
	} else {
		req->remote = qp->peer->iova + req->land;
		req->rkey = qp->peer->key;
	}
	aim(stage, qp, req);
	if (option(stage, "bad"))
		make_bad(qp, req, option(stage, "bad"));
	const int ret = qp_post(qp);

	if (ret) {
		qp->nb_planned--;
		fprintf(stage->out, "refused %d\n", ret);
	}
}

static void
do_recv(struct stage *stage)
{
	uint64_t nb = strtoull(word(stage, 2), NULL, 0);

	if (has_word(stage, "bad"))
		end_of(stage)->bad_recv = end_of(stage)->nb_recv_posted;
	do {
		if (shared_of(stage))
			shared_post_one(shared_of(stage));
		else
			qp_post_recv(end_of(stage));
	} while (nb-- > 1);
}

static void
do_fault(struct stage *stage)
{
	static const struct {
		const char *name;
		enum fault fault;
	} faults[] = {
		{ "lose", FAULT_LOSE },   { "twice", FAULT_REPEAT }, { "late", FAULT_LATE },
		{ "spoil", FAULT_SPOIL }, { "mark", FAULT_MARK },
	};
	const uint32_t nth = (uint32_t)strtoul(word(stage, 2), NULL, 0);
	const uint32_t nb = (uint32_t)number(stage, "nb", 1);

	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (strcmp(faults[i].name, stage->words[0]))
			continue;
		for (uint32_t k = 0; k < nb; k++)
			link_script(&end_of(stage)->host->link, nth + k, faults[i].fault,
				    (uint32_t)number(stage, "us", 10) * 1000);
	}
}

static void
do_run(struct stage *stage)
{
	const double us = strtod(word(stage, 1), NULL);
	struct world *world = stage->world;

	world_run(world, us > 0 ? world->now_ns + (uint64_t)(us * 1000) : UROCE_NEVER);
}

static enum ibv_qp_state
state_of(const char *name)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	for (unsigned i = 0; i < 7; i++) {
		if (!strcmp(names[i], name))
			return (enum ibv_qp_state)i;
	}
	fprintf(stderr, "golden: no such state: %s\n", name);
	exit(2);
}

static void
do_modify(struct stage *stage)
{
	const int ret = qp_modify(end_of(stage), state_of(word(stage, 2)));

	if (ret)
		fprintf(stage->out, "refused %d\n", ret);
}

static void
do_state(struct stage *stage)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	fprintf(stage->out, "%s\n", names[end_of(stage)->qpc.state]);
}

static void
do_destroy(struct stage *stage)
{
	qp_destroy(end_of(stage));
}

static void
do_stall(struct stage *stage)
{
	struct host *host = end_of(stage)->host;

	host->awake_ns = stage->world->now_ns + strtoull(word(stage, 2), NULL, 0) * 1000;
	host_wake(stage->world, host, host->awake_ns);
}

static void
do_block(struct stage *stage)
{
	struct host *host = end_of(stage)->host;

	host->blocked_ns = strtoull(word(stage, 2), NULL, 0) * 1000;
	host->link.up_free_ns = stage->world->now_ns + host->blocked_ns;
}

static void
do_done(struct stage *stage)
{
	struct qp *qp = end_of(stage);

	for (uint32_t i = 0; i < qp->nb_kept; i++) {
		const struct ibv_wc *wc = &qp->kept[i].wc;

		fprintf(stage->out, "%s %u %s", qp->kept[i].is_recv ? "recv" : "send",
			(unsigned)wc->wr_id, name_of_status(wc->status));
		if (qp->kept[i].is_recv && wc->status == IBV_WC_SUCCESS)
			fprintf(stage->out, " %u bytes", wc->byte_len);
		if (wc->wc_flags & IBV_WC_WITH_INV)
			fputs(" invalidated", stage->out);
		if (wc->wc_flags & IBV_WC_WITH_IMM)
			fprintf(stage->out, " imm 0x%x", wc->imm_data);
		fputc('\n', stage->out);
	}
	qp->nb_kept = 0;
}

static void
do_events(struct stage *stage)
{
	static const char *const names[] = {
		"SEND_CQ_EVENT", "RECV_CQ_EVENT", "SEND_CQ_OVERRUN", "RECV_CQ_OVERRUN", "REQ_ERR",
		"ACCESS_ERR",    "COMM_EST",      "SQ_DRAINED",      "LAST_WQE",        "SRQ_LIMIT",
	};
	struct qp *qp = end_of(stage);
	const uint32_t events = qp->events | qp->qpc.events;

	qp->events = 0;
	qp->qpc.events = 0;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (events >> i & 1)
			fprintf(stage->out, "%s\n", names[i]);
	}
}

/*
 * Print the rate of an end. The fields are read directly, because a call of the transport might
 * change them.
 */
static void
do_rate(struct stage *stage)
{
	const struct uroce_cc *cc = &end_of(stage)->qpc.cc;

	if (cc->is_limited)
		fprintf(stage->out, "%llu Mb/s of %llu\n",
			(unsigned long long)(cc->rate_bps / 1000000),
			(unsigned long long)(cc->target_bps / 1000000));
	else
		fputs("full\n", stage->out);
}

/* Print a word of the memory on which atomics operate. */
static void
do_word(struct stage *stage)
{
	uint64_t value;

	memcpy(&value, end_of(stage)->mem + 8 * strtoul(word(stage, 2), NULL, 0), sizeof(value));
	fprintf(stage->out, "%llu\n", (unsigned long long)value);
}

static void
do_forge(struct stage *stage)
{
	const struct qp *to = end_of(stage);
	const struct forgery forgery = {
		.opcode = word(stage, 2),
		.psn = (uint32_t)number(stage, "psn", 0),
		.len = (uint32_t)number(stage, "len", 0),
		.dma_len = (uint32_t)number(stage, "dma", number(stage, "len", 0)),
		.va = to->iova + LAND_AT + number(stage, "land", 0),
		.rkey = to->key,
		.syndrome = (uint8_t)number(stage, "syndrome", 0x1f),
		.msn = (uint32_t)number(stage, "msn", 0),
		.orig = number(stage, "orig", 0),
		.qkey = (uint32_t)number(stage, "qkey", 0x11111111),
		.pkey = (uint16_t)number(stage, "pkey", 0xffff),
		.has_ack_req = has_word(stage, "A"),
		.is_from_stranger = has_word(stage, "stranger"),
	};

	fprintf(stage->out, "%s\n", uroce_verdict_name(forge(end_of(stage), &forgery)));
}

static const struct {
	const char *name;
	void (*act)(struct stage *stage);
} commands[] = {
	{ "stage",
	  /*
	   * stage [type=RC] [mtu=1024] [psn=0] [timeout=4] ... [hold=32] [mbps=1000] [cc=dcqcn
	   * [min_mbps=100] ...] [forged] [open]: create A and B; must be the first command
	   */
	  set_stage },
	/* post A WRITE 3000 [fence] [solicited] [bad=key] ...: A posts this request */
	{ "post", do_post },
	{ "windows",
	  /*
	   * windows B [kind=2B] [zero_based]: B creates one window for WRITEs of A, and one that B
	   * binds
	   */
	  do_windows },
	{ "mortal",
	  /*
	   * mortal B [kind=1] [zero_based]: B creates a key for A, of a region or, with kind, of a
	   * window. The command `withdraw` withdraws the key.
	   */
	  do_mortal },
	/* withdraw B: B withdraws the key that the command `mortal` created */
	{ "withdraw", do_withdraw },
	{ "cancel", do_cancel }, /* cancel A 1: A cancels its request with wr_id 1 */
	/*
	 * tune A timeout=5 [retry=1] [mig=1]: modify attributes of A without a change of its state
	 */
	{ "tune", do_tune },
	/* draining A: print sq_draining (yes or no) of A, as a query returns it */
	{ "draining", do_draining },
	/* arm B 2 [srq=1]: set the limit of a shared queue of B to 2 */
	{ "arm", do_arm },
	{ "leave", do_leave }, /* leave B: B leaves its multicast group */
	/*
	 * recv B [4] [bad]: B posts 4 receive requests; with `bad` the first one has an invalid
	 * lkey
	 */
	{ "recv", do_recv },
	/* lose A 1 [nb=2]: 2 frames that A sends are lost, from frame 1 on */
	{ "lose", do_fault },
	/*
	 * twice A 1 [us=10]: frame 1 of A arrives twice; the copy arrives 10 microseconds after the
	 * frame
	 */
	{ "twice", do_fault },
	{ "late", do_fault },  /* late A 1 [us=10]: frame 1 of A arrives 10 microseconds late */
	{ "spoil", do_fault }, /* spoil A 1: a byte of frame 1 of A is changed */
	{ "mark", do_fault },  /* mark A 1: the switch sets CE in frame 1 of A */
	/* rate A: print the current rate and the target rate of congestion control */
	{ "rate", do_rate },
	/* run [50]: advance time by 50 microseconds; without a number: until no events are left */
	{ "run", do_run },
	{ "modify", do_modify }, /* modify A SQD: A moves its QP to SQD */
	{ "state", do_state },   /* state A: print the state of A's QP */
	{ "done", do_done },     /* done A: print the completions of A since the last `done` */
	{ "events", do_events }, /* events A: print the events of A since the last `events` */
	/* word B 0: print word 0 of B's memory, on which atomics operate */
	{ "word", do_word },
	{ "stall", do_stall }, /* stall B 20: B's host runs no rounds for 20 microseconds */
	/* block A 20: the port of A's host accepts no frames for 20 microseconds */
	{ "block", do_block },
	{ "destroy", do_destroy }, /* destroy B: B destroys its QP */
	{ "forge", do_forge },     /* forge B SEND_ONLY psn=3 len=8: a forged frame arrives at B */
};

static void
split(struct stage *stage, char *line)
{
	char *rest = NULL;

	stage->nb_words = 0;
	for (char *w = strtok_r(line, " ", &rest); w && stage->nb_words < WORDS_MAX;
	     w = strtok_r(NULL, " ", &rest))
		stage->words[stage->nb_words++] = w;
}

static void
obey(struct stage *stage, const char *line, size_t len)
{
	char text[256];

	assert(len < sizeof(text));
	memcpy(text, line, len);
	text[len] = '\0';
	fprintf(stage->out, "> %s\n", text);
	split(stage, text);
	/* a case whose first command is not `stage` uses the default stage */
	if (!stage->ends[0] && strcmp(word(stage, 0), "stage")) {
		const unsigned nb = stage->nb_words;

		stage->nb_words = 0;
		set_stage(stage);
		stage->nb_words = nb;
	}
	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(commands[i].name, word(stage, 0))) {
			commands[i].act(stage);
			return;
		}
	}
	fprintf(stderr, "golden: no such command: %s\n", text);
	exit(2);
}

char *
ladder_play(const struct ladder_case *c, struct world *world)
{
	struct stage stage = { .world = world };
	char *transcript = NULL;
	size_t len = 0;

	world_reset(world, 1);
	stage.out = open_memstream(&transcript, &len);
	assert(stage.out);
	world->trace.out = stage.out;
	for (const char *at = c->transcript; *at;) {
		const size_t line = strcspn(at, "\n");

		if (!strncmp(at, "> ", 2))
			obey(&stage, at + 2, line - 2);
		at += line + (at[line] == '\n');
	}
	/*
	 * check that no request is pending, if no events are left and the case allows no pending
	 * requests
	 */
	if (!world->heap.nb && !stage.is_open)
		oracle_end(world);
	if (!world_is_well(world))
		fprintf(stage.out, "VIOLATION: %s\n", world->violation);
	fclose(stage.out);
	world->trace.out = NULL;
	return transcript;
}
