/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The table of leases: who holds a block, how long it is in quarantine, and who may take it back.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "uroced/lease.h"

#define NOW UINT64_C(1000000000000)
#define MAX UROCE_MUX_LEASES_MAX

static struct lease_table *table;
static struct lease_record record[UROCE_MUX_BLOCKS];
static const struct lessee ann = { 0, 1000 }, bob = { 1023, 1000 }, eve = { 5, 2000 };
static struct uroce_mux_lease leases[MAX];
static uint32_t blocks[MAX];

static int
make(void **state)
{
	(void)state;
	memset(record, 0, sizeof(record));
	table = lease_table_create(record, NOW);
	return table ? 0 : -1;
}

static int
drop(void **state)
{
	(void)state;
	free(table);
	return 0;
}

/* Restart uroced with the present records. */
static void
start_again(uint64_t now_ns)
{
	free(table);
	table = lease_table_create(record, now_ns);
	assert_non_null(table);
}

static struct uroce_mux_lease
take_one(const struct lessee *lessee)
{
	struct uroce_mux_lease lease;

	assert_int_equal(lease_take(table, lessee, 1, NOW, &lease), 1);
	return lease;
}

static bool
take_back(const struct lessee *lessee, struct uroce_mux_lease lease, uint64_t now_ns)
{
	uint32_t block;
	const uint32_t nb = lease_take_back(table, lessee, &lease, 1, now_ns, &block);

	assert_true(nb == 0 || block == lease.block);
	return nb == 1;
}

static void
block__is_one_clients(void **state)
{
	static struct uroce_mux_lease a[MAX], b[MAX];
	uint32_t nb_low = 0;

	(void)state;
	assert_int_equal(lease_take(table, &ann, MAX, NOW, a), MAX);
	assert_int_equal(lease_take(table, &bob, MAX, NOW, b), MAX);
	for (uint32_t i = 0; i < MAX; i++) {
		const uint32_t block = a[i].block;

		assert_true(block > 0 && block < UROCE_MUX_BLOCKS - 1);
		assert_int_equal(lease_owner(table, block * UROCE_MUX_BLOCK), ann.slot + 1);
		assert_int_equal(lease_owner(table, block * UROCE_MUX_BLOCK + 255), ann.slot + 1);
		assert_int_equal(lease_owner(table, b[i].block * UROCE_MUX_BLOCK), bob.slot + 1);
		nb_low += block < UROCE_MUX_BLOCKS / 2;
	}
	/*
	 * the numbers are random: 512 are expected in the lower half, with a standard deviation of
	 * 16
	 */
	assert_true(nb_low > 512 - 8 * 16 && nb_low < 512 + 8 * 16);
	assert_int_equal(lease_owner(table, 0), 0);
	assert_int_equal(lease_owner(table, 0xffffff), 0);
	assert_int_equal(lease_owner(table, UINT32_MAX), 0);
}

static void
block__rests_before_it_is_anothers(void **state)
{
	const uint64_t free_ns = NOW + LEASE_QUARANTINE_NS;
	const struct uroce_mux_lease lease = take_one(&ann);

	(void)state;
	assert_int_equal(lease_end(table, &ann, NOW), 1);
	assert_int_equal(lease_owner(table, lease.block * UROCE_MUX_BLOCK), 0);
	assert_false(take_back(&eve, lease, free_ns - 1));
	assert_true(take_back(&ann, lease, free_ns - 1));
	assert_false(take_back(&ann, lease, free_ns - 1)); /* refused: ann holds the block */
	assert_false(take_back(&bob, lease, free_ns - 1));
	assert_int_equal(lease_end(table, &ann, NOW), 1);
	assert_false(take_back(&eve, lease, free_ns));
	assert_int_equal(lease_end(table, &ann, NOW), 0);
	/* ann gets the block back, because no other client has held it meanwhile */
	assert_true(take_back(&ann, lease, free_ns));
}

/* Each lease has a token of its own, also if the clients are of one user. */
static void
token__is_of_one_lease(void **state)
{
	struct uroce_mux_lease lease = take_one(&ann), other = take_one(&bob);

	(void)state;
	assert_true(lease.token != other.token);
	assert_int_equal(lease_end(table, &ann, NOW), 1);
	other.block = lease.block;
	assert_false(take_back(&bob, other, NOW));
	lease.token ^= 1;
	assert_false(take_back(&ann, lease, NOW));
	lease.token ^= 1;
	assert_true(take_back(&ann, lease, NOW));
}

