/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Removal of a NIC while traffic runs. Two processes write to each other's memory. The NIC of the
 * client is unplugged, and plugged again for the next round. The server runs on any port.
 *
 *	ROUNDS=N removal [EAL options] -- --uroce=PORT,addr=192.0.2.1/24           the server
 *	ROUNDS=N removal [EAL options] -- --uroce=PCI-ADDRESS,addr=192.0.2.2/24 SERVER
 *
 * The client prints "traffic N" when the requests of round N are in flight. After that line the NIC
 * must be unplugged, plugged again, and bound to vfio-pci. In each round the client checks that
 *
 *	- the removal is reported once, and the port is down;
 *	- each request of both processes completes: the first that fails has no retries left, and the
 *	  others are flushed;
 *	- the other devices of the process continue;
 *	- the kernel can remove the NIC after the device of the NIC was destroyed;
 *	- no round leaves a descriptor or memory of EAL's heap behind.
 *
 * An alarm ends a process that does not continue for a minute.
 */

#define ALLOW_EXPERIMENTAL_API

#include <pthread.h>
#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include <uroce.h>

#include "../../apps/examples/side.h"

#define LEN          65536u
#define NB_WR        16u  /* requests in flight */
#define NB_WARM_UP   64u  /* completions before the NIC is removed */
#define NB_OTHERS    100u /* requests of the other devices that must complete after the removal */
#define TIMEOUT_CODE 17   /* of an ACK timeout of 0.54 s */
#define HANG_S       60
#define RING_LEN     1024
#define PAUSE_US     1000

/* --- the other devices of the process: two ports on a cable, and a thread that sends -------------- */

static struct cable {
	struct side end[2];
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_mr *mr[2];
	uint8_t buf[2][4096];
	pthread_t sender;
	atomic_uint nb_done; /* requests that have completed */
	atomic_bool is_ending;
} cable;

static struct ibv_qp *
make_qp(const struct side *side, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = NB_WR,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = uroce_create_qp(side->pd, &attr);

	check(qp != NULL, "no queue pair");
	return qp;
}

static void
post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, const struct ibv_mr *mr, uint32_t len,
     uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, len, mr->lkey };
	struct ibv_send_wr *bad, wr = { .opcode = opcode,
					.sg_list = &sge,
					.num_sge = 1,
					.wr.rdma = { .remote_addr = addr, .rkey = rkey } };

	check(ibv_post_send(qp, &wr, &bad) == 0, "a request is refused");
}

static struct ibv_wc
wait_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) == 0)
		sched_yield();
	return wc;
}

static void *
send_over_cable(void *arg)
{
	(void)arg;
	while (!atomic_load(&cable.is_ending)) {
		post(cable.qp[0], IBV_WR_RDMA_WRITE, cable.mr[0], sizeof(cable.buf[0]),
		     (uintptr_t)cable.buf[1], cable.mr[1]->rkey);
		check(wait_wc(cable.cq[0]).status == IBV_WC_SUCCESS, "another device has failed");
		check(memcmp(cable.buf[0], cable.buf[1], sizeof(cable.buf[0])) == 0,
		      "another device has lost bytes");
		cable.buf[0][0]++;
		atomic_fetch_add(&cable.nb_done, 1);
		usleep(PAUSE_US);
	}
	return NULL;
}

static void
open_cable_end(unsigned i, struct rte_ring *way[2])
{
	char name[32], spec[96];
	struct side *end = &cable.end[i];

	snprintf(name, sizeof(name), "cable%u", i);
	check(rte_eth_from_rings(name, &way[i], 1, &way[1 - i], 1, 0) >= 0, "no port for a cable");
	snprintf(spec, sizeof(spec), "net_ring_%s,addr=198.51.100.%u/24", name, i + 1);
	side_open_device(end, uroce_create_device(spec));
	check((cable.cq[i] = uroce_create_cq(end->context, 2 * NB_WR, NULL, NULL, 0)), "no CQ");
	check((cable.mr[i] =
		       uroce_reg_mr(end->pd, cable.buf[i], sizeof(cable.buf[i]), SIDE_ACCESS)),
	      "no region");
	cable.qp[i] = make_qp(end, cable.cq[i]);
}

static void
open_cable(void)
{
	struct side_link link[2] = { { .mtu = IBV_MTU_1024 }, { .mtu = IBV_MTU_1024 } };
	struct rte_ring *way[2] = { rte_ring_create("way0", RING_LEN, 0, 0),
				    rte_ring_create("way1", RING_LEN, 0, 0) };

	check(way[0] && way[1], "no rings");
	for (unsigned i = 0; i < 2; i++) {
		open_cable_end(i, way);
		link[i].ours.qpn = cable.qp[i]->qp_num;
		check(uroce_query_gid(cable.end[i].context, 1, 1, &link[i].ours.gid) == 0,
		      "no address");
	}
	for (unsigned i = 0; i < 2; i++) {
		link[i].theirs = link[1 - i].ours;
		side_raise(&link[i], cable.qp[i]);
	}
	check(pthread_create(&cable.sender, NULL, send_over_cable, NULL) == 0, "no thread");
}

