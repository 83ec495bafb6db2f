/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * uroce-sim: random workloads over unreliable networks in virtual time, or a named scenario.
 *
 *	uroce-sim [--seeds N] [--from SEED] [--scenario NAME] [--series FILE] [--trace] [--states]
 *	          [--json]
 *
 * --trace prints each packet, --states also the states of each QP. The exit status is 0 only
 * without a violation. Seeds are divided among as many processes as there are processors; the
 * output does not depend on their number. A process that crashes counts as a violation, which is
 * reported with the seed that the process was running.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "life.h"
#include "oracle.h"
#include "plan.h"
#include "scenario.h"
#include "workload.h"
#include "world.h"

#define JOBS_MAX      16
#define COMPLAINT_MAX 512
#define COMPLAINTS    8

struct options {
	uint64_t seeds;
	uint64_t from;
	const char *scenario;
	const char *series;
	bool has_trace;
	bool has_states;
	bool is_json;
};

/* The findings of one process so far. They are in memory that the parent process shares. */
struct findings {
	uint64_t next;  /* the seed that is running */
	uint64_t seeds; /* number of seeds that have run */
	uint64_t violations;
	uint64_t hash;
	struct tally tally;
	uint32_t nb_complaints;
	struct {
		uint64_t seed;
		char text[COMPLAINT_MAX];
	} complaints[COMPLAINTS];
};

static struct world world;

static void
add_tally(struct tally *to, const struct tally *from)
{
	uint64_t *sums = (uint64_t *)to;
	const uint64_t *more = (const uint64_t *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*sums); i++)
		sums[i] += more[i];
}

static void
note_complaint(struct findings *found, uint64_t seed, const char *text)
{
	const uint32_t at = found->nb_complaints;

	found->violations++;
	if (at == COMPLAINTS)
		return;
	found->complaints[at].seed = seed;
	snprintf(found->complaints[at].text, COMPLAINT_MAX, "%s", text);
	found->nb_complaints++;
}

static void
run_seed(struct findings *found, uint64_t seed, const struct options *options)
{
	world_reset(&world, seed);
	world.trace.out = options->has_trace ? stdout : NULL;
	world.trace.has_states = options->has_states;
	if (options->has_trace)
		printf("seed %llu\n", (unsigned long long)seed);
	workload_make(&world);
	world_run(&world, UROCE_NEVER);
	oracle_end(&world);
	if (!world_is_well(&world))
		note_complaint(found, seed, world.violation);
	found->hash += rng_mix(world.trace.hash);
	found->seeds++;
	add_tally(&found->tally, &world.tally);
}

/*
 * Run every `step`-th of the requested seeds, beginning with the seed `found->next`. A process that
 * replaces a crashed process begins with the seed after the one that crashed.
 */
static void
run_share(struct findings *found, uint64_t step, const struct options *options)
{
	const uint64_t end = options->from + options->seeds;

	world_create(&world);
	while (found->next < end) {
		run_seed(found, found->next, options);
		found->next += step;
	}
	world_destroy(&world);
}

static pid_t
begin_share(struct findings *found, uint64_t step, const struct options *options)
{
	const pid_t pid = fork();

	if (pid == 0) {
		run_share(found, step, options);
		_exit(0);
	}
	if (pid < 0) {
		perror("uroce-sim: fork");
		exit(2);
	}
	return pid;
}

/*
 * Run all requested seeds in `nb` processes. A crash of a process is a violation; a new process
 * then continues with the next seed.
 */
