/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Announced devices: what they report before their port and EAL exist, and that their reports do
 * not change when these are started.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <rte_eal.h>
#include <rte_log.h>
#include <uroce.h>
#include <uroce_cm.h>

#include "../dpdk/switch.h"
#include "../uroced/now_ms.h"
#include "net.h"

#define VDEV_OF(role)                                                                              \
	"net_memif0,role=" role ",socket=@uroce-test-announce,socket-abstract=yes,bsize=2200"
#define VDEV       VDEV_OF("server")
#define PEER_VDEV  VDEV_OF("client")
#define SPEC       "net_memif0,addr=192.0.2.1/24,workers=2"
#define PEER_SPEC  "net_memif0,addr=192.0.2.2/24,workers=2"
#define PEER       "peer" /* with this argument the program is the peer, in a process of its own */
#define TIMEOUT_MS 300000
#define START_MS   300 /* time in milliseconds that the start of a device takes */
#define ANSWER_MS  100 /* time in milliseconds in which a peer must answer */

static const char *program;
static unsigned nb_starts;

static int
start_with(char *vdev)
{
	char *argv[] = {
		"announce",      "--no-huge", "--no-shconf", "--no-telemetry", "--no-pci",
		"--log-level=1", "-m",        "256",         "--vdev",         vdev,
	};

	return rte_eal_init(sizeof(argv) / sizeof(argv[0]), argv) < 0 ? EIO : 0;
}

static int
start_eal(void *arg)
{
	static char vdev[] = VDEV;

	assert_ptr_equal(arg, &nb_starts);
	return nb_starts++ == 0 ? start_with(vdev) : 0;
}

static int
fail_to_start(void *arg)
{
	(void)arg;
	return EPERM;
}

static void
announce__refuses_what_it_cannot_tell_of(void **state)
{
	(void)state;
	assert_errno(EINVAL, uroce_announce_device(NULL, VDEV, start_eal, NULL));
	assert_errno(EINVAL, uroce_announce_device(SPEC, NULL, start_eal, NULL));
	assert_errno(EINVAL, uroce_announce_device(SPEC, VDEV, NULL, NULL));
	assert_errno(EINVAL, uroce_announce_device("net_memif0", VDEV, start_eal, NULL));
	assert_errno(EINVAL, uroce_announce_device(SPEC ",mtu=4096", VDEV, start_eal, NULL));
	assert_errno(EINVAL, uroce_announce_device("0000:01:00.0,addr=192.0.2.1/24", "0000:01:00.0",
						   start_eal, NULL));
	assert_errno(ENODEV, uroce_announce_device("net_af_packet0", "net_af_packet0,iface=none",
						   start_eal, NULL));
	assert_errno(ENODEV,
		     uroce_announce_device("net_af_packet0", "net_af_packet0", start_eal, NULL));
	assert_errno(EAFNOSUPPORT,
		     uroce_announce_device("net_af_packet0", "net_af_packet0,iface=lo", start_eal,
					   NULL));
}

static int
start_nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void *
start_announced_device(void)
{
	struct ibv_device *const device = uroce_announce_device(SPEC, VDEV, start_nothing, NULL);
	struct ibv_context *const context = uroce_open_device(device);
	void *const pd = uroce_alloc_pd(context);
	const int error = errno;

	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_device(device), 0);
	errno = error;
	return pd;
}

static void *
create_device(void)
{
	return uroce_create_device(SPEC);
}

static void *
create_device_on_port(void)
{
	return uroce_create_device_on_port(0, NULL);
}

/*
 * Calls that need EAL fail before EAL runs, and one line of the log says which call must come
 * first.
 */
static void
create__without_EAL_says_what_to_call(void **state)
{
	static void *(*const calls[])(void) = { create_device, create_device_on_port,
						start_announced_device };

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		char text[1024] = "";
		FILE *const log = fmemopen(text, sizeof(text), "w");

		assert_int_equal(rte_openlog_stream(log), 0);
		assert_errno(ENODEV, calls[i]());
		assert_int_equal(rte_openlog_stream(NULL), 0);
		fclose(log);
		assert_non_null(strstr(text, "call rte_eal_init() first\n"));
		assert_ptr_equal(strchr(text, '\n'), strrchr(text, '\n'));
	}
}

