/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry of devices, QPs and connection management, which the test reads from EAL's socket:
 * while devices exist, while none exists, and while devices are created and destroyed.
 */

#include "cm_rig.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "uroce_dv.h"

#define ANSWER_LEN (64 << 10)
#define NB_MANY    600 /* number of QPs, which do not fit one response */

static char folder[] = "/tmp/uroce-telemetry-XXXXXX";

/* --- queries over EAL's socket -------------------------------------------------------------------- */

/* Connect to EAL's socket, and read EAL's greeting. @return a descriptor */
static int
dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char greeting[1024];

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dpdk/rte/dpdk_telemetry.v2", folder);
	/*
	 * EAL serves ten connections, and closes further ones at once. On a loaded machine EAL may
	 * not have noticed yet that the test has closed earlier ones, so repeat the attempt.
	 */
	for (int nb_trials = 0; nb_trials < 10000; nb_trials++) {
		const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		assert_true(fd >= 0);
		assert_int_equal(connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
		if (recv(fd, greeting, sizeof(greeting), 0) > 0)
			return fd;
		close(fd);
		usleep(10000);
	}
	fail_msg("EAL's telemetry accepts no connection");
	return -1;
}

/* Send a command, and get its response without the JSON that EAL adds around it. */
static void
query_by(int fd, const char *command, char answer[ANSWER_LEN])
{
	ssize_t len;
	char *begin;

	assert_int_equal(send(fd, command, strlen(command), 0), (ssize_t)strlen(command));
	len = recv(fd, answer, ANSWER_LEN - 1, 0);
	assert_true(len > 2);
	answer[len - 1] = '\0';
	begin = strchr(answer, ':');
	assert_non_null(begin);
	memmove(answer, begin + 1, strlen(begin));
}

static const char *
query(const char *command)
{
	static char response[ANSWER_LEN];
	const int fd = dial();

	query_by(fd, command, response);
	close(fd);
	return response;
}

static const char *
query_qp(const char *device, uint32_t qpn)
{
	char command[64];

	snprintf(command, sizeof(command), "/uroce/qp,%s,0x%x", device, qpn);
	return query(command);
}

/* Find the value of a key in a telemetry response. */
static const char *
value_of(const char *response, const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(response, key);
	if (at == NULL)
		fail_msg("there is no %s in %s", name, response);
	return at != NULL ? at + strlen(key) : response;
}

static uint64_t
number(const char *response, const char *name)
{
	return strtoull(value_of(response, name), NULL, 10);
}

static void
expect_text(const char *response, const char *text)
{
	if (strstr(response, text) == NULL)
		fail_msg("there is no %s in %s", text, response);
}

/* --- devices and QPs, one query after the other ---------------------------------------------------- */

static void
devices__that_are_up(void **state)
{
	struct pair net;

	(void)state;
	/*
	 * the response is null, because the commands of uroce do not exist before the first device
	 */
	assert_string_equal(query("/uroce/devices"), "null");
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	assert_string_equal(query("/uroce/devices"), "[\"uroce0\",\"uroce1\"]");
	pair_close(&net);
	assert_string_equal(query("/uroce/devices"), "[]");
}

static void
device__tells_what_the_program_reads(void **state)
{
	struct uroce_dv_counter counter[128];
	struct pair net;
	const char *answer;
	unsigned nb;

	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	pair_connect(&net);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 3000), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	answer = query("/uroce/device,uroce1");
	nb = uroce_query_counters(net.b.context, counter, 128);
	/* between the two reads of the counters the device is idle, so only rounds are counted */
	for (unsigned i = 0; i < nb; i++)
		if (strstr(counter[i].name, "rounds") == NULL)
			assert_int_equal(number(answer, counter[i].name), counter[i].value);
	assert_int_equal(number(answer, "qps"), 1);
	assert_int_equal(number(answer, "mrs"), 1);
	assert_int_equal(number(answer, "workers"), 1);
	assert_int_equal(number(answer, "request"), 3);
	assert_int_equal(number(answer, "bad_icrc"), 0);
	expect_text(answer, "\"name\":\"uroce1\"");
	expect_text(answer, "\"link\":\"up\"");
	expect_text(answer, "\"port\":\"net_ring_host1_");
	pair_close(&net);
}

static void
counters__each_has_its_sentence(void **state)
{
	struct uroce_dv_counter counter[128];
	char wanted[256];
	struct pair net;
	unsigned nb;

	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	nb = uroce_query_counters(net.a.context, counter, 128);
	nb += uroce_query_qp_counters(net.a.qp, counter + nb, 128 - nb);
	for (unsigned i = 0; i < nb; i++) {
		snprintf(wanted, sizeof(wanted), "\"%s\":\"%s\"", counter[i].name, counter[i].text);
		expect_text(query("/uroce/counters"), wanted);
	}
	pair_close(&net);
}

