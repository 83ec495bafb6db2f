/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A soak test of uroced: hostile clients and good clients use it at the same time.
 *
 *     soak [--check-time] UROCED [SECONDS [SEED]]
 *
 * Eight good clients are in four pairs. Each pair is of a user of its own. The two clients of a
 * pair have connected RC QPs of liburoce, and check each byte of their messages. They attach and
 * leave repeatedly: first alone, then beside 20 hostile clients of three users, which choose
 * attacks at random. Hostile processes have a lower CPU priority, because the kernel and not uroced
 * divides the CPU among processes.
 *
 * The soak checks that no good client lost a message or received a wrong byte, and that each good
 * client attached. It also checks that uroced runs, and has as many resources at the end as before.
 * A long run also checks memory and descriptors during the run. The time to attach and the
 * throughput of good clients depend on the machine. They are printed, and checked only with
 * --check-time.
 *
 * SIGINT ends the soak early. The output is TAP. The soak needs root.
 */

#include "soak.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon.h"
#include "peer.h"
#include "process.h"

#define GOOD_UID     65520
#define HOSTILE_UID  65530
#define NB_USERS     3u /* number of users of the hostile clients */
#define HOSTILE_NICE 10
#define TIMEOUT_S    300   /* timeout that only a hang reaches */
#define LONG_S       120   /* seconds: a run of this length or more checks the samples as well */
#define KIB_SPARE    4096u /* KiB of freed memory that the allocator may keep */
#define FDS_SPARE    64u   /* variation of descriptors caused by the choice of attacks */
#define ATTACH_MS    100   /* maximum wait of an attach, with --check-time */
#define SHARE_MIN    80    /* minimum percentage of the offered messages, with --check-time */
#define SAMPLES_MAX  (1u << 17)

/* A sample of the resources of uroced and of its readers. */
struct sample {
	uint32_t nb_fds, nb_threads, nb_readers;
	uint32_t own_kib, readers_kib; /* private memory of uroced, and of its readers */
	uint32_t shared_kib;           /* shared memory of the clients */
};

struct run {
	pid_t pid; /* the process that removes the files at the end */
	struct daemon daemon;
	struct soak *soak; /* shared by all processes of the soak */
	/* processes of the clients; 0 if the process has ended */
	pid_t good[SOAK_GOOD], hostile[SOAK_HOSTILE];
	struct sample before, after;
	struct sample samples[SAMPLES_MAX];
	unsigned nb_samples;
	unsigned nb_failed_children;
};

static atomic_bool is_interrupted;

/* --- output -------------------------------------------------------------------------------------- */

static unsigned nb_told, nb_failed;

__attribute__((format(printf, 2, 3))) static void
tell(bool is_good, const char *format, ...)
{
	va_list args;

	nb_failed += !is_good;
	(void)printf("%sok %u - ", is_good ? "" : "not ", ++nb_told);
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)printf("\n");
	(void)fflush(stdout);
}

/* --- the resources of uroced --------------------------------------------------------------------- */

static uint32_t
read_status(pid_t pid, const char *field)
{
	const struct daemon daemon = { .pid = pid };
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return access(path, R_OK) == 0 ? daemon_kib(&daemon, field) : 0;
}

static struct sample
take_sample(const struct daemon *daemon)
{
	struct sample sample = {
		.nb_fds = daemon_nb_fds(daemon),
		.nb_threads = read_status(daemon->pid, "Threads"),
		.own_kib = read_status(daemon->pid, "RssAnon"),
		.shared_kib = read_status(daemon->pid, "RssShmem"),
	};
	pid_t starters[4], readers[256];
	const unsigned nb_starters = process_list_children(daemon->pid, starters, 4);

	for (unsigned i = 0; i < nb_starters; i++) {
		sample.nb_readers = process_list_children(starters[i], readers, 256);
		for (unsigned j = 0; j < sample.nb_readers; j++)
			sample.readers_kib += read_status(readers[j], "RssAnon");
	}
	return sample;
}

static bool
is_back(const struct sample *now, const struct sample *before)
{
	return now->nb_fds <= before->nb_fds && now->nb_threads <= before->nb_threads &&
	       now->nb_readers <= before->nb_readers &&
	       now->shared_kib <= before->shared_kib + KIB_SPARE;
}

