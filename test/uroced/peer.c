/* SPDX-License-Identifier: BSD-3-Clause */

/* The client's side of the rings and messages of uroced [doc/design/multiplexer.md]. */

#include "peer.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "wire/hdr.h"
#include "now_ms.h"

#define TIMEOUT_MS 300000
#define SILENCE_MS 100

union uroce_mux_message peer_message;

bool
peer_hear(struct peer *peer, uint32_t type)
{
	struct pollfd fd = { peer->socket, POLLIN, 0 };
	int got;

	for (;;) {
		assert_int_equal(poll(&fd, 1, TIMEOUT_MS), 1);
		const int ret = uroce_mux_receive(peer->socket, &peer_message, &got);

		if (ret <= 0)
			return false;
		if (got >= 0 && type != UROCE_MUX_ATTACHED)
			(void)close(got);
		else if (got >= 0)
			peer->doorbell = got;
		if (peer_message.type == type)
			return true;
		peer->nb_wakes += peer_message.type == UROCE_MUX_WAKE;
		if (peer_message.type == UROCE_MUX_REFUSED)
			print_message("# refused: %s\n", peer_message.refused.why);
	}
}

void
peer_connect(struct peer *peer, const char *path)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	union uroce_mux_message hello = { .hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION } };

	peer->doorbell = -1;
	do {
		peer->socket = uroce_mux_connect(path);
		if (peer->socket < 0)
			(void)usleep(1000);
	} while (peer->socket < 0 && now_ms() < until_ms);
	assert_true(peer->socket >= 0);
	assert_int_equal(uroce_mux_send(peer->socket, &hello, -1), 0);
	assert_true(peer_hear(peer, UROCE_MUX_HOST));
	peer->host = peer_message.this_host.host;
}

void
peer_reread(struct peer *peer)
{
	const struct uroce_shm_layout *plan = &peer->area.plan;

	for (uint32_t i = 0; i < plan->nb_pairs; i++) {
		struct uroce_spsc_ring *up = uroce_shm_up(&peer->area, i);
		struct uroce_spsc_ring *down = uroce_shm_down(&peer->area, i);

		peer->up[i] = (struct uroce_spsc_end){ up, plan->nb_slots, atomic_load(&up->head) };
		peer->down[i] =
			(struct uroce_spsc_end){ down, plan->nb_slots, atomic_load(&down->tail) };
	}
}

void
peer_make_area(struct peer *peer, uint32_t nb_pairs, uint32_t nb_slots)
{
	struct uroce_shm_layout plan;

	assert_true(nb_pairs <= PEER_PAIRS_MAX);
	assert_true(uroce_shm_lay_out(&plan, nb_pairs, nb_slots, peer->host.frame_limit,
				      UROCE_MUX_BLOCK));
	assert_int_equal(uroce_shm_create(&peer->area, &plan, &peer->area_fd), 0);
	peer_reread(peer);
	for (uint32_t i = 0; i < nb_pairs; i++) {
		for (uint32_t slot = 0; slot < nb_slots; slot++)
			uroce_spsc_put(
				&peer->down[i], slot,
				(struct uroce_spsc_desc){
					(uint32_t)uroce_shm_buffer(&plan, i, true, slot), 0 });
	}
}

void
peer_ask_attach(struct peer *peer)
{
	static union uroce_mux_message out;

	out.attach = (struct uroce_mux_attach){
		.type = UROCE_MUX_ATTACH,
		.version = UROCE_MUX_VERSION,
		.nb_leases = peer->nb_leases,
		.plan = peer->area.plan,
	};
	memcpy(out.attach.lease, peer->lease, peer->nb_leases * sizeof(peer->lease[0]));
	assert_int_equal(uroce_mux_send(peer->socket, &out, peer->area_fd), 0);
}

static void
keep_good_leases(struct peer *peer)
{
	const struct uroce_mux_attached *attached = &peer_message.attached;
	uint32_t nb = 0;

	for (uint32_t i = 0; i < peer->nb_leases; i++) {
		for (uint32_t j = 0; j < attached->nb_good; j++) {
			if (attached->block[j] == peer->lease[i].block) {
				peer->lease[nb++] = peer->lease[i];
				break;
			}
		}
	}
	assert_int_equal(nb, attached->nb_good);
	peer->nb_leases = nb;
}