static void
close_cable(void)
{
	atomic_store(&cable.is_ending, true);
	pthread_join(cable.sender, NULL);
	for (unsigned i = 0; i < 2; i++) {
		struct side *end = &cable.end[i];

		check(uroce_destroy_qp(cable.qp[i]) == 0 && uroce_dereg_mr(cable.mr[i]) == 0 &&
			      uroce_destroy_cq(cable.cq[i]) == 0 &&
			      uroce_dealloc_pd(end->pd) == 0 &&
			      uroce_close_device(end->context) == 0 &&
			      uroce_destroy_device(end->device) == 0,
		      "another device cannot be destroyed");
	}
}

static void
await_others(void)
{
	const unsigned before = atomic_load(&cable.nb_done);

	while (atomic_load(&cable.nb_done) - before < NB_OTHERS)
		usleep(PAUSE_US);
}

/* --- the traffic of a round ----------------------------------------------------------------------- */

#define PATTERN 1 /* number of the bytes in the memory of both processes, for fill() */

static uint8_t buf[LEN], target[LEN];

/*
 * Keep requests in flight until one fails, and until all others have completed. The first failure
 * is that the retries are used up.
 */
static void
run_traffic(struct ibv_qp *qp, const struct ibv_mr *mr, uint64_t addr, uint32_t rkey,
	    unsigned round)
{
	unsigned nb_done = 0, nb_flushed = 0, nb_posted = 0, nb_failed = 0;

	while (nb_failed == 0 || nb_done + nb_failed + nb_flushed < nb_posted) {
		while (nb_failed == 0 && nb_posted - nb_done < NB_WR)
			post(qp, nb_posted++ % 4 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, mr, LEN,
			     addr, rkey);
		const struct ibv_wc wc = wait_wc(qp->send_cq);

		if (wc.status == IBV_WC_SUCCESS) {
			check(nb_failed == 0, "a request succeeds after a failed one");
			if (++nb_done == NB_WARM_UP) {
				printf("traffic %u\n", round);
				fflush(stdout);
			}
		} else if (nb_failed == 0) {
			check(wc.status == IBV_WC_RETRY_EXC_ERR, "the first failure is %s",
			      uroce_wc_status_str(wc.status));
			nb_failed++;
		} else {
			check(wc.status == IBV_WC_WR_FLUSH_ERR, "a further failure is %s",
			      uroce_wc_status_str(wc.status));
			nb_flushed++;
		}
	}
	check(nb_done >= NB_WARM_UP, "the traffic has failed after %u requests", nb_done);
	printf("round %u: %u requests succeeded, %u failed, %u were flushed\n", round, nb_done,
	       nb_failed, nb_flushed);
	fflush(stdout);
}

/* Count the events of the device until it has failed; it fails once. */
static void
expect_fatal(const struct side *side)
{
	struct ibv_async_event event;
	unsigned nb_fatal = 0;

	while (nb_fatal == 0) {
		side_wait_fd(side, side->context->async_fd);
		while (uroce_get_async_event(side->context, &event) == 0) {
			nb_fatal += event.event_type == IBV_EVENT_DEVICE_FATAL;
			uroce_ack_async_event(&event);
		}
	}
	check(nb_fatal == 1, "IBV_EVENT_DEVICE_FATAL came %u times", nb_fatal);
}

static void
expect_down(const struct side *side)
{
	struct ibv_port_attr port;

	check(uroce_query_port(side->context, 1, &port) == 0 && port.state == IBV_PORT_DOWN,
	      "the port is not down");
}

/* Connect a QP, as side_connect() does, but let the retries of a request end after 4 s. */
static void
connect_qp(const struct side *side, struct ibv_qp *qp)
{
	const struct side_link link = side_meet(side, qp->qp_num);

	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		struct ibv_qp_attr attr;
		const int mask = side_attr(&link, IBV_QPT_RC, state, &attr);

		attr.timeout = TIMEOUT_CODE;
		check(uroce_modify_qp(qp, &attr, mask) == 0, "a QP does not connect");
	}
	side_sync(side);
}

