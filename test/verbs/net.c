/* SPDX-License-Identifier: BSD-3-Clause */
/* The implementation of net.h: creates the two hosts and their cable. */

#include "net.h"

#include <uroce_dv.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "../dpdk/switch.h"

#define TIMEOUT_S 300 /* time limit in seconds, which only a hang exceeds */
/*
 * Maximum number of attempts to change a QP to RTR. An attempt fails if the peer gets no CPU for 3 s
 * and does not answer ARP.
 */
#define RTR_TRIES 20
#define RING_LEN  4096
/*
 * number of ring pairs of the cable: frames that one end sends on queue i arrive on queue i of the
 * other end
 */
#define NB_QUEUES 2

uint16_t net_port[2];

/* The first CPU above `before` that the process may use; `before` if there is none. */
static unsigned
next_cpu(int before)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		for (int cpu = before + 1; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &set))
				return (unsigned)cpu;
	return before < 0 ? 0 : (unsigned)before;
}

/* The rings of the cable: frames in way[i] are received by host i. */
static struct rte_ring *way[2][NB_QUEUES];

static void
make_cable(void)
{
	char name[RTE_RING_NAMESIZE];

	for (unsigned i = 0; i < 2 * NB_QUEUES; i++) {
		snprintf(name, sizeof(name), "way%u", i);
		way[i % 2][i / 2] = rte_ring_create(name, RING_LEN, 0, 0);
		if (way[i % 2][i / 2] == NULL)
			exit(EXIT_FAILURE);
	}
}

void
net_init_with(const char *mib)
{
	char lcores[64], memory[16];
	const char *const folder = getenv("RUNTIME_DIRECTORY");
	char *argv[] = {
		"test",        "--lcores",      lcores,
		"--no-huge",   "--no-pci",      "-m",
		memory,        "--no-shconf",   folder != NULL ? "--telemetry" : "--no-telemetry",
		"--log-level", "lib.eal:error", NULL
	};

	const unsigned cpu = next_cpu(-1), other = next_cpu((int)cpu);

	/* lcore 0 is for the test, lcores 1 and 2 are for drive=lcore */
	snprintf(lcores, sizeof(lcores), "0@%u,1@%u,2@%u", cpu, other, cpu);
	snprintf(memory, sizeof(memory), "%s", mib);
	if (rte_eal_init(RTE_DIM(argv) - 1, argv) < 0)
		exit(EXIT_FAILURE);
	make_cable();
}

void
net_init(void)
{
	net_init_with("256");
}

/*
 * Create the port of a host again if it was removed with its device. First free the frames in the
 * rings of the host, because no device has received them.
 */
const char *
net_plug(unsigned idx)
{
	static unsigned nb_made;
	static char names[2][RTE_ETH_NAME_MAX_LEN];
	struct rte_mbuf *mbuf;
	char name[32];

	if (names[idx][0] != '\0' && rte_eth_dev_get_port_by_name(names[idx], &net_port[idx]) == 0)
		return names[idx];
	for (unsigned i = 0; i < NB_QUEUES; i++)
		while (rte_ring_dequeue(way[idx][i], (void **)&mbuf) == 0)
			rte_pktmbuf_free(mbuf);
	snprintf(name, sizeof(name), "host%u_%u", idx, nb_made++);
	const int port_id =
		rte_eth_from_rings(name, way[idx], NB_QUEUES, way[1 - idx], NB_QUEUES, 0);

	assert_true(port_id >= 0);
	net_port[idx] = (uint16_t)port_id;
	assert_int_equal(rte_eth_dev_get_name_by_port(net_port[idx], names[idx]), 0);
	return names[idx];
}

static char name[64]; /* path of the socket of the switch */

static void
remove_socket(void)
{
	(void)unlink(name);
}

/*
 * If an environment variable names a switch, attach a device to this switch instead of creating a
 * port. Both hosts are attached to the same switch, so they have one address.
 */
static struct ibv_device *
attached_device(const char *keys)
{
	static const char path[] = "uroce-test-verbs-%d";
	static struct a_switch *one;
	char spec[256];

	snprintf(name, sizeof(name), path, (int)getpid());
	if (one == NULL) {
		one = switch_start(&(struct switch_conf){ .path = name });
		(void)atexit(remove_socket);
	}
	snprintf(spec, sizeof(spec), "uroced,socket=%s%s%s", name, keys ? "," : "",
		 keys ? keys : "");
	return uroce_create_device(spec);
}