static void
qp__tells_its_state_and_its_peer(void **state)
{
	struct pair net;
	const char *answer;
	uint32_t qpn;

	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	qpn = net.a.qp->qp_num;
	answer = query_qp("uroce0", qpn);
	expect_text(answer, "\"state\":\"RESET\"");
	expect_text(answer, "\"type\":\"RC\"");
	assert_null(strstr(answer, "peer"));
	pair_connect(&net);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 3000), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	answer = query_qp("uroce0", qpn);
	expect_text(answer, "\"state\":\"RTS\"");
	expect_text(answer, "\"peer\":\"192.0.2.2\"");
	assert_int_equal(number(answer, "dest_qpn"), net.b.qp->qp_num);
	assert_int_equal(number(answer, "qpn"), qpn);
	assert_int_equal(number(answer, "mtu"), 1024);
	assert_int_equal(number(answer, "sent_pkts"), 3);
	assert_int_equal(number(answer, "sent_bytes"), 3000);
	assert_string_equal(query_qp("uroce1", qpn), "null");
	assert_int_equal(uroce_destroy_qp(net.a.qp), 0);
	net.a.qp = NULL;
	assert_string_equal(query_qp("uroce0", qpn), "null");
	pair_close(&net);
}

static void
qp__of_other_types(void **state)
{
	struct pair net;

	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_UD, .is_ipv6 = true });
	pair_connect(&net);
	expect_text(query_qp("uroce0", net.a.qp->qp_num), "\"type\":\"UD\"");
	assert_null(strstr(query_qp("uroce0", net.a.qp->qp_num), "peer"));
	pair_close(&net);
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_UC, .is_ipv6 = true });
	pair_connect(&net);
	expect_text(query_qp("uroce0", net.a.qp->qp_num), "\"type\":\"UC\"");
	expect_text(query_qp("uroce0", net.a.qp->qp_num), "\"peer\":\"2001:db8::2\"");
	pair_close(&net);
}

static void
request__for_what_is_not_there(void **state)
{
	static const char *const commands[] = {
		"/uroce/device",
		"/uroce/device,",
		"/uroce/device,uroce7",
		"/uroce/device,uroce",
		"/uroce/device,uroce00",
		"/uroce/qps",
		"/uroce/qps,uroce7",
		"/uroce/qp",
		"/uroce/qp,uroce0",
		"/uroce/qp,uroce0,",
		"/uroce/qp,uroce0,0",
		"/uroce/qp,uroce0,one",
		"/uroce/qp,uroce0,-1",
		"/uroce/qp,uroce0,16777215",
		"/uroce/qp,uroce0,99999999999999999999",
	};
	struct pair net;

	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		assert_string_equal(query(commands[i]), "null");
	pair_close(&net);
}

/* The list of QPs needs several responses. Each QP is in one of them. */
static void
qps__are_listed_in_pieces(void **state)
{
	static uint32_t seen[NB_MANY + 2];
	struct ibv_qp *qp[NB_MANY];
	char command[64] = "/uroce/qps,uroce0";
	unsigned nb = 0, nb_answers = 0, nb_found = 0;
	struct pair net;

	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	struct ibv_qp_init_attr init = { .send_cq = net.a.scq,
					 .recv_cq = net.a.rcq,
					 .qp_type = IBV_QPT_RC };

	for (unsigned i = 0; i < NB_MANY; i++) {
		init.cap = (struct ibv_qp_cap){ .max_send_wr = 1, .max_recv_wr = 1 };
		qp[i] = uroce_create_qp(net.a.pd, &init);
		assert_non_null(qp[i]);
	}
	for (const char *at = query(command); *at != '\0' && strcmp(at, "[]") != 0; nb_answers++) {
		char *end;

		for (at++; *at != '\0' && *at != ']'; at = *end == ',' ? end + 1 : end) {
			assert_true(nb < NB_MANY + 2);
			seen[nb++] = (uint32_t)strtoul(at, &end, 10);
		}
		snprintf(command, sizeof(command), "/uroce/qps,uroce0,%u", seen[nb - 1]);
		at = query(command);
	}
	assert_true(nb_answers > 1);
	assert_int_equal(nb, NB_MANY + 1);
	for (unsigned i = 0; i < nb; i++)
		for (unsigned j = 0; j < NB_MANY; j++)
			nb_found += seen[i] == qp[j]->qp_num;
	assert_int_equal(nb_found, NB_MANY);
	for (unsigned i = 0; i < NB_MANY; i++)
		assert_int_equal(uroce_destroy_qp(qp[i]), 0);
	pair_close(&net);
}

