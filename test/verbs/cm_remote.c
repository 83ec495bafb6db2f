/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection of a process to the connection manager of uroced. A thread of the test is the
 * connection manager, so that the connection can end at an exact moment.
 */

#include "cm_user.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "datapath/device/dev.h"
#include "mux/cm_message.h"
#include "verbs/cm/remote.h"

#define SERVER_ID  5u
#define TIMEOUT_MS 300000 /* time limit, which only a hang exceeds */

/* The connection manager of the test. It serves one client at a time. */
static struct server {
	char folder[32];
	char path[64];
	int listen_fd;
	atomic_int fd; /* socket of the client */
	pthread_t thread;
	/* number of replies to NEXT_EVENT that have the event CONNECT_RESPONSE */
	atomic_uint nb_events;
	/*
	 * number of the request NEXT_EVENT at which the connection ends; 0: the connection does not
	 * end
	 */
	atomic_uint fatal;
} server;

static struct uroce_dev dev;
static struct user user;

/* --- the connection manager of the test ---------------------------------------------------------- */

static void
fill_event(struct uroce_mux_cm_reply *reply)
{
	if (atomic_load(&server.nb_events) == 0)
		return;
	atomic_fetch_sub(&server.nb_events, 1);
	reply->ret = 1;
	reply->event = (struct uroce_cm_event){
		.kind = UROCE_CM_EVENT_CONNECT_RESPONSE,
		.id = SERVER_ID,
		.listener = UROCE_CM_NO_ID,
	};
}

/*
 * Send the reply to a request.
 * @return false: the connection must end
 */
static bool
answer(const struct uroce_mux_cm_request *request)
{
	struct uroce_mux_cm_reply reply = { .type = request->type, .number = request->number };

	if (request->type == UROCE_MUX_CM_CREATE)
		reply.id = SERVER_ID;
	if (request->type == UROCE_MUX_CM_NEXT_EVENT) {
		if (atomic_load(&server.fatal) > 0 && atomic_fetch_sub(&server.fatal, 1) == 1)
			return false;
		fill_event(&reply);
	}
	return send(server.fd, &reply, uroce_mux_cm_reply_size(reply.type), MSG_NOSIGNAL) > 0;
}

/* Wait until the client has closed its end. */
static void
await_hang_up(void)
{
	struct pollfd pollfd = { .fd = server.fd };

	(void)poll(&pollfd, 1, TIMEOUT_MS);
}

static void
serve_client(void)
{
	struct uroce_mux_cm_request request;
	ssize_t len;

	do
		len = recv(server.fd, &request, sizeof(request), 0);
	while (len > 0 && answer(&request));
	if (len <= 0)
		await_hang_up();
}

/* Wait for a client. The socket does not block. @return the client's socket; -1: the test ends */
static int
accept_client(void)
{
	struct pollfd pollfd = { .fd = server.listen_fd, .events = POLLIN };

	(void)poll(&pollfd, 1, TIMEOUT_MS);
	return accept(server.listen_fd, NULL, NULL);
}

static void *
serve(void *unused)
{
	int fd;

	(void)unused;
	while ((fd = accept_client()) >= 0) {
		server.fd = fd;
		serve_client();
		close(fd);
	}
	return NULL;
}

/* --- set-up of the user -------------------------------------------------------------------------- */

static void
notify_user(void *arg)
{
	(void)eventfd_write(((struct user *)arg)->event_fd, 1);
}

static int
set_up(void **state)
{
	char listener[80];

	(void)state;
	snprintf(server.folder, sizeof(server.folder), "/tmp/uroce-test-XXXXXX");
	assert_non_null(mkdtemp(server.folder));
	snprintf(server.path, sizeof(server.path), "%s/socket", server.folder);
	snprintf(listener, sizeof(listener), "%s" UROCE_MUX_CM_SUFFIX, server.path);
	atomic_store(&server.nb_events, 0);
	atomic_store(&server.fatal, 0);
	server.listen_fd = uroce_mux_listen(listener, 0600);
	assert_true(server.listen_fd >= 0);
	assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
	snprintf(dev.conf.socket, sizeof(dev.conf.socket), "%s", server.path);
	user.event_fd = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(uroce_cm_remote_open(&dev, notify_user, &user, &user.manager), 0);
	return 0;
}

static int
tear_down(void **state)
{
	char listener[80];

	(void)state;
	user.manager->ops->close(user.manager);
	close(user.event_fd);
	(void)shutdown(server.listen_fd, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.listen_fd);
	snprintf(listener, sizeof(listener), "%s" UROCE_MUX_CM_SUFFIX, server.path);
	assert_int_equal(unlink(listener), 0);
	assert_int_equal(rmdir(server.folder), 0);
	return 0;
}

/* Make an id that waits for its peer's answer, so that its loss is the event UNREACHABLE. */
static uint32_t
make_pending_id(void)
{
	uint32_t id;

	assert_int_equal(user.manager->ops->create(user.manager, UROCE_CM_PS_TCP, false, 0, &id),
			 0);
	atomic_store(&server.nb_events, 1);
	assert_int_equal(user_expect(&user, UROCE_CM_EVENT_CONNECT_RESPONSE).id, id);
	return id;
}

static void
expect_loss_of(uint32_t id)
{
	const struct uroce_cm_event event = user_expect(&user, UROCE_CM_EVENT_UNREACHABLE);

	assert_int_equal(event.id, id);
	assert_int_equal(event.status, -EIO);
}

/* --- tests of lost connections ------------------------------------------------------------------- */

/*
 * The connection manager stops receiving, but its socket is open. The thread of the client sleeps,
 * so the loss is noticed only when the next request is sent.
 */
static void
request__that_cannot_be_sent_ends_the_connection(void **state)
{
	const uint32_t id = make_pending_id();

	(void)state;
	user_expect_none(&user);
	assert_int_equal(shutdown(server.fd, SHUT_RD), 0);
	expect_loss_of(id);
	(void)make_pending_id();
}

static void
next_event__whose_connection_ends_is_no_error(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		const uint32_t id = make_pending_id();

		atomic_store(&server.fatal, 1);
		expect_loss_of(id);
		assert_int_equal(user.manager->ops->destroy(user.manager, id), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(request__that_cannot_be_sent_ends_the_connection,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(next_event__whose_connection_ends_is_no_error,
						set_up, tear_down),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
