/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A good client of the soak: a program with a device of its own on the port of uroced. Its RC QP is
 * connected to the QP of the other client of its pair. In each lifetime the client attaches, sends
 * messages at a rate far below its share, and leaves.
 *
 * The number of a message determines its kind, length and bytes. The slot of a message is its
 * number modulo NB_SLOTS. The message stays in this slot of the sender until the receiver has
 * checked each byte. The receiver confirms the check by an empty SEND with the number of the slot.
 * SENDs are placed in the buffer of their receive request, and WRITEs in the slot of the receiver.
 * The bytes of READs are those of the responder, and the requester checks them.
 */

#include "soak.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <rte_eal.h>
#include <uroce.h>

#define GID_INDEX 1 /* index of the GID of uroced's address */
#define NB_SLOTS  8u
/* number of receive requests, for messages and for confirmations */
#define NB_RECVS  (2 * NB_SLOTS)
#define LEN_MAX   65536u
#define PACE_US   2000u
#define LIFE_MS   500u /* minimum lifetime of a client; the maximum is four times as long */
#define TIMEOUT_S 300  /* timeout that only a hang reaches */
/* bit of the immediate data that means: the message in this slot was checked */
#define SAID UINT32_C(0x80000000)

/*
 * Offsets in the buffer. OUT: messages to send, and destinations of READs. IN: destinations of the
 * peer's WRITEs. RECV: the peer's SENDs. FIXED: sources of the peer's READs.
 */
#define OUT(slot) ((slot)*LEN_MAX)
#define IN(slot)  ((NB_SLOTS + (slot)) * LEN_MAX)
#define RECV(i)   ((2 * NB_SLOTS + (i)) * LEN_MAX)
#define FIXED     ((2 * NB_SLOTS + NB_RECVS) * LEN_MAX)
#define BUF_LEN   (FIXED + LEN_MAX)

/* Events that a message waits for before its slot is free. */
enum { AWAITS_DONE = 1, AWAITS_SAID = 2 };

enum kind { KIND_SEND, KIND_WRITE, KIND_READ, KIND_NB };

/* The kind of a work request, in the upper half of its wr_id. */
enum work { WORK_MESSAGE, WORK_SAID, WORK_RECV };

/*
 * Progress of the end of a lifetime. DONE: all own messages are complete. GONE: all own
 * confirmations are complete as well.
 */
enum end { END_NONE, END_DONE, END_GONE };

/* The connection parameters that the peer needs. */
struct card {
	uint32_t qpn, psn, rkey, life_ms;
	uint64_t addr;
	union ibv_gid gid;
};

struct life {
	struct ibv_device *device;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct card mine, theirs;
	/*
	 * nb_sent: own messages that were sent; nb_seen: messages of the peer that were received,
	 * without READs
	 */
	uint32_t nb_sent, nb_seen;
	uint8_t awaits[NB_SLOTS]; /* pending events (AWAITS_*) of the message of each slot */
	uint32_t number[NB_SLOTS];
	unsigned nb_pending; /* number of slots that are not free */
	unsigned nb_saying;  /* confirmations that were posted and are not complete */
	enum end mine_end, their_end;
	uint64_t due_us, end_us;
};

static struct soak *soak;
static struct soak_good *self;
static unsigned self_nth;
static int peer;
static uint8_t *buf;
static struct life life;

/* --- failures and time --------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2), noreturn)) static void
give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(self->failure, sizeof(self->failure), format, args);
	va_end(args);
	_exit(1);
}

/* Check a call that returns 0 or an error. */
static void
expect(int ret, const char *what)
{
	if (ret != 0)
		give_up("%s: %s", what, strerror(ret < 0 ? errno : ret));
}

static void
expect_made(const void *object, const char *what)
{
	if (!object)
		give_up("%s: %s", what, strerror(errno));
}

static uint64_t
now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Get the time in which this thread ran or waited for a CPU. */
static uint64_t
runnable_us(void)
{
	unsigned long long ran_ns = 0, waited_ns = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (!file || fscanf(file, "%llu %llu", &ran_ns, &waited_ns) != 2)
		ran_ns = waited_ns = 0;
	if (file)
		(void)fclose(file);
	return (ran_ns + waited_ns) / 1000;
}

