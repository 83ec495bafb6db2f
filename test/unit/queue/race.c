/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Completion queues with several threads: no entry is lost or appears twice, and no consumer sleeps
 * while there is a completion.
 */

#include "make_cq.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/*
 * Test of producers and a consumer. Each producer numbers its entries, and waits while the queue is
 * full. The consumer arms the queue, polls once more, and sleeps on a semaphore, which a producer
 * raises if uroce_cq_end() asks for an event. After a lost wake-up the consumer would sleep until
 * the time limit of the test.
 */
#define NB_ENTRIES       200000
#define NB_PRODUCERS_MAX 2

struct producer {
	struct race *race;
	pthread_t thread;
	uint32_t qpn;
};

struct race {
	struct uroce_cq *cq;
	struct producer producer[NB_PRODUCERS_MAX];
	unsigned nb_producers;
	unsigned limit;
	/* entries that were added and not polled yet; always fewer than the size of the queue */
	atomic_uint in_flight;
	sem_t event;
	bool solicited_only;
	/* for each producer, the number that the consumer expects next */
	uint64_t next[NB_PRODUCERS_MAX];
	unsigned nb_wrong;
	unsigned nb_polled;
};

/*
 * Reserve room for 1 to `nb` entries. Wait while there is room for none.
 * @return the number of entries for which room was reserved
 */
static unsigned
reserve(struct race *race, unsigned nb)
{
	unsigned used = atomic_load(&race->in_flight);

	for (;;) {
		const unsigned room = race->limit - used;
		const unsigned n = room < nb ? room : nb;

		if (n == 0) {
			sched_yield();
			used = atomic_load(&race->in_flight);
		} else if (atomic_compare_exchange_weak(&race->in_flight, &used, used + n)) {
			return n;
		}
	}
}

static void *
produce(void *arg)
{
	const struct producer *producer = arg;
	struct race *race = producer->race;
	const uint64_t nb = NB_ENTRIES / race->nb_producers;

	for (uint64_t next = 0; next < nb;) {
		const uint64_t left = nb - next;
		const unsigned n = reserve(race, (unsigned)(left < 7 ? left : next % 7 + 1));

		uroce_cq_begin(race->cq);
		for (unsigned i = 0; i < n; i++, next++) {
			struct uroce_cqe *cqe = uroce_cq_put(race->cq);

			cqe->qpn = producer->qpn;
			cqe->wr_id = next;
			cqe->imm = ~(uint32_t)next;
			cqe->is_solicited = true;
		}
		if (uroce_cq_end(race->cq))
			sem_post(&race->event);
	}
	return NULL;
}

static unsigned
drain(struct race *race)
{
	struct ibv_wc wc[16];
	unsigned nb = 0;
	int n;

	while ((n = uroce_cq_poll(race->cq, 16, wc)) > 0) {
		for (int i = 0; i < n; i++) {
			race->nb_wrong += wc[i].wr_id != race->next[wc[i].qp_num]++;
			race->nb_wrong += wc[i].imm_data != ~(uint32_t)wc[i].wr_id;
		}
		atomic_fetch_sub(&race->in_flight, (unsigned)n);
		nb += (unsigned)n;
	}
	race->nb_wrong += n < 0;
	race->nb_polled += nb;
	return nb;
}

static void
consume(struct race *race)
{
	/* the queue was armed before the producers began, so the first entry causes an event */
	sem_wait(&race->event);
	while (race->nb_polled < NB_ENTRIES) {
		if (drain(race) > 0)
			continue;
		uroce_cq_arm(race->cq, race->solicited_only);
		if (drain(race) > 0)
			continue;
		sem_wait(&race->event);
	}
}

static void
begin_race(struct race *race, unsigned nb_producers, bool solicited_only, uint32_t nb_cqe)
{
	*race = (struct race){
		.cq = make_cq(nb_cqe),
		.nb_producers = nb_producers,
		.limit = nb_cqe,
		.solicited_only = solicited_only,
	};
	sem_init(&race->event, 0, 0);
	start_at(race->cq, UINT32_MAX - NB_ENTRIES / 2);
	uroce_cq_arm(race->cq, solicited_only);
	for (unsigned i = 0; i < nb_producers; i++) {
		race->producer[i] = (struct producer){ .race = race, .qpn = i };
		assert_int_equal(pthread_create(&race->producer[i].thread, NULL, produce,
						&race->producer[i]),
				 0);
	}
}

