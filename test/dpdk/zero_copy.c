/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Zero-copy transmission. The frames must be byte for byte the same as with copies. While a port
 * uses a frame, the memory region of the frame cannot be deregistered and its QP cannot be
 * destroyed. To simulate a port that keeps frames, a net_null port has a callback that keeps a
 * clone of each frame.
 */

#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "datapath/clock.h"
#include "datapath/worker/at_rest.h"
#include "datapath/worker/round.h"
#include "mem/mkey.h"

#define OFFSET 5 /* offset of the data, which is unaligned */
/* length of a message of three packets with a path MTU of 4096; the last packet has padding */
#define LEN       11001
#define NB_FRAMES 3

static struct uroce_dev *dev;
static struct rig_qp *qp;

static struct uroce_worker *
worker(void)
{
	return dev->worker[0];
}

static uint64_t
nb_zero_copy(void)
{
	return uroce_worker_counted(worker(), UROCE_COUNTER_TX_ZERO_COPY);
}

static void
open_dev(const char *port, const char *args, uint8_t timeout)
{
	char spec[80];

	assert_int_equal(rte_vdev_init(port, args), 0);
	snprintf(spec, sizeof(spec), "%s,drive=none,addr=192.0.2.1/24", port);
	dev = rig_dev(spec);
	qp = rig_qp(dev, 0, IBV_QPT_RC);
	rig_fill(qp, 9);
	rig_connect_nowhere(qp, timeout);
}

static void
close_dev(const char *port)
{
	if (qp)
		rig_qp_free(qp);
	qp = NULL;
	assert_int_equal(uroce_dev_destroy(dev), 0);
	(void)rte_vdev_uninit(port);
}

/* Post a WRITE and a SEND, and transmit them. No peer responds. */
static void
send_both(void)
{
	rig_post_send(qp, IBV_WR_RDMA_WRITE, 1, OFFSET, LEN, qp, 0);
	rig_post_send(qp, IBV_WR_SEND, 2, OFFSET + 1, LEN, NULL, 0);
	for (unsigned i = 0; i < 4; i++)
		rig_drive(dev);
}

static void
reset(void)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	assert_int_equal(rig_modify(qp, &attr, IBV_QP_STATE), 0);
}

/* --- comparison with copied frames ----------------------------------------------------------- */

#define FILE_HDR 24
#define REC_HDR  16

struct record {
	const uint8_t *at;
	uint32_t len;
};

/* Split a pcap file into frames. The file must have all bytes of each frame. */
static unsigned
split(const uint8_t *file, size_t len, struct record *record, unsigned max)
{
	unsigned nb = 0;

	for (size_t at = FILE_HDR; at < len && nb < max; nb++) {
		uint32_t captured, whole;

		assert_true(at + REC_HDR <= len);
		memcpy(&captured, file + at + 8, 4);
		memcpy(&whole, file + at + 12, 4);
		assert_int_equal(captured, whole);
		record[nb] = (struct record){ file + at + REC_HDR, whole };
		at += REC_HDR + whole;
		assert_true(at <= len);
	}
	return nb;
}

static void
zero_copy__a_capture_is_that_of_copies(void **state)
{
	static uint8_t file[1 << 18];
	char name[] = "/tmp/uroce-zero-copy-XXXXXX", args[64];
	const int fd = mkstemp(name);
	struct record record[4 * NB_FRAMES + 1];
	struct rte_mempool *pool;
	ssize_t len;

	(void)state;
	assert_true(fd >= 0);
	snprintf(args, sizeof(args), "tx_pcap=%s", name);
	open_dev("net_pcap0", args, 0);

	send_both();
	assert_int_equal(nb_zero_copy(), 2 * NB_FRAMES);
	assert_false(uroce_qpc_has_tx_refs(&qp->wqp.qpc));
	reset();
	rig_connect_nowhere(qp, 0);
	pool = worker()->zero_copy_pool;
	worker()->zero_copy_pool = NULL;
	send_both();
	worker()->zero_copy_pool = pool;
	assert_int_equal(nb_zero_copy(), 2 * NB_FRAMES);
	close_dev("net_pcap0");

	len = pread(fd, file, sizeof(file), 0);
	close(fd);
	unlink(name);
	assert_in_range(len, FILE_HDR, sizeof(file) - 1);
	assert_int_equal(split(file, (size_t)len, record, 4 * NB_FRAMES + 1), 4 * NB_FRAMES);
	for (unsigned i = 0; i < 2 * NB_FRAMES; i++) {
		assert_int_equal(record[i].len, record[2 * NB_FRAMES + i].len);
		assert_memory_equal(record[i].at, record[2 * NB_FRAMES + i].at, record[i].len);
	}
}

