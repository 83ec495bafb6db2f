/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The simulated network. Every frame of every host passes through this file, on one thread. Frames
 * between the target and the honest peer are delivered, and some are kept as material for
 * mutations. Frames of the target to the attacker are checked and freed.
 */

#include "fabric.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_random.h>
#include <rte_ring.h>
#include <uroce.h>

#include "datapath/clock.h"
#include "datapath/net/neigh.h"
#include "land.h"
#include "verbs/object.h"
#include "wire/hdr.h"
#include "wire/parse.h"

#define RING_LEN    4096
#define NB_MBUF     16383
#define MBUF_ROOM   2048
#define NB_FENCED   4096
#define NB_CAPTURED 256
#define BURST       64
/* maximum number of rounds of fabric_run(), in case a host always has work */
#define ROUNDS_MAX 256

static struct rte_ring *into[2][TARGET_WORKERS];
static struct rte_ring *from[2][TARGET_WORKERS];
static struct rte_mempool *pool;

/* --- random numbers and clock ------------------------------------------------------------------ */

static struct rng library_rng;

void
fabric_seed_random(uint64_t seed)
{
	library_rng.counter = seed;
}

/*
 * Replaces getrandom() of libc. The library takes QPNs and keys from this function, and they must
 * be the same in every run.
 */
ssize_t
getrandom(void *buf, size_t len, unsigned flags)
{
	uint8_t *at = buf;

	(void)flags;
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)rng_next(&library_rng);
	return (ssize_t)len;
}

static void
take_clock(void)
{
	/*
	 * Set a fixed time. The time is later than any time of the time stamp counter, because the
	 * clock must not go back.
	 */
	uroce_clock_base = UINT64_C(1) << 60;
	uroce_clock_factor = 0;
}

void
fabric_wait_ns(uint64_t ns)
{
	uroce_clock_base += ns;
}

/* --- buffers that end at a page without access rights ------------------------------------------ */

static struct fenced {
	uint8_t *end; /* the end of the buffer: the first byte of a page without access rights */
	struct rte_mbuf_ext_shared_info shared;
	struct fenced *next;
} fenced[NB_FENCED], *fenced_free;

static size_t page_len;

static void
free_fenced(void *addr, void *opaque)
{
	struct fenced *buf = opaque;

	(void)addr;
	buf->next = fenced_free;
	fenced_free = buf;
}

static bool
make_fenced(void)
{
	uint8_t *mem;

	page_len = (size_t)sysconf(_SC_PAGESIZE);
	mem = mmap(NULL, 2 * NB_FENCED * page_len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return false;
	for (unsigned i = NB_FENCED; i-- > 0;) {
		fenced[i].end = mem + (2 * i + 1) * page_len;
		fenced[i].shared.free_cb = free_fenced;
		fenced[i].shared.fcb_opaque = &fenced[i];
		if (mprotect(fenced[i].end, page_len, PROT_NONE) != 0)
			return false;
		free_fenced(NULL, &fenced[i]);
	}
	return true;
}

static bool
put_fenced(struct rte_mbuf *mbuf, const uint8_t *data, uint32_t len)
{
	struct fenced *buf = fenced_free;

	if (!buf || len > page_len)
		return false;
	fenced_free = buf->next;
	memcpy(buf->end - len, data, len);
	rte_mbuf_ext_refcnt_set(&buf->shared, 1);
	rte_pktmbuf_attach_extbuf(mbuf, buf->end - len, RTE_BAD_IOVA, (uint16_t)len, &buf->shared);
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
	return true;
}

static void
put_plain(struct rte_mbuf *mbuf, const uint8_t *data, uint32_t len)
{
	memcpy(rte_pktmbuf_mtod(mbuf, uint8_t *), data, len);
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
}

/*
 * Copy a frame into a chain of two to four mbufs. The mbufs have random lengths, and may be empty.
 */
static void
put_chained(struct rte_mbuf *head, const uint8_t *data, uint32_t len, struct rng *rng)
{
	const unsigned nb = 1 + rng_below(rng, 3);
	uint32_t at = rng_below(rng, len + 1);

	put_plain(head, data, at);
	for (unsigned i = 0; i < nb; i++) {
		struct rte_mbuf *piece = rte_pktmbuf_alloc(pool);
		const uint32_t nb_bytes = i + 1 == nb ? len - at : rng_below(rng, len - at + 1);

		if (!piece)
			return;
		put_plain(piece, data + at, nb_bytes);
		at += nb_bytes;
		if (rte_pktmbuf_chain(head, piece) != 0)
			rte_pktmbuf_free(piece);
	}
}

static struct rte_mbuf *
make_mbuf(const uint8_t *data, uint32_t len, struct rng *rng)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	const uint32_t kind = rng ? rng_below(rng, 16) : 15;

	if (!mbuf)
		return NULL;
	if (kind == 0)
		put_chained(mbuf, data, len, rng);
	else if (kind > 12 || !put_fenced(mbuf, data, len))
		put_plain(mbuf, data, len);
	return mbuf;
}

