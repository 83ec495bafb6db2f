/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Connection management of programs that are attached to one uroced: two devices of this process,
 * and programs that are killed. The connection manager is killed, and uroced is killed.
 *
 *	test-uroced-cm UROCED
 *	test-uroced-cm --victim STATE SOCKET PORT   a program that is killed in a state of a connection
 */

#include "../verbs/cm_user.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"
#include "now_ms.h"
#include "verbs/uroce.h"

#define PORT        7471
#define VICTIM_PORT 7472
#define LEN         4096u
#define TIMEOUT_MS  60000

struct end {
	struct user user;
	struct ibv_device *device;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t buf[2 * LEN]; /* the first half is sent, the second half is received */
};

static struct daemon daemon_ = { .pid = 0 };
static struct end a, b;

/* --- ends of connections ------------------------------------------------------------------------- */

static void
open_end(struct end *end, const char *socket)
{
	char spec[160];

	(void)snprintf(spec, sizeof(spec), "uroced,socket=%s,mtu=1024,qps=64,mrs=64", socket);
	end->device = uroce_create_device(spec);
	assert_non_null(end->device);
	user_open(&end->user, end->device, ADDR_GID);
	end->pd = uroce_alloc_pd(end->user.context);
	end->cq = uroce_create_cq(end->user.context, 64, NULL, NULL, 0);
	end->mr = uroce_reg_mr(end->pd, end->buf, sizeof(end->buf), IBV_ACCESS_LOCAL_WRITE);
	assert_true(end->pd && end->cq && end->mr);
}

static void
make_qp(struct end *end)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (end->qp)
		assert_int_equal(uroce_destroy_qp(end->qp), 0);
	end->qp = uroce_create_qp(end->pd, &attr);
	assert_non_null(end->qp);
}

static void
close_end(struct end *end)
{
	if (!end->device)
		return;
	if (end->qp)
		assert_int_equal(uroce_destroy_qp(end->qp), 0);
	assert_int_equal(uroce_dereg_mr(end->mr), 0);
	assert_int_equal(uroce_destroy_cq(end->cq), 0);
	assert_int_equal(uroce_dealloc_pd(end->pd), 0);
	user_close(&end->user);
	assert_int_equal(uroce_destroy_device(end->device), 0);
	*end = (struct end){ .device = NULL };
}