/*
 * Sample the resources after all clients have left. Wait first, since the unmapping of memory and
 * the end of hung readers take some time.
 */
static struct sample
settle(const struct run *run)
{
	struct sample now = take_sample(&run->daemon);

	for (unsigned i = 0; i < TIMEOUT_S * 10 && !is_back(&now, &run->before); i++) {
		(void)usleep(100000);
		now = take_sample(&run->daemon);
	}
	return now;
}

static void
tell_sample(const char *when, const struct sample *sample)
{
	(void)printf("# uroced %s: %u descriptors, %u threads, %u KiB of its own, %u KiB of areas, "
		     "%u readers with %u KiB\n",
		     when, sample->nb_fds, sample->nb_threads, sample->own_kib, sample->shared_kib,
		     sample->nb_readers, sample->readers_kib);
}

/* --- processes ----------------------------------------------------------------------------------- */

static void
note_signal(int number)
{
	(void)number;
	is_interrupted = 1;
}

/* Redirect the output of uroced and EAL to a file. Standard output is TAP only. */
static void
start_uroced(struct run *run)
{
	const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	char path[96];
	int log;

	daemon_make(&run->daemon);
	(void)snprintf(path, sizeof(path), "%s/log", run->daemon.folder);
	log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	(void)dup2(log, STDOUT_FILENO);
	(void)dup2(log, STDERR_FILENO);
	daemon_start(&run->daemon);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(err, STDERR_FILENO);
	(void)close(log);
	(void)close(out);
	(void)close(err);
	assert_int_equal(chmod(run->daemon.folder, 0711), 0);
	assert_int_equal(chmod(run->daemon.socket, 0666), 0);
}

/*
 * Let uroced serve a client and a request of telemetry, so that all of its threads run before the
 * first sample. The thread of that request has ended when the numbers stay the same.
 * @return the first sample
 */
static struct sample
await_threads(const struct daemon *daemon)
{
	struct sample now, last = { .nb_fds = 0 };
	static struct peer peer;

	peer_open(&peer, daemon->socket, 1, 64);
	peer_close(&peer);
	while (daemon_ask(daemon, "/uroced/host", "clients") > 0)
		(void)usleep(1000);
	for (unsigned nb_same = 0; nb_same < 10; nb_same++) {
		now = take_sample(daemon);
		if (now.nb_fds != last.nb_fds || now.nb_threads != last.nb_threads)
			nb_same = 0;
		last = now;
		(void)usleep(50000);
	}
	return last;
}

/* Create the user's runtime folder for EAL. */
static void
make_runtime_folder(const struct run *run, uid_t uid)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/%u", run->daemon.folder, uid);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chown(path, uid, uid), 0);
	assert_int_equal(setenv("RUNTIME_DIRECTORY", path, 1), 0);
}

static void
start_good(struct run *run)
{
	for (unsigned i = 0; i < SOAK_GOOD; i += 2) {
		int ends[2];

		make_runtime_folder(run, GOOD_UID + i / 2);

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		for (unsigned j = 0; j < 2; j++) {
			run->good[i + j] = fork();
			assert_true(run->good[i + j] >= 0);
			if (run->good[i + j] == 0) {
				(void)close(ends[!j]);
				soak_become(GOOD_UID + i / 2);
				soak_run_good(run->soak, i + j, ends[j]);
			}
		}
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
}

static void
start_hostile(struct run *run, unsigned seed)
{
	for (unsigned i = 0; i < SOAK_HOSTILE; i++) {
		run->hostile[i] = fork();
		assert_true(run->hostile[i] >= 0);
		if (run->hostile[i] == 0) {
			(void)setpriority(PRIO_PROCESS, 0, HOSTILE_NICE);
			soak_become(HOSTILE_UID + i % NB_USERS);
			soak_run_hostile(run->soak, i, seed + i);
		}
	}
}

/* Check whether a child still runs, and count a child that has failed. */
static bool
look_at_child(struct run *run, pid_t *pid)
{
	int status;

	if (*pid == 0)
		return false;
	if (waitpid(*pid, &status, WNOHANG) != *pid)
		return true;
	run->nb_failed_children += status != 0;
	*pid = 0;
	return false;
}

/* Check all children. @return the number of children that still run */
static unsigned
look_at_children(struct run *run)
{
	unsigned nb = 0;

	for (unsigned i = 0; i < SOAK_GOOD; i++)
		nb += look_at_child(run, &run->good[i]);
	for (unsigned i = 0; i < SOAK_HOSTILE; i++)
		nb += look_at_child(run, &run->hostile[i]);
	return nb;
}

static bool
uroced_lives(const struct run *run)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)run->daemon.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