/* Replace shared memory that was attached, since it cannot be attached again. */
static void
renew_area(struct peer *peer)
{
	struct uroce_shm fresh;
	int fd;

	assert_int_equal(uroce_shm_create(&fresh, &peer->area.plan, &fd), 0);
	for (uint32_t i = 0; i < fresh.plan.nb_pairs; i++)
		assert_int_equal(
			uroce_shm_renew_pair(&peer->area, &fresh, i, &peer->up[i], &peer->down[i]),
			0);
	assert_int_equal(uroce_shm_renew_bindings(&peer->area, &fresh), 0);
	(void)close(peer->area_fd);
	peer->area_fd = fd;
}

void
peer_attach(struct peer *peer)
{
	if (uroce_shm_is_sealed(peer->area_fd))
		renew_area(peer);
	peer_ask_attach(peer);
	assert_true(peer_hear(peer, UROCE_MUX_ATTACHED));
	assert_true(peer->doorbell >= 0);
	keep_good_leases(peer);
}

uint32_t
peer_lease(struct peer *peer, uint32_t nb)
{
	union uroce_mux_message out = { .lease = { UROCE_MUX_LEASE, nb } };
	const struct uroce_mux_leased *leased = &peer_message.leased;

	assert_int_equal(uroce_mux_send(peer->socket, &out, -1), 0);
	assert_true(peer_hear(peer, UROCE_MUX_LEASED));
	assert_true(leased->nb <= nb && peer->nb_leases + leased->nb <= UROCE_MUX_LEASES_MAX);
	memcpy(&peer->lease[peer->nb_leases], leased->lease, leased->nb * sizeof(peer->lease[0]));
	peer->nb_leases += leased->nb;
	return leased->nb;
}

void
peer_open(struct peer *peer, const char *path, uint32_t nb_pairs, uint32_t nb_slots)
{
	memset(peer, 0, sizeof(*peer));
	peer_connect(peer, path);
	peer_make_area(peer, nb_pairs, nb_slots);
	peer_attach(peer);
	/*
	 * blocks that were released a moment ago are in quarantine, and perhaps no other block is
	 * free
	 */
	for (unsigned i = 0; i < 6000 && peer_lease(peer, 1) == 0; i++)
		(void)usleep(10000);
	assert_int_equal(peer->nb_leases, 1);
}

void
peer_expect_refusal(struct peer *peer, const char *why)
{
	const struct uroce_mux_refused *refused = &peer_message.refused;

	assert_true(peer_hear(peer, UROCE_MUX_REFUSED));
	if (!strstr(refused->why, why) || !strstr(refused->why, "allowed "))
		fail_msg("refused with '%s', not '%s'", refused->why, why);
	assert_false(peer_hear(peer, 0));
}

void
peer_hang_up(struct peer *peer)
{
	if (peer->socket >= 0)
		(void)close(peer->socket);
	if (peer->doorbell >= 0)
		(void)close(peer->doorbell);
	peer->socket = peer->doorbell = -1;
}

void
peer_close(struct peer *peer)
{
	peer_hang_up(peer);
	if (peer->area.mem)
		(void)close(peer->area_fd);
	uroce_shm_unmap(&peer->area);
}

void
peer_bind(struct peer *peer, uint32_t qpn, uint32_t dest_qpn, enum uroce_binding_where where)
{
	const struct uroce_binding binding = { qpn, dest_qpn, (uint16_t)where };

	uroce_binding_set(&peer->area, &binding);
}

void
peer_accept(struct peer *peer, const struct peer *from)
{
	for (uint32_t i = 0; i < UROCE_MUX_BLOCK; i++)
		peer_bind(peer, peer_qpn(peer, 0) + i, from ? peer_qpn(from, 0) : 0x1234,
			  from ? UROCE_BINDING_LOCAL : UROCE_BINDING_REMOTE);
}

bool
peer_put(struct peer *peer, uint32_t pair, const uint8_t *frame, uint16_t len)
{
	struct uroce_spsc_end *up = &peer->up[pair];
	const uint64_t at =
		uroce_shm_buffer(&peer->area.plan, pair, false, up->mine & (up->nb_slots - 1));

	if (uroce_spsc_room(up) <= 0)
		return false;
	memcpy(peer->area.mem + at, frame, len);
	uroce_spsc_put(up, 0, (struct uroce_spsc_desc){ (uint32_t)at, len });
	return true;
}

