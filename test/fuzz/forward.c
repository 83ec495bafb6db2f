/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The data path of uroced between three clients and a port, which is an ethdev port or the port
 * `udp`. The input decides what the clients and the port do. They send frames of RoCE, ARP,
 * neighbour discovery and others, valid or not. The clients set bindings, the test changes leases,
 * and the port may accept no frames. A client that writes invalid data to its shared memory may
 * lose frames, but other clients may not. Every frame that an honest client or the port receives
 * must be allowed. Nothing else may change in the memory of an honest client.
 */

#include "bytes.h"

#include <errno.h>
#include <stddef.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include "checksums.h"
#include "data.h"
#include "datapath/clock.h"
#include "datapath/net/neigh.h"
#include "mux/binding.h"
#include "neigh_seeds.h"
#include "wire/build.h"
#include "wire/opcode.h"

#define STEPS_MAX  200
#define NB_CLIENTS 3u
#define NB_PAIRS   2u
#define NB_SLOTS   64u
#define ROOM       256u /* maximum length of a frame, which is the length of a buffer */
#define NB_BLOCKS  6u   /* number of blocks of QP numbers in use: the blocks from 1 on */
#define NB_MBUFS   512u

int LLVMFuzzerInitialize(int *argc, char ***argv);

static const uint8_t our_mac[6] = { 2, 0, 0, 0, 0, 1 }, peer_mac[6] = { 2, 0, 0, 0, 0, 0x99 };
static const uint8_t our_ip[2][16] = { { [10] = 0xff, 0xff, 192, 0, 2, 1 },
				       { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } };
static const uint8_t peer_ip[2][16] = { { [10] = 0xff, 0xff, 192, 0, 2, 9 },
					{ 0x20, 0x01, 0x0d, 0xb8, [15] = 9 } };
static const uint8_t group_ip[2][16] = { { [10] = 0xff, 0xff, 239, 1, 2, 3 },
					 { 0xff, 0x15, [15] = 7 } };

static struct side {
	struct client *client;
	/* for each ring up, the head index as an honest client counts it */
	uint32_t head[NB_PAIRS];
	uint32_t seen[NB_PAIRS]; /* for each ring down, the number of frames that were checked */
	bool is_wild, was_broken;
	uint8_t *before; /* copy of the client's shared memory before a round of uroced */
} sides[NB_CLIENTS];

static struct data data;
static struct lease_table leases;
static struct uroce_port port;

/* --- burst functions of the ethdev port ---------------------------------------------------------- */

static struct rte_mempool *pool;
static struct rte_mbuf *arrived[UROCE_BURST];
static unsigned nb_arrived, tx_room;

static uint16_t
receive(void *queue, struct rte_mbuf **mbufs, uint16_t nb)
{
	(void)queue;
	expect(nb == UROCE_BURST);
	memcpy(mbufs, arrived, nb_arrived * sizeof(arrived[0]));
	nb = (uint16_t)nb_arrived;
	nb_arrived = 0;
	return nb;
}

/*
 * Check a frame that uroced sends to the port: the frame is one that a client may send, or a
 * response that uroced itself has made.
 */
static void
expect_sendable(const uint8_t *bytes, uint32_t len)
{
	struct frame frame;

	expect(len >= 42 && memcmp(bytes + 6, our_mac, 6) == 0);
	frame_read(bytes, len < FRAME_HEAD ? len : FRAME_HEAD, &frame);
	if (frame.kind == FRAME_OTHER || frame.kind == FRAME_ANSWER)
		return;
	expect(frame_filter_up(&frame, &data.host) == FRAME_PASSES);
	expect(!frame_is_to_us(&frame, &data.host));
}

static uint16_t
transmit(void *queue, struct rte_mbuf **mbufs, uint16_t nb)
{
	(void)queue;
	if (nb > tx_room)
		nb = (uint16_t)tx_room;
	tx_room -= nb;
	for (unsigned i = 0; i < nb; i++) {
		expect(mbufs[i]->nb_segs == 1 && mbufs[i]->pkt_len == mbufs[i]->data_len);
		expect_sendable(rte_pktmbuf_mtod(mbufs[i], const uint8_t *), mbufs[i]->data_len);
	}
	rte_pktmbuf_free_bulk(mbufs, nb);
	return nb;
}

/* --- functions of the port `udp` ----------------------------------------------------------------- */

static unsigned nb_joined; /* number of multicast groups that the port `udp` has joined */