bool
net_is_attached(void)
{
	return getenv("UROCE_TEST_ATTACHED") != NULL;
}

struct ibv_device *
net_device(unsigned idx, const char *keys)
{
	char spec[256];

	if (net_is_attached())
		return attached_device(keys);
	snprintf(spec, sizeof(spec), "%s,addr=192.0.2.%u/24,addr=2001:db8::%u/64%s%s",
		 net_plug(idx), idx + 1, idx + 1, keys ? "," : "", keys ? keys : "");
	return uroce_create_device(spec);
}

static void
open_host(struct host *host, struct ibv_device *device, int vector, const struct pair_conf *conf)
{
	const int nb_cqe = conf->nb_cqe ? (int)conf->nb_cqe : 256;
	struct ibv_qp_init_attr init = {
		.qp_type = conf->type,
		.sq_sig_all = !conf->is_quiet,
		.cap = { .max_send_wr = conf->nb_wr ? conf->nb_wr : NB_WR,
			 .max_recv_wr = conf->nb_wr ? conf->nb_wr : NB_WR,
			 .max_send_sge = NB_SGE,
			 .max_recv_sge = NB_SGE },
	};

	*host = (struct host){ 0 };
	assert_non_null(host->context = uroce_open_device(device));
	assert_non_null(host->pd = uroce_alloc_pd(host->context));
	assert_non_null(host->buf = calloc(1, BUF_LEN));
	assert_non_null(host->mr = uroce_reg_mr(host->pd, host->buf, BUF_LEN,
						IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE |
							UROCE_DV_ACCESS_FLUSH_GLOBAL));
	host->scq = uroce_create_cq(host->context, nb_cqe, host, NULL, vector);
	assert_non_null(host->scq);
	host->rcq = uroce_create_cq(host->context, nb_cqe, host, NULL, vector);
	assert_non_null(host->rcq);
	init.send_cq = host->scq;
	init.recv_cq = host->rcq;
	assert_non_null(host->qp = uroce_create_qp(host->pd, &init));
}

static void
drive(struct host *host)
{
	if (!host->context)
		return;
	for (int i = 0; i < uroce_get_worker_count(host->context); i++)
		(void)uroce_worker_poll(uroce_get_worker(host->context, i));
}

static void *
drive_both(void *arg)
{
	struct pair *pair = arg;

	while (!atomic_load(&pair->is_closing)) {
		drive(&pair->a);
		drive(&pair->b);
		sched_yield();
	}
	return NULL;
}

static void
open_both(struct pair *pair, struct ibv_device *const device[2], const struct pair_conf *conf)
{
	pair->conf = *conf;
	open_host(&pair->a, device[0], 0, conf);
	open_host(&pair->b, device[1], conf->is_crossed, conf);
	atomic_store(&pair->is_closing, false);
	if (conf->is_driven)
		assert_int_equal(pthread_create(&pair->driver, NULL, drive_both, pair), 0);
}

void
pair_open(struct pair *pair, const struct pair_conf *conf)
{
	struct ibv_device *device[2];

	for (unsigned i = 0; i < 2; i++)
		assert_non_null(device[i] = net_device(i, conf->keys));
	open_both(pair, device, conf);
	pair->a.device = device[0];
	pair->b.device = device[1];
	pair->a.port_id = net_port[0];
	pair->b.port_id = net_port[1];
}

void
pair_open_on(struct pair *pair, struct ibv_device *device, const struct pair_conf *conf)
{
	assert_non_null(device);
	open_both(pair, (struct ibv_device *[]){ device, device }, conf);
	/* the device is destroyed with host b, when both contexts are closed */
	pair->b.device = device;
}

static void
close_host(struct host *host)
{
	if (host->qp)
		assert_int_equal(uroce_destroy_qp(host->qp), 0);
	if (host->scq)
		assert_int_equal(uroce_destroy_cq(host->scq), 0);
	if (host->rcq)
		assert_int_equal(uroce_destroy_cq(host->rcq), 0);
	if (host->mr)
		assert_int_equal(uroce_dereg_mr(host->mr), 0);
	if (host->pd)
		assert_int_equal(uroce_dealloc_pd(host->pd), 0);
	if (host->context)
		assert_int_equal(uroce_close_device(host->context), 0);
	if (host->device)
		assert_int_equal(uroce_destroy_device(host->device), 0);
	free(host->buf);
	*host = (struct host){ 0 };
}

