/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tickets: SipHash-2-4 by its authors' vectors, and the file of the key, of every kind that is refused.
 */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "uroced/ticket.h"

static const struct ticket_key counting = { { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
					      15 } };

/* Of the bytes 0, 1, 2, ... as many as the row's number [vectors.h of the reference implementation]. */
static void
siphash__agrees_with_the_reference(void **state)
{
	static const uint64_t of_len[] = {
		0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a,
		0x85676696d7fb7e2d, 0xcf2794e0277187b7, 0x18765564cd99a68d,
		0xcbc9466e58fee3ce, 0xab0200f58b01d137, 0x93f5f5799a932462,
	};
	uint8_t bytes[16];

	(void)state;
	for (uint8_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	for (size_t len = 0; len < sizeof(of_len) / sizeof(of_len[0]); len++)
		assert_true(ticket_siphash(&counting, bytes, len) == of_len[len]);
	/* the one that the paper works out */
	assert_true(ticket_siphash(&counting, bytes, 15) == 0xa129ca6149be45e5);
}

static void
ticket__is_of_block_number_and_key(void **state)
{
	const uint64_t ticket = ticket_make(&counting, 7, 1);
	struct ticket_key other = counting;

	(void)state;
	other.bytes[15]++;
	assert_true(ticket_make(&counting, 7, 1) == ticket);
	assert_true(ticket_make(&counting, 8, 1) != ticket);
	assert_true(ticket_make(&counting, 7, 2) != ticket);
	assert_true(ticket_make(&other, 7, 1) != ticket);
}

static char folder[] = "/tmp/uroced-key-XXXXXX";
static char path[64];

static int
make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/key", folder);
	return 0;
}

static int
remove_folder(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

static void
key__is_made_once_and_stays(void **state)
{
	struct ticket_key first = { { 0 } }, second = { { 0 } };
	bool is_new = false;
	struct stat st;

	(void)state;
	assert_null(ticket_key_load(path, &first, &is_new));
	assert_true(is_new);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_null(ticket_key_load(path, &second, &is_new));
	assert_false(is_new);
	assert_memory_equal(&first, &second, sizeof(first));
	assert_int_equal(unlink(path), 0);
	assert_null(ticket_key_load(path, &second, &is_new));
	assert_memory_not_equal(&first, &second, sizeof(first));
}

static void
key__that_is_not_ours_alone_is_refused(void **state)
{
	char link[64];
	struct ticket_key key;
	bool is_new;

	(void)state;
	(void)snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(symlink(path, link), 0);
	assert_non_null(ticket_key_load(link, &key, &is_new));
	assert_int_equal(unlink(link), 0);
	assert_int_equal(chmod(path, 0640), 0);
	assert_non_null(ticket_key_load(path, &key, &is_new));
	assert_int_equal(chmod(path, 0600), 0);
	assert_null(ticket_key_load(path, &key, &is_new));
	assert_int_equal(truncate(path, 15), 0);
	assert_non_null(ticket_key_load(path, &key, &is_new));
	assert_int_equal(truncate(path, 17), 0);
	assert_non_null(ticket_key_load(path, &key, &is_new));
	assert_non_null(ticket_key_load(folder, &key, &is_new));
	assert_non_null(ticket_key_load("/nowhere/key", &key, &is_new));
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_non_null(ticket_key_load(link, &key, &is_new));
	assert_int_equal(unlink(link), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash__agrees_with_the_reference),
		cmocka_unit_test(ticket__is_of_block_number_and_key),
		cmocka_unit_test(key__is_made_once_and_stays),
		cmocka_unit_test(key__that_is_not_ours_alone_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
