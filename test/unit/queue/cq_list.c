/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion queues whose entries are published later, with a list. Random operations are compared
 * with a model that has neither a ring nor a list. Entries come in order, none is lost or published
 * early, and each armed queue gets one event.
 */

#include "make_cq.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NB_CQE   8
#define NB_CQS   3
#define NB_LISTS 2
#define NB_STEPS 200000
#define NO_LIST  (-1)

/* A CQ, and the state of this CQ in the model. */
struct pair {
	struct uroce_cq *cq;
	/* numbers of entries that were added, published, polled so far */
	uint64_t nb_put, nb_seen, nb_polled;
	uint64_t nb_due; /* value of nb_seen after the next publication */
	int list;
	bool is_armed, is_awaited;
	bool has_overrun, is_overrun;
};

static struct pair pairs[NB_CQS];
static struct uroce_cq_list lists[NB_LISTS];
static void *mem[NB_CQS];
static uint64_t seed;

static unsigned
below(unsigned limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % limit;
}

/* --- the model, which has neither a ring nor a list -------------------------------------------- */

static void
model_publish(struct pair *pair, uint64_t until)
{
	if (until > pair->nb_seen && pair->is_armed) {
		pair->is_armed = false;
		pair->is_awaited = true;
	}
	pair->nb_seen = until;
	pair->nb_due = until;
	if (pair->nb_seen == pair->nb_put && pair->has_overrun) {
		pair->has_overrun = false;
		pair->is_overrun = true;
	}
}

/* --- operations -------------------------------------------------------------------------------- */

static void
put_some(struct pair *pair)
{
	for (unsigned nb = below(4); nb > 0; nb--) {
		struct uroce_cqe *cqe = uroce_cq_put(pair->cq);

		if (pair->nb_put - pair->nb_polled == NB_CQE) {
			assert_null(cqe);
			pair->has_overrun = true;
			continue;
		}
		assert_non_null(cqe);
		cqe->wr_id = pair->nb_put++;
	}
}

static void
complete(struct pair *pair, int list)
{
	uroce_cq_begin(pair->cq);
	put_some(pair);
	uroce_cq_end_later(pair->cq, &lists[list]);
	if (pair->list == NO_LIST)
		pair->list = list;
	else if (pair->list != list)
		model_publish(pair, pair->nb_put);
}

static void
mark_due(int list)
{
	uroce_cq_list_mark_due(&lists[list]);
	for (unsigned i = 0; i < NB_CQS; i++) {
		if (pairs[i].list == list)
			pairs[i].nb_due = pairs[i].nb_put;
	}
}

static struct pair *
pair_of(const struct uroce_cq *cq)
{
	struct pair *pair = pairs;

	while (pair->cq != cq)
		pair++;
	return pair;
}

static void
publish(int list, bool is_all)
{
	unsigned nb_on = 0, nb = 0;

	for (unsigned i = 0; i < NB_CQS; i++)
		nb_on += pairs[i].list == list;
	for (struct uroce_cq *cq = uroce_cq_list_take(&lists[list]); cq; nb++) {
		struct pair *pair = pair_of(cq);
		bool is_awaited;

		assert_int_equal(pair->list, list);
		cq = uroce_cq_publish(cq, &lists[list], is_all, &is_awaited);
		model_publish(pair, is_all ? pair->nb_put : pair->nb_due);
		assert_int_equal(is_awaited, pair->is_awaited);
		pair->is_awaited = false;
		pair->list = pair->nb_seen < pair->nb_put ? list : NO_LIST;
	}
	assert_int_equal(nb, nb_on);
}

static void
poll_some(struct pair *pair)
{
	struct ibv_wc wc[NB_CQE];
	const uint64_t nb_ready = pair->nb_seen - pair->nb_polled;
	const unsigned max = 1 + below(NB_CQE);
	const int nb = uroce_cq_poll(pair->cq, (int)max, wc);

	if (nb_ready == 0) {
		assert_int_equal(nb, pair->is_overrun ? -EOVERFLOW : 0);
		return;
	}
	assert_int_equal(nb, nb_ready < max ? nb_ready : max);
	for (int i = 0; i < nb; i++)
		assert_int_equal(wc[i].wr_id, pair->nb_polled++);
}