static bool
is_over(void)
{
	return atomic_load(&soak->phase) == SOAK_OVER;
}

static struct soak_tally *
tally(void)
{
	return &self->tally[is_over() ? SOAK_ATTACKED : atomic_load(&soak->phase)];
}

/* --- the bytes of messages ----------------------------------------------------------------------- */

static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Compute a number from which the kind, the length and the bytes of a message follow. */
static uint64_t
seed_of(uint32_t qpn, uint32_t number)
{
	return mix((uint64_t)qpn << 32 | number);
}

static enum kind
kind_of(uint32_t qpn, uint32_t number)
{
	return (enum kind)(seed_of(qpn, number) % KIND_NB);
}

/* Compute the length of a message. A quarter of the messages have one packet at most. */
static uint32_t
len_of(uint32_t qpn, uint32_t number)
{
	const uint64_t seed = seed_of(qpn, number) >> 8;

	return seed % 4 == 0 ? (uint32_t)(seed >> 2) % 1024 + 1
			     : (uint32_t)(seed >> 2) % LEN_MAX + 1;
}

static uint64_t
word_of(uint64_t seed, uint32_t i)
{
	return (seed + i) * UINT64_C(0x9e3779b97f4a7c15);
}

static void
fill(uint8_t *at, uint32_t len, uint64_t seed)
{
	uint64_t word;

	for (uint32_t i = 0; i < len; i += 8) {
		word = word_of(seed, i);
		memcpy(at + i, &word, len - i < 8 ? len - i : 8);
	}
}

static void
verify(const uint8_t *at, uint32_t len, uint64_t seed, const char *what)
{
	uint64_t word;

	for (uint32_t i = 0; i < len; i += 8) {
		word = word_of(seed, i);
		if (memcmp(at + i, &word, len - i < 8 ? len - i : 8) != 0)
			give_up("%s of %u bytes: others than were sent, from byte %u on", what, len,
				i);
	}
	tally()->nb_verified++;
	tally()->nb_bytes += len;
}

/* --- attach and leave ---------------------------------------------------------------------------- */

void
soak_become(uid_t uid)
{
	if (setgroups(0, NULL) != 0 || setresgid(uid, uid, uid) != 0 ||
	    setresuid(uid, uid, uid) != 0) {
		perror("soak: another user");
		_exit(2);
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_DFL);
}

static void
start_eal(void)
{
	/*
	 * lcore 0 may run on every CPU of this process, because the CPUs are shared with other
	 * threads
	 */
	char lcores[64];
	char *argv[] = { "soak",          "--lcores", lcores, "--no-huge",      "--no-shconf",
			 "--no-pci",      "-m",       "96",   "--no-telemetry", "--log-level",
			 "lib.eal:error", NULL };
	const long nb_cpus = sysconf(_SC_NPROCESSORS_CONF);
	int len = snprintf(lcores, sizeof(lcores), "0@(");
	cpu_set_t set;

	CPU_ZERO(&set);
	expect(sched_getaffinity(0, sizeof(set), &set), "sched_getaffinity");
	for (int cpu = 0; cpu < nb_cpus && cpu < 16; cpu++) {
		if (CPU_ISSET(cpu, &set))
			len += snprintf(lcores + len, sizeof(lcores) - (size_t)len, "%d,", cpu);
	}
	lcores[len - 1] = ')';
	if (rte_eal_init(sizeof(argv) / sizeof(argv[0]) - 1, argv) < 0)
		give_up("EAL does not start");
}