uint16_t
uroce_udp_port_rx(const struct uroce_port *of, uint16_t queue, struct rte_mbuf **mbufs, uint16_t nb)
{
	(void)of;
	(void)queue;
	nb = (uint16_t)RTE_MIN(nb, nb_arrived);
	nb_arrived -= nb;
	memcpy(mbufs, arrived + nb_arrived, nb * sizeof(arrived[0]));
	return nb;
}

uint16_t
uroce_udp_port_tx(const struct uroce_port *of, uint16_t queue, struct rte_mbuf **mbufs, uint16_t nb,
		  unsigned *nb_lost)
{
	(void)of;
	*nb_lost = queue; /* no frame is lost: `queue` is 0 */
	return transmit(NULL, mbufs, nb);
}

void
uroce_udp_counters_add(const struct uroce_udp_queue *queue, uint64_t nb[UROCE_UDP_COUNTER_NB])
{
	(void)queue;
	(void)nb;
}

bool
uroce_udp_port_has_group_sockets(const struct uroce_port *of)
{
	(void)of;
	return true;
}

int
uroce_netif_join(const struct uroce_netif *netif, const uint8_t gid[16])
{
	(void)netif;
	(void)gid;
	return -EINVAL;
}

int
uroce_udp_port_join(const struct uroce_port *of, const uint8_t gid[16])
{
	(void)of;
	if (gid[15] & 1)
		return -EINVAL;
	expect(nb_joined++ < GROUPS_MAX);
	return 0;
}

void
uroce_udp_port_leave(const struct uroce_port *of, const uint8_t gid[16])
{
	(void)of;
	expect((gid[15] & 1) == 0 && nb_joined-- > 0);
}

/* ------------------------------------------------------------------------------------------------- */

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static void *queue, *callbacks;
	char *args[] = { (*argv)[0],
			 (char *)"--no-huge",
			 (char *)"--no-pci",
			 (char *)"-m",
			 (char *)"64",
			 (char *)"--no-shconf",
			 (char *)"--no-telemetry",
			 (char *)"--log-level=*:error" };

	(void)argc;
	expect(rte_eal_init((int)RTE_DIM(args), args) >= 0);
	pool = rte_pktmbuf_pool_create("frames", NB_MBUFS, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM, 0);
	expect(pool);
	rte_eth_fp_ops[0] = (struct rte_eth_fp_ops){
		.rx_pkt_burst = receive,
		.tx_pkt_burst = transmit,
		.rxq = { .data = &queue, .clbk = &callbacks },
		.txq = { .data = &queue, .clbk = &callbacks },
	};
	port.pool[0] = pool;
	atomic_store(&port.is_ready, true);
	/*
	 * A slow clock. With it, a turn of a client in most cases ends because of its number of
	 * frames, and not because of the time limit.
	 */
	uroce_clock_factor = UINT32_MAX / 256;
	return 0;
}

/* --- frames -------------------------------------------------------------------------------------- */

static uint32_t
draw_qpn(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);

	return (1 + bits % NB_BLOCKS) * UROCE_MUX_BLOCK + bits / NB_BLOCKS % 4;
}

/*
 * Draw a RoCE frame from a client or from another host, to a client, another host or a multicast
 * group.
 * @return length of the frame
 */
static uint32_t
draw_roce(struct bytes *in, uint8_t *frame, bool is_by_us)
{
	const uint8_t bits = bytes_u8(in);
	const bool is_v6 = bits & 1, is_datagram = bits & 2, is_to_us = bits & 4 || !is_by_us;
	const bool is_to_group = (bits & 0x18) == 0x18;
	const uint32_t payload_len = bits >> 5 << 2;
	const uint8_t *dip = is_to_group ? group_ip[is_v6]
			     : is_to_us  ? our_ip[is_v6]
					 : peer_ip[is_v6];
	struct uroce_path_conf conf = { .udp_sport = 0xd00d };
	struct uroce_path path;
	struct uroce_bth *bth;
	uint32_t icrc;

	memcpy(conf.smac, is_by_us ? our_mac : peer_mac, 6);
	memcpy(conf.dmac, is_to_us ? our_mac : peer_mac, 6);
	if (is_to_group)
		memcpy(conf.dmac, is_v6 ? mld_query : igmp_query, 6);
	memcpy(conf.sip, is_by_us ? our_ip[is_v6] : peer_ip[is_v6], 16);
	memcpy(conf.dip, dip, 16);
	uroce_path_init(&path, &conf);
	bth = uroce_path_put(&path, frame, 12 + 8 + payload_len + 4, &icrc);
	uroce_bth_put(bth, is_datagram ? 0x64 : 0x04, 0, 0xffff,
		      is_to_group ? FRAME_QPN_GROUP : draw_qpn(in), 7);
	if (is_datagram) {
		struct uroce_deth *deth = (struct uroce_deth *)(bth + 1);

		deth->src_qpn = be24_make(draw_qpn(in));
		deth->qkey = be32_make(bytes_u8(in) == 0xff ? FRAME_QKEY_PRIVILEGED : 1);
	}
	return (uint32_t)((uint8_t *)(bth + 1) - frame) + 8 + payload_len + 4;
}

