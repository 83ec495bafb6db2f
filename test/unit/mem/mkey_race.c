/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads use, configure, invalidate and query one mkey concurrently, and another thread
 * creates and removes further mkeys. A read must return bytes of one of the two layouts completely,
 * or be refused. The thread sanitizer detects all other errors.
 */

#include "mem/mkey.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PDN       7
#define NB_TURNS  20000
#define NB_BLOCKS 4u
#define LEN       (NB_BLOCKS * 520)

static const uint8_t secret[16] = "fifteen letters";
static struct uroce_mr_table *table;
static uint8_t *memory; /* the memory of both layouts, one behind the other */
static uint32_t region, mkey;
static atomic_uint nb_used, nb_wrong;

/*
 * Configure the mkey with one of two layouts: layout 0 is bytes of value 1 without signatures,
 * layout 1 is bytes of value 2 with signatures in memory.
 */
static void
configure(unsigned which)
{
	union {
		struct uroce_mkey_conf conf;
		uint8_t room[sizeof(struct uroce_mkey_conf) + sizeof(struct uroce_mkey_piece)];
	} made = { .conf = {
			   .parts = UROCE_MKEY_ACCESS | UROCE_MKEY_LAYOUT | UROCE_MKEY_SIG,
			   .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
			   .repeat = 1,
			   .nb_pieces = 1,
			   .check_mask = 0xff,
		   } };

	if (which)
		made.conf.mem = (struct uroce_sig_domain){ .kind = UROCE_SIG_T10_CRC,
							   .block_len = 512,
							   .len = 8 };
	made.conf.piece[0] = (struct uroce_mkey_piece){
		.addr = (uintptr_t)memory + which * LEN,
		.len = LEN,
		.lkey = region,
	};
	(void)uroce_mkey_configure(table, mkey, PDN, &made.conf);
}

/*
 * Read through the mkey. Each thread calls one of the functions from here to make_another()
 * repeatedly.
 */
static void
read_some(unsigned turn)
{
	uint8_t out[600];
	bool is_bad = false;
	const uint32_t at = turn * 7 % (NB_BLOCKS * 512), len = 1 + turn % sizeof(out);

	if (uroce_mkey_read(table, mkey, PDN, at, len, 0, out, &is_bad))
		return;
	atomic_fetch_add(&nb_used, 1);
	for (uint32_t i = 0; i < len; i++)
		if (out[i] != out[0] || (out[i] != 1 && out[i] != 2)) {
			atomic_fetch_add(&nb_wrong, 1);
			break;
		}
}

static void
change(unsigned turn)
{
	if (turn % 3 == 2)
		(void)uroce_mkey_invalidate(table, mkey, PDN, turn & 1);
	else
		configure(turn % 3);
}

static void
ask(unsigned turn)
{
	struct uroce_mkey_error error;

	(void)turn;
	if (uroce_mkey_check(table, mkey, &error))
		atomic_fetch_add(&nb_wrong, 1);
	(void)uroce_mkey_may(table, mkey, PDN, 0, 100, 0);
	(void)uroce_mkey_any(table);
}

/*
 * Create and remove a further mkey. Only this thread creates and removes mkeys, and no other thread
 * knows the key, so no grace period is needed.
 */
static void
make_another(unsigned turn)
{
	static _Alignas(64) uint8_t mem[4096];
	uint32_t key;

	(void)turn;
	if (uroce_mkey_add(table, mem, 1, UROCE_MKEY_SIGNATURE, PDN, &key)) {
		atomic_fetch_add(&nb_wrong, 1);
		return;
	}
	if (!uroce_mkey_is(table, key))
		atomic_fetch_add(&nb_wrong, 1);
	uroce_mkey_remove(table, key);
	uroce_mr_free(table, key);
}

static void (*const deeds[])(unsigned turn) = { read_some, read_some, change, ask, make_another };
#define NB_THREADS (sizeof(deeds) / sizeof(deeds[0]))

static void *
run(void *arg)
{
	void (*const *call)(unsigned turn) = arg;

	for (unsigned turn = 0; turn < NB_TURNS; turn++)
		(*call)(turn);
	return NULL;
}

/*
 * Fill the memory of layout 0 with bytes of value 1. Write bytes of value 2 through the mkey into
 * layout 1, which adds the signatures.
 */
static void
fill(void)
{
	uint8_t twos[512];

	memset(memory, 1, LEN);
	memset(twos, 2, sizeof(twos));
	configure(1);
	for (uint32_t i = 0; i < NB_BLOCKS; i++)
		assert_int_equal(uroce_mkey_write(table, mkey, PDN, i * 512, twos, sizeof(twos),
						  IBV_ACCESS_LOCAL_WRITE, NULL),
				 0);
}

static void
mkey__used_changed_and_asked_at_once(void **state)
{
	pthread_t thread[NB_THREADS];
	void *table_mem = NULL, *mkey_mem = NULL;
	struct uroce_mr_conf conf = { .pdn = PDN, .access = IBV_ACCESS_LOCAL_WRITE };

	(void)state;
	memory = calloc(2, LEN);
	assert_non_null(memory);
	assert_int_equal(posix_memalign(&table_mem, 64, uroce_mr_table_memsize(8)), 0);
	assert_int_equal(posix_memalign(&mkey_mem, 64, uroce_mkey_memsize(1)), 0);
	table = uroce_mr_table_init(table_mem, 8, secret);
	conf.addr = memory;
	conf.iova = (uintptr_t)memory;
	conf.len = 2 * LEN;
	assert_int_equal(uroce_mr_add(table, &conf, &region), 0);
	assert_int_equal(uroce_mkey_add(table, mkey_mem, 1,
					UROCE_MKEY_SIGNATURE | UROCE_MKEY_REMOTE_INV, PDN, &mkey),
			 0);
	fill();
	for (unsigned i = 0; i < NB_THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run, (void *)&deeds[i]), 0);
	for (unsigned i = 0; i < NB_THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_true(atomic_load(&nb_used) > 0);
	assert_int_equal(atomic_load(&nb_wrong), 0);
	free(mkey_mem);
	free(table_mem);
	free(memory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mkey__used_changed_and_asked_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
