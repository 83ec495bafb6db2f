/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * fuzz-frames: hostile frames against live QPs.
 *
 *	fuzz-frames [--frames N] [--seed S] [--feed port|input|both]
 *
 * Frames that a peer could have sent are mutated. At least nine of ten mutated frames get a valid
 * ICRC again. The frames are sent to a port with QPs of every type and state, beside honest
 * traffic. The checks are:
 *
 * - no crash
 * - no change of memory without an access right
 * - completions in order
 * - no effect on the honest traffic
 * - exactly one verdict for every frame
 * - no lost buffer
 * - every possible verdict has occurred
 *
 * The same seed gives the same run. Exit status: 0; 1 after a line that begins with FAIL; 2 after a
 * wrong option.
 */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rte_common.h>

#include "beside.h"
#include "fabric.h"
#include "land.h"
#include "seed.h"
#include "victim.h"
#include "wire/hdr.h"

#define FRAMES_DEFAULT 10000000
#define BURST          32
/* percentage of mutated frames that get a valid ICRC, if they have room for an ICRC */
#define SEAL_PERCENT 97
#define CHECK_EVERY  256  /* number of bursts between two checks of the target's memory */
#define SLEEP_EVERY  2048 /* number of bursts from one sleep of worker 1 to the next sleep */
/* number of bursts during a sleep of worker 1, enough to overrun the ring of the sleeping worker */
#define SLEEP_BURSTS 192
/* number of bursts between two changes of the way in which frames reach the target (enum feed) */
#define SWITCH_EVERY 512

enum feed_option { OPTION_PORT, OPTION_INPUT, OPTION_BOTH };

struct run {
	uint64_t nb_wanted;
	uint64_t seed;
	enum feed_option feed;
	struct rng rng;
	struct fabric fabric;
	struct land land;
	struct victims victims;
	struct seeds seeds;
	struct beside beside;
	uint64_t nb_mutated, nb_sealed, nb_valid, nb_spared, nb_bursts;
};

/* Verdicts that no frame of this program can get, each with the reason why. */
static const struct {
	enum uroce_verdict verdict;
	const char *reason;
} unreachable[] = {
	{ UROCE_VERDICT_NO_RESOURCE, "a worker has resources for more QPs than these" },
	{ UROCE_VERDICT_LIMITED, "no frame of the attacker is a Get(ClassPortInfo)" },
	{ UROCE_VERDICT_NB, NULL },
};

static bool
fail(const char *what)
{
	printf("FAIL  %s\n", what);
	return false;
}

/* --- options ----------------------------------------------------------------------------------- */

static bool
parse_number(const char *text, uint64_t min, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *number >= min;
}

static bool
parse_feed(const char *text, enum feed_option *feed)
{
	static const char *const names[] = { "port", "input", "both" };

	for (unsigned i = 0; i < RTE_DIM(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*feed = (enum feed_option)i;
			return true;
		}
	}
	return false;
}

static bool
parse_options(struct run *run, int argc, char **argv)
{
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";
		bool is_right;

		if (strcmp(argv[i], "--frames") == 0)
			is_right = parse_number(value, 1, &run->nb_wanted);
		else if (strcmp(argv[i], "--seed") == 0)
			is_right = parse_number(value, 0, &run->seed);
		else if (strcmp(argv[i], "--feed") == 0)
			is_right = parse_feed(value, &run->feed);
		else
			is_right = false;
		if (!is_right) {
			fprintf(stderr,
				"fuzz-frames: %s %s: not understood; allowed: --frames N (at least "
				"1), "
				"--seed N, --feed port|input|both\n",
				argv[i], value);
			return false;
		}
	}
	return true;
}

/* --- mutation and delivery of frames ----------------------------------------------------------- */

/*
 * If a mutated frame has the source address of the honest peer and the destination QP number of a
 * QP of the honest traffic, change that QP number. The QP cannot tell such a frame from a frame of
 * its peer, so the frame would disturb the honest traffic.
 */