/* Take a sample each second until the time is over or a process fails. */
static void
watch(struct run *run, unsigned seconds)
{
	for (unsigned i = 0; i < seconds && !is_interrupted && uroced_lives(run); i++) {
		(void)sleep(1);
		(void)look_at_children(run);
		if (run->nb_failed_children > 0)
			return;
		if (run->nb_samples < SAMPLES_MAX && uroced_lives(run))
			run->samples[run->nb_samples++] = take_sample(&run->daemon);
	}
}

/*
 * Watch on until each good client has received a message beside the attacks, because a busy machine
 * may keep a client from its CPU for all the time of the run.
 */
static void
await_messages(struct run *run)
{
	const struct soak_good *const good = run->soak->good;
	unsigned nb = 0;

	for (unsigned i = 0; i < TIMEOUT_S && nb < SOAK_GOOD; i++) {
		for (nb = 0; nb < SOAK_GOOD && good[nb].tally[SOAK_ATTACKED].nb_verified > 0;)
			nb++;
		if (is_interrupted || run->nb_failed_children > 0 || !uroced_lives(run))
			return;
		if (nb < SOAK_GOOD)
			watch(run, 1);
	}
}

static void
end_children(struct run *run)
{
	atomic_store(&run->soak->phase, SOAK_OVER);
	for (unsigned i = 0; i < 2 * TIMEOUT_S * 10 && look_at_children(run) > 0; i++)
		(void)usleep(100000);
	for (unsigned i = 0; i < SOAK_GOOD; i++) {
		if (run->good[i] == 0)
			continue;
		(void)snprintf(run->soak->good[i].failure, sizeof(run->soak->good[i].failure),
			       "it does not end");
		(void)kill(run->good[i], SIGKILL);
	}
	for (unsigned i = 0; i < SOAK_HOSTILE; i++) {
		if (run->hostile[i] > 0)
			(void)kill(run->hostile[i], SIGKILL);
	}
}

/* --- the evaluation of the results --------------------------------------------------------------- */

static int
compare(const void *one, const void *other)
{
	const uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

	return (a > b) - (a < b);
}

struct spread {
	size_t nb;
	double median, most_of_100, worst; /* times in milliseconds */
};

/*
 * Compute the spread of a time over all attaches of good clients.
 * @param offset  offset of the time in struct soak_attach
 */
static struct spread
spread_of(const struct soak *soak, enum soak_phase phase, size_t offset)
{
	static uint32_t us[SOAK_GOOD * SOAK_ATTACHES];
	size_t nb = 0;

	for (unsigned i = 0; i < SOAK_GOOD; i++) {
		const struct soak_tally *tally = &soak->good[i].tally[phase];

		for (uint32_t j = 0; j < tally->nb_attaches; j++)
			memcpy(&us[nb++], (const uint8_t *)&tally->attach[j] + offset,
			       sizeof(us[0]));
	}
	if (nb == 0)
		return (struct spread){ .nb = 0 };
	qsort(us, nb, sizeof(us[0]), compare);
	return (struct spread){ nb, us[nb / 2] / 1e3, us[nb - 1 - nb / 100] / 1e3,
				us[nb - 1] / 1e3 };
}

/*
 * Evaluate the times of attaches.
 * @return the longest time in ms that an attach slept, waiting for other processes
 */
static double
evaluate_attaches(const struct soak *soak, enum soak_phase phase, const char *beside)
{
	const struct spread all = spread_of(soak, phase, offsetof(struct soak_attach, us));
	const struct spread asleep =
		spread_of(soak, phase, offsetof(struct soak_attach, asleep_us));

	(void)printf("# attaches %s: %zu; median %.1f, 99 %% %.1f, worst %.1f ms; asleep in them "
		     "%.1f, %.1f, %.1f ms\n",
		     beside, all.nb, all.median, all.most_of_100, all.worst, asleep.median,
		     asleep.most_of_100, asleep.worst);
	return asleep.worst;
}

