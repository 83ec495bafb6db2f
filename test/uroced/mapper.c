/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests the mapper's order of service: how many steps an area of shared memory waits for other
 * areas. The test makes the steps itself, without the mapper's thread. The areas are mappings
 * without access, so a step enters no page and takes no time.
 */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "uroced/mapper.h"

#define HOSTILE  65534u
#define HONEST   1000u
#define NB_LARGE 32u
#define LARGE    UROCE_SHM_SIZE_MAX
#define STEPS(n) ((n)*MAPPER_STEP)

#define SHM_MAX  128u

static struct mapper mapper;
static struct mapper_area *areas[SHM_MAX]; /* the areas that were not removed */
static unsigned nb_areas;

static int
set_up(void **state)
{
	(void)state;
	mapper_init(&mapper);
	nb_areas = 0;
	return 0;
}

/* Remove and unmap all areas, so that the next test begins without areas. */
static int
tear_down(void **state)
{
	(void)state;
	while (nb_areas > 0)
		mapper_remove(&mapper, areas[--nb_areas]);
	while (mapper_step(&mapper))
		;
	mapper_stop(&mapper);
	return 0;
}

static struct mapper_area *
add_area(uid_t uid, uint64_t size)
{
	struct uroce_shm shm = { .plan = { .size = size } };
	struct mapper_area *area;

	shm.mem = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(shm.mem, MAP_FAILED);
	area = mapper_add(&mapper, uid, &shm);
	assert_non_null(area);
	assert_true(nb_areas < SHM_MAX);
	areas[nb_areas++] = area;
	return area;
}

static void
remove_area(struct mapper_area *area)
{
	unsigned i = 0;

	while (areas[i] != area)
		i++;
	areas[i] = areas[--nb_areas];
	mapper_remove(&mapper, area);
}

static struct mapper_area *
enter_area(uid_t uid, uint64_t size)
{
	struct mapper_area *area = add_area(uid, size);

	mapper_populate(&mapper, area);
	return area;
}

static void
do_steps(unsigned nb)
{
	for (unsigned i = 0; i < nb; i++)
		assert_true(mapper_step(&mapper));
}

/* Do steps of the mapper until all pages of the area are entered. @return the number of steps */
static unsigned
count_steps(const struct mapper_area *area)
{
	unsigned nb = 0;

	for (; mapper_left(&mapper, area) > 0; nb++)
		do_steps(1);
	return nb;
}

static void
area__waits_for_one_step_of_each_other_user(void **state)
{
	struct mapper_area *area;

	(void)state;
	for (unsigned i = 0; i < NB_LARGE; i++)
		(void)enter_area(HOSTILE, LARGE);
	do_steps(100);
	for (unsigned nb_others = 1; nb_others < 5; nb_others++) {
		area = enter_area(HONEST, STEPS(10));
		assert_int_equal(mapper_left(&mapper, area), STEPS(10));
		assert_in_range(count_steps(area), 10, 10 * (nb_others + 1));
		(void)enter_area(HOSTILE - nb_others, LARGE);
	}
}

static void
area__waits_for_one_step_of_each_other_area_of_its_user(void **state)
{
	struct mapper_area *area;

	(void)state;
	for (unsigned i = 0; i < NB_LARGE; i++)
		(void)enter_area(HOSTILE, LARGE);
	do_steps(100);
	area = enter_area(HOSTILE, STEPS(1) - 4096);
	assert_in_range(count_steps(area), 1, NB_LARGE + 1);
	area = enter_area(HOSTILE, STEPS(2));
	assert_in_range(count_steps(area), 2, 2 * (NB_LARGE + 1));
}

/*
 * Unmapping counts as work of the user that had mapped the memory, so an area of another user does
 * not wait longer.
 */
static void
area__waits_for_no_more_where_others_are_unmapped(void **state)
{
	struct mapper_area *area;

	(void)state;
	for (unsigned i = 0; i < NB_LARGE; i++)
		remove_area(add_area(HOSTILE, LARGE));
	for (unsigned i = 0; i < NB_LARGE; i++)
		mapper_close(&mapper, HOSTILE, open("/dev/null", O_RDONLY | O_CLOEXEC));
	area = enter_area(HONEST, STEPS(10));
	assert_in_range(count_steps(area), 10, 20);
}

static void
area__is_counted_until_it_is_unmapped(void **state)
{
	struct mapper_area *area = add_area(HOSTILE, STEPS(3));
	struct mapper_sum sum = mapper_sum_of(&mapper, HOSTILE);

	(void)state;
	assert_int_equal(sum.nb_areas, 1);
	assert_int_equal(sum.nb_bytes, STEPS(3));
	(void)add_area(HOSTILE, STEPS(1));
	mapper_populate(&mapper, area);
	do_steps(3);
	assert_false(mapper_step(&mapper));
	remove_area(area);
	do_steps(2);
	sum = mapper_sum_of(&mapper, HOSTILE);
	assert_int_equal(sum.nb_areas, 2);
	assert_int_equal(sum.nb_bytes, STEPS(4));
	do_steps(1);
	sum = mapper_sum_of(&mapper, HOSTILE);
	assert_int_equal(sum.nb_areas, 1);
	assert_int_equal(sum.nb_bytes, STEPS(1));
	assert_int_equal(mapper_sum_of(&mapper, HONEST).nb_areas, 0);
	assert_false(mapper_step(&mapper));
}

/* An area that is removed while its pages are entered is unmapped from its first page on. */
static void
area__that_goes_early_is_unmapped_whole(void **state)
{
	struct mapper_area *area = enter_area(HONEST, STEPS(10));

	(void)state;
	do_steps(7);
	remove_area(area);
	assert_int_equal(mapper_left(&mapper, area), STEPS(10));
	do_steps(10);
	assert_int_equal(mapper_sum_of(&mapper, HONEST).nb_areas, 0);
	assert_false(mapper_step(&mapper));
}

static void
descriptors__are_closed_in_turn(void **state)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	mapper_close(&mapper, HONEST, fd);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	do_steps(1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_false(mapper_step(&mapper));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(area__waits_for_one_step_of_each_other_user, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			area__waits_for_one_step_of_each_other_area_of_its_user, set_up, tear_down),
		cmocka_unit_test_setup_teardown(area__waits_for_no_more_where_others_are_unmapped,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(area__is_counted_until_it_is_unmapped, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(area__that_goes_early_is_unmapped_whole, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(descriptors__are_closed_in_turn, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
