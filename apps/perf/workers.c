/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how the message rate grows with the number of workers. The main lcore creates all
 * objects, worker by worker. Until a thread polls a device, the device's service thread drives it.
 * Then all workers start at once, and each counts its completions until its time is over.
 */

#include "workers.h"
#include "loopback.h"
#include "requests.h"
#include "session.h"
#include "stop.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#define POLL_BATCH 16

/*
 * What a worker that waits on its lcore has to do: continue to wait, begin its run, or return
 * without a run.
 */
enum start { START_LATER, START_NOW, START_NEVER };

struct worker {
	/*
	 * the requester and the responder of this worker; they are aligned so that no other worker
	 * uses their cache lines
	 */
	_Alignas(128) struct session ends[2];
	struct requests requests;
	_Atomic(enum start) *start;
	uint64_t posted, completed;
	uint64_t begin_tsc, end_tsc;
	bool is_failed;
};

/* --- the loop -------------------------------------------------------------------------------- */

static int
post_lists(struct worker *worker)
{
	const struct options *opt = worker->ends[0].opt;
	const uint64_t nb = opt->post_list;

	for (unsigned i = 0; i < worker->ends[0].endpoint.nb_qp; i++) {
		const struct stream *stream = &worker->requests.stream[i];

		while (stream->posted + nb - stream->completed <= opt->tx_depth) {
			if (requests_post_send(&worker->requests, i, (unsigned)nb, opt->cq_mod,
					       UINT64_MAX) != 0)
				return -1;
			worker->posted += nb;
		}
	}
	return 0;
}

static int
take_completions(struct worker *worker)
{
	struct ibv_wc wc[POLL_BATCH];
	int nb = endpoint_poll(&worker->ends[0].endpoint, POLL_BATCH, wc);

	for (int i = 0; i < nb; i++) {
		struct stream *stream = &worker->requests.stream[requests_qp_idx(&wc[i])];
		uint32_t done = requests_idx(&wc[i]) - (uint32_t)stream->completed + 1;

		if (wc[i].status != IBV_WC_SUCCESS) {
			failures_add(&worker->ends[0].failures, &wc[i],
				     requests_name(&worker->requests));
			return -1;
		}
		stream->completed += done;
		worker->completed += done;
	}
	return nb;
}

/*
 * Post and complete requests until the time is over and all requests have completed.
 * @return 0, or -1
 */
static int
loop(struct worker *worker)
{
	const uint64_t deadline = rte_rdtsc() + worker->ends[0].opt->duration_s * rte_get_tsc_hz();

	worker->begin_tsc = rte_rdtsc();
	for (;;) {
		const bool is_over = rte_rdtsc() >= deadline;

		if (stop_is_asked() || (!is_over && post_lists(worker) != 0))
			return -1;
		endpoint_drive(&worker->ends[0].endpoint);
		endpoint_drive(&worker->ends[1].endpoint);
		if (take_completions(worker) < 0)
			return -1;
		if (is_over && worker->posted == worker->completed)
			break;
	}
	worker->end_tsc = rte_rdtsc();
	return 0;
}

static int
run_worker(void *arg)
{
	struct worker *worker = arg;

	enum start start;

	while ((start = atomic_load(worker->start)) == START_LATER)
		rte_pause();
	if (start == START_NOW)
		worker->is_failed = loop(worker) != 0;
	return 0;
}

/* --- begin and end --------------------------------------------------------------------------- */

static int
make_worker(struct worker *worker, const struct options *opt, unsigned idx)
{
	char specs[2][LOOPBACK_SPEC_LEN];

	if (loopback_make_ports(idx, specs) != 0)
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		worker->ends[i].opt = opt;
		if (session_open(&worker->ends[i], specs[i]) != 0 ||
		    endpoint_create(&worker->ends[i].endpoint, opt) != 0)
			return -1;
	}
	for (unsigned i = 0; i < opt->nb_qp; i++) {
		worker->ends[0].endpoint.peer[i] = worker->ends[1].endpoint.local[i];
		worker->ends[1].endpoint.peer[i] = worker->ends[0].endpoint.local[i];
	}
	for (unsigned i = 0; i < 2; i++)
		if (endpoint_connect(&worker->ends[i].endpoint, opt) != 0)
			return -1;
	return requests_init(&worker->requests, &worker->ends[0], opt->size);
}