void
peer_push(struct peer *peer, uint32_t pair, uint32_t nb)
{
	uroce_spsc_push(&peer->up[pair], nb);
	if (uroce_spsc_must_wake(&peer->up[pair]))
		(void)eventfd_write(peer->doorbell, 1);
}

void
peer_send(struct peer *peer, uint32_t pair, const uint8_t *frame, uint16_t len)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;

	while (!peer_put(peer, pair, frame, len))
		assert_true(now_ms() < until_ms);
	peer_push(peer, pair, 1);
}

uint16_t
peer_take(struct peer *peer, uint32_t pair, uint8_t *frame)
{
	struct uroce_spsc_end *down = &peer->down[pair];
	const int32_t nb = uroce_spsc_ready(down);
	struct uroce_spsc_desc slot;

	assert_true(nb >= 0);
	if (nb == 0)
		return 0;
	slot = uroce_spsc_get(down, 0);
	assert_true(uroce_shm_has(&peer->area, slot));
	memcpy(frame, peer->area.mem + slot.offset, slot.len);
	uroce_spsc_pop(down, 1);
	return slot.len;
}

uint16_t
peer_receive(struct peer *peer, uint32_t pair, uint8_t *frame)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	uint16_t len;

	while ((len = peer_take(peer, pair, frame)) == 0) {
		assert_true(now_ms() < until_ms);
		(void)usleep(50);
	}
	return len;
}

void
peer_expect_silence(struct peer *peer)
{
	const uint64_t until_ms = now_ms() + SILENCE_MS;
	uint8_t frame[UROCE_SHM_FRAME_MAX];

	while (now_ms() < until_ms) {
		for (uint32_t i = 0; i < peer->area.plan.nb_pairs; i++)
			assert_int_equal(peer_take(peer, i, frame), 0);
		(void)usleep(1000);
	}
}

/* Get the first IPv4 address of the host. */
static const uint8_t *
ip4_of(const struct uroce_mux_host *host)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	for (uint32_t i = 0; i < host->nb_addr; i++) {
		if (memcmp(host->addr[i].ip, mapped, sizeof(mapped)) == 0)
			return host->addr[i].ip + 12;
	}
	fail_msg("the host has no IPv4 address");
	return NULL;
}

uint16_t
peer_build(const struct peer *peer, uint8_t *frame, const uint8_t *dmac, uint32_t qpn, uint16_t len)
{
	struct uroce_eth *eth = (struct uroce_eth *)frame;
	struct uroce_ipv4 *ip = (struct uroce_ipv4 *)(eth + 1);
	struct uroce_udp *udp = (struct uroce_udp *)(ip + 1);
	struct uroce_bth *bth = (struct uroce_bth *)(udp + 1);
	const uint8_t *own = ip4_of(&peer->host);

	for (uint16_t i = 0; i < len; i++)
		frame[i] = (uint8_t)(i * 7 + len);
	memcpy(eth->dst, dmac ? dmac : peer->host.mac, 6);
	memcpy(eth->src, peer->host.mac, 6);
	eth->type = be16_make(UROCE_ETHERTYPE_IPV4);
	*ip = (struct uroce_ipv4){
		.version_ihl = 0x45,
		.total_len = be16_make((uint16_t)(len - sizeof(*eth))),
		.frag = be16_make(UROCE_IPV4_DF),
		.ttl = 64,
		.protocol = UROCE_IPPROTO_UDP,
	};
	memcpy(ip->src, own, 4);
	memcpy(ip->dst, own, 4);
	if (dmac)
		ip->dst[3] ^= 3;
	*udp = (struct uroce_udp){
		.sport = be16_make(50000),
		.dport = be16_make(4791),
		.len = be16_make((uint16_t)(len - sizeof(*eth) - sizeof(*ip))),
	};
	*bth = (struct uroce_bth){ .opcode = 4, .dest_qpn = be24_make(qpn) };
	return len;
}

void
peer_make_datagram(const struct peer *peer, uint8_t *frame, uint32_t qkey)
{
	struct uroce_bth *bth = (struct uroce_bth *)(frame + 42);
	struct uroce_deth *deth = (struct uroce_deth *)(bth + 1);

	bth->opcode = 0x64;
	*deth = (struct uroce_deth){ .qkey = be32_make(qkey),
				     .src_qpn = be24_make(peer_qpn(peer, 0)) };
}
