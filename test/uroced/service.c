/* SPDX-License-Identifier: BSD-3-Clause */

/* Tests which reports the service manager gets, and when. The test sets the time. */

#include "uroced/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "manager.h"

#define S UINT64_C(1000000000) /* a second, in ns */

static char folder[64];
static struct service service;

static int
set_up(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/uroced-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	manager_open(folder);
	return 0;
}

static int
tear_down(void **state)
{
	char command[128];

	(void)state;
	service_close(&service);
	manager_close();
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void
expect(const char *expected)
{
	const char *lines = manager_poll();

	assert_non_null(lines);
	assert_string_equal(lines, expected);
	assert_null(manager_poll());
}

static void
ready__is_reported_once_with_the_port(void **state)
{
	(void)state;
	service_open(&service);
	service_report(&service, 0, 1, S);
	assert_null(manager_poll());
	service_ready(&service, "net_null0", S);
	service_report(&service, 0, 2, S);
	expect("READY=1\nSTATUS=net_null0: 0 clients");
	service_report(&service, 0, 3, 100 * S);
	assert_null(manager_poll());
	assert_int_equal(service_timeout_ms(&service, 100 * S), -1);
}

static void
status__is_reported_once_a_second(void **state)
{
	(void)state;
	service_open(&service);
	service_ready(&service, "net_null0", S);
	service_report(&service, 0, 1, S);
	expect("READY=1\nSTATUS=net_null0: 0 clients");
	for (unsigned i = 1; i <= 500; i++)
		service_report(&service, i % 2, 1, S + S / 2);
	service_report(&service, 1, 1, S + S / 2);
	assert_null(manager_poll());
	assert_int_equal(service_timeout_ms(&service, S + S / 2), 500);
	service_report(&service, 1, 1, 2 * S);
	expect("STATUS=net_null0: 1 client");
	assert_int_equal(service_timeout_ms(&service, 2 * S), -1);
}

static void
watchdog__needs_progress_of_the_data_path(void **state)
{
	(void)state;
	manager_set_watchdog(10000000, getpid());
	service_open(&service);
	service_ready(&service, "net_null0", S);
	service_report(&service, 0, 7, S);
	assert_int_equal(manager_drain("WATCHDOG=1"), 1);
	/* WATCHDOG=1 is sent twice in the time that the manager allows */
	assert_int_equal(service_timeout_ms(&service, S), 5000);
	service_report(&service, 0, 8, 6 * S - 1);
	assert_null(manager_poll());
	service_report(&service, 0, 8, 6 * S);
	expect("WATCHDOG=1");
	/*
	 * no WATCHDOG=1 is sent while the data path makes no progress, however often the control
	 * thread calls service_report()
	 */
	for (unsigned i = 0; i < 100; i++)
		service_report(&service, 0, 8, 11 * S + i * S);
	assert_null(manager_poll());
	assert_in_range(service_timeout_ms(&service, 111 * S), 1, 1000);
	service_report(&service, 0, 9, 112 * S);
	expect("WATCHDOG=1");
}

static void
watchdog__of_another_process_is_none(void **state)
{
	(void)state;
	manager_set_watchdog(10000000, getppid());
	service_open(&service);
	service_ready(&service, "net_null0", S);
	service_report(&service, 0, 7, S);
	assert_int_equal(manager_drain("WATCHDOG=1"), 0);
	assert_int_equal(service_timeout_ms(&service, S), -1);
}

/* Fill the queue of the manager's socket. @return the number of messages */
static unsigned
fill(void)
{
	unsigned nb = 0;

	while (notify_send(&service.notify, "FILL=1"))
		nb++;
	return nb;
}

static void
report__waits_for_room(void **state)
{
	unsigned nb;

	(void)state;
	manager_set_watchdog(10000000, 0);
	service_open(&service);
	service_ready(&service, "net_null0", S);
	nb = fill();
	assert_true(nb > 0);
	service_report(&service, 3, 1, S);
	assert_int_equal(service_timeout_ms(&service, S), SERVICE_RETRY_NS / 1000000);
	assert_int_equal(manager_drain("FILL=1"), nb);
	service_report(&service, 3, 1, S + SERVICE_RETRY_NS);
	assert_string_equal(manager_poll(), "READY=1\nSTATUS=net_null0: 3 clients");
	expect("WATCHDOG=1");
}

static void
reload__is_reported_with_its_result(void **state)
{
	(void)state;
	service_open(&service);
	service_ready(&service, "net_null0", S);
	service_report(&service, 1, 1, S);
	assert_int_equal(manager_drain("READY=1"), 1);
	service_begin_reload(&service, 2 * S + 1500);
	expect("RELOADING=1\nMONOTONIC_USEC=2000001");
	service_end_reload(&service, true);
	service_report(&service, 1, 1, 2 * S);
	expect("READY=1\nSTATUS=net_null0: 1 client; the last reload was refused, see the log");
	service_begin_reload(&service, 3 * S);
	expect("RELOADING=1\nMONOTONIC_USEC=3000000");
	service_end_reload(&service, false);
	service_report(&service, 1, 1, 3 * S);
	expect("READY=1\nSTATUS=net_null0: 1 client");
	service_stop(&service);
	assert_non_null(strstr(manager_poll(), "STOPPING=1"));
}

static void
manager__may_have_an_abstract_name(void **state)
{
	(void)state;
	manager_close();
	manager_open_abstract();
	service_open(&service);
	service_ready(&service, "net_null0", S);
	service_report(&service, 0, 1, S);
	expect("READY=1\nSTATUS=net_null0: 0 clients");
}

static void
manager__that_is_none_gets_nothing(void **state)
{
	static const char *const names[] = { "", "relative", "/", "@", "vsock:2:1234" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(setenv("NOTIFY_SOCKET", names[i], 1), 0);
		service_open(&service);
		assert_false(notify_is_open(&service.notify));
	}
	(void)unsetenv("NOTIFY_SOCKET");
	service_open(&service);
	service_ready(&service, "net_null0", S);
	service_report(&service, 0, 1, S);
	assert_int_equal(service_timeout_ms(&service, S), -1);
	assert_null(manager_poll());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(ready__is_reported_once_with_the_port),
		TEST(status__is_reported_once_a_second),
		TEST(watchdog__needs_progress_of_the_data_path),
		TEST(watchdog__of_another_process_is_none),
		TEST(report__waits_for_room),
		TEST(reload__is_reported_with_its_result),
		TEST(manager__may_have_an_abstract_name),
		TEST(manager__that_is_none_gets_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
