/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * twins: compares a QP that gets frames one by one with a QP that gets the same frames in bursts.
 *
 *	twins [--seeds N] [--seed S]
 *
 * Each seed is a world: a service, an address family, queues that may be short, a peer that makes
 * mistakes. `--seeds N` runs the worlds 1 to N, `--seed S` only the world S. Exit status: 0; 1
 * after a line that begins with FAIL and names the difference; 2 after a wrong option.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "twin.h"
#include "wire/psn.h"

#define STEPS 60u

struct world {
	uint64_t seed;
	struct rng rng;
	struct draw draw;
	struct twin alone;  /* the twin that gets frames one by one */
	struct twin crowds; /* the twin that gets frames in bursts */
	const char *step;   /* name of the current step */
};

static struct world world;
static uint64_t nb_frames, nb_verdicts[UROCE_VERDICT_NB];

/* Post a copy of a send request on a twin. The caller posts it on both. */
static void
post_send(struct twin *twin, const struct ibv_send_wr *model, const struct ibv_sge *sge)
{
	struct ibv_send_wr wr = *model;
	struct ibv_sge elements[2];

	memcpy(elements, sge, sizeof(elements));
	wr.sg_list = elements;
	(void)pair_post_raw(&twin->pair, twin->side, &wr);
}

static void
draw_elements(struct ibv_sge sge[2], uint32_t len)
{
	struct rng *rng = &world.rng;

	for (unsigned i = 0; i < 2; i++) {
		sge[i] = (struct ibv_sge){
			.addr = TWIN_IOVA + rng_below(rng, TWIN_MEM_LEN - 20000),
			.length = len,
			.lkey = rng_once_in(rng, 500) ? world.alone.keys.some
						      : world.alone.keys.all,
		};
	}
}

static void
post_sends(void)
{
	static const uint8_t opcodes[] = { IBV_WR_RDMA_WRITE,
					   IBV_WR_SEND,
					   IBV_WR_RDMA_READ,
					   IBV_WR_RDMA_READ,
					   IBV_WR_ATOMIC_FETCH_AND_ADD,
					   IBV_WR_ATOMIC_CMP_AND_SWP,
					   IBV_WR_RDMA_WRITE_WITH_IMM };
	struct rng *rng = &world.rng;
	const uint8_t opcode = opcodes[rng_below(rng, sizeof(opcodes))];
	const bool is_atomic =
		opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	const uint32_t len_max = rng_once_in(rng, 4) ? 20000 : 200;

	for (unsigned i = rng_below(rng, 24); i > 0; i--) {
		struct ibv_sge sge[2];
		struct ibv_send_wr wr = {
			.opcode = (enum ibv_wr_opcode)opcode,
			.num_sge = rng_once_in(rng, 12) ? 2 : 1,
			.send_flags = (rng_once_in(rng, 2) ? (unsigned)IBV_SEND_SIGNALED : 0) |
				      (rng_once_in(rng, 24) ? (unsigned)IBV_SEND_FENCE : 0),
			.qp_type.xrc.remote_srqn = 1,
		};

		draw_elements(sge, is_atomic ? 8 : rng_below(rng, len_max));
		if (is_atomic)
			wr.num_sge = 1;
		post_send(&world.alone, &wr, sge);
		post_send(&world.crowds, &wr, sge);
	}
}

static void
post_recv(struct twin *twin, const struct ibv_recv_wr *model, const struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = *model;
	struct ibv_sge elements[2];

	memcpy(elements, sge, sizeof(elements));
	wr.sg_list = elements;
	(void)pair_post_recv_raw(&twin->pair, twin->side, &wr);
}

static void
post_recvs(void)
{
	struct rng *rng = &world.rng;

	for (unsigned i = rng_below(rng, 40); i > 0; i--) {
		struct ibv_recv_wr wr = { .num_sge = rng_once_in(rng, 12) ? 2 : 1 };
		struct ibv_sge sge[2];

		draw_elements(sge, rng_once_in(rng, 100) ? rng_below(rng, 64) : 16000);
		post_recv(&world.alone, &wr, sge);
		post_recv(&world.crowds, &wr, sge);
	}
}

static const char *
compare(unsigned nb_received)
{
	return twin_compare(&world.alone, &world.crowds, nb_received, rng_once_in(&world.rng, 2));
}

/* --- steps, each of which returns the name of a difference ------------------------------------- */

static const char *
post(void)
{
	post_sends();
	post_recvs();
	return compare(0);
}

