/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The multicast groups of the port `udp`, with clients of several users. The port is replaced by
 * functions of this program, which accept every group but one.
 */

#include "groups.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "datapath/port/port.h"

#define NB_USERS  8u
#define FIRST_UID 1000u
#define SECOND_NS UINT64_C(1000000000)
/* number of a group that the port does not join */
#define REFUSED 999u

static struct client clients[NB_USERS + 1];
static struct client *by_slot[CLIENTS_MAX];
static struct uroce_port port;
static struct groups groups;
static unsigned nb_joined; /* number of groups that the port has joined */
static uint64_t now_ns;

/* --- the port ------------------------------------------------------------------------------------ */

bool __wrap_uroce_udp_port_has_group_sockets(const struct uroce_port *of);
int __wrap_uroce_udp_port_join(const struct uroce_port *of, const uint8_t gid[16]);
void __wrap_uroce_udp_port_leave(const struct uroce_port *of, const uint8_t gid[16]);

bool
__wrap_uroce_udp_port_has_group_sockets(const struct uroce_port *of)
{
	assert_ptr_equal(of, &port);
	return true;
}

int
__wrap_uroce_udp_port_join(const struct uroce_port *of, const uint8_t gid[16])
{
	assert_ptr_equal(of, &port);
	if (gid[14] == REFUSED >> 8 && gid[15] == (REFUSED & 0xff))
		return -ENOBUFS;
	nb_joined++;
	return 0;
}

void
__wrap_uroce_udp_port_leave(const struct uroce_port *of, const uint8_t gid[16])
{
	assert_ptr_equal(of, &port);
	assert_int_equal(gid[12], 239);
	nb_joined--;
}

/* --- reports of clients -------------------------------------------------------------------------- */

/* Each user has a client, whose slot is the number of the user. The last client is of user 0. */
static int
set_up(void **state)
{
	(void)state;
	memset(by_slot, 0, sizeof(by_slot));
	for (uint16_t i = 0; i <= NB_USERS; i++) {
		clients[i] = (struct client){ .slot = i, .uid = FIRST_UID + i % NB_USERS };
		by_slot[i] = &clients[i];
	}
	groups_init(&groups, &port, by_slot);
	nb_joined = 0;
	now_ns = SECOND_NS;
	return 0;
}

static enum frame_drop
report(uint16_t slot, unsigned number, bool is_leave)
{
	const uint8_t group[4] = { 239, 0, (uint8_t)(number >> 8), (uint8_t)number };
	const struct frame frame = { .kind = FRAME_REPORT, .group = group, .is_leave = is_leave };

	return groups_report(&groups, slot, &frame, now_ns);
}

static bool
join_one(uint16_t slot, unsigned number)
{
	const enum frame_drop drop = report(slot, number, false);

	assert_true(drop == FRAME_PASSES || drop == FRAME_DROP_GROUP_LIMIT);
	assert_int_equal(groups.nb, nb_joined);
	return drop == FRAME_PASSES;
}

/* Join new groups until the limit. @return number of groups that were joined */
static unsigned
join_new(uint16_t slot, unsigned *number)
{
	unsigned nb = 0;

	while (nb <= GROUPS_MAX && join_one(slot, *number)) {
		nb++;
		++*number;
	}
	return nb;
}

static void
leave_all(uint16_t slot, unsigned number)
{
	while (number-- > 0)
		assert_int_equal(report(slot, number, true), FRAME_PASSES);
}

/* --- tests --------------------------------------------------------------------------------------- */

static void
user__has_half_of_what_others_leave(void **state)
{
	static const unsigned expected[] = { 32, 16, 8, 4, 2, 1, 0, 0 };
	unsigned number = 0;

	(void)state;
	for (uint16_t user = 0; user < NB_USERS; user++)
		assert_int_equal(join_new(user, &number), expected[user]);
	/* another client of user 0 is the same user */
	assert_int_equal(join_new(NB_USERS, &number), 0);
	assert_true(join_one(NB_USERS, 31));
	for (uint16_t slot = 0; slot <= NB_USERS; slot++)
		groups_forget(&groups, slot);
	assert_int_equal(nb_joined, 0);
}