void
pair_close(struct pair *pair)
{
	if (pair->conf.is_driven) {
		atomic_store(&pair->is_closing, true);
		assert_int_equal(pthread_join(pair->driver, NULL), 0);
	}
	close_host(&pair->a);
	close_host(&pair->b);
}

int
to_init(struct host *host)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ALL_REMOTE | UROCE_DV_ACCESS_FLUSH_GLOBAL,
		.qkey = QKEY,
	};
	const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	return uroce_modify_qp(
		host->qp, &attr,
		mask | (host->qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

/* The attributes that a QP of each type needs for the move to RTR and for the move to RTS. */
static const struct {
	int rtr;
	int rts;
} masks[] = {
	[IBV_QPT_RC] = { IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			 IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				 IBV_QP_MAX_QP_RD_ATOMIC },
	[IBV_QPT_UC] = { IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
			 IBV_QP_SQ_PSN },
	[IBV_QPT_UD] = { 0, IBV_QP_SQ_PSN },
	[IBV_QPT_XRC_SEND] = { IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
			       IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC },
	[IBV_QPT_XRC_RECV] = { IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			       IBV_QP_SQ_PSN | IBV_QP_TIMEOUT },
};

/* The start PSN of a host's QP. It is close to the wrap to 0. */
static uint32_t
psn_of(const struct host *host)
{
	return (0xfffff0 + host->qp->qp_num % 16) & 0xffffff;
}

int
to_rtr(const struct pair *pair, struct host *host, const struct host *peer)
{
	const int gid_index = pair->conf.is_ipv6 ? ADDR_GID + 1 : ADDR_GID;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = pair->conf.mtu ? pair->conf.mtu : IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = psn_of(peer),
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1, /* code of an RNR timer of 0.01 ms */
		.ah_attr = ah_attr_to(peer, gid_index),
	};
	int ret;

	for (unsigned i = 0; i < RTR_TRIES; i++) {
		ret = uroce_modify_qp(host->qp, &attr, IBV_QP_STATE | masks[host->qp->qp_type].rtr);
		if (ret != ETIMEDOUT)
			break;
	}
	return ret;
}

int
to_rts(const struct pair *pair, struct host *host)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn_of(host),
		.timeout = pair->conf.timeout ? pair->conf.timeout : 14,
		.retry_cnt = pair->conf.is_impatient ? pair->conf.retry_cnt : 7,
		.rnr_retry = pair->conf.is_impatient ? pair->conf.rnr_retry : 7,
		.max_rd_atomic = 4,
	};

	return uroce_modify_qp(host->qp, &attr, IBV_QP_STATE | masks[host->qp->qp_type].rts);
}

int
to_state(struct host *host, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return uroce_modify_qp(host->qp, &attr, IBV_QP_STATE);
}

void
pair_connect(struct pair *pair)
{
	assert_int_equal(to_init(&pair->a), 0);
	assert_int_equal(to_init(&pair->b), 0);
	assert_int_equal(to_rtr(pair, &pair->a, &pair->b), 0);
	assert_int_equal(to_rtr(pair, &pair->b, &pair->a), 0);
	assert_int_equal(to_rts(pair, &pair->a), 0);
	assert_int_equal(to_rts(pair, &pair->b), 0);
}

enum ibv_qp_state
state_of(struct host *host)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(uroce_query_qp(host->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

union ibv_gid
gid_of(const struct host *host, int index)
{
	union ibv_gid gid;

	assert_int_equal(uroce_query_gid(host->context, 1, index, &gid), 0);
	return gid;
}

struct ibv_ah_attr
ah_attr_to(const struct host *peer, int index)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = (uint8_t)index,
			 .dgid = gid_of(peer, index),
			 .hop_limit = 8 },
	};
}

struct ibv_ah *
ah_to(const struct host *host, const struct host *peer)
{
	struct ibv_ah_attr attr = ah_attr_to(peer, ADDR_GID);
	struct ibv_ah *ah = uroce_create_ah(host->pd, &attr);

	assert_non_null(ah);
	return ah;
}