static const char *
send(void)
{
	const unsigned max = 1 + rng_below(&world.rng, TWIN_BURST);
	const unsigned nb = twin_send(&world.alone, max);

	if (twin_send(&world.crowds, max) != nb)
		return "number of frames sent";
	for (unsigned i = 0; i < nb; i++) {
		const uint32_t len = world.alone.sent_len[i];

		if (len != world.crowds.sent_len[i] ||
		    memcmp(world.alone.sent[i], world.crowds.sent[i], len) != 0)
			return "a frame sent";
		draw_note_sent(&world.draw, &world.alone, world.alone.sent[i], len);
	}
	return compare(0);
}

static const char *
receive(void)
{
	static struct twin_frame frames[TWIN_BURST];
	const unsigned nb = draw_burst(&world.draw, &world.alone, frames);

	twin_receive(&world.alone, frames, nb);
	twin_receive(&world.crowds, frames, nb);
	nb_frames += nb;
	for (unsigned i = 0; i < nb; i++)
		nb_verdicts[world.alone.verdicts[i]]++;
	return compare(nb);
}

static const char *
wait(void)
{
	const uint64_t ns = rng_next(&world.rng) >> (34 + rng_below(&world.rng, 30));

	world.alone.pair.now_ns += ns;
	world.crowds.pair.now_ns += ns;
	twin_expire(&world.alone);
	twin_expire(&world.crowds);
	return compare(0);
}

static const char *
bind(void)
{
	const uint8_t tag = (uint8_t)rng_next(&world.rng);

	if (twin_bind(&world.alone, tag) != twin_bind(&world.crowds, tag))
		return "whether a window can be bound";
	return compare(0);
}

static const char *
arm(void)
{
	const bool is_solicited = rng_once_in(&world.rng, 2);

	uroce_cq_arm(&twin_host(&world.alone)->recv_cq, is_solicited);
	uroce_cq_arm(&twin_host(&world.crowds)->recv_cq, is_solicited);
	return NULL;
}

static void
modify_both(const struct ibv_qp_attr *attr, int mask)
{
	(void)pair_modify(&world.alone.pair, world.alone.side, attr, mask);
	(void)pair_modify(&world.crowds.pair, world.crowds.side, attr, mask);
}

/* Move both QPs to a random state, or change the access rights of both. */
static const char *
modify(void)
{
	static const uint8_t states[] = { IBV_QPS_RESET, IBV_QPS_ERR, IBV_QPS_SQD, IBV_QPS_RTS };
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	if (rng_once_in(&world.rng, 4)) {
		modify_both(&attr, IBV_QP_ACCESS_FLAGS);
		return compare(0);
	}
	attr.qp_state = (enum ibv_qp_state)states[rng_below(&world.rng, sizeof(states))];
	modify_both(&attr, IBV_QP_STATE);
	return compare(0);
}

/* If the QPs are in ERR or RESET, reset and connect both. */
static const char *
revive(void)
{
	const struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	const uint8_t state = twin_qpc(&world.alone)->state;

	if (state != IBV_QPS_ERR && state != IBV_QPS_RESET)
		return NULL;
	(void)twin_send(&world.alone, 1);
	(void)twin_send(&world.crowds, 1);
	modify_both(&reset, IBV_QP_STATE);
	world.draw.nb_answers = 0;
	for (int step = IBV_QPS_INIT; step <= IBV_QPS_RTS; step++) {
		struct ibv_qp_attr attr;
		const int mask = pair_attr(&world.alone.pair, world.alone.side,
					   (enum ibv_qp_state)step, &attr);

		modify_both(&attr, mask);
	}
	return compare(0);
}

static const struct {
	const char *name;
	uint8_t weight;
	const char *(*take)(void);
} steps[] = {
	{ "post", 6, post }, { "send", 8, send }, { "receive", 12, receive }, { "wait", 4, wait },
	{ "bind", 1, bind }, { "arm", 1, arm },   { "modify", 1, modify },
};
#define NB_STEPS (sizeof(steps) / sizeof(steps[0]))

/* --- worlds: a configuration and random steps -------------------------------------------------- */