/*
 * Evaluate the messages.
 * @return the smallest percentage of its offered messages that a good client completed
 */
static unsigned
evaluate_messages(const struct soak *soak, enum soak_phase phase, const char *beside)
{
	uint64_t nb_verified = 0, nb_bytes = 0;
	unsigned least = 100;

	(void)printf("# share of what each asked for %s:", beside);
	for (unsigned i = 0; i < SOAK_GOOD; i++) {
		const struct soak_tally *tally = &soak->good[i].tally[phase];
		const unsigned share =
			tally->nb_due > 0 ? (unsigned)(100 * tally->nb_done / tally->nb_due) : 0;

		(void)printf(" %u", share);
		least = share < least ? share : least;
		nb_verified += tally->nb_verified;
		nb_bytes += tally->nb_bytes;
	}
	(void)printf(" %%\n# messages verified %s: %llu, of %llu MB\n", beside,
		     (unsigned long long)nb_verified, (unsigned long long)(nb_bytes / 1000000));
	return least;
}

/*
 * Get the median of a field of the samples in a fifth of the run. This is the last fifth
 * (`is_late`), or the fifth that follows the first tenth.
 */
static uint32_t
median_of(const struct run *run, bool is_late, size_t offset)
{
	static uint32_t numbers[SAMPLES_MAX];
	const unsigned nb = run->nb_samples / 5,
		       from = is_late ? run->nb_samples - nb : run->nb_samples / 10;

	for (unsigned i = 0; i < nb; i++)
		memcpy(&numbers[i], (const uint8_t *)&run->samples[from + i] + offset,
		       sizeof(numbers[0]));
	qsort(numbers, nb, sizeof(numbers[0]), compare);
	return nb > 0 ? numbers[nb / 2] : 0;
}

static const struct {
	const char *name;
	size_t offset;
	uint32_t spare;
} numbers_judged[] = {
	{ "descriptors", offsetof(struct sample, nb_fds), FDS_SPARE },
	{ "threads", offsetof(struct sample, nb_threads), 0 },
	{ "KiB of its own", offsetof(struct sample, own_kib), KIB_SPARE },
	{ "KiB of its readers", offsetof(struct sample, readers_kib), KIB_SPARE },
	{ "readers", offsetof(struct sample, nb_readers), 8 },
};

static void
evaluate_drift(const struct run *run)
{
	const bool is_long = run->nb_samples >= LONG_S;

	for (size_t i = 0; i < sizeof(numbers_judged) / sizeof(numbers_judged[0]); i++) {
		const uint32_t early = median_of(run, false, numbers_judged[i].offset);
		const uint32_t late = median_of(run, true, numbers_judged[i].offset);

		if (is_long)
			tell(late <= early + numbers_judged[i].spare,
			     "%s of uroced: %u early, %u late", numbers_judged[i].name, early,
			     late);
		else
			(void)printf("# %s of uroced: %u early, %u late\n", numbers_judged[i].name,
				     early, late);
	}
}

static void
tell_attacks(const struct soak *soak)
{
	uint64_t sum = 0;

	for (unsigned kind = 0; soak_attack_name(kind); kind++) {
		uint64_t nb = 0;

		for (unsigned i = 0; i < SOAK_HOSTILE; i++)
			nb += soak->hostile[i].nb[kind];
		(void)printf("# %6llu %s\n", (unsigned long long)nb, soak_attack_name(kind));
		sum += nb;
	}
	tell(sum > 0 || is_interrupted, "attacks: %llu", (unsigned long long)sum);
}