static uint32_t
draw_frame(struct bytes *in, uint8_t frame[ROOM], bool is_by_us)
{
	const uint8_t bits = bytes_u8(in);
	const unsigned seed = bits & 0x3f;
	uint32_t len;

	memset(frame, 0, ROOM);
	if (seed < RTE_DIM(seeds)) {
		len = seeds[seed].len;
		memcpy(frame, seeds[seed].bytes, len);
	} else {
		len = draw_roce(in, frame, is_by_us);
	}
	if (!(bits & 0x80))
		return len;
	for (unsigned i = bytes_u8(in) & 3; i > 0; i--) {
		const uint8_t at = bytes_u8(in);

		frame[at] = bytes_u8(in);
	}
	if (!(bits & 0x40))
		checksums_mend(frame, len);
	else
		len = bytes_u8(in);
	return len;
}

/* --- clients ------------------------------------------------------------------------------------- */

static void
make_client(struct side *side, uint16_t slot)
{
	struct client *client = client_create(-1, slot);
	struct uroce_shm *area = &client->shm;

	expect(client);
	client->uid = slot > 0 ? 1000 : 0;
	expect(uroce_shm_lay_out(&area->plan, NB_PAIRS, NB_SLOTS, ROOM, UROCE_BINDINGS_MIN));
	/* memory of the exact length, so that the sanitizer detects an overrun */
	area->mem = aligned_alloc(64, area->plan.size);
	expect(area->mem);
	memset(area->mem, 0, area->plan.size);
	*side = (struct side){ .client = client, .before = malloc(area->plan.size) };
	expect(side->before);
	for (uint32_t pair = 0; pair < NB_PAIRS; pair++) {
		for (uint32_t i = 0; i < NB_SLOTS; i++)
			uroce_shm_down(area, pair)->slot[i] = uroce_spsc_pack((
				struct uroce_spsc_desc){
				(uint32_t)uroce_shm_buffer(&area->plan, pair, true, i), 0 });
	}
	expect(client_take_rings(client));
	data.client[slot] = client;
	runq_add(&data, client);
}

static void
end_client(struct side *side)
{
	groups_forget(&data.groups, side->client->slot);
	data.client[side->client->slot] = NULL;
	runq_remove(&data, side->client);
	free(side->client->shm.mem);
	side->client->shm.mem = NULL;
	client_destroy(side->client, NULL);
	free(side->before);
}

/* Check a frame in the ring down of a client: the client must be allowed to receive the frame. */
static void
expect_deliverable(const struct side *to, const uint8_t *bytes, uint32_t len)
{
	const unsigned owner = to->client->slot + 1u;
	const bool is_by_us = memcmp(bytes + 6, our_mac, 6) == 0;
	struct uroce_binding binding;
	struct frame frame;

	frame_read(bytes, len < FRAME_HEAD ? len : FRAME_HEAD, &frame);
	expect(frame.kind != FRAME_OTHER && frame.kind != FRAME_ASK);
	if (is_by_us)
		expect(frame.kind == FRAME_ROCE &&
		       frame_filter_up(&frame, &data.host) == FRAME_PASSES);
	else
		expect(frame_filter_wire(&frame, &data.host) == FRAME_PASSES);
	if (frame.kind != FRAME_ROCE || frame.qpn == FRAME_QPN_GROUP)
		return;
	expect(lease_owner(&leases, frame.qpn) == owner);
	if (is_by_us && frame.src_qpn != FRAME_QPN_NONE) {
		expect(lease_owner(&leases, frame.src_qpn) != 0);
		expect(!frame_has_privileged_qkey(&frame) ||
		       lease_owner(&leases, frame.src_qpn) == 1);
	}
	if (!frame_is_connected(&frame))
		return;
	binding = uroce_binding_get(&to->client->shm, frame.qpn);
	/* A client may always send frames to itself. Such a frame needs no binding. */
	if (is_by_us && binding.qpn != frame.qpn)
		return;
	expect(binding.qpn == frame.qpn);
	if (!is_by_us)
		expect(binding.where == UROCE_BINDING_REMOTE);
}

/*
 * Check the new frames in the ring down of a client. The descriptor in each slot must refer to the
 * buffer that belongs to the slot.
 */