static void
spare_beside(struct run *run, struct frame *frame)
{
	const uint8_t *honest = fabric_ip(HOST_BESIDE, frame->is_ipv6);
	const uint32_t len = frame->is_ipv6 ? 16 : 4;
	const uint8_t *src = frame->at + frame->ip_off + (frame->is_ipv6 ? 8 : 12);
	struct uroce_pkt pkt;

	if (memcmp(src, honest + 16 - len, len) != 0 ||
	    uroce_parse(frame->at, frame->len, &pkt) > UROCE_VERDICT_DATAGRAM ||
	    !beside_is_ours(&run->beside, pkt.dest_qpn))
		return;
	frame->at[pkt.ext - frame->at - 7 + 0] ^= 0x55;
	(void)frame_seal(frame);
	run->nb_spared++;
}

static void
attack(struct run *run, struct frame *frame)
{
	const struct frame *other = fabric_captured(&run->rng);

	frame_mutate(frame, other, &run->rng);
	if (rng_once_in(&run->rng, 256) && frame->len > frame->bth_off + 12u) {
		struct uroce_bth *bth = (struct uroce_bth *)(frame->at + frame->bth_off);

		bth->dest_qpn = be24_make(run->seeds.beside_qpn);
	}
	if (rng_below(&run->rng, 100) < SEAL_PERCENT)
		run->nb_sealed += frame_seal(frame);
	spare_beside(run, frame);
	run->nb_mutated++;
}

/*
 * Choose the worker that receives a frame. Normally the choice is random, so that half of the
 * frames must be forwarded. While worker 1 sleeps, worker 0 receives all frames.
 */
static unsigned
pick_worker(struct run *run, unsigned sleeping)
{
	return sleeping < TARGET_WORKERS ? 0 : rng_below(&run->rng, TARGET_WORKERS);
}

static enum feed
feed_now(const struct run *run)
{
	if (run->feed == OPTION_BOTH)
		return run->nb_bursts / SWITCH_EVERY % 2 ? FEED_INPUT : FEED_PORT;
	return run->feed == OPTION_INPUT ? FEED_INPUT : FEED_PORT;
}

static bool
run_burst(struct run *run)
{
	static struct frame frame;
	const unsigned sleeping = run->nb_bursts % SLEEP_EVERY < SLEEP_BURSTS ? 1 : TARGET_WORKERS;
	const enum feed feed = feed_now(run);

	for (unsigned i = 0; i < BURST && run->nb_mutated < run->nb_wanted; i++) {
		(void)seeds_make(&run->seeds, &frame, &run->rng);
		/*
		 * A quarter of the frames is not mutated, so that the victims also receive whole
		 * messages, and not only their first packets.
		 */
		if (rng_once_in(&run->rng, 4))
			run->nb_valid++;
		else
			attack(run, &frame);
		fabric_send(&run->fabric, &frame, pick_worker(run, sleeping), &run->rng);
	}
	fabric_run(&run->fabric, feed, sleeping);
	fabric_wait_ns(20000 + (rng_once_in(&run->rng, 64) ? 2000000 : 0));
	run->nb_bursts++;
	if (!victims_tend(&run->victims))
		return fail(run->victims.violation);
	if (!beside_step(&run->beside))
		return fail(run->beside.violation);
	if (run->fabric.has_leaked)
		return fail("a READ was answered from memory that may not be read");
	if (run->fabric.has_overstepped)
		return fail("a READ or an atomic was answered by a QP that does not grant it");
	if (run->nb_bursts % CHECK_EVERY == 0 && land_check(&run->land))
		return fail(land_check(&run->land));
	return true;
}

static bool
open_run(struct run *run)
{
	run->rng.counter = run->seed;
	if (!fabric_open(&run->fabric, ~run->seed) || !fabric_introduce(&run->fabric))
		return fail("the network does not come up");
	if (!land_open(&run->land, run->fabric.context[HOST_TARGET]))
		return fail("memory cannot be registered");
	if (!victims_open(&run->victims, &run->fabric, &run->land, &run->rng))
		return fail("the victims cannot be made");
	if (!beside_open(&run->beside, &run->fabric, &run->rng))
		return fail("the traffic beside cannot be set up");
	seeds_init(&run->seeds, &run->victims);
	run->seeds.beside_qpn = run->beside.conn[0].end[0].qp->qp_num;
	run->seeds.beside_key = run->beside.conn[0].end[0].mr->rkey;
	run->seeds.beside_va = (uintptr_t)run->beside.conn[0].end[0].buf;
	return true;
}