static void
block__that_was_released_does_not_return(void **state)
{
	const struct uroce_mux_lease lease = take_one(&ann);

	(void)state;
	assert_false(lease_release(table, &eve, lease.block, NOW));
	assert_false(lease_release(table, &ann, lease.block ^ 1, NOW));
	assert_false(lease_release(table, &ann, UROCE_MUX_BLOCKS, NOW));
	assert_true(lease_release(table, &ann, lease.block, NOW));
	assert_false(lease_release(table, &ann, lease.block, NOW));
	assert_false(take_back(&ann, lease, NOW + 1));
	assert_false(take_back(&ann, lease, NOW + LEASE_QUARANTINE_NS));
	start_again(NOW);
	assert_false(take_back(&ann, lease, NOW));
}

static void
block__of_nobody_cannot_be_had(void **state)
{
	static const uint32_t nobodys[] = { 0, UROCE_MUX_BLOCKS - 1, UROCE_MUX_BLOCKS, UINT32_MAX };

	(void)state;
	lease_record_hold(&record[0], ann.uid, 7);
	lease_record_hold(&record[UROCE_MUX_BLOCKS - 1], ann.uid, 7);
	start_again(NOW);
	for (size_t i = 0; i < sizeof(nobodys) / sizeof(nobodys[0]); i++)
		assert_false(take_back(&ann, (struct uroce_mux_lease){ nobodys[i], 0, 7 }, NOW));
	/* a block that was never leased cannot be taken back */
	assert_false(take_back(&ann, (struct uroce_mux_lease){ 1, 0, 0 }, NOW));
}

/* After a restart only the last holder takes a block back, however often others held it before. */
static void
block__returns_to_its_last_user_after_a_start(void **state)
{
	const struct lessee zoe = { 100, eve.uid };
	struct uroce_mux_lease first, last = { 0 };
	uint32_t nb_left = UROCE_MUX_BLOCKS - 2;

	(void)state;
	/* one block is not leased, so the next lease is of this block */
	for (uint16_t slot = 101; nb_left > 1; slot++) {
		const struct lessee lessee = { slot, slot };
		const uint32_t nb = nb_left - 1 < MAX ? nb_left - 1 : MAX;

		nb_left -= lease_take(table, &lessee, nb, NOW, leases);
		assert_in_range(slot, 101, 200);
	}
	first = take_one(&zoe);
	assert_int_equal(lease_take(table, &ann, 1, NOW, &last), 0);
	assert_int_equal(lease_end(table, &zoe, NOW), 1);
	assert_int_equal(lease_take(table, &ann, 1, NOW + LEASE_QUARANTINE_NS, &last), 1);
	assert_int_equal(last.block, first.block);
	start_again(NOW);
	assert_false(take_back(&zoe, first, NOW));
	assert_false(take_back(&ann, first, NOW));
	assert_false(take_back(&bob, (struct uroce_mux_lease){ last.block, 0, 0 }, NOW));
	assert_true(take_back(&ann, last, NOW));
}

/*
 * After a restart, a block of a client that has not come back is leased only when no other block is
 * free: the client may still come back.
 */
static void
block__of_a_former_life_is_leased_last(void **state)
{
	static bool was_had[UROCE_MUX_BLOCKS];
	const uint64_t free_ns = NOW + LEASE_QUARANTINE_NS;

	(void)state;
	for (uint16_t slot = 0; slot < 48; slot++) {
		const struct lessee lessee = { slot, slot };

		assert_int_equal(lease_take(table, &lessee, MAX, NOW, leases), MAX);
		for (uint32_t i = 0; i < MAX; i++)
			was_had[leases[i].block] = true;
	}
	start_again(NOW);
	for (uint16_t slot = 0; slot < 16; slot++) {
		const struct lessee lessee = { slot, slot };
		const uint32_t nb = slot == 15 ? MAX - 2 : MAX;

		assert_int_equal(lease_take(table, &lessee, nb, free_ns, leases), nb);
		for (uint32_t i = 0; i < nb; i++)
			assert_false(was_had[leases[i].block]);
	}
	assert_int_equal(lease_take(table, &eve, MAX, free_ns, leases), MAX);
	for (uint32_t i = 0; i < MAX; i++)
		assert_true(was_had[leases[i].block]);
}

/*
 * Nobody can take back a block whose record a killed writer left incomplete, or whose bytes never
 * were a record.
 */
static void
record__that_is_torn_returns_to_nobody(void **state)
{
	static const uint64_t holders[] = { 0, UINT64_C(1000) << 32, UINT64_C(1000) << 32 | 1,
					    UINT64_MAX };

	(void)state;
	for (uint32_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
		record[1 + i].token = 7;
		record[1 + i].holder = holders[i];
	}
	start_again(NOW);
	for (uint32_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
		const struct uroce_mux_lease lease = { 1 + i, 0, 7 };

		assert_false(take_back(&ann, lease, NOW));
		assert_false(take_back(&ann, lease, NOW + LEASE_QUARANTINE_NS));
	}
}

/*
 * A user has half of all blocks at most. The blocks of clients that have ended and are in
 * quarantine count as well.
 */