/* --- messages and ids of connection management ----------------------------------------------------- */

/* Get a number from an object of a telemetry response. */
static uint64_t
number_in(const char *response, const char *object, const char *name)
{
	return number(value_of(response, object), name);
}

/*
 * A busy machine retransmits messages of connection management. The next two functions count each
 * message once: they subtract retransmissions and duplicates.
 */

static uint64_t
nb_first_sent(const char *command, const char *name)
{
	const char *response = query(command);

	return number_in(response, "cm_tx_msgs", name) - number_in(response, "cm_tx_retries", name);
}

static uint64_t
nb_first_received(const char *command, const char *name)
{
	const char *response = query(command);

	return number_in(response, "cm_rx_msgs", name) -
	       number_in(response, "cm_rx_duplicates", name);
}

static void
expect_cm_names(const char *response)
{
	static const char *const objects[] = { "cm_tx_msgs", "cm_tx_retries", "cm_rx_msgs",
					       "cm_rx_duplicates" };
	static const char *const names[] = { "req",  "mra",      "rej",      "rep", "rtu", "dreq",
					     "drep", "sidr_req", "sidr_rep", "lap", "apr" };

	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
			(void)number_in(response, objects[i], names[j]);
}

static void
cm__counts_messages_by_the_names_of_the_kernel(void **state)
{
	struct cm_rig rig;

	(void)state;
	rig_open(&rig, NULL);
	/* the response is null, because the devices have had no ids of connection management */
	assert_string_equal(query("/uroce/cm,uroce0"), "null");
	rig_connect(&rig);
	expect_cm_names(query("/uroce/cm,uroce0"));
	assert_int_equal(nb_first_sent("/uroce/cm,uroce0", "req"), 1);
	assert_int_equal(nb_first_sent("/uroce/cm,uroce0", "rtu"), 1);
	assert_int_equal(nb_first_sent("/uroce/cm,uroce0", "rep"), 0);
	assert_int_equal(nb_first_received("/uroce/cm,uroce1", "req"), 1);
	assert_int_equal(nb_first_received("/uroce/cm,uroce1", "rtu"), 1);
	assert_int_equal(nb_first_received("/uroce/cm,uroce1", "rep"), 0);
	assert_int_equal(nb_first_sent("/uroce/cm,uroce1", "rep"), 1);
	expect_text(query("/uroce/cm,uroce1"), "\"cm_drops\":{\"backlog_full\":0,");
	expect_text(query("/uroce/cm,uroce1"), "\"replies\":0,\"superseded\":0,");
	rig_close(&rig);
	assert_string_equal(query("/uroce/cm,uroce0"), "null");
	assert_string_equal(query("/uroce/cm"), "null");
}

static void
cm_ids__are_listeners_and_connections(void **state)
{
	struct cm_rig rig;
	const char *answer;

	(void)state;
	rig_open(&rig, NULL);
	assert_string_equal(query("/uroce/cm_ids,uroce0"), "null");
	rig_connect(&rig);
	answer = query("/uroce/cm_ids,uroce1");
	expect_text(answer, "\"state\":\"LISTEN\",\"space\":\"TCP\",\"side\":\"none\","
			    "\"local\":\"192.0.2.2:7471\"");
	expect_text(answer, "\"state\":\"ESTABLISHED\",\"space\":\"TCP\",\"side\":\"passive\"");
	answer = query("/uroce/cm_ids,uroce0");
	expect_text(answer, "\"state\":\"ESTABLISHED\",\"space\":\"TCP\",\"side\":\"active\"");
	expect_text(answer, "\"remote\":\"192.0.2.2:7471\"");
	assert_int_equal(number(answer, "qpn"), rig.a.id->qp->qp_num);
	assert_int_equal(number(answer, "dest_qpn"), rig.b.id->qp->qp_num);
	assert_int_equal(number(answer, "destroyed"), 0);
	assert_null(strstr(answer, "left_ms"));
	rig_close(&rig);
}