/* Attach: create the device and the QP. The time that this takes is recorded. */
static void
attach(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 2 * NB_RECVS,
			 .max_recv_wr = NB_RECVS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	const uint64_t began_us = now_us(), runnable = runnable_us();
	struct soak_tally *tallied = tally();
	char spec[160];

	(void)snprintf(spec, sizeof(spec), "uroced,socket=%s", soak->socket);
	/* the creation fails after some seconds if the scheduler delays uroced, so repeat it */
	do
		life.device = uroce_create_device(spec);
	while (!life.device && errno == ETIMEDOUT &&
	       now_us() < began_us + TIMEOUT_S * UINT64_C(1000000));
	expect_made(life.device, "uroce_create_device");
	life.context = uroce_open_device(life.device);
	expect_made(life.context, "uroce_open_device");
	life.pd = uroce_alloc_pd(life.context);
	expect_made(life.pd, "uroce_alloc_pd");
	life.channel = uroce_create_comp_channel(life.context);
	expect_made(life.channel, "uroce_create_comp_channel");
	life.cq = uroce_create_cq(life.context, 4 * NB_RECVS, NULL, life.channel, 0);
	expect_made(life.cq, "uroce_create_cq");
	init.send_cq = init.recv_cq = life.cq;
	life.qp = uroce_create_qp(life.pd, &init);
	expect_made(life.qp, "uroce_create_qp");
	if (tallied->nb_attaches < SOAK_ATTACHES) {
		struct soak_attach *took = &tallied->attach[tallied->nb_attaches++];
		const uint64_t us = now_us() - began_us, ready_us = runnable_us() - runnable;

		took->us = (uint32_t)us;
		took->asleep_us = (uint32_t)(us > ready_us ? us - ready_us : 0);
	}
}

static void
leave(void)
{
	expect(uroce_destroy_qp(life.qp), "uroce_destroy_qp");
	expect(uroce_destroy_cq(life.cq), "uroce_destroy_cq");
	expect(uroce_destroy_comp_channel(life.channel), "uroce_destroy_comp_channel");
	expect(uroce_dereg_mr(life.mr), "uroce_dereg_mr");
	expect(uroce_dealloc_pd(life.pd), "uroce_dealloc_pd");
	expect(uroce_close_device(life.context), "uroce_close_device");
	expect(uroce_destroy_device(life.device), "uroce_destroy_device");
}

/* --- the connection ------------------------------------------------------------------------------ */

/*
 * Receive bytes from the peer.
 * @return false if the peer has ended, which is allowed at the end of the soak
 */
static bool
hear_peer(void *bytes, size_t len)
{
	struct pollfd fd = { peer, POLLIN, 0 };
	ssize_t got;

	if (poll(&fd, 1, TIMEOUT_S * 1000) != 1)
		give_up("the peer says nothing");
	got = recv(peer, bytes, len, 0);
	if (got != (ssize_t)len && !is_over())
		give_up("the peer is gone");
	return got == (ssize_t)len;
}

static void
tell_peer(const void *bytes, size_t len)
{
	if (send(peer, bytes, len, MSG_NOSIGNAL) != (ssize_t)len && !is_over())
		give_up("the peer is gone");
}

static void
post_recv(uint32_t i)
{
	struct ibv_sge sge = { (uintptr_t)buf + RECV(i), LEN_MAX, life.mr->lkey };
	struct ibv_recv_wr *bad,
		wr = { .wr_id = (uint64_t)WORK_RECV << 32 | i, .sg_list = &sge, .num_sge = 1 };

	expect(ibv_post_recv(life.qp, &wr, &bad), "ibv_post_recv");
}

static void
modify(const struct ibv_port_attr *port)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	expect(uroce_modify_qp(life.qp, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       IBV_QP_ACCESS_FLAGS),
	       "to INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port->active_mtu,
		.dest_qp_num = life.theirs.qpn,
		.rq_psn = life.theirs.psn,
		.max_dest_rd_atomic = NB_SLOTS,
		.min_rnr_timer = 12, /* encoded RNR timer of 0.64 ms */
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = life.theirs.gid,
				      .sgid_index = GID_INDEX,
				      .hop_limit = 64 } },
	};
	expect(uroce_modify_qp(life.qp, &attr,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER),
	       "to RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.sq_psn = life.mine.psn,
		.timeout = 18, /* encoded ACK timeout of 1.07 s */
		.retry_cnt = 7,
		.rnr_retry = 7, /* 7 means: retry without limit */
		.max_rd_atomic = NB_SLOTS,
	};
	expect(uroce_modify_qp(life.qp, &attr,
			       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
	       "to RTS");
}