static void
check_down_ring(struct side *side, uint32_t pair)
{
	const struct uroce_shm *area = &side->client->shm;
	const struct uroce_spsc_ring *down = uroce_shm_down(area, pair);
	const uint32_t head = atomic_load(&down->head);

	expect(head - atomic_load(&down->tail) <= NB_SLOTS);
	for (; side->seen[pair] != head; side->seen[pair]++) {
		const uint32_t i = side->seen[pair] % NB_SLOTS;
		const struct uroce_spsc_desc frame = uroce_spsc_unpack(down->slot[i]);

		expect(uroce_shm_has(area, frame));
		expect(frame.offset == uroce_shm_buffer(&area->plan, pair, true, i));
		expect_deliverable(side, area->mem + frame.offset, frame.len);
	}
}

static void
expect_same(const struct side *side, uint64_t at, uint64_t len)
{
	expect(memcmp(side->client->shm.mem + at, side->before + at, len) == 0);
}

static void
look_at_client(struct side *side)
{
	const struct uroce_shm_layout *plan = &side->client->shm.plan;

	if (side->was_broken) {
		expect_same(side, 0, plan->size);
		return;
	}
	if (side->is_wild)
		return;
	expect(!atomic_load(&side->client->is_broken));
	expect_same(side, plan->bindings, plan->nb_bindings * sizeof(uint64_t));
	for (uint32_t pair = 0; pair < NB_PAIRS; pair++) {
		expect_same(side, plan->up[pair] + offsetof(struct uroce_spsc_ring, slot),
			    NB_SLOTS * sizeof(uint64_t));
		expect_same(side, uroce_shm_buffer(plan, pair, false, 0), NB_SLOTS * ROOM);
		check_down_ring(side, pair);
	}
}

/* --- steps of the test --------------------------------------------------------------------------- */

static void
round_of(struct bytes *in)
{
	for (unsigned i = 0; i < NB_CLIENTS; i++) {
		struct side *side = &sides[i];

		side->was_broken = atomic_load(&side->client->is_broken);
		memcpy(side->before, side->client->shm.mem, side->client->shm.plan.size);
	}
	uroce_clock_base += (uint64_t)bytes_u8(in) << 16;
	data.last_ns = data.now_ns;
	data.now_ns = uroce_clock_ns();
	(void)data_round(&data);
	for (unsigned i = 0; i < NB_CLIENTS; i++)
		look_at_client(&sides[i]);
}

static void
post(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);
	struct side *side = &sides[bits % NB_CLIENTS];
	const uint32_t pair = bits >> 6 & 1;
	const struct uroce_shm *area = &side->client->shm;
	struct uroce_spsc_ring *up = uroce_shm_up(area, pair);
	const uint32_t i = side->head[pair] % NB_SLOTS;
	struct uroce_spsc_desc slot = {
		(uint32_t)uroce_shm_buffer(&area->plan, pair, false, i),
	};
	uint8_t frame[ROOM];

	if (side->head[pair] - atomic_load(&up->tail) >= NB_SLOTS)
		return;
	slot.len = (uint16_t)draw_frame(in, frame, true);
	if ((bits & 0x38) == 0x38)
		slot = (struct uroce_spsc_desc){ UROCE_SPSC_BARRIER, 0 };
	else
		memcpy(area->mem + slot.offset, frame, ROOM);
	up->slot[i] = uroce_spsc_pack(slot);
	atomic_store(&up->head, ++side->head[pair]);
}

/* Let a client consume those frames of a ring down that the test has checked. */
static void
consume(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);
	struct side *side = &sides[bits % NB_CLIENTS];
	const uint32_t pair = bits >> 6 & 1;
	struct uroce_spsc_ring *down = uroce_shm_down(&side->client->shm, pair);

	atomic_store(&down->sleeps, bits >> 7);
	if (!side->is_wild)
		atomic_store(&down->tail, side->seen[pair]);
}

static void
set_binding(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);
	const struct uroce_binding binding = { draw_qpn(in), draw_qpn(in), bits >> 6 };

	uroce_binding_set(&sides[bits % NB_CLIENTS].client->shm, &binding);
}

static void
lease(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);

	leases.owner[1 + (bits >> 3) % NB_BLOCKS] = (uint16_t)(bits % (NB_CLIENTS + 1));
}

/*
 * Write random values into the shared memory of a client, as a hostile client may do: into the
 * rings, the bindings and the other data before the buffers.
 */