static struct pair_conf
draw_conf(struct rng *rng)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_RC,       IBV_QPT_RC,
						  IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_UC,
						  IBV_QPT_UD };
	static struct uroce_cc_conf cc;
	struct pair_conf conf = pair_conf(types[rng_below(rng, 7)]);

	uroce_cc_conf_init(&cc);
	(void)uroce_cc_find("dcqcn", &cc.ops);
	cc.rate_mbps = 10000;
	conf.is_quiet = true;
	conf.mtu = rng_once_in(rng, 3) ? IBV_MTU_1024 : IBV_MTU_256;
	conf.is_ipv6 = rng_once_in(rng, 4);
	conf.has_srq = conf.type != IBV_QPT_XRC_SEND && rng_once_in(rng, 5);
	conf.is_unsignaled = rng_once_in(rng, 2);
	/* for B or for both hosts, PSNs begin shortly before their wrap */
	conf.psn[A] = (UROCE_PSN_MASK - rng_below(rng, 200)) & UROCE_PSN_MASK;
	conf.psn[B] = rng_once_in(rng, 2) ? conf.psn[A] : rng_below(rng, 1000);
	conf.mem_len = TWIN_MEM_LEN;
	conf.rq_len = rng_once_in(rng, 3) ? 8 : 64;
	conf.cq_len = rng_once_in(rng, 6) ? 16 : 512;
	conf.max_rd_atomic = (uint8_t)(1 + rng_below(rng, 16));
	conf.max_dest_rd_atomic = (uint8_t)rng_below(rng, 17);
	conf.nb_hold = rng_once_in(rng, 3) ? 0 : 1024;
	conf.window_psns = rng_once_in(rng, 3) ? (uint16_t)(4 + rng_below(rng, 60)) : 0;
	conf.cc = rng_once_in(rng, 8) ? &cc : NULL;
	return conf;
}

static const char *
live(void)
{
	uint8_t weights[NB_STEPS];

	for (unsigned i = 0; i < NB_STEPS; i++)
		weights[i] = steps[i].weight;
	for (unsigned i = 0; i < STEPS; i++) {
		const unsigned at = rng_weighted(&world.rng, weights, NB_STEPS);
		const char *what = steps[at].take();

		world.step = steps[at].name;
		if (!what && rng_once_in(&world.rng, 2))
			what = revive();
		if (what)
			return what;
	}
	return NULL;
}

/* Run the world of a seed. @return whether the twins have remained equal */
static bool
run(uint64_t seed)
{
	world = (struct world){ .seed = seed, .rng = { seed } };
	world.draw.rng.counter = ~seed;
	world.draw.ask_in = rng_once_in(&world.rng, 3) ? 64 : 2;
	world.draw.odd_in = rng_once_in(&world.rng, 4) ? 0 : 4 + rng_below(&world.rng, 40);

	const struct pair_conf conf = draw_conf(&world.rng);
	const enum pair_side side =
		conf.type == IBV_QPT_XRC_SEND && rng_once_in(&world.rng, 3) ? A : B;

	world.crowds.is_in_bursts = true;
	twin_open(&world.alone, &conf, side);
	twin_open(&world.crowds, &conf, side);
	const char *what = live();

	if (what)
		printf("FAIL seed %" PRIu64 ": after \"%s\" there is a difference: %s\n", seed,
		       world.step, what);
	twin_close(&world.alone);
	twin_close(&world.crowds);
	return !what;
}

static uint64_t
number(const char *option, const char *text)
{
	char *end;

	errno = 0;
	const uint64_t value = text ? strtoull(text, &end, 0) : 0;

	if (text && *text && !*end && !errno)
		return value;
	fprintf(stderr, "twins: not a number after %s: '%s'\n", option, text ? text : "");
	exit(2);
}

int
main(int argc, char **argv)
{
	uint64_t first = 1, last = 1000;

	for (int i = 1; i < argc; i += 2) {
		if (!strcmp(argv[i], "--seeds")) {
			last = number(argv[i], argv[i + 1]);
		} else if (!strcmp(argv[i], "--seed")) {
			first = last = number(argv[i], argv[i + 1]);
		} else {
			fprintf(stderr, "twins: unknown option '%s': --seeds N or --seed S\n",
				argv[i]);
			return 2;
		}
	}
	for (uint64_t seed = first; seed <= last; seed++) {
		if (!run(seed))
			return 1;
	}
	printf("%" PRIu64 " worlds, %" PRIu64 " frames, no difference:", last - first + 1,
	       nb_frames);
	for (unsigned i = 0; i < UROCE_VERDICT_NB; i++) {
		if (nb_verdicts[i])
			printf(" %" PRIu64 " %s", nb_verdicts[i],
			       uroce_verdict_name((enum uroce_verdict)i));
	}
	printf("\n");
	return 0;
}