unsigned
fabric_mbufs_missing(void)
{
	return rte_mempool_in_use_count(pool);
}

/* --- hosts ------------------------------------------------------------------------------------- */

static const uint8_t ips[HOST_NB][2][16] = {
#define IPS(n)                                                                                     \
	{                                                                                          \
		{ [10] = 0xff, 0xff, 192, 0, 2, n },                                               \
		{                                                                                  \
			0x20, 0x01, 0x0d, 0xb8, [15] = n                                           \
		}                                                                                  \
	}
	[HOST_TARGET] = IPS(1),
	[HOST_BESIDE] = IPS(2),
	[HOST_GHOST] = IPS(3),
#undef IPS
};

const uint8_t *
fabric_ip(enum host host, bool is_ipv6)
{
	return ips[host][is_ipv6];
}

const uint8_t *
fabric_group(bool is_ipv6)
{
	static const uint8_t groups[2][16] = {
		{ [10] = 0xff, 0xff, 239, 1, 2, 3 },
		{ 0xff, 0x15, [15] = 3 },
	};

	return groups[is_ipv6];
}

static bool
start_eal(void)
{
	char lcores[32];
	char *argv[] = { "fuzz-frames",    "--lcores",    lcores,          "--no-huge",
			 "--no-pci",       "-m",          "256",           "--no-shconf",
			 "--no-telemetry", "--log-level", "lib.eal:error", NULL };
	const int cpu = sched_getcpu();

	snprintf(lcores, sizeof(lcores), "0@%d", cpu > 0 ? cpu : 0);
	return rte_eal_init(RTE_DIM(argv) - 1, argv) >= 0;
}

static bool
make_rings(void)
{
	char name[RTE_RING_NAMESIZE];

	for (unsigned host = 0; host < 2; host++) {
		for (unsigned i = 0; i < TARGET_WORKERS; i++) {
			snprintf(name, sizeof(name), "into%u_%u", host, i);
			into[host][i] = rte_ring_create(name, RING_LEN, 0, 0);
			snprintf(name, sizeof(name), "from%u_%u", host, i);
			from[host][i] = rte_ring_create(name, RING_LEN, 0, 0);
			if (!into[host][i] || !from[host][i])
				return false;
		}
	}
	return true;
}

static bool
open_host(struct fabric *fabric, enum host host, unsigned nb_workers)
{
	static const char *const names[] = { "target", "beside" };
	char port[RTE_ETH_NAME_MAX_LEN], spec[256];
	const int port_id =
		rte_eth_from_rings(names[host], into[host], nb_workers, from[host], nb_workers, 0);

	if (port_id < 0 || rte_eth_dev_get_name_by_port((uint16_t)port_id, port) != 0)
		return false;
	snprintf(spec, sizeof(spec),
		 "%s,addr=192.0.2.%u/24,addr=2001:db8::%u/64,workers=%u,drive=none", port, host + 1,
		 host + 1, nb_workers);
	fabric->device[host] = uroce_create_device(spec);
	if (!fabric->device[host])
		return false;
	fabric->context[host] = uroce_open_device(fabric->device[host]);
	if (!fabric->context[host])
		return false;
	fabric->dev[host] = uroce_vcontext_dev(fabric->context[host]);
	return true;
}