/* --- counters of the port -------------------------------------------------------------------- */

static void
zero_copy__null_counts_every_frame(void **state)
{
	struct rte_eth_stats stats;

	(void)state;
	open_dev("net_null0", "size=64,copy=0", 0);
	send_both();
	assert_int_equal(nb_zero_copy(), 2 * NB_FRAMES);
	assert_int_equal(rte_eth_stats_get(dev->port->id, &stats), 0);
	assert_int_equal(stats.opackets, uroce_worker_counted(worker(), UROCE_COUNTER_TX_FRAMES));
	assert_true(stats.opackets >= 2 * NB_FRAMES);
	assert_int_equal(uroce_mr_nb_tx_refs(dev->mrs, qp->key), 0);
	close_dev("net_null0");
}

/* --- a port that keeps frames ------------------------------------------------------------------ */

static struct {
	struct rte_mbuf *clone[64];
	unsigned nb, nb_segs;
	uint64_t bytes;
	const struct rte_eth_rxtx_callback *callback;
	struct rte_mempool *pool;
} keeper;

static uint16_t
keep(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t nb, void *arg)
{
	(void)port, (void)queue, (void)arg;
	for (unsigned i = 0; i < nb && keeper.nb < RTE_DIM(keeper.clone); i++) {
		keeper.clone[keeper.nb] = rte_pktmbuf_clone(frames[i], keeper.pool);
		assert_non_null(keeper.clone[keeper.nb]);
		keeper.nb_segs += frames[i]->nb_segs;
		keeper.bytes += frames[i]->pkt_len;
		keeper.nb++;
	}
	return nb;
}

static void
open_keeper(uint8_t timeout)
{
	memset(&keeper, 0, sizeof(keeper));
	keeper.pool = rte_pktmbuf_pool_create("keeper", 511, 0, 0, RTE_PKTMBUF_HEADROOM, 0);
	assert_non_null(keeper.pool);
	open_dev("net_null0", "size=64,copy=0", timeout);
	keeper.callback = rte_eth_add_tx_callback(dev->port->id, 0, keep, NULL);
	assert_non_null(keeper.callback);
}

static void
let_go(void)
{
	rte_pktmbuf_free_bulk(keeper.clone, keeper.nb);
	keeper.nb = 0;
}

static void
close_keeper(void)
{
	assert_int_equal(rte_eth_remove_tx_callback(dev->port->id, 0, keeper.callback), 0);
	let_go();
	close_dev("net_null0");
	assert_int_equal(rte_mempool_in_use_count(keeper.pool), 0);
	rte_mempool_free(keeper.pool);
}

static void
zero_copy__chains_hold_all_bytes_and_are_counted(void **state)
{
	(void)state;
	open_keeper(0);
	send_both();
	assert_int_equal(keeper.nb, 2 * NB_FRAMES);
	assert_int_equal(keeper.nb_segs, 3 * 2 * NB_FRAMES);
	/*
	 * Each frame has 58 bytes of headers (Ethernet, IPv4, UDP, BTH) and ICRC. Each message has
	 * 3 bytes of padding. The WRITE has a RETH of 16 bytes.
	 */
	assert_int_equal(keeper.bytes, 2 * (LEN + 3 + NB_FRAMES * 58) + 16);
	assert_int_equal(uroce_mr_nb_tx_refs(dev->mrs, qp->key), 2 * NB_FRAMES);
	assert_int_equal(qp->wqp.qpc.nb_tx_refs, 2 * NB_FRAMES);
	/* the second mbuf of a frame must refer to the memory of the application */
	assert_ptr_equal(rte_pktmbuf_mtod(keeper.clone[0]->next, uint8_t *), qp->buf + OFFSET);
	let_go();
	assert_int_equal(uroce_mr_nb_tx_refs(dev->mrs, qp->key), 0);
	assert_int_equal(qp->wqp.qpc.nb_tx_refs, 0);
	close_keeper();
}