struct ibv_sge
sge_of(const struct host *host, uint32_t offset, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)host->buf + offset, len, host->mr->lkey };
}

void
post_send(struct host *host, enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_send_wr *bad = NULL, wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = 0x01020304,
	};

	assert_int_equal(ibv_post_send(host->qp, &wr, &bad), 0);
}

void
post_rdma(struct host *host, const struct host *peer, enum ibv_wr_opcode opcode, uint64_t wr_id,
	  struct ibv_sge sge, uint32_t offset)
{
	struct ibv_send_wr *bad = NULL, wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = 0x01020304,
		.wr.rdma = { (uintptr_t)peer->buf + offset, peer->mr->rkey },
	};

	assert_int_equal(ibv_post_send(host->qp, &wr, &bad), 0);
}

void
post_recv(struct host *host, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr *bad = NULL, wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ibv_post_recv(host->qp, &wr, &bad), 0);
}

struct ibv_wc
wait_for(struct pair *pair, struct ibv_cq *cq)
{
	const uint64_t end = rte_get_tsc_cycles() + TIMEOUT_S * rte_get_tsc_hz();
	struct ibv_wc wc = { 0 };
	int nb = 0;

	while (nb == 0 && rte_get_tsc_cycles() < end) {
		nb = ibv_poll_cq(cq, 1, &wc);
		drive(&pair->a);
		drive(&pair->b);
	}
	assert_int_equal(nb, 1);
	return wc;
}

struct ibv_wc
expect_wc(struct pair *pair, struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status)
{
	const struct ibv_wc wc = wait_for(pair, cq);

	assert_string_equal(uroce_wc_status_str(wc.status), uroce_wc_status_str(status));
	assert_int_equal(wc.wr_id, wr_id);
	return wc;
}

void
expect_none(struct pair *pair)
{
	struct ibv_cq *const cqs[] = { pair->a.scq, pair->a.rcq, pair->b.scq, pair->b.rcq };
	struct ibv_wc wc;

	for (unsigned round = 0; round < 200; round++)
		for (unsigned i = 0; i < RTE_DIM(cqs); i++)
			assert_int_equal(ibv_poll_cq(cqs[i], 1, &wc), 0);
}

/* A thread whose call must wait on a condition variable, and the function that ends its wait. */
struct watch {
	pid_t tid;
	const pthread_cond_t *cond;
	void (*ack)(void *arg);
	void *ack_arg;
	atomic_bool has_returned;
	atomic_bool is_acked;
};

/*
 * Whether a thread sleeps in a futex that belongs to the condition variable `cond`
 * [proc_pid_syscall(5)].
 */
static bool
is_asleep_on(pid_t tid, const pthread_cond_t *cond)
{
	char path[64];
	unsigned long call, addr;
	FILE *file;
	int nb = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)tid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	nb = fscanf(file, "%lu 0x%lx", &call, &addr);
	fclose(file);
	return nb == 2 && call == SYS_futex && addr >= (uintptr_t)cond &&
	       addr < (uintptr_t)(cond + 1);
}

static void *
ack_when_awaited(void *arg)
{
	struct watch *watch = arg;

	while (!is_asleep_on(watch->tid, watch->cond)) {
		if (atomic_load(&watch->has_returned))
			return NULL;
		sched_yield();
	}
	atomic_store(&watch->is_acked, true);
	watch->ack(watch->ack_arg);
	return NULL;
}

void
expect_wait(int (*call)(void *object), void *object, const pthread_cond_t *cond,
	    void (*ack)(void *arg), void *ack_arg)
{
	struct watch watch = { .tid = gettid(), .cond = cond, .ack = ack, .ack_arg = ack_arg };
	pthread_t thread;
	int ret;

	assert_int_equal(pthread_create(&thread, NULL, ack_when_awaited, &watch), 0);
	ret = call(object);
	const bool has_waited = atomic_load(&watch.is_acked);

	atomic_store(&watch.has_returned, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(has_waited);
	assert_int_equal(ret, 0);
}

void
fill(uint8_t *buf, uint32_t len, unsigned seed)
{
	for (uint32_t i = 0; i < len; i++)
		buf[i] = (uint8_t)((i + seed) * 2654435761u >> 13);
}
