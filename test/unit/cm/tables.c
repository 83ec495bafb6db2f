/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The tables of the CM engine: the timer heap, the table of ids, SipHash, and the table of states.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cm/id_table.h"
#include "cm/siphash.h"
#include "cm/state.h"
#include "cm/timer_heap.h"

#define NB_IDS 300u

static uint64_t random_word;

static uint64_t
next_random(void)
{
	random_word = random_word * 6364136223846793005u + 1442695040888963407u;
	return random_word >> 33;
}

static uint64_t
first_deadline(const struct uroce_timer_heap *timers)
{
	uint64_t first_ns = UROCE_TIMER_NEVER;

	for (uint32_t id = 0; id < NB_IDS; id++)
		if (timers->deadline_ns[id] < first_ns)
			first_ns = timers->deadline_ns[id];
	return first_ns;
}

static void
timer_heap__first_is_always_the_next(void **state)
{
	struct uroce_timer_heap timers;
	void *mem = malloc(uroce_timer_heap_memsize(NB_IDS));

	(void)state;
	assert_non_null(mem);
	uroce_timer_heap_init(&timers, mem, NB_IDS);
	assert_true(uroce_timer_heap_deadline(&timers) == UROCE_TIMER_NEVER);
	for (unsigned i = 0; i < 20000; i++) {
		const uint32_t id = (uint32_t)next_random() % NB_IDS;
		const uint64_t at_ns = next_random() % 3 ? next_random() % 1000 : UROCE_TIMER_NEVER;

		uroce_timer_heap_set(&timers, id, at_ns);
		assert_true(uroce_timer_heap_deadline(&timers) == first_deadline(&timers));
	}
	free(mem);
}

static void
id_table__finds_what_was_added(void **state)
{
	struct uroce_id_table table;
	void *mem = malloc(uroce_id_table_memsize(NB_IDS));
	bool is_in[NB_IDS] = { false };

	(void)state;
	assert_non_null(mem);
	uroce_id_table_init(&table, mem, NB_IDS);
	/* use only 7 hash values, so that the chains are long */
	for (unsigned i = 0; i < 20000; i++) {
		const uint32_t id = (uint32_t)next_random() % NB_IDS;
		const uint64_t hash = id % 7;
		unsigned nb_expected = 0;
		unsigned nb = 0;

		if (is_in[id])
			uroce_id_table_remove(&table, id);
		else
			uroce_id_table_add(&table, id, hash);
		is_in[id] = !is_in[id];
		for (uint32_t other = (uint32_t)hash; other < NB_IDS; other += 7)
			nb_expected += is_in[other];
		for (uint32_t other = uroce_id_table_first(&table, hash);
		     other != UROCE_ID_TABLE_END; other = uroce_id_table_next(&table, other)) {
			assert_true(is_in[other] && other % 7 == hash);
			nb++;
		}
		assert_int_equal(nb, nb_expected);
	}
	free(mem);
}

static void
siphash__values_of_the_paper(void **state)
{
	/*
	 * the key is 00 01 .. 0f, and the input is empty or 00 01 .. 07, as in the vectors of the
	 * SipHash paper
	 */
	const struct uroce_siphash_key key = { { UINT64_C(0x0706050403020100),
						 UINT64_C(0x0f0e0d0c0b0a0908) } };
	const uint64_t words[] = { UINT64_C(0x0706050403020100) };

	(void)state;
	assert_true(uroce_siphash(&key, NULL, 0) == UINT64_C(0x726fdb47dd0e0e31));
	assert_true(uroce_siphash(&key, words, 1) == UINT64_C(0x93f5f5799a932462));
}

static void
state_table__every_timer_has_an_end(void **state)
{
	(void)state;
	for (unsigned from = 0; from < UROCE_CM_STATE_NB; from++) {
		const enum uroce_cm_timer timer = uroce_cm_state_timer(from);
		const struct uroce_cm_step *step = uroce_cm_state_step(from, UROCE_CM_ON_TIMEOUT);

		assert_string_not_equal(uroce_cm_state_name(from), "?");
		assert_int_equal(timer != UROCE_CM_TIMER_NONE, step != NULL);
		if (step)
			assert_int_not_equal(step->next_plus_one - 1u, from);
		assert_int_equal(timer == UROCE_CM_TIMER_RETRY,
				 uroce_cm_state_step(from, UROCE_CM_ON_RETRY) != NULL);
	}
	assert_string_equal(uroce_cm_state_name(UROCE_CM_STATE_NB), "?");
}

static void
state_table__destroy_leads_to_the_end(void **state)
{
	(void)state;
	for (unsigned from = 0; from < UROCE_CM_STATE_NB; from++) {
		const struct uroce_cm_step *step = uroce_cm_state_step(from, UROCE_CM_ON_DESTROY);
		unsigned at;

		assert_non_null(step);
		at = step->next_plus_one - 1u;
		/* a destroyed id must get to CLOSED by timeouts alone, without a message */
		for (unsigned i = 0; i < 5 && at != UROCE_CM_STATE_CLOSED; i++) {
			step = uroce_cm_state_step(at, UROCE_CM_ON_TIMEOUT);
			assert_non_null(step);
			at = step->next_plus_one - 1u;
		}
		assert_int_equal(at, UROCE_CM_STATE_CLOSED);
	}
}

static void
state_table__names_of_inputs(void **state)
{
	(void)state;
	for (unsigned input = 0; input < UROCE_CM_INPUT_NB; input++)
		assert_string_not_equal(uroce_cm_input_name(input), "?");
	assert_string_equal(uroce_cm_input_name(UROCE_CM_INPUT_NB), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timer_heap__first_is_always_the_next),
		cmocka_unit_test(id_table__finds_what_was_added),
		cmocka_unit_test(siphash__values_of_the_paper),
		cmocka_unit_test(state_table__every_timer_has_an_end),
		cmocka_unit_test(state_table__destroy_leads_to_the_end),
		cmocka_unit_test(state_table__names_of_inputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