static void
announce__ends_when_EAL_does_not_start(void **state)
{
	struct ibv_device *const device = uroce_announce_device(SPEC, VDEV, fail_to_start, NULL);
	struct ibv_context *const context = uroce_open_device(device);

	(void)state;
	assert_non_null(context);
	assert_errno(EPERM, uroce_alloc_pd(context));
	assert_errno(EIO, uroce_alloc_pd(context));
	assert_errno(EIO, uroce_create_cq(context, 1, NULL, NULL, 0));
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_device(device), 0);
}

/* All that a device reports about itself. */
struct account {
	struct ibv_device_attr_ex device;
	struct ibv_port_attr port;
	struct ibv_gid_entry gid[4];
	ssize_t nb_gids;
	__be16 pkey;
	int nb_vectors;
};

static void
ask(struct ibv_context *context, struct account *account)
{
	memset(account, 0, sizeof(*account));
	assert_int_equal(uroce_query_device_ex(context, NULL, &account->device), 0);
	assert_int_equal(uroce_query_port(context, 1, &account->port), 0);
	account->nb_gids = uroce_query_gid_table(context, account->gid, 4, 0);
	assert_int_equal(uroce_query_pkey(context, 1, 0, &account->pkey), 0);
	account->nb_vectors = context->num_comp_vectors;
}

static void
announce__says_the_same_before_and_after(void **state)
{
	static const uint8_t addr[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };
	struct ibv_device *const device = uroce_announce_device(SPEC, VDEV, start_eal, &nb_starts);
	struct ibv_context *context, *other;
	struct account before, after;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	union ibv_gid gid;

	(void)state;
	assert_non_null(device);
	context = uroce_open_device(device);
	other = uroce_open_device(device);
	assert_non_null(context);
	assert_int_not_equal(uroce_get_device_guid(device), 0);
	ask(context, &before);
	assert_int_equal(before.port.state, IBV_PORT_ACTIVE);
	assert_int_equal(before.port.active_mtu, IBV_MTU_2048);
	assert_int_equal(before.nb_vectors, 2);
	assert_int_equal(before.nb_gids, 2);
	assert_memory_equal(before.gid[1].gid.raw, addr, sizeof(addr));
	assert_int_equal(uroce_query_gid(context, 1, 0, &gid), 0);
	assert_int_equal(gid.raw[0], 0xfe);
	assert_int_equal(poll(&(struct pollfd){ context->async_fd, POLLIN, 0 }, 1, 0), 0);
	assert_int_equal(nb_starts, 0);

	pd = uroce_alloc_pd(context);
	assert_non_null(pd);
	cq = uroce_create_cq(other, 1, NULL, NULL, 1);
	assert_non_null(cq);
	assert_int_equal(nb_starts, 1);
	ask(context, &after);
	/*
	 * The link is reported as up before and after the start, although there is no peer.
	 * Programs check the link, and exit if it is down.
	 */
	assert_memory_equal(&before, &after, sizeof(before));

	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_close_device(other), 0);
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_device(device), 0);
}

/*
 * uroced describes an announced device before the device attaches to uroced. The reports are the
 * same afterwards.
 */
static void
announce__of_uroceds_says_the_same_before_and_after(void **state)
{
	static const char spec[] = "uroced,socket=uroce-test-announce,workers=2";
	struct a_switch *const uroced =
		switch_start(&(struct switch_conf){ .path = "uroce-test-announce" });
	struct ibv_device *const device =
		uroce_announce_device(spec, "uroced", start_eal, &nb_starts);
	struct account before, after;
	struct ibv_context *context;
	struct ibv_pd *pd;

	(void)state;
	assert_non_null(device);
	context = uroce_open_device(device);
	assert_non_null(context);
	ask(context, &before);
	assert_int_equal(before.port.state, IBV_PORT_ACTIVE);
	assert_int_equal(before.port.active_mtu, IBV_MTU_4096);
	assert_int_equal(before.nb_gids, switch_host.nb_addr);
	assert_int_equal(switch_nb_clients(uroced), 0);
	pd = uroce_alloc_pd(context);
	assert_non_null(pd);
	assert_int_equal(switch_nb_clients(uroced), 1);
	ask(context, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(poll(&(struct pollfd){ context->async_fd, POLLIN, 0 }, 1, 0), 0);

	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_device(device), 0);
	switch_stop(uroced);
	/* uroced has ended, so no process listens on the socket */
	assert_errno(ECONNREFUSED, uroce_announce_device(spec, "uroced", start_eal, &nb_starts));
	assert_int_equal(unlink("uroce-test-announce"), 0);
	assert_errno(ENOENT, uroce_announce_device(spec, "uroced", start_eal, &nb_starts));
}