static void
end_race(struct race *race)
{
	for (unsigned i = 0; i < race->nb_producers; i++)
		pthread_join(race->producer[i].thread, NULL);
	assert_int_equal(race->nb_polled, NB_ENTRIES);
	assert_int_equal(race->nb_wrong, 0);
	assert_true(uroce_cq_is_empty(race->cq));
	assert_false(atomic_load(&race->cq->is_overrun));
	sem_destroy(&race->event);
	free_cq(race->cq);
}

static void
run_race(unsigned nb_producers, bool solicited_only, uint32_t nb_cqe)
{
	struct race race;

	begin_race(&race, nb_producers, solicited_only, nb_cqe);
	consume(&race);
	end_race(&race);
}

static void
cq_poll__beside_a_producer(void **state)
{
	(void)state;
	run_race(1, false, 60);
}

static void
cq_poll__beside_two_producers(void **state)
{
	(void)state;
	run_race(2, true, 13);
}

/*
 * Test of the moment between arming and sleeping: one thread publishes an entry while another one
 * arms the queue and polls. In each round either the consumer finds the entry, or the producer gets
 * the order to wake the consumer.
 */
#define NB_ROUNDS 50000

struct duel {
	struct uroce_cq *cq;
	/*
	 * number of arrivals at meeting points so far; a meeting point is passed when both threads
	 * have arrived
	 */
	atomic_uint nb_arrived;
	bool is_event; /* result of the producer; the consumer reads it after a meeting point */
};

static void
meet(struct duel *duel)
{
	const unsigned full = (atomic_fetch_add(&duel->nb_arrived, 1) | 1) + 1;

	for (unsigned spins = 0; (int)(atomic_load(&duel->nb_arrived) - full) < 0; spins++) {
		if (spins > 1000)
			sched_yield();
	}
}

static void *
publish_rounds(void *arg)
{
	struct duel *duel = arg;

	for (unsigned i = 0; i < NB_ROUNDS; i++) {
		uroce_cq_begin(duel->cq);
		uroce_cq_put(duel->cq)->wr_id = i;
		meet(duel);
		duel->is_event = uroce_cq_end(duel->cq);
		meet(duel);
		meet(duel);
	}
	return NULL;
}

static void
cq_arm__beside_the_end_of_a_batch(void **state)
{
	struct duel duel = { .cq = make_cq(2) };
	unsigned nb_lost = 0, nb_missed = 0;
	pthread_t producer;

	(void)state;
	assert_int_equal(pthread_create(&producer, NULL, publish_rounds, &duel), 0);
	for (unsigned i = 0; i < NB_ROUNDS; i++) {
		struct ibv_wc wc;

		meet(&duel);
		uroce_cq_arm(duel.cq, false);
		const bool is_found = uroce_cq_poll(duel.cq, 1, &wc) == 1;

		meet(&duel);
		nb_lost += !is_found && !duel.is_event;
		nb_missed += !is_found && uroce_cq_poll(duel.cq, 1, &wc) != 1;
		atomic_store(&duel.cq->arm, UROCE_CQ_UNARMED);
		meet(&duel);
	}
	pthread_join(producer, NULL);
	assert_int_equal(nb_lost, 0);
	assert_int_equal(nb_missed, 0);
	free_cq(duel.cq);
}

/* Purge and resize the queue from a control thread while other threads use the queue. */
static void *
purge_and_resize(void *arg)
{
	struct race *race = arg;
	void *mem[2] = { NULL, NULL };

	for (unsigned i = 0; i < 2; i++) {
		if (posix_memalign(&mem[i], 64, uroce_cq_memsize(64)) != 0)
			return arg;
	}
	void *const first = race->cq->ring.slots;

	for (unsigned i = 0; i < 500; i++) {
		uroce_cq_purge(race->cq, arg);
		if (uroce_cq_resize(race->cq, mem[i % 2], 64) != 0)
			return arg;
		sched_yield();
	}
	/* since the last resize the queue uses mem[1], so mem[0] can be freed */
	free(mem[0]);
	free(first);
	return NULL;
}

static void
cq_resize__beside_producer_and_consumer(void **state)
{
	struct race race;
	pthread_t control;
	void *ret;

	(void)state;
	begin_race(&race, 1, false, 64);
	assert_int_equal(pthread_create(&control, NULL, purge_and_resize, &race), 0);
	consume(&race);
	pthread_join(control, &ret);
	assert_null(ret);
	end_race(&race);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cq_poll__beside_a_producer),
		cmocka_unit_test(cq_poll__beside_two_producers),
		cmocka_unit_test(cq_arm__beside_the_end_of_a_batch),
		cmocka_unit_test(cq_resize__beside_producer_and_consumer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