bool
fabric_open(struct fabric *fabric, uint64_t seed)
{
	const bool has_eal = start_eal();

	fabric_seed_random(seed);
	rte_srand(seed);
	if (!has_eal)
		fprintf(stderr, "fuzz-frames: EAL: %s\n", rte_strerror(rte_errno));
	else if (!make_fenced() || !make_rings())
		fprintf(stderr, "fuzz-frames: no memory for rings and buffers\n");
	else if (!(pool = rte_pktmbuf_pool_create("fuzz", NB_MBUF, 0, 0,
						  RTE_PKTMBUF_HEADROOM + MBUF_ROOM, SOCKET_ID_ANY)))
		fprintf(stderr, "fuzz-frames: no memory for mbufs\n");
	else if (!open_host(fabric, HOST_TARGET, TARGET_WORKERS) ||
		 !open_host(fabric, HOST_BESIDE, 1))
		fprintf(stderr, "fuzz-frames: a device does not come up\n");
	else {
		take_clock();
		return true;
	}
	return false;
}

/* --- forwarding between the devices ------------------------------------------------------------ */

static struct frame captured[NB_CAPTURED];
static uint64_t nb_captured;

static void
capture(const struct rte_mbuf *mbuf)
{
	static unsigned nb_seen;
	const struct uroce_eth *eth = rte_pktmbuf_mtod(mbuf, const struct uroce_eth *);
	struct frame *frame = &captured[nb_captured % NB_CAPTURED];
	const bool is_ipv6 = be16_get(eth->type) == UROCE_ETHERTYPE_IPV6;

	/* Keep every 13th frame. The operations repeat, so these frames still are of all kinds. */
	if (nb_seen++ % 13 != 0 || mbuf->nb_segs != 1 || mbuf->data_len > FRAME_MAX ||
	    (!is_ipv6 && be16_get(eth->type) != UROCE_ETHERTYPE_IPV4))
		return;
	frame->len = mbuf->data_len;
	frame->is_ipv6 = is_ipv6;
	frame->ip_off = sizeof(*eth);
	frame->bth_off =
		(uint16_t)(sizeof(*eth) + sizeof(struct uroce_udp) +
			   (is_ipv6 ? sizeof(struct uroce_ipv6) : sizeof(struct uroce_ipv4)));
	if (frame->len < frame->bth_off + sizeof(struct uroce_bth) + 4)
		return;
	memcpy(frame->at, eth, frame->len);
	nb_captured++;
}

const struct frame *
fabric_captured(struct rng *rng)
{
	if (nb_captured == 0)
		return NULL;
	return &captured[rng_below(rng, (uint32_t)RTE_MIN(nb_captured, (uint64_t)NB_CAPTURED))];
}

static bool
is_for(const struct rte_mbuf *mbuf, enum host host)
{
	const uint8_t *at = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	const uint16_t type = (uint16_t)(at[12] << 8 | at[13]);

	if (type == UROCE_ETHERTYPE_IPV4)
		return memcmp(at + 30, ips[host][0] + 12, 4) == 0;
	return type == UROCE_ETHERTYPE_IPV6 && memcmp(at + 38, ips[host][1], 16) == 0;
}

static void
deliver(struct fabric *fabric, struct rte_ring *ring, struct rte_mbuf *mbuf)
{
	if (rte_ring_enqueue(ring, mbuf) == 0) {
		fabric->nb_sent += ring == into[HOST_TARGET][0] || ring == into[HOST_TARGET][1];
		return;
	}
	fabric->nb_lost++;
	rte_pktmbuf_free(mbuf);
}

/*
 * The access rights for a response. The QP that sends the response must have granted one of these
 * rights to its peer. The result is 0 if the response needs no right.
 */
static int
rights_of(const struct uroce_pkt *pkt)
{
	if (pkt->op->operation == UROCE_OPERATION_ATOMIC_ACK)
		return IBV_ACCESS_REMOTE_ATOMIC;
	if (pkt->op->operation != UROCE_OPERATION_READ_RESPONSE)
		return 0;
	/* a READ response without payload may be the response to an ATOMIC_WRITE or a FLUSH */
	return pkt->payload_len ? IBV_ACCESS_REMOTE_READ
				: IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
}