static int
start_peer(void *arg)
{
	static char vdev[] = PEER_VDEV;

	(void)arg;
	return start_with(vdev);
}

/* Open the peer's device, and wait until the process is killed. */
static int
be_peer(void)
{
	struct ibv_context *const context =
		uroce_open_device(uroce_announce_device(PEER_SPEC, PEER_VDEV, start_peer, NULL));

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (uroce_alloc_pd(context) == NULL)
		return 1;
	for (;;)
		pause();
}

static pid_t
spawn_peer(void)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		execl(program, program, PEER, NULL);
		_exit(1);
	}
	return pid;
}

static void
expect_port_is(struct ibv_context *context, enum ibv_event_type type, enum ibv_port_state state)
{
	struct ibv_async_event event;
	struct ibv_port_attr port;

	assert_int_equal(poll(&(struct pollfd){ context->async_fd, POLLIN, 0 }, 1, TIMEOUT_MS), 1);
	assert_int_equal(uroce_get_async_event(context, &event), 0);
	assert_int_equal(event.event_type, type);
	uroce_ack_async_event(&event);
	assert_int_equal(uroce_query_port(context, 1, &port), 0);
	assert_int_equal(port.state, state);
}

/* From the time at which there is a peer, the device reports the real state of the link. */
static void
announce__link_goes_down_with_the_peer(void **state)
{
	struct ibv_device *const device = uroce_announce_device(SPEC, VDEV, start_eal, &nb_starts);
	struct ibv_context *const context = uroce_open_device(device);
	struct ibv_pd *const pd = uroce_alloc_pd(context);
	pid_t peer;

	(void)state;
	assert_non_null(pd);
	peer = spawn_peer();
	assert_true(peer > 0);
	expect_port_is(context, IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
	assert_int_equal(kill(peer, SIGKILL), 0);
	assert_int_equal(waitpid(peer, NULL, 0), peer);
	expect_port_is(context, IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_device(device), 0);
}

static int
start_slowly(void *arg)
{
	(void)arg;
	(void)usleep(START_MS * 1000);
	return 0;
}

/*
 * The start of the device takes longer than the timeout of the resolution. The timeout begins after
 * the start, and no peer answers.
 */
static void
resolution__has_its_time_after_the_start(void **state)
{
	struct ibv_device *const device = uroce_announce_device(SPEC, VDEV, start_slowly, NULL);
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(7471) };
	struct rdma_event_channel *const channel = uroce_cm_create_event_channel();
	const uint64_t begin_ms = now_ms();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	(void)state;
	assert_non_null(device);
	assert_non_null(channel);
	assert_int_equal(inet_pton(AF_INET, "192.0.2.99", &peer.sin_addr), 1);
	assert_int_equal(uroce_cm_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_resolve_addr(id, NULL, (struct sockaddr *)&peer, ANSWER_MS), 0);
	assert_int_equal(uroce_cm_get_cm_event(channel, &event), 0);
	assert_int_equal(event->event, RDMA_CM_EVENT_ADDR_ERROR);
	assert_int_equal(event->status, -ETIMEDOUT);
	assert_true(now_ms() - begin_ms >= START_MS + ANSWER_MS);
	assert_int_equal(uroce_cm_ack_cm_event(event), 0);
	assert_int_equal(uroce_cm_destroy_id(id), 0);
	uroce_cm_destroy_event_channel(channel);
	assert_int_equal(uroce_destroy_device(device), 0);
}

/*
 * EAL can be started only once, so the order of the tests matters: the first tests need that EAL
 * does not run.
 */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(announce__refuses_what_it_cannot_tell_of),
		cmocka_unit_test(create__without_EAL_says_what_to_call),
		cmocka_unit_test(announce__ends_when_EAL_does_not_start),
		cmocka_unit_test(announce__says_the_same_before_and_after),
		cmocka_unit_test(announce__of_uroceds_says_the_same_before_and_after),
		cmocka_unit_test(announce__link_goes_down_with_the_peer),
		cmocka_unit_test(resolution__has_its_time_after_the_start),
	};

	if (argc == 2 && strcmp(argv[1], PEER) == 0)
		return be_peer();
	program = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