static void
end_workers(struct worker *workers, unsigned nb)
{
	for (unsigned i = 0; i < nb; i++) {
		failures_print(&workers[i].ends[0].failures);
		requests_free(&workers[i].requests);
		endpoint_close(&workers[i].ends[0].endpoint);
		endpoint_close(&workers[i].ends[1].endpoint);
	}
	free(workers);
}

/*
 * Launch the workers on their lcores. After an error the workers that were launched still wait
 * until the caller sets `start`.
 * @return 0, or -1 after a line on stderr
 */
static int
launch_workers(struct worker *workers, unsigned nb)
{
	unsigned lcore = rte_get_next_lcore(-1, 1, 0);

	for (unsigned i = 1; i < nb; i++) {
		const int error = rte_eal_remote_launch(run_worker, &workers[i], lcore);

		if (error != 0) {
			fprintf(stderr, "uroce-perf: lcore %u cannot drive a worker: %s\n", lcore,
				strerror(-error));
			return -1;
		}
		lcore = rte_get_next_lcore(lcore, 1, 0);
	}
	return 0;
}

/*
 * Run each worker on an lcore of its own, the first worker on the calling lcore. If a launch fails,
 * no worker runs. The function still waits until the launched workers have returned, because the
 * caller frees their memory next.
 * @return 0, or -1 after a line on stderr
 */
static int
run_workers(struct worker *workers, unsigned nb, _Atomic(enum start) *start)
{
	int result = launch_workers(workers, nb);

	atomic_store(start, result == 0 ? START_NOW : START_NEVER);
	if (result == 0)
		(void)run_worker(&workers[0]);
	rte_eal_mp_wait_lcore();
	for (unsigned i = 0; i < nb; i++)
		result |= workers[i].is_failed ? -1 : 0;
	return result;
}

/* Report the sum of the rates of all workers. */
static int
report_all(struct report *report, const struct worker *workers, unsigned nb)
{
	const struct verify none = { 0 };
	struct bandwidth row = { .size = report->opt->size };

	for (unsigned i = 0; i < nb; i++) {
		uint64_t tsc = workers[i].end_tsc - workers[i].begin_tsc;

		row.messages += workers[i].completed;
		row.messages_per_s +=
			(double)workers[i].completed * (double)rte_get_tsc_hz() / (double)tsc;
	}
	row.average_bps = row.messages_per_s * (double)row.size;
	report_bandwidth(report, &row, &none, NULL);
	return report_end(report, &workers[0].ends[0].endpoint);
}

int
workers_run(const struct options *opt)
{
	const unsigned nb = (unsigned)opt->nb_workers;
	struct worker *workers = aligned_alloc(128, nb * sizeof(*workers));
	static struct report report;
	static struct measures measures;
	static _Atomic(enum start) start;
	int result = 0;

	if (rte_lcore_count() < nb) {
		fprintf(stderr,
			"uroce-perf: --workers %u: EAL has %u lcores; allowed: as many, or "
			"more of them (-l)\n",
			nb, rte_lcore_count());
		free(workers);
		return PERF_EXIT_FAILED;
	}
	if (workers == NULL || report_begin(&report, opt, &measures, false) != 0)
		return PERF_EXIT_FAILED;
	memset(workers, 0, nb * sizeof(*workers));
	for (unsigned i = 0; i < nb && result == 0; i++) {
		workers[i].start = &start;
		result = make_worker(&workers[i], opt, i);
	}
	if (result == 0) {
		report_head(&report, &workers[0].ends[0].endpoint);
		result = run_workers(workers, nb, &start);
	}
	if (result == 0)
		result = report_all(&report, workers, nb);
	end_workers(workers, nb);
	return result == 0 ? PERF_EXIT_OK : PERF_EXIT_FAILED;
}