static void
zero_copy__what_is_sent_again_is_copied(void **state)
{
	const uint64_t end = rte_rdtsc() + 60 * rte_get_tsc_hz();

	(void)state;
	open_keeper(1);
	send_both();
	while (qp->wqp.qpc.stats.retransmits < NB_FRAMES) {
		assert_true(rte_rdtsc() < end);
		rig_drive(dev);
	}
	assert_int_equal(nb_zero_copy(), 2 * NB_FRAMES);
	close_keeper();
}

/*
 * Check that no request completes before the port releases the frames, and that both requests
 * complete afterwards.
 */
static void
let_go_and_poll(struct ibv_wc *wc)
{
	const uint64_t end = rte_rdtsc() + 60 * rte_get_tsc_hz();

	for (unsigned i = 0; i < 10; i++)
		rig_drive(dev);
	assert_int_equal(uroce_cq_poll(&qp->scq, 2, wc), 0);
	let_go();
	for (unsigned nb = 0; nb < 2;) {
		assert_true(rte_rdtsc() < end);
		rig_drive(dev);
		nb += (unsigned)uroce_cq_poll(&qp->scq, 2 - (int)nb, wc + nb);
	}
}

/*
 * Drive the device until the QP is in the error state, which it enters after its retries because no
 * peer responds.
 */
static void
drive_until_error(void)
{
	const uint64_t end = rte_rdtsc() + 60 * rte_get_tsc_hz();

	while (qp->wqp.qpc.state != IBV_QPS_ERR) {
		assert_true(rte_rdtsc() < end);
		rig_drive(dev);
	}
}

static void
zero_copy__a_flush_waits_for_the_port(void **state)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc[2];

	(void)state;
	open_keeper(0);
	send_both();
	assert_int_equal(rig_modify(qp, &attr, IBV_QP_STATE), 0);
	let_go_and_poll(wc);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	close_keeper();
}

static void
zero_copy__an_error_waits_for_the_port(void **state)
{
	struct ibv_wc wc[2];

	(void)state;
	open_keeper(1);
	send_both();
	drive_until_error();
	let_go_and_poll(wc);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[0].status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	close_keeper();
}

/*
 * While a flush waits until the port releases its frames, the driving thread may sleep, because the
 * worker checks the frames only at intervals. So the number of rounds that leave work to be done at
 * once must fit the elapsed time.
 */
static void
zero_copy__a_flush_that_waits_does_not_spin(void **state)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const uint64_t begin_ns = uroce_clock_ns(), pause_ns = 100000;
	struct ibv_wc wc[2];
	uint64_t next_ns, nb_awake = 0;

	(void)state;
	open_keeper(0);
	send_both();
	assert_int_equal(rig_modify(qp, &attr, IBV_QP_STATE), 0);
	for (unsigned i = 0; i < 1000; i++) {
		rig_drive(dev);
		assert_null(atomic_load(&worker()->doorbells));
		next_ns = uroce_worker_next_ns(worker());
		if (next_ns == 0)
			nb_awake++;
		else
			assert_in_range(next_ns, begin_ns, worker()->now_ns + 2 * pause_ns);
	}
	assert_in_range(nb_awake, 0, (worker()->now_ns - begin_ns) / pause_ns + 1);
	let_go_and_poll(wc);
	close_keeper();
}

/*
 * A QP has failed, and the completion with the error waits for the port. If the program resets the
 * QP, it must not get this completion.
 */