static void
evaluate_good_clients(const struct run *run, bool has_time)
{
	const struct soak *soak = run->soak;
	double worst;
	unsigned least;

	for (unsigned i = 0; i < SOAK_GOOD; i++) {
		const struct soak_good *good = &soak->good[i];

		tell(good->failure[0] == '\0' &&
			     (good->tally[SOAK_ATTACKED].nb_verified > 0 || is_interrupted),
		     "good client %u: %llu messages, none lost, no byte wrong%s%s", i,
		     (unsigned long long)good->tally[SOAK_ATTACKED].nb_verified,
		     good->failure[0] ? ": " : "", good->failure);
	}
	(void)evaluate_messages(soak, SOAK_ALONE, "alone");
	least = evaluate_messages(soak, SOAK_ATTACKED, "beside attacks");
	(void)evaluate_attaches(soak, SOAK_ALONE, "alone");
	worst = evaluate_attaches(soak, SOAK_ATTACKED, "beside attacks");
	if (!has_time)
		return;
	tell(worst <= ATTACH_MS,
	     "no good client waited for more than %u ms to attach: the longest %.1f ms", ATTACH_MS,
	     worst);
	tell(least >= SHARE_MIN, "good clients have %u %% of what they ask for: the least %u %%",
	     SHARE_MIN, least);
}

/*
 * With a sanitizer the size of the memory is not checked, because sanitizers keep freed memory.
 * They report leaks themselves at the end.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

static void
evaluate_uroced(struct run *run)
{
	tell_sample("before", &run->before);
	run->after = settle(run);
	tell_sample("afterwards", &run->after);
	evaluate_drift(run);
	tell(run->after.nb_fds == run->before.nb_fds &&
		     run->after.nb_threads == run->before.nb_threads,
	     "descriptors and threads of uroced are as before");
	tell(IS_SANITIZED || run->after.own_kib <= run->before.own_kib + KIB_SPARE,
	     "memory of uroced is as before");
	tell(run->after.shared_kib <= run->before.shared_kib + KIB_SPARE,
	     "no area of a client that left is mapped");
	daemon_end(&run->daemon);
	tell(true, "uroced ends well");
}

static void
tell_death(struct run *run)
{
	int status = 0;

	(void)waitpid(run->daemon.pid, &status, 0);
	run->daemon.pid = 0;
	tell(false, "uroced lives: status 0x%x", (unsigned)status);
}

/* Print the end of the output of uroced. */
static void
tell_log(const struct run *run)
{
	char command[160];

	(void)fflush(stdout);
	(void)snprintf(command, sizeof(command), "tail -n 20 %s/log | sed 's/^/# /'",
		       run->daemon.folder);
	(void)!system(command);
}

/* --- the run ------------------------------------------------------------------------------------- */

static struct run run;

/* Remove the folder, however this process ends. */
static void
clean_up(void)
{
	if (run.pid == getpid() && run.daemon.folder[0] != '\0')
		daemon_remove(&run.daemon);
}

static void
run_soak(bool has_time, unsigned seconds, unsigned seed)
{
	start_uroced(&run);
	run.before = await_threads(&run.daemon);
	start_good(&run);
	watch(&run, seconds / 10 + 3);
	run.nb_samples = 0;
	atomic_store(&run.soak->phase, SOAK_ATTACKED);
	if (!is_interrupted)
		start_hostile(&run, seed);
	watch(&run, seconds);
	await_messages(&run);
	end_children(&run);
	tell_attacks(run.soak);
	evaluate_good_clients(&run, has_time);
	if (uroced_lives(&run))
		evaluate_uroced(&run);
	else
		tell_death(&run);
	if (nb_failed > 0)
		tell_log(&run);
}

static void *
make_shared(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(mem != MAP_FAILED);
	return mem;
}

int
main(int argc, char **argv)
{
	const bool has_time = argc > 1 && strcmp(argv[1], "--check-time") == 0;
	const struct sigaction action = { .sa_handler = note_signal };

	argc -= has_time;
	argv += has_time;
	if (argc < 2 || argc > 4) {
		(void)fprintf(stderr, "usage: soak [--check-time] UROCED [SECONDS [SEED]]\n");
		return 2;
	}
	if (geteuid() != 0) {
		(void)printf("1..0 # SKIP other users can be made by root alone\n");
		return 0;
	}
	daemon_program = argv[1];
	run.pid = getpid();
	run.soak = make_shared(sizeof(*run.soak));
	run.soak->socket = run.daemon.socket;
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)atexit(clean_up);
	run_soak(has_time, argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20,
		 argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1);
	(void)printf("1..%u\n", nb_told);
	return nb_failed > 0;
}