/* Connect to the peer. @return false if the peer did not connect, because the soak is over */
static bool
join(void)
{
	struct ibv_port_attr port;
	char byte = 0;

	life.mr = uroce_reg_mr(life.pd, buf, BUF_LEN,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ);
	expect_made(life.mr, "uroce_reg_mr");
	expect(uroce_query_port(life.context, 1, &port), "uroce_query_port");
	life.mine = (struct card){
		.qpn = life.qp->qp_num,
		.psn = (uint32_t)random() & 0xffffff,
		.rkey = life.mr->rkey,
		.life_ms = LIFE_MS + (uint32_t)random() % (3 * LIFE_MS),
		.addr = (uintptr_t)buf,
	};
	expect(uroce_query_gid(life.context, 1, GID_INDEX, &life.mine.gid), "uroce_query_gid");
	tell_peer(&life.mine, sizeof(life.mine));
	if (!hear_peer(&life.theirs, sizeof(life.theirs)))
		return false;
	fill(buf + FIXED, LEN_MAX, seed_of(life.mine.qpn, UINT32_MAX));
	modify(&port);
	for (uint32_t i = 0; i < NB_RECVS; i++)
		post_recv(i);
	atomic_store(&self->psn, life.mine.psn);
	atomic_store(&self->qpn, life.mine.qpn);
	tell_peer(&byte, 1);
	return hear_peer(&byte, 1);
}

/* --- messages ------------------------------------------------------------------------------------ */

static void
post_send(enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t at, uint32_t len, uint32_t imm,
	  uint32_t to)
{
	struct ibv_sge sge = { (uintptr_t)buf + at, len, life.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = len > 0,
		.imm_data = imm,
		.wr.rdma = { .remote_addr = life.theirs.addr + to, .rkey = life.theirs.rkey },
	};

	expect(ibv_post_send(life.qp, &wr, &bad), "ibv_post_send");
}

static void
send_message(void)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND_WITH_IMM,
						      IBV_WR_RDMA_WRITE_WITH_IMM,
						      IBV_WR_RDMA_READ };
	const uint32_t qpn = life.mine.qpn, number = life.nb_sent++, slot = number % NB_SLOTS;
	const enum kind kind = kind_of(qpn, number);
	const uint32_t len = len_of(qpn, number);

	if (kind != KIND_READ)
		fill(buf + OUT(slot), len, seed_of(qpn, number));
	life.number[slot] = number;
	life.awaits[slot] = kind == KIND_READ ? AWAITS_DONE : AWAITS_DONE | AWAITS_SAID;
	life.nb_pending++;
	post_send(opcodes[kind], (uint64_t)WORK_MESSAGE << 32 | slot, OUT(slot), len, number,
		  kind == KIND_READ ? FIXED : IN(slot));
}

/* Record that an event (AWAITS_*) of the message in a slot has arrived. */
static void
advance_slot(uint32_t slot, uint8_t what)
{
	if (slot >= NB_SLOTS || !(life.awaits[slot] & what))
		give_up("an answer to a message that awaits none: slot %u", slot);
	life.awaits[slot] &= (uint8_t)~what;
	if (life.awaits[slot] == 0) {
		life.nb_pending--;
		tally()->nb_done++;
	}
}

static void
finish_message(uint32_t slot)
{
	const uint32_t qpn = life.mine.qpn, number = life.number[slot];

	advance_slot(slot, AWAITS_DONE);
	if (kind_of(qpn, number) == KIND_READ)
		verify(buf + OUT(slot), len_of(qpn, number), seed_of(life.theirs.qpn, UINT32_MAX),
		       "a READ");
}

/* Check a message of the peer. Messages arrive in order, each once. */
static void
take_message(const struct ibv_wc *wc)
{
	const uint32_t qpn = life.theirs.qpn, number = wc->imm_data, slot = number % NB_SLOTS;
	const bool is_write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	const uint32_t i = (uint32_t)wc->wr_id;

	while (kind_of(qpn, life.nb_seen) == KIND_READ)
		life.nb_seen++;
	if (number != life.nb_seen++ || (kind_of(qpn, number) == KIND_WRITE) != is_write ||
	    wc->byte_len != len_of(qpn, number))
		give_up("message %u of %u bytes where %u is expected", number, wc->byte_len,
			life.nb_seen - 1);
	verify(buf + (is_write ? IN(slot) : RECV(i)), wc->byte_len, seed_of(qpn, number),
	       is_write ? "a WRITE" : "a SEND");
	post_recv(i);
	life.nb_saying++;
	post_send(IBV_WR_SEND_WITH_IMM, (uint64_t)WORK_SAID << 32, 0, 0, SAID | slot, 0);
}