static void
zero_copy__a_reset_forgets_the_error(void **state)
{
	const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc[2];

	(void)state;
	open_keeper(1);
	send_both();
	drive_until_error();
	let_go();
	reset();
	rig_connect_nowhere(qp, 0);
	rig_post_send(qp, IBV_WR_RDMA_WRITE, 3, OFFSET, 8, qp, 0);
	assert_int_equal(rig_modify(qp, &attr, IBV_QP_STATE), 0);
	rig_drive(dev);
	assert_int_equal(uroce_cq_poll(&qp->scq, 2, wc), 1);
	assert_int_equal(wc[0].wr_id, 3);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	close_keeper();
}

/* whether the control call that expect_wait() has started in a thread has returned */
static atomic_bool is_done;

static void *
deregister(void *arg)
{
	(void)arg;
	(void)uroce_mr_invalidate(dev->mrs, qp->key);
	uroce_dev_grace(dev);
	uroce_dev_reclaim_mr(dev, qp->key);
	atomic_store(&is_done, true);
	return NULL;
}

static void *
remove_qp(void *arg)
{
	(void)arg;
	uroce_dev_remove_qp(dev, &qp->wqp);
	atomic_store(&is_done, true);
	return NULL;
}

static void *
reclaim_qp(void *arg)
{
	(void)arg;
	reset();
	uroce_dev_reclaim_qp(dev, &qp->wqp);
	atomic_store(&is_done, true);
	return NULL;
}

/*
 * Make a control call in a thread. Check that the call does not return before the port has released
 * the frames, and that it returns after that.
 */
static void
expect_wait(void *(*call)(void *))
{
	pthread_t thread;

	atomic_store(&is_done, false);
	assert_int_equal(pthread_create(&thread, NULL, call, NULL), 0);
	rte_delay_us_sleep(20000);
	assert_false(atomic_load(&is_done));
	let_go();
	pthread_join(thread, NULL);
	assert_true(atomic_load(&is_done));
	assert_int_equal(uroce_mr_nb_tx_refs(dev->mrs, qp->key), 0);
	assert_int_equal(qp->wqp.qpc.nb_tx_refs, 0);
}

static void
zero_copy__deregistration_waits_for_the_port(void **state)
{
	(void)state;
	open_keeper(0);
	send_both();
	expect_wait(deregister);
	/* Free the QP here. rig_qp_free() would invalidate the memory region a second time. */
	uroce_dev_remove_qp(dev, &qp->wqp);
	uroce_dev_free_qpn(dev, qp->wqp.qpc.qpn);
	uroce_mr_free(dev->mrs, qp->key);
	for (unsigned i = 0; i < RTE_DIM(qp->mem); i++)
		free(qp->mem[i]);
	free(qp->buf);
	free(qp);
	qp = NULL;
	close_keeper();
}

static void
zero_copy__destruction_waits_for_the_port(void **state)
{
	(void)state;
	open_keeper(0);
	send_both();
	expect_wait(remove_qp);
	/* add the removed QP again, because rig_qp_free() removes it */
	assert_int_equal(uroce_dev_add_qp(dev, &qp->wqp, worker()), 0);
	close_keeper();
}

static void
zero_copy__reset_waits_for_the_port(void **state)
{
	(void)state;
	open_keeper(0);
	send_both();
	expect_wait(reclaim_qp);
	close_keeper();
}

/* A transmit callback of a port that accepts no frames. */
static uint16_t
refuse(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t nb, void *arg)
{
	(void)port, (void)queue, (void)frames, (void)nb, (void)arg;
	return 0;
}

static void
zero_copy__frames_that_wait_for_a_port_are_recalled(void **state)
{
	const struct rte_eth_rxtx_callback *callback;

	(void)state;
	open_dev("net_null0", "size=64,copy=0", 0);
	callback = rte_eth_add_tx_callback(dev->port->id, 0, refuse, NULL);
	assert_non_null(callback);
	rig_post_send(qp, IBV_WR_RDMA_WRITE, 1, OFFSET, LEN, qp, 0);
	rig_drive(dev);
	assert_int_equal(uroce_mr_nb_tx_refs(dev->mrs, qp->key), NB_FRAMES);
	reset();
	uroce_dev_reclaim_qp(dev, &qp->wqp);
	assert_int_equal(uroce_mr_nb_tx_refs(dev->mrs, qp->key), 0);
	assert_int_equal(rte_eth_remove_tx_callback(dev->port->id, 0, callback), 0);
	close_dev("net_null0");
}