/* Make the QP ready, as the connection manager says. */
static void
ready_qp(struct end *end, uint32_t id)
{
	const struct uroce_cm_info info = user_query(&end->user, id);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	assert_int_equal(uroce_modify_qp(end->qp, &attr,
					 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						 IBV_QP_ACCESS_FLAGS),
			 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)info.mtu_code,
		.dest_qp_num = info.remote_qpn,
		.rq_psn = info.rq_psn,
		.max_dest_rd_atomic = info.responder_resources,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = ADDR_GID, .hop_limit = 64 } },
	};
	memcpy(attr.ah_attr.grh.dgid.raw, info.av.remote_gid, 16);
	assert_int_equal(uroce_modify_qp(end->qp, &attr,
					 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
						 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
						 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = info.sq_psn,
		.max_rd_atomic = info.initiator_depth,
	};
	assert_int_equal(uroce_modify_qp(end->qp, &attr,
					 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						 IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
						 IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

static void
await_completion(struct end *end)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	struct ibv_wc wc;
	int nb;

	do {
		nb = uroce_poll_cq(end->cq, 1, &wc);
		assert_true(nb >= 0 && now_ms() < until_ms);
	} while (nb == 0);
	if (wc.status != IBV_WC_SUCCESS)
		fail_msg("completion: %s", uroce_wc_status_str(wc.status));
}

/* Send a message from one end to the other. */
static void
exchange(struct end *from, struct end *to)
{
	static uint8_t seed;
	struct ibv_sge in = { (uintptr_t)to->buf + LEN, LEN, to->mr->lkey };
	struct ibv_sge out = { (uintptr_t)from->buf, LEN, from->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &out,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;

	for (unsigned i = 0; i < LEN; i++)
		from->buf[i] = (uint8_t)(i * 7 + seed);
	seed++;
	assert_int_equal(uroce_post_recv(to->qp, &recv, &bad_recv), 0);
	assert_int_equal(uroce_post_send(from->qp, &send, &bad_send), 0);
	await_completion(to);
	await_completion(from);
	assert_memory_equal(to->buf + LEN, from->buf, LEN);
}

/* Connect an end to a port at which the other one listens, and exchange a message. */
static struct user_link
connect_ends(struct end *from, struct end *to, uint16_t port)
{
	const struct uroce_cm_manager_ops *ops = from->user.manager->ops;
	struct user_link link;

	make_qp(from);
	make_qp(to);
	link.active = user_connect(&from->user, &to->user.gid, port, from->qp->qp_num);
	link.passive = user_expect(&to->user, UROCE_CM_EVENT_CONNECT_REQUEST).id;
	ready_qp(to, link.passive);
	user_accept(&to->user, link.passive, to->qp->qp_num);
	assert_int_equal(user_expect(&from->user, UROCE_CM_EVENT_CONNECT_RESPONSE).id, link.active);
	ready_qp(from, link.active);
	assert_int_equal(ops->establish(from->user.manager, link.active, NULL, 0), 0);
	assert_int_equal(user_expect(&to->user, UROCE_CM_EVENT_ESTABLISHED).id, link.passive);
	exchange(from, to);
	exchange(to, from);
	return link;
}

static void
destroy_id(struct end *end, uint32_t id)
{
	assert_int_equal(end->user.manager->ops->destroy(end->user.manager, id), 0);
}

/* --- processes of uroced ------------------------------------------------------------------------- */

/* Read the name and the parent of a process. @return false: it has ended */
static bool
read_stat(const char *pid, char name[32], int *parent)
{
	char path[64 + 256];
	FILE *file;
	int nb;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	file = fopen(path, "re");
	nb = file ? fscanf(file, "%*d (%31[^)]) %*c %d", name, parent) : 0;
	if (file)
		(void)fclose(file);
	return nb == 2;
}

/* Find a child of a process by its name. @return 0: there is none */
static pid_t
child_of(pid_t parent, const char *name)
{
	struct dirent *entry;
	pid_t found = 0;
	DIR *dir = opendir("/proc");

	assert_non_null(dir);
	while ((entry = readdir(dir)) && found == 0) {
		char its_name[32];
		int its_parent;

		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
		    read_stat(entry->d_name, its_name, &its_parent) && its_parent == parent &&
		    strcmp(its_name, name) == 0)
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	(void)closedir(dir);
	return found;
}

static pid_t
await_child(pid_t parent, const char *name)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	pid_t pid;

	while ((pid = child_of(parent, name)) == 0) {
		assert_true(now_ms() < until_ms);
		(void)usleep(10000);
	}
	return pid;
}

static pid_t
manager_pid(void)
{
	return await_child(await_child(daemon_.pid, "uroced-starter"), "uroced-cm");
}

static void
await_end(pid_t pid)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;

	while (kill(pid, 0) == 0) {
		assert_true(now_ms() < until_ms);
		(void)usleep(10000);
	}
}

static void
start_daemon(void)
{
	daemon_.has_cm = true;
	daemon_start(&daemon_);
}

static int
set_up(void **state)
{
	(void)state;
	daemon_make(&daemon_);
	start_daemon();
	open_end(&a, daemon_.socket);
	open_end(&b, daemon_.socket);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	close_end(&a);
	close_end(&b);
	daemon_remove(&daemon_);
	return 0;
}

/* --- victims ------------------------------------------------------------------------------------- */

enum victim_state { LISTENS, WAITS_AT_LISTENER, CONNECTS, ACCEPTED, ESTABLISHED, NB_STATES };

/* The program that is killed. It writes a byte when it is in its state. */
__attribute__((noreturn)) static void
be_victim(enum victim_state state, const char *socket, uint16_t port)
{
	static struct end end;
	struct uroce_cm_event event;
	uint32_t id;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_end(&end, socket);
	make_qp(&end);
	if (state == CONNECTS) {
		(void)user_connect(&end.user, &end.user.gid, port, end.qp->qp_num);
	} else {
		(void)user_listen(&end.user, port, 0);
		(void)!write(STDOUT_FILENO, "l", 1);
	}
	if (state == ACCEPTED || state == ESTABLISHED) {
		event = user_expect(&end.user, UROCE_CM_EVENT_CONNECT_REQUEST);
		id = event.id;
		ready_qp(&end, id);
		user_accept(&end.user, id, end.qp->qp_num);
		if (state == ESTABLISHED)
			(void)user_expect(&end.user, UROCE_CM_EVENT_ESTABLISHED);
	}
	(void)!write(STDOUT_FILENO, "s", 1);
	for (;;)
		(void)pause();
}

struct victim {
	pid_t pid;
	int fd;
};

static void
start_victim(struct victim *victim, enum victim_state state, uint16_t port)
{
	char nth[8], port_text[8];
	int ends[2];

	(void)snprintf(nth, sizeof(nth), "%d", state);
	(void)snprintf(port_text, sizeof(port_text), "%u", port);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	victim->pid = fork();
	assert_true(victim->pid >= 0);
	if (victim->pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)execl("/proc/self/exe", "test-uroced-cm", "--victim", nth, daemon_.socket,
			    port_text, NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	victim->fd = ends[0];
}

static void
await_victim(const struct victim *victim, char what)
{
	char got = 0;

	while (got != what)
		assert_int_equal(read(victim->fd, &got, 1), 1);
}

static void
kill_victim(struct victim *victim)
{
	assert_int_equal(kill(victim->pid, SIGKILL), 0);
	assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
	(void)close(victim->fd);
}

/* --- tests --------------------------------------------------------------------------------------- */

static void
clients__connect_and_exchange(void **state)
{
	const struct uroce_cm_manager_ops *ops;
	struct user_link link;

	(void)state;
	ops = a.user.manager->ops;
	(void)user_listen(&b.user, PORT, 0);
	for (unsigned i = 0; i < 3; i++) {
		link = connect_ends(&a, &b, PORT);
		assert_int_equal(ops->disconnect(a.user.manager, link.active, NULL, 0), 0);
		assert_int_equal(user_expect(&b.user, UROCE_CM_EVENT_DISCONNECTED).id,
				 link.passive);
		assert_int_equal(ops->disconnect(b.user.manager, link.passive, NULL, 0), 0);
		assert_int_equal(user_expect(&a.user, UROCE_CM_EVENT_DISCONNECTED).id, link.active);
		destroy_id(&a, link.active);
		destroy_id(&b, link.passive);
	}
	user_expect_none(&a.user);
	user_expect_none(&b.user);
}

static void
qpn__of_another_client_is_refused(void **state)
{
	const struct uroce_cm_manager_ops *ops = a.user.manager->ops;
	const struct uroce_cm_addr remote = { 4, PORT, { [12] = 192, [14] = 2, [15] = 1 } };
	struct uroce_cm_addr local = { 4, 0, { [12] = 192, [14] = 2, [15] = 1 } };
	struct uroce_cm_param param = { .mtu_code = IBV_MTU_1024 };
	struct uroce_cm_av av = { .port = 1, .hop_limit = 64 };
	uint32_t id;

	(void)state;
	make_qp(&a);
	make_qp(&b);
	memcpy(av.local_gid, a.user.gid.raw, 16);
	memcpy(av.remote_gid, a.user.gid.raw, 16);
	assert_int_equal(ops->create(a.user.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(ops->bind(a.user.manager, id, &local, false, false), 0);
	param.qpn = b.qp->qp_num;
	assert_int_equal(ops->connect(a.user.manager, id, &remote, &av, &param), -EPERM);
	param.qpn = 1;
	assert_int_equal(ops->connect(a.user.manager, id, &remote, &av, &param), -EPERM);
	param.qpn = a.qp->qp_num;
	av.local_gid[15]++;
	assert_int_equal(ops->connect(a.user.manager, id, &remote, &av, &param), -EADDRNOTAVAIL);
	av.local_gid[15]--;
	assert_int_equal(ops->connect(a.user.manager, id, &remote, &av, &param), 0);
	/* nobody listens there */
	assert_int_equal(user_expect(&a.user, UROCE_CM_EVENT_REJECTED).status,
			 UROCE_CM_REASON_INVALID_SERVICE_ID);
	local.port = PORT;
	local.ip[15] = 77;
	assert_int_equal(ops->create(a.user.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(ops->bind(a.user.manager, id, &local, false, false), -EADDRNOTAVAIL);
}

/* Clients have one port space. */
static void
port__is_bound_once(void **state)
{
	const struct uroce_cm_manager_ops *ops = a.user.manager->ops;
	const struct uroce_cm_addr local = { 4, PORT, { [12] = 192, [14] = 2, [15] = 1 } };
	uint32_t id, listener;

	(void)state;
	listener = user_listen(&b.user, PORT, 0);
	assert_int_equal(ops->create(a.user.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	assert_int_equal(ops->bind(a.user.manager, id, &local, false, false), -EADDRINUSE);
	destroy_id(&b, listener);
	assert_int_equal(ops->bind(a.user.manager, id, &local, false, false), 0);
}

/* Wait until a port that a killed client had is free. */
static void
await_port(uint16_t port)
{
	const struct uroce_cm_manager_ops *ops = a.user.manager->ops;
	const struct uroce_cm_addr local = { 4, port, { [12] = 192, [14] = 2, [15] = 1 } };
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	uint32_t id;

	assert_int_equal(ops->create(a.user.manager, UROCE_CM_PS_TCP, false, 0, &id), 0);
	while (ops->bind(a.user.manager, id, &local, false, false) == -EADDRINUSE) {
		assert_true(now_ms() < until_ms);
		(void)usleep(1000);
	}
	destroy_id(&a, id);
}

static void
client__that_is_killed_ends_its_connections(void **state)
{
	const struct uroce_cm_manager_ops *ops = a.user.manager->ops;
	struct victim victim;
	uint32_t id;

	(void)state;
	for (enum victim_state at = LISTENS; at < NB_STATES; at++) {
		const bool is_asked = at == CONNECTS;

		if (is_asked)
			id = user_listen(&a.user, VICTIM_PORT, 0);
		make_qp(&a);
		start_victim(&victim, at, VICTIM_PORT);
		if (is_asked) {
			const uint32_t new =
				user_expect(&a.user, UROCE_CM_EVENT_CONNECT_REQUEST).id;

			await_victim(&victim, 's');
			kill_victim(&victim);
			assert_int_equal(user_expect(&a.user, UROCE_CM_EVENT_REJECTED).id, new);
			destroy_id(&a, new);
			destroy_id(&a, id);
			continue;
		}
		await_victim(&victim, 'l');
		id = UROCE_CM_NO_ID;
		if (at != LISTENS)
			id = user_connect(&a.user, &a.user.gid, VICTIM_PORT, a.qp->qp_num);
		if (at == ACCEPTED || at == ESTABLISHED) {
			(void)user_expect(&a.user, UROCE_CM_EVENT_CONNECT_RESPONSE);
			ready_qp(&a, id);
		}
		if (at == ESTABLISHED)
			assert_int_equal(ops->establish(a.user.manager, id, NULL, 0), 0);
		await_victim(&victim, 's');
		kill_victim(&victim);
		if (id != UROCE_CM_NO_ID) {
			const struct uroce_cm_event event = user_await(&a.user, NULL, NULL);

			assert_int_equal(event.id, id);
			assert_int_equal(event.kind, at == WAITS_AT_LISTENER
							     ? UROCE_CM_EVENT_REJECTED
							     : UROCE_CM_EVENT_DISCONNECTED);
			destroy_id(&a, id);
		}
		await_port(VICTIM_PORT);
	}
}

/* Expect that a connection whose manager has ended goes on, and that new ones can be made. */
static void
expect_new_connections(const struct user_link *link)
{
	struct end *ends[] = { &a, &b };
	const uint32_t ids[] = { link->active, link->passive };

	for (unsigned i = 0; i < 2; i++) {
		struct user *user = &ends[i]->user;
		const struct uroce_cm_event event = user_expect(user, UROCE_CM_EVENT_DISCONNECTED);

		assert_int_equal(event.id, ids[i]);
		assert_int_equal(event.status, -EIO);
		assert_int_equal(user->manager->ops->disconnect(user->manager, ids[i], NULL, 0),
				 -EIO);
	}
	/* the QPs know nothing of it */
	exchange(&a, &b);
	exchange(&b, &a);
	destroy_id(&a, link->active);
	destroy_id(&b, link->passive);
}

static void
manager__that_is_killed_is_started_again(void **state)
{
	struct user_link link;
	pid_t pid;

	(void)state;
	(void)user_listen(&b.user, PORT, 0);
	link = connect_ends(&a, &b, PORT);
	for (unsigned i = 0; i < 3; i++) {
		pid = manager_pid();
		assert_int_equal(kill(pid, SIGKILL), 0);
		await_end(pid);
		expect_new_connections(&link);
		/* the listener listens again */
		link = connect_ends(&a, &b, PORT);
	}
	user_expect_none(&a.user);
	user_expect_none(&b.user);
}

static void
uroced__that_is_killed_and_started_serves_again(void **state)
{
	struct user_link link;

	(void)state;
	(void)user_listen(&b.user, PORT, 0);
	link = connect_ends(&a, &b, PORT);
	for (unsigned i = 0; i < 3; i++) {
		daemon_kill(&daemon_);
		start_daemon();
		expect_new_connections(&link);
		link = connect_ends(&a, &b, PORT);
	}
}

static void
uroced__leaves_no_process_and_no_socket(void **state)
{
	char path[128];
	pid_t pids[3];

	(void)state;
	(void)user_listen(&b.user, PORT, 0);
	(void)connect_ends(&a, &b, PORT);
	(void)snprintf(path, sizeof(path), "%s.cm", daemon_.socket);
	assert_int_equal(access(path, F_OK), 0);
	pids[0] = manager_pid();
	pids[1] = await_child(daemon_.pid, "uroced-starter");
	pids[2] = await_child(daemon_.pid, "uroced-reader");
	daemon_end(&daemon_);
	for (unsigned i = 0; i < 3; i++)
		await_end(pids[i]);
	assert_int_equal(access(path, F_OK), -1);
}

/* Descriptors and clients of uroced are the same after clients have come and gone. */
static void
clients__that_go_leave_nothing(void **state)
{
	unsigned slots[16], nb_fds, nb_clients;
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	struct victim victim;

	(void)state;
	(void)manager_pid();
	nb_fds = daemon_nb_fds(&daemon_);
	nb_clients = daemon_clients(&daemon_, slots, 16);
	for (unsigned i = 0; i < 3; i++) {
		start_victim(&victim, LISTENS, VICTIM_PORT);
		await_victim(&victim, 's');
		kill_victim(&victim);
	}
	while (daemon_clients(&daemon_, slots, 16) != nb_clients ||
	       daemon_nb_fds(&daemon_) > nb_fds) {
		assert_true(now_ms() < until_ms);
		(void)usleep(10000);
	}
	await_port(VICTIM_PORT);
}

static void
uroced__without_cm_serves_no_connection_management(void **state)
{
	struct uroce_cm_manager *manager;
	struct ibv_context *context;
	struct ibv_device *device;
	char spec[160];

	(void)state;
	daemon_make(&daemon_);
	daemon_start(&daemon_);
	(void)snprintf(spec, sizeof(spec), "uroced,socket=%s,qps=64,mrs=64", daemon_.socket);
	device = uroce_create_device(spec);
	assert_non_null(device);
	context = uroce_open_device(device);
	assert_non_null(context);
	assert_int_equal(uroce_cm_manager_open(context, (void (*)(void *))free, NULL, &manager),
			 -ECONNREFUSED);
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_device(device), 0);
	daemon_remove(&daemon_);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(clients__connect_and_exchange),
		TEST(qpn__of_another_client_is_refused),
		TEST(port__is_bound_once),
		TEST(client__that_is_killed_ends_its_connections),
		TEST(manager__that_is_killed_is_started_again),
		TEST(uroced__that_is_killed_and_started_serves_again),
		TEST(clients__that_go_leave_nothing),
		TEST(uroced__leaves_no_process_and_no_socket),
		cmocka_unit_test(uroced__without_cm_serves_no_connection_management),
	};

	if (argc < 2)
		return 1;
	(void)unsetenv("RUNTIME_DIRECTORY");
	net_init();
	if (argc == 5 && strcmp(argv[1], "--victim") == 0)
		be_victim((enum victim_state)strtol(argv[2], NULL, 10), argv[3],
			  (uint16_t)strtoul(argv[4], NULL, 10));
	daemon_program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
