/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a stranger on the wire can do to a stream of WRITEs, who knows the addresses and both QPNs, and of PSNs as much as
 * a row says: 1 MiB WRITEs over 100 Gb/s, MTU 4096, round trip 10 us, nothing is lost. The frames come to the
 * requester or to the responder as they are, at a rate, and a row says what is left of the goodput.
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

/* An attack: frames of one kind, `burst` of them every `every_ns`; 0: once. */
struct attack {
	const char *name;
	const char *opcode; /* NULL: no frame */
	uint32_t every_ns;
	uint32_t burst;
};

/* clang-format off */
static const struct attack attacks[] = {
	{ "none",               NULL,  0,       0 },
	{ "14 CNPs at once",    "CNP", 0,       14 },
	{ "CNPs, 1000/s",       "CNP", 1000000, 1 },
	{ "CNPs, 20000/s",      "CNP", 50000,   1 },
	{ "CNPs, 1000000/s",    "CNP", 1000,    1 },
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

static void
strike(struct qp *qp, const struct attack *attack)
{
	const struct forgery forgery = {
		.opcode = attack->opcode,
		.len = UROCE_CNP_RESERVED_LEN,
		.pkey = 0xffff,
	};

	for (uint32_t i = 0; i < attack->burst; i++)
		(void)forge(qp, &forgery);
}

static void
run(struct report *report, struct world *world, uint64_t seed, const struct attack *attack)
{
	struct uroce_cc_conf conf;

	uroce_cc_conf_init(&conf);
	(void)uroce_cc_find("dcqcn", &conf.ops);
	report_begin(report, world, seed);
	struct qp *qp = set_up(world, &conf);
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