static void
user__has_half_of_all_at_most(void **state)
{
	uint32_t sum = 0;

	(void)state;
	for (uint16_t slot = 0; slot < 64; slot++) {
		const struct lessee lessee = { slot, 1000 };
		const uint32_t nb = lease_take(table, &lessee, MAX, NOW, leases);

		sum += nb;
		for (uint32_t i = 0; i < nb / 2; i++)
			assert_true(lease_release(table, &lessee, leases[i].block, NOW));
		assert_int_equal(lease_end(table, &lessee, NOW), nb - nb / 2);
	}
	assert_int_equal(sum, LEASE_USER_MAX);
	assert_int_equal(lease_take(table, &eve, MAX, NOW, leases), MAX);
	assert_int_equal(lease_take(table, &ann, MAX, NOW, leases), 0);
	assert_int_equal(lease_take(table, &ann, MAX, NOW + LEASE_QUARANTINE_NS, leases), MAX);
}

/*
 * According to the records, one user had all blocks. When the clients of the user come back, they
 * get half of all blocks at most.
 */
static void
user__takes_back_half_of_all_at_most(void **state)
{
	uint32_t sum = 0;

	(void)state;
	for (uint32_t block = 1; block < UROCE_MUX_BLOCKS - 1; block++)
		lease_record_hold(&record[block], 1000, block);
	start_again(NOW);
	for (uint32_t block = 1; block < UROCE_MUX_BLOCKS - 1; block++) {
		leases[(block - 1) % MAX] = (struct uroce_mux_lease){ block, 0, block };
		if (block % MAX != 0)
			continue;
		/* some blocks are taken back before the quarantine is over, and some later */
		sum += lease_take_back(table, &(struct lessee){ (uint16_t)(block / MAX), 1000 },
				       leases, MAX,
				       NOW + (block / MAX % 2 ? LEASE_QUARANTINE_NS : 0), blocks);
	}
	assert_int_equal(sum, LEASE_USER_MAX);
}

/* Lease all blocks that a user can have, for as many clients as that takes. */
static uint32_t
take_all(uint32_t uid)
{
	uint32_t sum = 0, nb;

	for (uint16_t slot = 0;
	     (nb = lease_take(table, &(struct lessee){ slot, uid }, MAX, NOW, leases)) > 0; slot++)
		sum += nb;
	return sum;
}

/*
 * Each further user gets half of the blocks that are left. If each user got half of all blocks, two
 * users would have all of them.
 */
static void
users__leave_half_to_others(void **state)
{
	uint32_t left = UROCE_MUX_BLOCKS;

	(void)state;
	for (uint32_t uid = 1000; uid < 1012; uid++) {
		assert_int_equal(take_all(uid), left / 2);
		left -= left / 2;
	}
	assert_int_equal(lease_take(table, &eve, MAX, NOW, leases), left / 2);
}

static void
blocks__can_all_be_leased(void **state)
{
	uint32_t sum = 0;

	(void)state;
	for (uint32_t uid = 1000; uid < 1016; uid++)
		sum += take_all(uid);
	assert_int_equal(sum, UROCE_MUX_BLOCKS - 2);
}

/* The block with QP 1 is the connection manager's, and no other client gets it. */
static void
management__is_leased_to_the_manager_alone(void **state)
{
	const struct lessee manager = { 7, (uint32_t)-1 };
	struct uroce_mux_lease mine = { .block = 0 };

	(void)state;
	assert_int_equal(lease_owner(table, 1), 0);
	lease_give_management(table, &manager);
	for (uint32_t qpn = 0; qpn < UROCE_MUX_BLOCK; qpn++)
		assert_int_equal(lease_owner(table, qpn), manager.slot + 1);
	assert_int_equal(lease_owner(table, UROCE_MUX_BLOCK), 0);
	assert_int_equal(lease_take_back(table, &ann, &mine, 1, NOW, blocks), 0);
	assert_false(lease_release(table, &ann, 0, NOW));
	assert_int_equal(lease_end(table, &manager, NOW), 1);
	assert_int_equal(lease_owner(table, 1), 0);
	/* another connection manager gets the first block at once */
	lease_give_management(table, &manager);
	assert_int_equal(lease_owner(table, 1), manager.slot + 1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)
	const struct CMUnitTest tests[] = {
		TEST(block__is_one_clients),
		TEST(block__rests_before_it_is_anothers),
		TEST(token__is_of_one_lease),
		TEST(block__that_was_released_does_not_return),
		TEST(block__of_nobody_cannot_be_had),
		TEST(block__returns_to_its_last_user_after_a_start),
		TEST(block__of_a_former_life_is_leased_last),
		TEST(record__that_is_torn_returns_to_nobody),
		TEST(user__has_half_of_all_at_most),
		TEST(user__takes_back_half_of_all_at_most),
		TEST(users__leave_half_to_others),
		TEST(blocks__can_all_be_leased),
		TEST(management__is_leased_to_the_manager_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