static void
play_round(const struct side *side, unsigned round)
{
	struct ibv_cq *cq = uroce_create_cq(side->context, 2 * NB_WR, NULL, NULL, 0);
	struct ibv_mr *ours = uroce_reg_mr(side->pd, buf, sizeof(buf), SIDE_ACCESS);
	struct ibv_mr *theirs = uroce_reg_mr(side->pd, target, sizeof(target), SIDE_ACCESS);

	check(cq && ours && theirs, "no CQ or region");
	struct ibv_qp *qp = make_qp(side, cq);

	connect_qp(side, qp);
	const uint64_t addr = side_swap(side, (uintptr_t)target);
	const uint32_t rkey = (uint32_t)side_swap(side, theirs->rkey);

	run_traffic(qp, ours, addr, rkey, round);
	if (side->is_client) {
		expect_fatal(side);
		expect_down(side);
		await_others();
	}
	check(is_filled(buf, LEN, PATTERN) && is_filled(target, LEN, PATTERN), "a byte is wrong");
	check(uroce_destroy_qp(qp) == 0 && uroce_destroy_cq(cq) == 0 && uroce_dereg_mr(ours) == 0 &&
		      uroce_dereg_mr(theirs) == 0,
	      "an object cannot be destroyed");
}

/* --- the NIC, and what the rounds leave behind ---------------------------------------------------- */

struct usage {
	unsigned nb_fds;
	unsigned nb_allocs; /* number of blocks that are allocated in EAL's heaps */
	size_t nb_bytes;    /* number of bytes that are allocated by malloc() */
};

static struct usage
usage_now(void)
{
	struct usage usage = { 0 };
	DIR *dir = opendir("/proc/self/fd");

	check(dir != NULL, "no list of descriptors");
	while (readdir(dir))
		usage.nb_fds++;
	closedir(dir);
	usage.nb_bytes = mallinfo2().uordblks;
	for (int i = 0; i < (int)rte_socket_count(); i++) {
		struct rte_malloc_socket_stats stats;

		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx((unsigned)i), &stats) == 0)
			usage.nb_allocs += stats.alloc_count;
	}
	return usage;
}

/* The number of the kernel's folder of the device at a PCI address; 0: there is no device. */
static ino_t
device_ino(const char *address)
{
	struct stat folder;
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", address);
	return stat(path, &folder) == 0 ? folder.st_ino : 0;
}

/*
 * Let EAL release the NIC, and wait until the kernel has removed it. There may be a new NIC at its
 * address already, because some drivers release the NIC when the port is closed.
 */
static void
remove_nic(const char *address, ino_t ino)
{
	check(rte_eal_hotplug_remove("pci", address) == 0, "EAL keeps the NIC");
	alarm(HANG_S);
	while (device_ino(address) == ino)
		usleep(PAUSE_US);
}

/* Wait until a new NIC is bound to vfio-pci, and add it to EAL. */
static void
add_nic(const char *address)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", address);
	alarm(HANG_S);
	while (access(path, F_OK) != 0 || rte_eal_hotplug_add("pci", address, "") != 0)
		usleep(100 * PAUSE_US);
}

static void
run_client(struct side *side, const char *spec, unsigned nb_rounds)
{
	char address[32];
	struct usage first = { 0 };

	snprintf(address, sizeof(address), "%.*s", (int)strcspn(spec, ","), spec);
	open_cable();
	for (unsigned round = 1; round <= nb_rounds; round++) {
		if (round > 1)
			add_nic(address);
		const ino_t ino = device_ino(address);

		side->tcp = 0;
		side_open_device(side, uroce_create_device(spec));
		side_join(side);
		play_round(side, round);
		side_close_device(side);
		remove_nic(address, ino);
		const struct usage usage = usage_now();

		if (round == 1)
			first = usage;
		check(usage.nb_fds == first.nb_fds, "%u descriptors after round %u, not %u",
		      usage.nb_fds, round, first.nb_fds);
		check(usage.nb_allocs == first.nb_allocs, "%u blocks after round %u, not %u",
		      usage.nb_allocs, round, first.nb_allocs);
		printf("gone %u: %u descriptors, %u blocks, %zu bytes, %u requests of other "
		       "devices\n",
		       round, usage.nb_fds, usage.nb_allocs, usage.nb_bytes,
		       atomic_load(&cable.nb_done));
		fflush(stdout);
	}
	close_cable();
}

static void
run_server(struct side *side, const char *spec, unsigned nb_rounds)
{
	side_open_device(side, uroce_create_device(spec));
	for (unsigned round = 1; round <= nb_rounds; round++) {
		side->tcp = 0;
		alarm(0);
		side_join(side);
		play_round(side, round);
		side_sync(side);
		close(side->tcp);
	}
	check(uroce_dealloc_pd(side->pd) == 0 && uroce_close_device(side->context) == 0 &&
		      uroce_destroy_device(side->device) == 0,
	      "the device cannot be destroyed");
}

int
main(int argc, char **argv)
{
	const char *rounds = getenv("ROUNDS");
	const unsigned nb_rounds = rounds ? (unsigned)strtoul(rounds, NULL, 10) : 1;
	struct side side = { 0 };
	const char *spec = side_begin(&side, argc, argv);

	fill(buf, LEN, PATTERN);
	fill(target, LEN, PATTERN);
	(side.is_client ? run_client : run_server)(&side, spec, nb_rounds);
	rte_eal_cleanup();
	printf("done\n");
	return 0;
}