static bool
close_run(struct run *run)
{
	unsigned missing;

	victims_close(&run->victims);
	beside_close(&run->beside);
	land_close(&run->land);
	fabric_close(&run->fabric);
	missing = fabric_mbufs_missing();
	if (missing > 0)
		printf("%u buffers are missing\n", missing);
	return missing == 0 || fail("buffers were lost");
}

/* --- results ----------------------------------------------------------------------------------- */

static const char *
reason_of(enum uroce_verdict verdict)
{
	for (unsigned i = 0; unreachable[i].reason; i++) {
		if (unreachable[i].verdict == verdict)
			return unreachable[i].reason;
	}
	return NULL;
}

static bool
print_histogram(const struct uroce_worker_stats *stats)
{
	bool is_complete = true;

	for (unsigned v = 0; v < UROCE_VERDICT_NB; v++) {
		const char *reason = reason_of((enum uroce_verdict)v);

		printf("%12" PRIu64 "  %-16s %s%s%s\n", stats->verdict[v],
		       uroce_verdict_name((enum uroce_verdict)v),
		       uroce_verdict_text((enum uroce_verdict)v), reason ? "; not here: " : "",
		       reason ? reason : "");
		is_complete = is_complete && (stats->verdict[v] > 0 || reason);
	}
	return is_complete;
}

/*
 * Check that each received frame has one verdict, and one more verdict for each time that the frame
 * was forwarded or copied to another worker.
 */
static bool
is_account_balanced(const struct run *run, const struct uroce_worker_stats *stats)
{
	const uint64_t nb_received = stats->counters.nb[UROCE_COUNTER_RX_FRAMES];
	const uint64_t nb_forwarded = stats->counters.nb[UROCE_COUNTER_FORWARDED_PKTS];
	uint64_t sum = 0;

	for (unsigned v = 0; v < UROCE_VERDICT_NB; v++)
		sum += stats->verdict[v];
	printf("received %" PRIu64 ", verdicts %" PRIu64 " (%" PRIu64
	       " forwarded and got a second, %" PRIu64
	       " were for groups on both workers), sent to the "
	       "target %" PRIu64 ", lost on the way %" PRIu64 "\n",
	       nb_received, sum, stats->verdict[UROCE_VERDICT_FORWARDED], stats->rx_shared,
	       run->fabric.nb_sent, run->fabric.nb_lost);
	return sum == nb_received + nb_forwarded + stats->rx_shared &&
	       nb_forwarded == stats->verdict[UROCE_VERDICT_FORWARDED] &&
	       nb_received == run->fabric.nb_sent;
}

/*
 * Print how many frames were sent to victims of each type and state.
 * @return whether each possible combination of type and state has received frames
 */
static bool
print_states(const struct run *run)
{
	static const char *const types[] = { "RC", "UC", "UD" };
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
	bool is_complete = true;

	for (unsigned t = 0; t < RTE_DIM(types); t++) {
		printf("aimed at %s in", types[t]);
		for (unsigned s = 0; s < RTE_DIM(names); s++) {
			const uint64_t nb = run->seeds.nb_state[t][s];
			const bool is_possible = t > 0 || s != IBV_QPS_SQE;

			printf(" %s %" PRIu64, names[s], nb);
			is_complete = is_complete && (nb > 0) == is_possible;
		}
		puts("");
	}
	return is_complete;
}