static void
arm(struct pair *pair)
{
	uroce_cq_arm(pair->cq, false);
	pair->is_armed = true;
}

/*
 * Purge a QP that has no entries, or resize to other memory of the same size. Both calls publish
 * all entries.
 */
static void
purge_or_resize(struct pair *pair)
{
	const ptrdiff_t at = pair - pairs;
	void *old = pair->cq->ring.slots;

	if (below(2) == 0) {
		uroce_cq_purge(pair->cq, &seed);
	} else {
		assert_int_equal(uroce_cq_resize(pair->cq, mem[at], NB_CQE), 0);
		mem[at] = old;
	}
	model_publish(pair, pair->nb_put);
}

static void
step(void)
{
	struct pair *pair = &pairs[below(NB_CQS)];
	const int list = (int)below(NB_LISTS);

	switch (below(8)) {
	case 0:
	case 1:
		complete(pair, list);
		break;
	case 2:
		mark_due(list);
		break;
	case 3:
		publish(list, below(3) == 0);
		break;
	case 4:
		arm(pair);
		break;
	case 5:
		if (below(8) == 0)
			purge_or_resize(pair);
		break;
	default:
		poll_some(pair);
	}
}

/*
 * Compare a CQ with the model: what the consumer sees, and whether the consumer will get an event.
 */
static void
check(const struct pair *pair)
{
	const struct uroce_cq *cq = pair->cq;

	assert_int_equal(uroce_cq_is_empty(cq), pair->nb_seen == pair->nb_polled);
	assert_int_equal(cq->nb_open, pair->nb_put - pair->nb_seen);
	assert_int_equal(cq->arm != UROCE_CQ_UNARMED, pair->is_armed);
	/* a CQ with unpublished entries or with an event to be sent is on a list */
	if (pair->nb_seen < pair->nb_put || pair->is_awaited || pair->has_overrun)
		assert_int_not_equal(pair->list, NO_LIST);
	assert_ptr_equal(cq->list, pair->list == NO_LIST ? NULL : &lists[pair->list]);
}

static void
run(uint64_t first_seed)
{
	seed = first_seed;
	memset(lists, 0, sizeof(lists));
	for (unsigned i = 0; i < NB_CQS; i++) {
		pairs[i] = (struct pair){ .cq = make_cq(NB_CQE), .list = NO_LIST };
		start_at(pairs[i].cq, UINT32_MAX - 100 * i);
		mem[i] = aligned_alloc(64, (uroce_cq_memsize(NB_CQE) + 63) / 64 * 64);
		assert_non_null(mem[i]);
	}
	for (unsigned i = 0; i < NB_STEPS; i++) {
		step();
		for (unsigned j = 0; j < NB_CQS; j++)
			check(&pairs[j]);
	}
	for (int i = 0; i < NB_LISTS; i++) {
		publish(i, true);
		assert_null(lists[i].first);
	}
}

/*
 * At the end of a run: check that all entries were published, poll the remaining ones, and free the
 * CQs.
 */
static void
end(void)
{
	for (unsigned i = 0; i < NB_CQS; i++) {
		struct pair *pair = &pairs[i];

		assert_true(pair->nb_put > NB_STEPS / 100);
		assert_int_equal(pair->nb_seen, pair->nb_put);
		while (pair->nb_polled < pair->nb_put)
			poll_some(pair);
		free(mem[i]);
		free_cq(pair->cq);
	}
}

static void
cq_list__is_as_its_model(void **state)
{
	(void)state;
	for (uint64_t first_seed = 1; first_seed <= 5; first_seed++) {
		run(first_seed);
		end();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cq_list__is_as_its_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