/*
 * Check a response of the target to the attacker. The victim must have granted the operation, and
 * the data must not contain the secret of memory that is not readable.
 */
static void
inspect(struct fabric *fabric, const struct rte_mbuf *mbuf)
{
	struct uroce_pkt pkt;

	if (uroce_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len, &pkt) !=
		    UROCE_VERDICT_RESPONSE ||
	    !rights_of(&pkt))
		return;
	fabric->nb_answers++;
	if (!(fabric->granted[(pkt.dest_qpn - GHOST_QPN(0)) & UINT8_MAX] & rights_of(&pkt)))
		fabric->has_overstepped = true;
	if (memmem(pkt.payload, pkt.payload_len, LAND_SECRET, LAND_SECRET_LEN))
		fabric->has_leaked = true;
}

/*
 * Process the frames that the target has sent: deliver them to the honest peer, or check and free
 * them.
 */
static void
route(struct fabric *fabric, struct rte_mbuf **frames, unsigned nb)
{
	for (unsigned i = 0; i < nb; i++) {
		capture(frames[i]);
		if (is_for(frames[i], HOST_BESIDE)) {
			deliver(fabric, into[HOST_BESIDE][0], frames[i]);
		} else {
			fabric->nb_reply++;
			inspect(fabric, frames[i]);
			rte_pktmbuf_free(frames[i]);
		}
	}
}

static unsigned
carry(struct fabric *fabric)
{
	struct rte_mbuf *frames[BURST];
	unsigned nb, nb_all = 0;

	for (unsigned i = 0; i < TARGET_WORKERS; i++) {
		while ((nb = rte_ring_dequeue_burst(from[HOST_TARGET][i], (void **)frames, BURST,
						    NULL)) > 0) {
			route(fabric, frames, nb);
			nb_all += nb;
		}
	}
	while ((nb = rte_ring_dequeue_burst(from[HOST_BESIDE][0], (void **)frames, BURST, NULL)) >
	       0) {
		for (unsigned i = 0; i < nb; i++) {
			capture(frames[i]);
			deliver(fabric, into[HOST_TARGET][0], frames[i]);
		}
		nb_all += nb;
	}
	return nb_all;
}

void
fabric_send(struct fabric *fabric, const struct frame *frame, unsigned worker, struct rng *rng)
{
	struct rte_mbuf *mbuf = make_mbuf(frame->at, frame->len, rng);

	if (mbuf)
		deliver(fabric, into[HOST_TARGET][worker], mbuf);
	else
		fabric->nb_lost++;
}

/*
 * Drive a worker of the target as an embedder does.
 * @return number of frames that the worker has received and transmitted
 */
static unsigned
drive_input(struct fabric *fabric, unsigned idx)
{
	struct uroce_worker *worker = uroce_get_worker(fabric->context[HOST_TARGET], (int)idx);
	struct rte_mbuf *frames[BURST], *rest[BURST];
	unsigned nb, nb_all = 0;

	while ((nb = rte_ring_dequeue_burst(into[HOST_TARGET][idx], (void **)frames, BURST, NULL)) >
	       0) {
		/*
		 * An embedder may pass two arrays, or the same array twice. Both cases occur here.
		 */
		struct rte_mbuf **const place = nb % 2 ? frames : rest;
		const unsigned nb_rest = uroce_worker_input(worker, frames, nb, place);

		fabric->nb_rest += nb_rest;
		rte_pktmbuf_free_bulk(place, nb_rest);
		nb_all += nb;
	}
	while ((nb = uroce_worker_output(worker, frames, BURST)) > 0) {
		route(fabric, frames, nb);
		nb_all += nb;
	}
	return nb_all;
}

static unsigned
drive(struct fabric *fabric, enum feed feed, unsigned idx)
{
	if (feed == FEED_INPUT)
		return drive_input(fabric, idx);
	return uroce_worker_poll(uroce_get_worker(fabric->context[HOST_TARGET], (int)idx));
}