static void
run_shares(struct findings *found, unsigned nb, const struct options *options)
{
	pid_t pids[JOBS_MAX];

	for (unsigned i = 0; i < nb; i++) {
		found[i].next = options->from + i;
		pids[i] = begin_share(&found[i], nb, options);
	}
	for (unsigned i = 0; i < nb; i++) {
		char text[64];
		int status;

		while (waitpid(pids[i], &status, 0) == pids[i] && status) {
			snprintf(text, sizeof(text), "the engine died of signal %d",
				 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
			note_complaint(&found[i], found[i].next, text);
			found[i].seeds++;
			found[i].next += nb;
			pids[i] = begin_share(&found[i], nb, options);
		}
	}
}

/* --- printing the results --- */

static void
print_row(const char *what, const char *name, uint64_t nb)
{
	if (nb)
		printf("  %-9s %-22s %14llu\n", what, name, (unsigned long long)nb);
}

static void
print_sizes(const struct tally *tally)
{
	for (unsigned i = 0; i < 34; i++) {
		char name[32];

		if (i == 0)
			snprintf(name, sizeof(name), "0");
		else
			snprintf(name, sizeof(name), "%llu..%llu", 1ull << (i - 1),
				 (1ull << i) - 1);
		print_row("bytes", name, tally->sizes[i]);
	}
}

static void
print_tally(const struct tally *tally)
{
	static const char *const ops[] = {
		[IBV_WR_RDMA_WRITE] = "WRITE",
		[IBV_WR_RDMA_WRITE_WITH_IMM] = "WRITE_WITH_IMM",
		[IBV_WR_SEND] = "SEND",
		[IBV_WR_SEND_WITH_IMM] = "SEND_WITH_IMM",
		[IBV_WR_RDMA_READ] = "READ",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "CMP_AND_SWP",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "FETCH_AND_ADD",
		[IBV_WR_LOCAL_INV] = "LOCAL_INV",
		[IBV_WR_BIND_MW] = "BIND_MW",
		[IBV_WR_SEND_WITH_INV] = "SEND_WITH_INV",
		[UROCE_WR_FLUSH] = "FLUSH",
		[UROCE_WR_ATOMIC_WRITE] = "ATOMIC_WRITE",
	};
	static const char *const services[] = {
		[IBV_QPT_RC] = "RC",
		[IBV_QPT_UC] = "UC",
		[IBV_QPT_UD] = "UD",
		[IBV_QPT_XRC_SEND] = "XRC initiator",
		[IBV_QPT_XRC_RECV] = "XRC target",
	};

	for (unsigned i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		print_row("QPs", services[i] ? services[i] : "?", tally->services[i]);
	print_row("QPs", "with an SRQ", tally->shared);
	print_row("SRQs", "limit reached", tally->limits);
	print_row("group", "copies", tally->copies);
	print_row("mkeys", "made", tally->mkeys);
	print_row("mkeys", "requests with a bad block", tally->damaged);
	print_row("mkeys", "stops", tally->stops);
	print_row("mkeys", "requests cancelled then", tally->stopped_cancels);
	print_row("runs", "frames", tally->in_runs);
	print_row("QPs", "with dcqcn", tally->reacting);
	print_row("packets", "CNP", tally->cnps);
	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		print_row("requests", ops[i] ? ops[i] : "?", tally->ops[i]);
	print_sizes(tally);
	for (unsigned i = 1; i < FAULT_NB; i++)
		print_row("frames", fault_name((enum fault)i), tally->faults[i]);
	for (unsigned i = 0; i < LIFE_NB; i++)
		print_row("lives", life_name((enum life_kind)i), tally->lives[i]);
	for (unsigned i = 1; i < 16; i++)
		print_row("bad", plan_bad_name(i), tally->bads[i]);
	for (unsigned i = 0; i < 32; i++) {
		char name[32];

		snprintf(name, sizeof(name), "status %u", i);
		print_row("ends", name, tally->statuses[i]);
	}
}

static void
print_json(const struct findings *sum)
{
	printf("{\"seeds\": %llu, \"violations\": %llu, \"packets\": %llu, "
	       "\"trace_hash\": \"%016llx\", \"requests\": %llu, \"failing_seeds\": [",
	       (unsigned long long)sum->seeds, (unsigned long long)sum->violations,
	       (unsigned long long)sum->tally.packets, (unsigned long long)sum->hash,
	       (unsigned long long)sum->tally.requests);
	for (uint32_t i = 0; i < sum->nb_complaints; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)sum->complaints[i].seed);
	printf("]}\n");
}

static void
print_text(const struct findings *sum, double seconds)
{
	const uint64_t nb = sum->seeds ? sum->seeds : 1;

	print_tally(&sum->tally);
	for (uint32_t i = 0; i < sum->nb_complaints; i++)
		printf("seed %llu: %s\n", (unsigned long long)sum->complaints[i].seed,
		       sum->complaints[i].text);
	printf("%llu seeds, %llu violations, %llu packets (%llu a seed), %llu requests (%llu a "
	       "seed), %llu retransmitted, trace hash %016llx, %.1f s\n",
	       (unsigned long long)sum->seeds, (unsigned long long)sum->violations,
	       (unsigned long long)sum->tally.packets,
	       (unsigned long long)(sum->tally.packets / nb),
	       (unsigned long long)sum->tally.requests,
	       (unsigned long long)(sum->tally.requests / nb),
	       (unsigned long long)sum->tally.retransmits, (unsigned long long)sum->hash, seconds);
}

static void
join(struct findings *sum, const struct findings *found)
{
	sum->seeds += found->seeds;
	sum->violations += found->violations;
	sum->hash += found->hash;
	add_tally(&sum->tally, &found->tally);
	for (uint32_t i = 0; i < found->nb_complaints && sum->nb_complaints < COMPLAINTS; i++)
		sum->complaints[sum->nb_complaints++] = found->complaints[i];
}

static double
seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
run_seeds(const struct options *options)
{
	const unsigned nb_cpus = (unsigned)get_nprocs();
	const unsigned nb = nb_cpus < JOBS_MAX ? nb_cpus : JOBS_MAX;
	const double began = seconds_now();
	struct findings sum = { 0 };
	struct findings *found = mmap(NULL, JOBS_MAX * sizeof(*found), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (found == MAP_FAILED) {
		perror("uroce-sim: mmap");
		return 2;
	}
	if (options->has_trace || options->seeds == 1) {
		found[0].next = options->from;
		run_share(&found[0], 1, options);
	} else {
		run_shares(found, nb, options);
	}
	for (unsigned i = 0; i < nb; i++)
		join(&sum, &found[i]);
	if (options->is_json)
		print_json(&sum);
	else
		print_text(&sum, seconds_now() - began);
	return sum.violations != 0;
}

/* --- options of the command line --- */

static void
usage(const char *what, const char *which)
{
	fprintf(stderr,
		"uroce-sim: %s: %s; allowed: --seeds N, --from SEED, --scenario NAME (%s), "
		"--series FILE, --trace, --states, --json\n",
		what, which, scenario_names());
	exit(2);
}

static uint64_t
number(const char *option, const char *text)
{
	char *end = NULL;

	errno = 0;
	const unsigned long long value = text ? strtoull(text, &end, 10) : 0;

	if (!text || end == text || *end || errno || text[0] == '-')
		usage("not a number after", option);
	return value;
}

static struct options
parse(char *const *argv)
{
	struct options options = { .seeds = 100, .from = 1 };

	for (argv++; *argv; argv++) {
		if (!strcmp(*argv, "--seeds")) {
			options.seeds = number("--seeds", argv[1]);
			argv++;
		} else if (!strcmp(*argv, "--from")) {
			options.from = number("--from", argv[1]);
			argv++;
		} else if (!strcmp(*argv, "--scenario")) {
			options.scenario = argv[1];
			if (!argv[1] || !scenario_exists(argv[1]))
				usage("no such scenario", argv[1] ? argv[1] : "");
			argv++;
		} else if (!strcmp(*argv, "--series")) {
			options.series = argv[1];
			if (!argv[1])
				usage("not a file after", "--series");
			argv++;
		} else if (!strcmp(*argv, "--trace")) {
			options.has_trace = true;
		} else if (!strcmp(*argv, "--states")) {
			options.has_trace = true;
			options.has_states = true;
		} else if (!strcmp(*argv, "--json")) {
			options.is_json = true;
		} else {
			usage("unknown option", *argv);
		}
	}
	return options;
}

int
main(int argc, char **argv)
{
	const struct options options = parse(argv);

	(void)argc;
	if (!options.scenario)
		return run_seeds(&options);
	world_create(&world);
	const struct scenario_conf conf = {
		.name = options.scenario,
		.seed = options.from,
		.has_trace = options.has_trace,
		.is_json = options.is_json,
		.series = options.series,
	};
	const int ret = scenario_run(&world, &conf);

	world_destroy(&world);
	return ret;
}