static void
go_wild(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);
	struct side *side = &sides[bits % NB_CLIENTS];
	const struct uroce_shm *area = &side->client->shm;
	struct uroce_spsc_ring *up = uroce_shm_up(area, bits >> 6 & 1);
	struct uroce_spsc_ring *down = uroce_shm_down(area, bits >> 6 & 1);
	const uint8_t what = bytes_u8(in);

	side->is_wild = true;
	switch (what % 6) {
	case 0:
		atomic_fetch_add(&up->head, what >> 2);
		break;
	case 1:
		atomic_store(&down->tail, bytes_u32(in));
		break;
	case 2:
		up->slot[what >> 2] = bytes_u64(in) & UINT64_C(0xffff0000ffff);
		break;
	case 3:
		down->slot[what >> 2] = bytes_u64(in) & UINT64_C(0xffff0000ffff);
		break;
	case 4:
		area->mem[bytes_u16(in) % area->plan.size] = what;
		break;
	case 5:
		atomic_store(&up->head, bytes_u32(in));
		break;
	}
}

static void
arrive(struct bytes *in)
{
	struct rte_mbuf *mbuf;
	uint8_t frame[ROOM];
	uint32_t len = draw_frame(in, frame, false);

	if (nb_arrived == UROCE_BURST)
		return;
	mbuf = rte_pktmbuf_alloc(pool);
	if (!mbuf)
		return;
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)len), frame, len);
	arrived[nb_arrived++] = mbuf;
}

static void
change_wire(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);

	atomic_store(&port.is_up, !(bits & 0x80));
	tx_room = bits & 0x40 ? 0 : bits;
}

static void
sleep_or_not(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);

	data.now_ns += (uint64_t)bits << 12;
	if (bits & 1)
		runq_park_idle(&data);
	if (bits & 2)
		runq_on_doorbell(&data, sides[bits % NB_CLIENTS].client);
	if (bits & 4)
		(void)data_may_sleep(&data);
	if (bits & 8)
		data_awake(&data);
	(void)data_waits(&data);
}

static void (*const deeds[])(struct bytes *in) = {
	post,    post,        post,        post,  arrive,      arrive,       round_of, round_of,
	consume, set_binding, set_binding, lease, change_wire, sleep_or_not, go_wild,
};

static void
begin(struct bytes *in)
{
	static const struct uroce_port_policy policies[] = {
		{ .burst = UROCE_BURST_ETHDEV },
		{ .burst = UROCE_BURST_UDP, .is_udp = true },
	};
	struct uroce_mux_host host = { .frame_limit = ROOM, .nb_addr = 2 };
	struct uroce_neigh_conf neigh = { .nb_addr = 2 };

	/*
	 * The length of the input decides, because the inputs of the corpus have no byte for this
	 * choice.
	 */
	port.policy = &policies[in->left & 1];
	host.is_udp = port.policy->is_udp;
	memcpy(host.mac, our_mac, 6);
	memcpy(neigh.mac, our_mac, 6);
	for (unsigned i = 0; i < 2; i++) {
		memcpy(host.addr[i].ip, our_ip[i], 16);
		memcpy(neigh.addr[i].ip, our_ip[i], 16);
		neigh.addr[i].prefix_len = i ? 64 : 96 + 24;
	}
	memset(&data, 0, sizeof(data));
	data.leases = &leases;
	data.read_clock = uroce_clock_ns;
	data.broken_fd = -1;
	wire_init(&data.wire, &port, host.is_udp ? NULL : uroce_neigh_create(&neigh));
	groups_init(&data.groups, &port, data.client);
	frame_host_set(&data.host, &host);
	uroce_clock_base += UINT64_C(1000000000);
	data.now_ns = uroce_clock_ns();
	atomic_store(&port.is_up, true);
	tx_room = UINT16_MAX;
	nb_arrived = 0;
	for (unsigned i = 0; i < NB_BLOCKS; i++)
		leases.owner[1 + i] = (uint16_t)(1 + i % NB_CLIENTS);
	for (uint16_t i = 0; i < NB_CLIENTS; i++)
		make_client(&sides[i], i);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct bytes in = { bytes, len };

	begin(&in);
	for (unsigned i = 0; i < STEPS_MAX && in.left > 0; i++)
		deeds[bytes_u8(&in) % RTE_DIM(deeds)](&in);
	round_of(&in);
	for (unsigned i = 0; i < NB_CLIENTS; i++)
		end_client(&sides[i]);
	expect(data.groups.nb == 0 && nb_joined == 0);
	wire_fini(&data.wire);
	uroce_neigh_destroy(data.wire.neigh);
	rte_pktmbuf_free_bulk(arrived, nb_arrived);
	expect(rte_mempool_avail_count(pool) == NB_MBUFS);
	return 0;
}