static void
take_completion(const struct ibv_wc *wc)
{
	const uint32_t low = (uint32_t)wc->wr_id;

	if (wc->status != IBV_WC_SUCCESS)
		give_up("work of kind %u ends with '%s'", (unsigned)(wc->wr_id >> 32),
			uroce_wc_status_str(wc->status));
	switch ((enum work)(wc->wr_id >> 32)) {
	case WORK_MESSAGE:
		finish_message(low);
		break;
	case WORK_SAID:
		life.nb_saying--;
		break;
	case WORK_RECV:
		if (wc->imm_data & SAID) {
			post_recv(low);
			advance_slot(wc->imm_data & ~SAID, AWAITS_SAID);
		} else {
			take_message(wc);
		}
		break;
	}
}

/* Poll the CQ, and handle the completions. @return whether there was a completion */
static bool
take_completions(void)
{
	struct ibv_wc wc[16];
	const int nb = ibv_poll_cq(life.cq, 16, wc);

	if (nb < 0)
		give_up("the completion queue is lost");
	for (int i = 0; i < nb; i++)
		take_completion(&wc[i]);
	return nb > 0;
}

/* Send the messages that are due. A message that finds no free slot is skipped. */
static void
send_due(void)
{
	for (uint64_t now = now_us(); life.due_us <= now; life.due_us += PACE_US) {
		tally()->nb_due++;
		if (life.awaits[life.nb_sent % NB_SLOTS] == 0)
			send_message();
	}
}

static void
tell_end(enum end end)
{
	const uint8_t byte = (uint8_t)end;

	life.mine_end = end;
	tell_peer(&byte, 1);
}

static void
hear_end(void)
{
	uint8_t byte;

	if (recv(peer, &byte, 1, MSG_DONTWAIT) == 1)
		life.their_end = (enum end)byte;
	else
		give_up("the peer is gone");
}

/* Sleep until a completion arrives or a message is due. */
static void
sleep_a_while(uint64_t until_us)
{
	struct pollfd fds[] = { { life.channel->fd, POLLIN, 0 }, { peer, POLLIN, 0 } };
	const uint64_t now = now_us();
	struct ibv_cq *cq;
	void *context;

	expect(ibv_req_notify_cq(life.cq, 0), "ibv_req_notify_cq");
	if (take_completions() || now >= until_us)
		return;
	if (poll(fds, 2, (int)((until_us - now + 999) / 1000)) > 0 && fds[0].revents &&
	    uroce_get_cq_event(life.channel, &cq, &context) == 0)
		uroce_ack_cq_events(cq, 1);
	if (fds[1].revents)
		hear_end();
}

/*
 * Check whether both clients have ended this lifetime. Later messages of the peer belong to the
 * peer's next lifetime.
 */
static bool
has_ended(void)
{
	return life.mine_end == END_GONE && life.their_end == END_GONE;
}

static void
exchange(void)
{
	const uint64_t began_us = now_us();
	const uint64_t late_us = began_us + TIMEOUT_S * UINT64_C(1000000);

	/* the first client of a pair determines the lifetime */
	life.end_us = began_us +
		      UINT64_C(1000) * (self_nth % 2 ? life.theirs.life_ms : life.mine.life_ms);
	life.due_us = began_us;
	while (!has_ended()) {
		const uint64_t now = now_us();
		const bool is_ending = now >= life.end_us || is_over();

		if (!is_ending)
			send_due();
		else if (life.mine_end == END_NONE && life.nb_pending == 0)
			tell_end(END_DONE);
		else if (life.mine_end == END_DONE && life.their_end >= END_DONE &&
			 life.nb_saying == 0)
			tell_end(END_GONE);
		if (now > late_us)
			give_up("%u messages are on their way for %u s", life.nb_pending,
				TIMEOUT_S);
		if (!take_completions() && !has_ended())
			sleep_a_while(is_ending ? now + 100000 : life.due_us);
	}
}

void
soak_run_good(struct soak *whole, unsigned nth, int socket)
{
	soak = whole;
	self = &whole->good[nth];
	self_nth = nth;
	peer = socket;
	buf = calloc(1, BUF_LEN);
	expect_made(buf, "calloc");
	srandom(nth + 1);
	start_eal();
	while (!is_over()) {
		memset(&life, 0, sizeof(life));
		attach();
		if (join())
			exchange();
		leave();
	}
	_exit(0);
}
