/* SPDX-License-Identifier: BSD-3-Clause */
/* The implementation of cm_user.h: a user of a device's connection manager. */

#include "cm_user.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "verbs/uroce.h"

#define TIMEOUT_MS 300000 /* time limit, which only a hang exceeds */

static void
notify_user(void *arg)
{
	const struct user *const user = arg;

	(void)eventfd_write(user->event_fd, 1);
}

void
user_open(struct user *user, struct ibv_device *device, int gid_index)
{
	assert_non_null(user->context = uroce_open_device(device));
	user->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(user->event_fd >= 0);
	assert_int_equal(uroce_cm_manager_open(user->context, notify_user, user, &user->manager),
			 0);
	assert_int_equal(uroce_query_gid(user->context, 1, gid_index, &user->gid), 0);
}

void
user_close(struct user *user)
{
	if (user->context == NULL)
		return;
	user->manager->ops->close(user->manager);
	assert_int_equal(uroce_close_device(user->context), 0);
	close(user->event_fd);
	*user = (struct user){ 0 };
}

static struct uroce_cm_addr
addr_of(const union ibv_gid *gid, uint16_t port)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const bool is_v4 = memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
	const size_t skip = is_v4 ? 12 : 0;
	struct uroce_cm_addr addr = { .ip_version = is_v4 ? 4 : 6, .port = port };

	memcpy(addr.ip + skip, gid->raw + skip, sizeof(gid->raw) - skip);
	return addr;
}

/*
 * Create an id and bind it. If uroced's connection manager needs more than 10 s to start again, both
 * calls fail with -EIO, and this function repeats them.
 */
static uint32_t
create_bound(struct user *user, uint16_t port)
{
	const struct uroce_cm_manager_ops *const ops = user->manager->ops;
	const struct uroce_cm_addr addr = addr_of(&user->gid, port);
	const time_t end = time(NULL) + TIMEOUT_MS / 1000;
	uint32_t id;
	int ret;

	do {
		ret = ops->create(user->manager, UROCE_CM_PS_TCP, false, port, &id);
		if (ret != 0)
			continue;
		ret = ops->bind(user->manager, id, &addr, false, false);
		if (ret != 0)
			(void)ops->destroy(user->manager, id);
	} while (ret == -EIO && time(NULL) < end);
	assert_int_equal(ret, 0);
	return id;
}

uint32_t
user_listen(struct user *user, uint16_t port, uint32_t backlog)
{
	const uint32_t id = create_bound(user, port);

	assert_int_equal(user->manager->ops->listen(user->manager, id, backlog), 0);
	return id;
}

uint32_t
user_connect(struct user *user, const union ibv_gid *to, uint16_t port, uint32_t qpn)
{
	const struct uroce_cm_addr remote = addr_of(to, port);
	const struct uroce_cm_param param = {
		.qpn = qpn,
		.responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.mtu_code = IBV_MTU_1024,
		.private_len = 4,
		.private_data = "ping",
	};
	struct uroce_cm_av av = { .port = 1, .hop_limit = 64 };
	const uint32_t id = create_bound(user, 0);

	memcpy(av.local_gid, user->gid.raw, sizeof(av.local_gid));
	memcpy(av.remote_gid, to->raw, sizeof(av.remote_gid));
	assert_int_equal(user->manager->ops->connect(user->manager, id, &remote, &av, &param), 0);
	return id;
}

void
user_accept(struct user *user, uint32_t id, uint32_t qpn)
{
	const struct uroce_cm_param param = {
		.qpn = qpn,
		.responder_resources = 4,
		.initiator_depth = 4,
		.rnr_retry_count = 7,
		.private_len = 4,
		.private_data = "pong",
	};

	assert_int_equal(user->manager->ops->accept(user->manager, id, &param), 0);
}

static time_t
seconds_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

struct uroce_cm_event
user_await(struct user *user, void (*drive)(void *arg), void *arg)
{
	struct pollfd pollfd = { .fd = user->event_fd, .events = POLLIN };
	const time_t begin = seconds_now();
	struct uroce_cm_event event;
	eventfd_t count;

	for (;;) {
		const int ret = user->manager->ops->next_event(user->manager, &event);

		assert_true(ret >= 0);
		if (ret == 1)
			return event;
		if (drive != NULL)
			drive(arg);
		else
			assert_int_equal(poll(&pollfd, 1, TIMEOUT_MS), 1);
		(void)eventfd_read(user->event_fd, &count);
		assert_true(seconds_now() - begin <= TIMEOUT_MS / 1000);
	}
}

struct uroce_cm_event
user_expect(struct user *user, enum uroce_cm_event_kind kind)
{
	const struct uroce_cm_event event = user_await(user, NULL, NULL);

	assert_int_equal(event.kind, kind);
	return event;
}

void
user_expect_none(struct user *user)
{
	struct uroce_cm_event event;
	eventfd_t count;

	(void)eventfd_read(user->event_fd, &count);
	assert_int_equal(user->manager->ops->next_event(user->manager, &event), 0);
}

void
user_await_notice(struct user *user)
{
	struct pollfd pollfd = { .fd = user->event_fd, .events = POLLIN };

	assert_int_equal(poll(&pollfd, 1, TIMEOUT_MS), 1);
}

struct uroce_cm_info
user_query(struct user *user, uint32_t id)
{
	struct uroce_cm_info info;

	assert_int_equal(user->manager->ops->query(user->manager, id, &info), 0);
	return info;
}

struct user_link
user_establish(struct user *from, struct user *to, uint16_t port, uint32_t qpn)
{
	struct user_link link = { .active = user_connect(from, &to->gid, port, qpn) };

	link.passive = user_expect(to, UROCE_CM_EVENT_CONNECT_REQUEST).id;
	user_accept(to, link.passive, qpn + 1);
	assert_int_equal(user_expect(from, UROCE_CM_EVENT_CONNECT_RESPONSE).id, link.active);
	assert_int_equal(from->manager->ops->establish(from->manager, link.active, NULL, 0), 0);
	assert_int_equal(user_expect(to, UROCE_CM_EVENT_ESTABLISHED).id, link.passive);
	return link;
}