void
fabric_run(struct fabric *fabric, enum feed feed, unsigned asleep)
{
	unsigned nb = 1;

	for (unsigned i = 0; i < ROUNDS_MAX && nb > 0; i++) {
		nb = uroce_worker_poll(uroce_get_worker(fabric->context[HOST_BESIDE], 0));
		for (unsigned w = 0; w < TARGET_WORKERS; w++) {
			if (w != asleep)
				nb += drive(fabric, feed, w);
		}
		nb += carry(fabric);
	}
}

/* --- neighbours -------------------------------------------------------------------------------- */

/*
 * Let host `who` send an ARP request or a neighbour solicitation for the address of `whom`. From
 * this request, `whom` learns the MAC of `who`.
 */
static void
ask(enum host who, enum host whom, bool is_ipv6)
{
	struct uroce_neigh_conf conf = { .mac = { 2, 0, 0, 0, 0, (uint8_t)who }, .nb_addr = 1 };
	struct uroce_neigh *neigh;
	uint8_t frame[UROCE_NEIGH_REQUEST_MAX];
	struct rte_mbuf *mbuf;
	uint32_t len;

	memcpy(conf.addr[0].ip, fabric_ip(who, is_ipv6), 16);
	conf.addr[0].prefix_len = is_ipv6 ? 64 : 120;
	neigh = uroce_neigh_create(&conf);
	if (!neigh)
		return;
	len = uroce_neigh_request(neigh, fabric_ip(who, is_ipv6), fabric_ip(whom, is_ipv6), 0,
				  frame);
	mbuf = make_mbuf(frame, len, NULL);
	uroce_neigh_destroy(neigh);
	if (mbuf && rte_ring_enqueue(into[whom][0], mbuf) != 0)
		rte_pktmbuf_free(mbuf);
}

static bool
knows(const struct fabric *fabric, enum host whom, enum host who, bool is_ipv6)
{
	uint8_t mac[6];

	return uroce_neigh_find(fabric->dev[whom]->neigh, fabric_ip(who, is_ipv6), uroce_clock_ns(),
				mac);
}

bool
fabric_introduce(struct fabric *fabric)
{
	static const struct {
		enum host whom;
		enum host who;
	} pairs[] = {
		{ HOST_TARGET, HOST_GHOST },
		{ HOST_TARGET, HOST_BESIDE },
		{ HOST_BESIDE, HOST_TARGET },
	};
	bool is_known = true;

	for (unsigned i = 0; i < 2 * RTE_DIM(pairs); i++) {
		const enum host whom = pairs[i / 2].whom, who = pairs[i / 2].who;

		if (knows(fabric, whom, who, i % 2))
			continue;
		ask(who, whom, i % 2);
		fabric->nb_sent += whom == HOST_TARGET;
		fabric_run(fabric, FEED_PORT, TARGET_WORKERS);
		is_known = is_known && knows(fabric, whom, who, i % 2);
	}
	return is_known;
}

/* --- counters ---------------------------------------------------------------------------------- */

struct uroce_worker_stats
fabric_stats(const struct fabric *fabric)
{
	struct uroce_worker_stats sum = { 0 };

	for (unsigned w = 0; w < TARGET_WORKERS; w++) {
		const struct uroce_worker_stats *one =
			uroce_worker_stats(uroce_get_worker(fabric->context[HOST_TARGET], (int)w));

		for (unsigned c = 0; c < UROCE_COUNTER_NB; c++)
			sum.counters.nb[c] += one->counters.nb[c];
		sum.rx_shared += one->rx_shared;
		for (unsigned v = 0; v < UROCE_VERDICT_NB; v++)
			sum.verdict[v] += one->verdict[v];
	}
	return sum;
}

void
fabric_close(struct fabric *fabric)
{
	struct rte_mbuf *mbuf;

	for (unsigned host = 0; host < 2; host++) {
		if (uroce_close_device(fabric->context[host]) != 0 ||
		    uroce_destroy_device(fabric->device[host]) != 0)
			fprintf(stderr, "fuzz-frames: a device does not go down\n");
	}
	for (unsigned i = 0; i < 2 * TARGET_WORKERS; i++) {
		while (rte_ring_dequeue(into[i % 2][i / 2], (void **)&mbuf) == 0 ||
		       rte_ring_dequeue(from[i % 2][i / 2], (void **)&mbuf) == 0)
			rte_pktmbuf_free(mbuf);
	}
}