/*
 * A copied frame waits behind zero-copy frames, which are dropped. The copied frame must still be
 * sent, and must be counted with its own length.
 */
static void
zero_copy__a_frame_behind_dropped_ones_is_counted_as_itself(void **state)
{
	const struct rte_eth_rxtx_callback *callback;
	uint64_t nb_bytes, nb_discards;

	(void)state;
	open_dev("net_null0", "size=64,copy=0", 0);
	callback = rte_eth_add_tx_callback(dev->port->id, 0, refuse, NULL);
	assert_non_null(callback);
	rig_post_send(qp, IBV_WR_RDMA_WRITE, 1, OFFSET, LEN, qp, 0);
	rig_post_send(qp, IBV_WR_RDMA_WRITE, 2, OFFSET, 64, qp, 0);
	rig_drive(dev);
	assert_int_equal(worker()->tx.nb_pending, NB_FRAMES + 1);
	nb_bytes = uroce_worker_counted(worker(), UROCE_COUNTER_PORT_XMIT_DATA);
	nb_discards = uroce_worker_counted(worker(), UROCE_COUNTER_PORT_XMIT_DISCARDS);
	reset();
	uroce_dev_reclaim_qp(dev, &qp->wqp);
	assert_int_equal(worker()->tx.nb_pending, 1);
	assert_int_equal(rte_eth_remove_tx_callback(dev->port->id, 0, callback), 0);
	rig_drive(dev);
	assert_int_equal(worker()->tx.nb_pending, 0);
	/* 58 bytes of headers (Ethernet, IPv4, UDP, BTH) and ICRC, and 16 bytes of RETH */
	assert_int_equal(uroce_worker_counted(worker(), UROCE_COUNTER_PORT_XMIT_DATA) - nb_bytes,
			 64 + 58 + 16);
	assert_int_equal(uroce_worker_counted(worker(), UROCE_COUNTER_PORT_XMIT_DISCARDS) -
				 nb_discards,
			 NB_FRAMES);
	close_dev("net_null0");
}

static void
zero_copy__frames_that_are_handed_out_are_copies(void **state)
{
	struct rte_mbuf *frames[8];

	(void)state;
	open_dev("net_null0", "size=64,copy=0", 0);
	rig_post_send(qp, IBV_WR_RDMA_WRITE, 1, OFFSET, LEN, qp, 0);
	assert_int_equal(uroce_worker_output(worker(), frames, 8), NB_FRAMES);
	for (unsigned i = 0; i < NB_FRAMES; i++)
		assert_int_equal(frames[i]->nb_segs, 1);
	assert_int_equal(nb_zero_copy(), 0);
	rte_pktmbuf_free_bulk(frames, NB_FRAMES);
	close_dev("net_null0");
}

/* --- payload of an mkey ------------------------------------------------------------------------- */

static uint32_t
make_mkey(void *mem)
{
	union {
		struct uroce_mkey_conf conf;
		uint8_t room[sizeof(struct uroce_mkey_conf) + sizeof(struct uroce_mkey_piece)];
	} made = { 0 };
	struct uroce_mkey_conf *conf = &made.conf;
	uint32_t key;

	conf->parts = UROCE_MKEY_ACCESS | UROCE_MKEY_LAYOUT;
	conf->repeat = 1;
	conf->nb_pieces = 1;
	conf->piece[0] = (struct uroce_mkey_piece){
		.addr = (uintptr_t)qp->buf,
		.len = RIG_BUF_LEN,
		.lkey = qp->key,
	};
	assert_int_equal(uroce_mkey_add(dev->mrs, mem, 1, 0, qp->wqp.qpc.pdn, &key), 0);
	assert_int_equal(uroce_mkey_configure(dev->mrs, key, qp->wqp.qpc.pdn, conf), 0);
	return key;
}