/*
 * Two users leave groups to each other: one user joins groups, the other one joins them, too, and
 * the first one leaves them. Both repeat this. The groups must count for both users, so that other
 * users can join groups.
 */
static void
users__do_not_pass_groups_on_to_each_other(void **state)
{
	unsigned number = 0;

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		const uint16_t first = round & 1, second = !first;

		(void)join_new(first, &number);
		for (unsigned i = 0; i < number; i++)
			(void)join_one(second, i);
		leave_all(first, number);
		(void)join_new(first, &number);
	}
	assert_in_range(nb_joined, GROUPS_MAX / 2, GROUPS_MAX * 3 / 4);
	assert_true(join_new(2, &number) >= GROUPS_MAX / 8);
}

/* A user may join a group of others, also when there is no room for a new group. */
static void
user__may_join_a_group_of_others(void **state)
{
	unsigned number = 0;

	(void)state;
	for (uint16_t user = 0; user < 6; user++)
		(void)join_new(user, &number);
	assert_int_equal(nb_joined, GROUPS_MAX - 1);
	assert_false(join_one(6, number));
	assert_true(join_one(6, 0));
	/* the user is a member, so a repeated report changes nothing */
	assert_true(join_one(6, 0));
	groups_forget(&groups, 0);
	assert_true(join_one(7, number));
}

/* --- the log ------------------------------------------------------------------------------------- */

static int stderr_fd = -1, log_fd = -1;

static void
begin_log(void)
{
	(void)fflush(stderr);
	stderr_fd = dup(STDERR_FILENO);
	log_fd = memfd_create("log", MFD_CLOEXEC);
	assert_true(stderr_fd >= 0 && log_fd >= 0);
	assert_true(dup2(log_fd, STDERR_FILENO) >= 0);
}

/* Read the log since begin_log(). @return number of lines */
static unsigned
end_log(char *text, size_t room)
{
	unsigned nb = 0;
	ssize_t len;

	assert_true(dup2(stderr_fd, STDERR_FILENO) >= 0);
	len = pread(log_fd, text, room - 1, 0);
	assert_true(len >= 0);
	text[len] = '\0';
	(void)close(stderr_fd);
	(void)close(log_fd);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		nb++;
	return nb;
}

static void
refusal__is_logged_with_its_reason(void **state)
{
	unsigned number = 0, nb_lines;
	char text[4096];

	(void)state;
	begin_log();
	(void)join_new(0, &number);
	nb_lines = end_log(text, sizeof(text));
	assert_int_equal(nb_lines, 1);
	assert_non_null(strstr(text, "user 1000 does not join multicast group 239.0.0.32"));
	assert_non_null(strstr(text, "in 32 groups"));
	begin_log();
	assert_int_equal(report(1, REFUSED, false), FRAME_DROP_GROUP);
	(void)end_log(text, sizeof(text));
	assert_non_null(strstr(text, strerror(ENOBUFS)));
}

/* A client that repeats a refused report must not fill the log. */
static void
refusal__is_logged_at_a_limited_rate(void **state)
{
	unsigned number = 0, nb_lines;
	char text[4096];

	(void)state;
	(void)join_new(0, &number);
	begin_log();
	for (unsigned i = 0; i < 1000; i++) {
		now_ns += SECOND_NS / 1000;
		(void)join_one(0, number);
	}
	nb_lines = end_log(text, sizeof(text));
	assert_in_range(nb_lines, 1, 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(user__has_half_of_what_others_leave, set_up),
		cmocka_unit_test_setup(users__do_not_pass_groups_on_to_each_other, set_up),
		cmocka_unit_test_setup(user__may_join_a_group_of_others, set_up),
		cmocka_unit_test_setup(refusal__is_logged_with_its_reason, set_up),
		cmocka_unit_test_setup(refusal__is_logged_at_a_limited_rate, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
