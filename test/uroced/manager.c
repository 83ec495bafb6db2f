/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The socket receives the credentials of the sender with each message. systemd finds the sender of
 * a message in the same way.
 */

#include "manager.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "now_ms.h"

#define TIMEOUT_MS 300000

static int manager = -1;
static pid_t sender;

static void
open_socket(const struct sockaddr_un *addr, socklen_t len, const char *name)
{
	const int yes = 1;

	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(manager >= 0);
	assert_int_equal(setsockopt(manager, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)), 0);
	assert_int_equal(bind(manager, (const struct sockaddr *)addr, len), 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
}

void
manager_open(const char *folder)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/notify", folder);
	(void)unlink(addr.sun_path);
	open_socket(&addr, sizeof(addr), addr.sun_path);
}

void
manager_open_abstract(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char name[64];
	int len;

	len = snprintf(name, sizeof(name), "@uroced-test-%d", getpid());
	memcpy(addr.sun_path + 1, name + 1, (size_t)len - 1);
	open_socket(&addr, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len), name);
}

void
manager_close(void)
{
	if (manager >= 0)
		(void)close(manager);
	manager = -1;
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
}

void
manager_set_watchdog(unsigned long us, pid_t pid)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%lu", us);
	assert_int_equal(setenv("WATCHDOG_USEC", text, 1), 0);
	(void)snprintf(text, sizeof(text), "%d", pid);
	assert_int_equal(pid ? setenv("WATCHDOG_PID", text, 1) : unsetenv("WATCHDOG_PID"), 0);
}

const char *
manager_poll(void)
{
	static char lines[4096];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} room;
	struct iovec bytes = { lines, sizeof(lines) - 1 };
	struct msghdr msg = { .msg_iov = &bytes,
			      .msg_iovlen = 1,
			      .msg_control = &room,
			      .msg_controllen = sizeof(room) };
	const ssize_t len = recvmsg(manager, &msg, 0);
	const struct cmsghdr *header = len > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	struct ucred who;

	if (len <= 0)
		return NULL;
	assert_non_null(header);
	assert_int_equal(header->cmsg_type, SCM_CREDENTIALS);
	memcpy(&who, CMSG_DATA(header), sizeof(who));
	sender = who.pid;
	lines[len] = '\0';
	return lines;
}

const char *
manager_await(const char *text)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	const char *lines;

	for (;;) {
		lines = manager_poll();
		if (lines && strstr(lines, text))
			return lines;
		if (now_ms() > until_ms)
			fail_msg("no message has %s", text);
		if (!lines)
			(void)usleep(1000);
	}
}

pid_t
manager_sender(void)
{
	return sender;
}

unsigned
manager_drain(const char *text)
{
	const char *lines;
	unsigned nb = 0;

	while ((lines = manager_poll()))
		nb += strstr(lines, text) != NULL;
	return nb;
}