static void
post_write(uint32_t lkey, uint64_t addr)
{
	struct ibv_sge sge = { .addr = addr, .length = LEN, .lkey = lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)qp->buf, .rkey = qp->key },
	};

	assert_int_equal(uroce_sq_fill(&qp->sq, 0, &wr, NULL, false), 0);
	uroce_ring_push(&qp->sq.ring, 1);
	uroce_worker_ring_doorbell(worker(), &qp->wqp);
}

/* Read bytes `[at, at + len)` of a frame that may be a chain of mbufs. */
static void
read_frame(const struct rte_mbuf *frame, uint32_t at, uint32_t len, uint8_t *to)
{
	const uint8_t *bytes = rte_pktmbuf_read(frame, at, len, to);

	assert_non_null(bytes);
	if (bytes != to)
		memcpy(to, bytes, len);
}

/*
 * A WRITE from a region and a WRITE from an mkey with the same memory send the same payload. The
 * payload from the region is transmitted without a copy. The payload from the mkey is copied,
 * although its layout refers to memory that could be transmitted without a copy.
 */
static void
zero_copy__what_an_mkey_makes_is_copied(void **state)
{
	static uint8_t payload[2][4096];
	void *mem = aligned_alloc(64, (uroce_mkey_memsize(1) + 63) & ~(size_t)63);
	uint32_t key;

	(void)state;
	assert_non_null(mem);
	open_keeper(0);
	key = make_mkey(mem);
	post_write(qp->key, (uintptr_t)qp->buf + OFFSET);
	post_write(key, OFFSET);
	for (unsigned i = 0; i < 4; i++)
		rig_drive(dev);
	assert_int_equal(keeper.nb, 2 * NB_FRAMES);
	assert_int_equal(nb_zero_copy(), NB_FRAMES);
	assert_int_equal(uroce_mr_nb_tx_refs(dev->mrs, qp->key), NB_FRAMES);
	for (unsigned i = 0; i < NB_FRAMES; i++) {
		const struct rte_mbuf *zero_copied = keeper.clone[i],
				      *made = keeper.clone[NB_FRAMES + i];
		const uint32_t at = i == 0 ? 54 + 16 : 54, len = zero_copied->pkt_len - at - 4;

		assert_int_equal(zero_copied->nb_segs, 3);
		assert_int_equal(made->nb_segs, 1);
		assert_int_equal(made->pkt_len, zero_copied->pkt_len);
		read_frame(zero_copied, at, len, payload[0]);
		read_frame(made, at, len, payload[1]);
		assert_memory_equal(payload[0], payload[1], len);
	}
	/*
	 * The payload from the mkey is a copy. So the memory may change while the port has the
	 * frame.
	 */
	memset(qp->buf, 0, LEN + OFFSET);
	read_frame(keeper.clone[2 * NB_FRAMES - 1], 54, 1024, payload[0]);
	assert_memory_equal(payload[0], payload[1], 1024);
	let_go();
	reset();
	uroce_mkey_remove(dev->mrs, key);
	uroce_mr_free(dev->mrs, key);
	close_keeper();
	free(mem);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zero_copy__a_capture_is_that_of_copies),
		cmocka_unit_test(zero_copy__null_counts_every_frame),
		cmocka_unit_test(zero_copy__chains_hold_all_bytes_and_are_counted),
		cmocka_unit_test(zero_copy__what_is_sent_again_is_copied),
		cmocka_unit_test(zero_copy__a_flush_waits_for_the_port),
		cmocka_unit_test(zero_copy__an_error_waits_for_the_port),
		cmocka_unit_test(zero_copy__a_flush_that_waits_does_not_spin),
		cmocka_unit_test(zero_copy__a_reset_forgets_the_error),
		cmocka_unit_test(zero_copy__deregistration_waits_for_the_port),
		cmocka_unit_test(zero_copy__destruction_waits_for_the_port),
		cmocka_unit_test(zero_copy__reset_waits_for_the_port),
		cmocka_unit_test(zero_copy__frames_that_wait_for_a_port_are_recalled),
		cmocka_unit_test(zero_copy__a_frame_behind_dropped_ones_is_counted_as_itself),
		cmocka_unit_test(zero_copy__frames_that_are_handed_out_are_copies),
		cmocka_unit_test(zero_copy__what_an_mkey_makes_is_copied),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
