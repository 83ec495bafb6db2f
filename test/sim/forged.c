/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Measures what an attacker on the network can do to a stream of WRITEs. The stream is 1 MiB WRITEs
 * over 100 Gb/s, MTU 4096, round trip 10 us, without loss. The attacker knows the addresses and
 * both QP numbers; what is known of PSNs depends on the attack. Forged frames reach the requester
 * or the responder at a fixed rate. A row gives the attack and the goodput that remains.
 */

#include <stddef.h>
#include <string.h>

#include "forge.h"
#include "host.h"
#include "measure.h"
#include "rng.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

#define WRITE_LEN (1u << 20)
#define NB_WRITES 512
#define BEGIN_NS  1000000
#define END_NS    21000000

/* The PSN of a forged frame: what the attacker knows of the PSNs in use. */
enum psn {
	PSN_NONE,  /* the attack needs no PSN */
	PSN_KNOWN, /* the oldest unacknowledged PSN of the requester */
	PSN_NEAR,  /* a random PSN of the packets in flight */
	PSN_AHEAD, /* a random PSN, 1 to 100 ahead of the PSN that the responder expects */
	PSN_ANY,   /* a random PSN of all 2^24 */
};

/*
 * An attack: `burst` frames of one kind every `every_ns` nanoseconds. If every_ns is 0, there is
 * only one burst.
 */
struct attack {
	const char *name;
	const char *opcode; /* opcode of the forged frames; NULL: no frames */
	uint32_t every_ns;
	uint32_t burst;
	enum psn psn;
	uint8_t syndrome;
	bool is_to_responder;
};

#define NAK_SEQ (UROCE_AETH_NAK << 5 | UROCE_NAK_PSN_SEQ)
#define RNR     (UROCE_AETH_RNR << 5) /* timer code 0: the requester waits 655.36 ms */

/* clang-format off */
static const struct attack attacks[] = {
	{ "none",               NULL,  0,       0 },
	{ "14 CNPs at once",    "CNP", 0,       14 },
	{ "CNPs, 1000/s",       "CNP", 1000000, 1 },
	{ "CNPs, 20000/s",      "CNP", 50000,   1 },
	{ "CNPs, 1000000/s",    "CNP", 1000,    1 },
	{ "NAKs of the oldest PSN, 1000/s",    "ACK", 1000000, 1, PSN_KNOWN, NAK_SEQ },
	{ "NAKs of the oldest PSN, 1000000/s", "ACK", 1000,    1, PSN_KNOWN, NAK_SEQ },
	{ "NAKs of any PSN, 1000/s",           "ACK", 1000000, 1, PSN_NEAR,  NAK_SEQ },
	{ "NAKs of any PSN, 1000000/s",        "ACK", 1000,    1, PSN_NEAR,  NAK_SEQ },
	{ "RNR NAKs, 1000/s",    "ACK", 1000000, 1, PSN_KNOWN, RNR },
	{ "RNR NAKs, 1000000/s", "ACK", 1000,    1, PSN_KNOWN, RNR },
	{ "WRITEs ahead, 1000/s",    "WRITE_MIDDLE", 1000000, 1, PSN_AHEAD, 0, true },
	{ "WRITEs ahead, 1000000/s", "WRITE_MIDDLE", 1000,    1, PSN_AHEAD, 0, true },
	{ "WRITEs of any PSN, 1000/s",    "WRITE_MIDDLE", 1000000, 1, PSN_ANY, 0, true },
	{ "WRITEs of any PSN, 1000000/s", "WRITE_MIDDLE", 1000,    1, PSN_ANY, 0, true },
};
/* clang-format on */

static struct qp *
set_up(struct world *world, const struct uroce_cc_conf *cc)
{
	const struct stream stream = {
		.nb_writes = NB_WRITES,
		.len = WRITE_LEN,
		.timeout = 8,
		.tclass = UROCE_ECN_ECT0,
		.cc = cc,
	};

	for (unsigned i = 0; i < 2; i++) {
		struct host *host = world_add_host(world);

		host->link.rate_bps = TRIAL_RATE_BPS;
		host->link.delay_ns = 2500;
		host->gap_ns = 100;
		host_add_hold(world, host, 16, 8192);
	}
	struct qp *qp = stream_open(world, &world->hosts[0], &world->hosts[1], &stream);

	qp->is_forged = true;
	qp->peer->is_forged = true;
	return qp;
}

static uint32_t
psn_of(struct qp *to, enum psn psn)
{
	const struct uroce_req *req = &to->qpc.req;
	struct rng *rng = &to->world->rng;

	switch (psn) {
	case PSN_NONE:
		break;
	case PSN_KNOWN:
		return req->una_psn;
	case PSN_NEAR:
		return uroce_psn_add(req->una_psn,
				     rng_below(rng, uroce_psn_dist(req->una_psn, req->max_psn)));
	case PSN_AHEAD:
		return uroce_psn_add(to->qpc.resp.epsn, rng_between(rng, 1, 100));
	case PSN_ANY:
		return rng_below(rng, UROCE_PSN_MASK + 1);
	}
	return 0;
}

static void
strike(struct qp *qp, const struct attack *attack)
{
	struct qp *to = attack->is_to_responder ? qp->peer : qp;

	for (uint32_t i = 0; i < attack->burst; i++) {
		const struct forgery forgery = {
			.opcode = attack->opcode,
			.psn = psn_of(to, attack->psn),
			.len = attack->is_to_responder          ? TRIAL_MTU
			       : !strcmp(attack->opcode, "CNP") ? UROCE_CNP_RESERVED_LEN
								: 0,
			.syndrome = attack->syndrome,
			.pkey = 0xffff,
		};

		(void)forge(to, &forgery);
	}
}

static void
run(struct report *report, struct world *world, uint64_t seed, const struct attack *attack)
{
	struct uroce_cc_conf conf;

	uroce_cc_conf_init(&conf);
	(void)uroce_cc_find("dcqcn", &conf.ops);
	report_begin(report, world, seed);
	struct qp *qp =
		set_up(world, attack->opcode && !strcmp(attack->opcode, "CNP") ? &conf : NULL);
	uint64_t at_ns = BEGIN_NS;

	world_run(world, at_ns);
	const uint64_t before = qp->peer->qpc.stats.rx_bytes;

	while (attack->opcode && at_ns < END_NS && world_is_well(world)) {
		strike(qp, attack);
		if (!attack->every_ns)
			break;
		at_ns += attack->every_ns;
		world_run(world, at_ns);
	}
	world_run(world, END_NS);
	report_row(report,
		   "\"attack\": \"%s\", \"goodput_gbps\": %.2f, \"retransmits\": %u, "
		   "\"state\": %u",
		   attack->name,
		   (double)(qp->peer->qpc.stats.rx_bytes - before) * 8 / (END_NS - BEGIN_NS),
		   qp->qpc.stats.retransmits, qp->qpc.state);
	report_end(report, world, false);
}

void
scenario_forged(struct report *report, struct world *world, uint64_t seed)
{
	for (unsigned i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		run(report, world, seed, &attacks[i]);
}