/* The list of ids needs several responses. Each id is in one of them. */
static void
cm_ids__are_listed_in_pieces(void **state)
{
	char command[64] = "/uroce/cm_ids,uroce0";
	struct rdma_cm_id *id[100];
	unsigned nb = 0, nb_answers = 0;
	uint32_t last = 0, next;
	struct cm_rig rig;

	(void)state;
	rig_open(&rig, NULL);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(uroce_cm_create_id(rig.channel[0], &id[i], NULL, RDMA_PS_TCP), 0);
		assert_int_equal(uroce_cm_bind_addr(id[i], sa_of(HOST_A6, 0)), 0);
		assert_int_equal(uroce_cm_listen(id[i], 0), 0);
	}
	for (const char *at = query(command); strcmp(at, "{}") != 0; nb_answers++) {
		while ((at = strstr(at, "\"id\":")) != NULL) {
			at += strlen("\"id\":");
			next = (uint32_t)strtoul(at, NULL, 10);
			assert_true(nb == 0 || next > last);
			last = next;
			nb++;
		}
		snprintf(command, sizeof(command), "/uroce/cm_ids,uroce0,%u", last);
		at = query(command);
	}
	assert_int_equal(nb, 100);
	assert_true(nb_answers > 1);
	assert_string_equal(query("/uroce/cm_ids,uroce0,16777215"), "{}");
	assert_string_equal(query("/uroce/cm_ids,uroce0,-1"), "{}");
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(uroce_cm_destroy_id(id[i]), 0);
	rig_close(&rig);
}

/* --- queries of several threads at once ------------------------------------------------------------- */

static atomic_bool is_over;
static atomic_uint last_qpn, nb_queries;

static void *
query_on(void *arg)
{
	char *const answer = malloc(ANSWER_LEN);
	const int fd = dial();
	char command[64];

	(void)arg;
	while (!atomic_load(&is_over)) {
		query_by(fd, "/uroce/devices", answer);
		query_by(fd, "/uroce/device,uroce0", answer);
		query_by(fd, "/uroce/qps,uroce1", answer);
		snprintf(command, sizeof(command), "/uroce/qp,uroce0,%u", atomic_load(&last_qpn));
		query_by(fd, command, answer);
		query_by(fd, "/uroce/cm,uroce1", answer);
		query_by(fd, "/uroce/cm_ids,uroce1", answer);
		atomic_fetch_add(&nb_queries, 1);
	}
	close(fd);
	free(answer);
	return NULL;
}

/*
 * Create a listener of connection management, and destroy it. From then on the telemetry of the
 * device includes connection management.
 */
static void
listen_for_a_moment(void)
{
	struct rdma_event_channel *const channel = uroce_cm_create_event_channel();
	struct rdma_cm_id *id;

	assert_non_null(channel);
	assert_int_equal(uroce_cm_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_cm_bind_addr(id, sa_of(HOST_B, RIG_PORT)), 0);
	assert_int_equal(uroce_cm_listen(id, 0), 0);
	assert_int_equal(uroce_cm_destroy_id(id), 0);
	uroce_cm_destroy_event_channel(channel);
}

/*
 * Other threads read telemetry while devices with different keys are created and destroyed, and
 * while QPs with traffic are destroyed.
 */
static void
request__while_they_come_and_go(void **state)
{
	static const char *const keys[] = { NULL, "drive=lcore", "workers=2" };
	pthread_t thread[2];
	struct pair net;
	unsigned before;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, query_on, NULL), 0);
	for (unsigned round = 0; round < 12; round++) {
		pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC,
						     .keys = keys[round % 3],
						     .timeout = 18 });
		atomic_store(&last_qpn, net.a.qp->qp_num);
		pair_connect(&net);
		listen_for_a_moment();
		before = atomic_load(&nb_queries);
		do {
			post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 30000),
				  0);
			expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
		} while (atomic_load(&nb_queries) - before < 4);
		pair_close(&net);
	}
	atomic_store(&is_over, true);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
}

static int
remove_one(const char *path, const struct stat *stat, int type, struct FTW *at)
{
	(void)stat;
	(void)type;
	(void)at;
	return remove(path);
}

static void
remove_folder(void)
{
	(void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices__that_are_up),
		cmocka_unit_test(device__tells_what_the_program_reads),
		cmocka_unit_test(counters__each_has_its_sentence),
		cmocka_unit_test(qp__tells_its_state_and_its_peer),
		cmocka_unit_test(qp__of_other_types),
		cmocka_unit_test(request__for_what_is_not_there),
		cmocka_unit_test(qps__are_listed_in_pieces),
		cmocka_unit_test(cm__counts_messages_by_the_names_of_the_kernel),
		cmocka_unit_test(cm_ids__are_listeners_and_connections),
		cmocka_unit_test(cm_ids__are_listed_in_pieces),
		cmocka_unit_test(request__while_they_come_and_go),
	};

	if (mkdtemp(folder) == NULL || setenv("RUNTIME_DIRECTORY", folder, 1) != 0)
		return 1;
	(void)atexit(remove_folder);
	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