static void
print_summary(const struct run *run, double seconds)
{
	const struct victims *victims = &run->victims;
	const struct beside *beside = &run->beside;

	printf("%" PRIu64 " mutated frames (ICRC recomputed in %.2f %%), %" PRIu64
	       " valid ones between them, in %.1f s\n",
	       run->nb_mutated, 100.0 * (double)run->nb_sealed / (double)run->nb_mutated,
	       run->nb_valid, seconds);
	printf("victims: %u QPs, revived %" PRIu64 " times (%" PRIu64
	       " destroyed and created), %" PRIu64 " sends and %" PRIu64
	       " receives completed, %" PRIu64 " failed, %" PRIu64 " events\n",
	       victims->nb, victims->nb_revived, victims->nb_recreated, victims->nb_completions[0],
	       victims->nb_completions[1], victims->nb_failures, victims->nb_events);
	printf("beside: %" PRIu64 " SEND, %" PRIu64 " WRITE, %" PRIu64 " READ, %" PRIu64
	       " bytes verified, %" PRIu64
	       " packets retransmitted; handed back as an embedder: %" PRIu64 "\n",
	       beside->nb_ops[0], beside->nb_ops[1], beside->nb_ops[2], beside->nb_bytes,
	       beside_retransmits(beside), run->fabric.nb_rest);
	printf("%" PRIu64 " frames sent to the attacker, %" PRIu64
	       " of them answers to READs and atomics, none without a right\n",
	       run->fabric.nb_reply, run->fabric.nb_answers);
}

static bool
check_run(struct run *run, double seconds)
{
	struct uroce_worker_stats stats;
	bool is_good = true;

	/* drive all workers until all frames are processed */
	fabric_run(&run->fabric, FEED_PORT, TARGET_WORKERS);
	stats = fabric_stats(&run->fabric);
	if (!print_histogram(&stats))
		is_good = fail("a verdict that can be reached was not");
	print_summary(run, seconds);
	if (!print_states(run))
		is_good = fail("a state was not attacked, or RC was in SQE");
	if (!is_account_balanced(run, &stats))
		is_good = fail("frames and verdicts do not match");
	if (run->nb_sealed * 10 < run->nb_mutated * 9)
		is_good = fail("the ICRC was recomputed in fewer than 90 % of the frames");
	if (beside_retransmits(&run->beside) > 0)
		is_good = fail("the traffic beside was disturbed: packets had to be retransmitted");
	if (!run->beside.nb_ops[0] || !run->beside.nb_ops[1] || !run->beside.nb_ops[2])
		is_good = fail("the traffic beside did not move");
	if (land_check(&run->land))
		is_good = fail(land_check(&run->land));
	return is_good;
}

/* --- crashes ------------------------------------------------------------------------------------- */

static struct run run = { .nb_wanted = FRAMES_DEFAULT, .feed = OPTION_BOTH };

/*
 * Handler for the signals of a crash: print a line, and raise the signal again with its default
 * action.
 */
static void
report_crash(int number)
{
	static const char text[] = "FAIL  crashed: see the core, or run again with the same seed\n";

	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	raise(number); /* The flag SA_RESETHAND has restored the default action of the signal. */
}

/*
 * Install the handlers for the signals of a crash. Handlers that a sanitizer has installed remain,
 * because the report of the sanitizer has more details.
 */
static void
watch_crashes(void)
{
	static const int numbers[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	const struct sigaction ours = { .sa_handler = report_crash, .sa_flags = (int)SA_RESETHAND };
	struct sigaction now;

	for (unsigned i = 0; i < RTE_DIM(numbers); i++) {
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			(void)sigaction(numbers[i], &ours, NULL);
	}
}

int
main(int argc, char **argv)
{
	struct timespec begin, end;
	bool is_good;

	clock_gettime(CLOCK_REALTIME, &begin);
	run.seed = (uint64_t)begin.tv_sec ^ (uint64_t)begin.tv_nsec << 20;
	if (!parse_options(&run, argc, argv))
		return 2;
	printf("fuzz-frames --frames %" PRIu64 " --seed %" PRIu64 " --feed %s\n", run.nb_wanted,
	       run.seed, ((const char *[]){ "port", "input", "both" })[run.feed]);
	fflush(stdout);
	watch_crashes();
	if (!open_run(&run))
		return 1;
	is_good = true;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (is_good && run.nb_mutated < run.nb_wanted)
		is_good = run_burst(&run);
	clock_gettime(CLOCK_MONOTONIC, &end);
	is_good = check_run(&run, (double)(end.tv_sec - begin.tv_sec) +
					  1e-9 * (double)(end.tv_nsec - begin.tv_nsec)) &&
		  is_good;
	is_good = close_run(&run) && is_good;
	puts(is_good ? "ok" : "not ok");
	return !is_good;
}
