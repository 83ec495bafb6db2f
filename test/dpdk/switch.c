/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The implementation of switch.h: one thread, which holds a lock during each of its rounds. The
 * functions that inject faults take this lock, too.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "switch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "wire/hdr.h"

#define BATCH      32
#define IDLE_LOOKS 200 /* number of passes without work before the switch sleeps */
#define SECRET     UINT64_C(0x9e3779b97f4a7c15)
#define MCAST_QPN  0xffffffu

struct client {
	int fd; /* socket of the connection, or -1 if this entry has no client */
	int doorbell;
	bool is_attached;
	struct uroce_shm shm;
	struct uroce_spsc_end up[UROCE_SHM_PAIRS_MAX], down[UROCE_SHM_PAIRS_MAX];
	/* for each ring up, the pass in which a barrier was found, or 0 if no barrier waits */
	uint64_t barrier_pass[UROCE_SHM_PAIRS_MAX];
	bool *has_block;
};

struct a_switch {
	struct switch_conf conf;
	int listen_fd, stop_fd;
	pthread_t thread;
	pthread_mutex_t lock;
	atomic_bool is_stopping, is_asleep;
	atomic_uint nb_clients;
	_Atomic uint64_t nb_forwarded;
	uint64_t chance;
	uint64_t nb_passes; /* number of passes over all rings */
	uint32_t next_block;
	struct client client[SWITCH_CLIENTS];
};

const struct uroce_mux_host switch_host = {
	.mac = { 2, 0, 0, 0, 0, 1 },
	.is_up = 1,
	.frame_limit = 4218,
	.mbps = 25000,
	.nb_addr = 3,
	.addr = { { { 0xfe, 0x80, [11] = 0xff, 0xfe, 0, 0, 1 }, 64, 0 },
		  { { [10] = 0xff, 0xff, 192, 0, 2, 1 }, 120, 0 },
		  { { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 }, 64, 0 } },
};

/* --- frames ------------------------------------------------------------------------------------ */

/* Get the destination QP number of a frame, or 0 if the frame is not an IP packet. */
static uint32_t
qpn_of(const uint8_t *frame)
{
	const struct uroce_eth *eth = (const struct uroce_eth *)frame;
	const uint8_t *ip = (const uint8_t *)(eth + 1);
	const bool is_v4 = be16_get(eth->type) == UROCE_ETHERTYPE_IPV4;
	const size_t len = is_v4 ? sizeof(struct uroce_ipv4) : sizeof(struct uroce_ipv6);
	const struct uroce_bth *bth = (const struct uroce_bth *)(ip + len + 8);

	if (!is_v4 && be16_get(eth->type) != UROCE_ETHERTYPE_IPV6)
		return 0;
	return be24_get(bth->dest_qpn);
}

static void
wake(struct client *client)
{
	union uroce_mux_message message = { .wake = { UROCE_MUX_WAKE } };

	(void)uroce_mux_send(client->fd, &message, -1);
}

static void
give(struct a_switch *sw, struct client *to, uint32_t pair, const uint8_t *frame, uint16_t len)
{
	struct uroce_spsc_end *end = &to->down[pair % to->shm.plan.nb_pairs];
	struct uroce_spsc_desc buffer;

	if (uroce_spsc_room(end) <= 0)
		return;
	buffer = uroce_spsc_get(end, 0);
	assert_true(uroce_shm_has_buffer(&to->shm, buffer));
	memcpy(to->shm.mem + buffer.offset, frame, len);
	buffer.len = len;
	uroce_spsc_put(end, 0, buffer);
	uroce_spsc_push(end, 1);
	if (uroce_spsc_must_wake(end))
		wake(to);
	atomic_fetch_add(&sw->nb_forwarded, 1);
}

/*
 * Decide pseudo-randomly whether to drop a frame. The decisions are the same in each run. The
 * linear congruential generator has the constants of MMIX [Knuth].
 */
static bool
is_dropped(struct a_switch *sw)
{
	sw->chance = sw->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (sw->chance >> 33) % sw->conf.drop_every == 0;
}

static void
forward(struct a_switch *sw, const struct client *from, uint32_t pair, const uint8_t *frame,
	uint16_t len)
{
	const uint32_t qpn = qpn_of(frame);

	if (qpn > 0 && sw->conf.drop_every > 0 && is_dropped(sw))
		return;
	for (unsigned i = 0; i < SWITCH_CLIENTS && qpn > 0; i++) {
		struct client *to = &sw->client[i];

		if (to->is_attached &&
		    (qpn == MCAST_QPN ? to != from : to->has_block[qpn / UROCE_MUX_BLOCK]))
			give(sw, to, pair, frame, len);
	}
}

/*
 * Whether a barrier may be passed in this pass. This must be at least two passes after the pass in
 * which the barrier was found, so that the switch has served each ring of each client in between.
 */
static bool
is_barrier_passed(struct a_switch *sw, uint64_t *met_pass)
{
	if (*met_pass == 0)
		*met_pass = sw->nb_passes;
	if (sw->nb_passes < *met_pass + 2)
		return false;
	*met_pass = 0;
	return true;
}

/*
 * Forward up to BATCH frames of a client's ring up. Stop at a barrier that must not be passed yet.
 * @return number of frames and barriers that the ring had, at most BATCH
 */
static unsigned
serve_ring(struct a_switch *sw, struct client *client, uint32_t pair)
{
	struct uroce_spsc_end *end = &client->up[pair];
	const int32_t nb_ready = uroce_spsc_ready(end);
	const uint32_t nb = nb_ready < 0 ? 0 : nb_ready > BATCH ? BATCH : (uint32_t)nb_ready;

	uint32_t i;

	assert_true(nb_ready >= 0);
	for (i = 0; i < nb; i++) {
		const struct uroce_spsc_desc frame = uroce_spsc_get(end, i);

		if (frame.len == 0 && frame.offset == UROCE_SPSC_BARRIER) {
			if (!is_barrier_passed(sw, &client->barrier_pass[pair]))
				break;
			continue;
		}
		assert_true(uroce_shm_has(&client->shm, frame));
		forward(sw, client, pair, client->shm.mem + frame.offset, frame.len);
	}
	if (i > 0)
		uroce_spsc_pop(end, i);
	return nb;
}

static unsigned
serve_rings(struct a_switch *sw)
{
	unsigned nb = 0;

	sw->nb_passes++;

	for (unsigned i = 0; i < SWITCH_CLIENTS; i++) {
		struct client *client = &sw->client[i];

		for (uint32_t j = 0; client->is_attached && j < client->shm.plan.nb_pairs; j++)
			nb += serve_ring(sw, client, j);
	}
	return nb;
}

/* --- messages of clients ----------------------------------------------------------------------- */

static void
drop(struct a_switch *sw, struct client *client)
{
	if (client->fd < 0)
		return;
	if (client->is_attached)
		atomic_fetch_sub(&sw->nb_clients, 1);
	uroce_shm_unmap(&client->shm);
	(void)close(client->fd);
	if (client->doorbell >= 0)
		(void)close(client->doorbell);
	free(client->has_block);
	*client = (struct client){ .fd = -1, .doorbell = -1 };
}

static uint64_t
token_of(uint32_t block)
{
	return (block + 1) * SECRET;
}

static bool
is_somebodys(const struct a_switch *sw, uint32_t block)
{
	for (unsigned i = 0; i < SWITCH_CLIENTS; i++) {
		if (sw->client[i].has_block && sw->client[i].has_block[block])
			return true;
	}
	return false;
}

static void
send_host(struct a_switch *sw, struct client *client)
{
	union uroce_mux_message message = { .this_host = { UROCE_MUX_HOST, UROCE_MUX_VERSION,
							   sw->conf.host } };

	(void)uroce_mux_send(client->fd, &message, -1);
}

static void
refuse(struct a_switch *sw, struct client *client)
{
	union uroce_mux_message message = { .refused = { UROCE_MUX_REFUSED, EBUSY, "no" } };

	(void)uroce_mux_send(client->fd, &message, -1);
	drop(sw, client);
}

static void
take_ends(struct client *client)
{
	for (uint32_t i = 0; i < client->shm.plan.nb_pairs; i++) {
		struct uroce_spsc_ring *up = uroce_shm_up(&client->shm, i);
		struct uroce_spsc_ring *down = uroce_shm_down(&client->shm, i);
		const uint32_t nb = client->shm.plan.nb_slots;

		client->up[i] = (struct uroce_spsc_end){ up, nb, atomic_load(&up->tail) };
		client->down[i] = (struct uroce_spsc_end){ down, nb, atomic_load(&down->head) };
		assert_true(uroce_spsc_ready(&client->up[i]) >= 0);
		assert_true(uroce_spsc_room(&client->down[i]) >= 0);
	}
}

static void
attach(struct a_switch *sw, struct client *client, const union uroce_mux_message *message, int fd)
{
	const struct uroce_mux_attach *request = &message->attach;
	union uroce_mux_message response = { .attached = { UROCE_MUX_ATTACHED, 0 } };
	uint32_t nb = 0;

	assert_null(uroce_shm_check(&request->plan, fd, sw->conf.host.frame_limit));
	assert_int_equal(uroce_shm_map(&client->shm, &request->plan, fd), 0);
	assert_null(uroce_shm_seal(&request->plan, fd));
	client->has_block = calloc(UROCE_MUX_BLOCKS, sizeof(bool));
	assert_non_null(client->has_block);
	for (uint32_t i = 0; i < request->nb_leases && !sw->conf.is_forgetful; i++) {
		const struct uroce_mux_lease *lease = &request->lease[i];

		if (lease->token != token_of(lease->block) || is_somebodys(sw, lease->block))
			continue;
		client->has_block[lease->block] = true;
		response.attached.block[nb++] = lease->block;
	}
	response.attached.nb_good = nb;
	take_ends(client);
	client->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(uroce_mux_send(client->fd, &response, client->doorbell), 0);
	client->is_attached = true;
	atomic_fetch_add(&sw->nb_clients, 1);
}

static void
lease(struct a_switch *sw, struct client *client, uint32_t nb)
{
	union uroce_mux_message response = { .leased = { UROCE_MUX_LEASED, 0 } };

	for (uint32_t i = 0; i < nb; i++) {
		if (sw->conf.nb_blocks > 0 && sw->next_block > sw->conf.nb_blocks)
			break;
		while (is_somebodys(sw, sw->next_block))
			sw->next_block++;
		client->has_block[sw->next_block] = true;
		response.leased.lease[i].block = sw->next_block;
		response.leased.lease[i].token = token_of(sw->next_block);
		response.leased.nb++;
		sw->next_block++;
	}
	assert_int_equal(uroce_mux_send(client->fd, &response, -1), 0);
}

static void
hear(struct a_switch *sw, struct client *client)
{
	union uroce_mux_message message;
	int fd;
	const int ret = uroce_mux_receive(client->fd, &message, &fd);

	if (ret == -EAGAIN)
		return;
	if (ret <= 0) {
		drop(sw, client);
	} else if (message.type == UROCE_MUX_HELLO) {
		send_host(sw, client);
	} else if (message.type == UROCE_MUX_ATTACH) {
		if (sw->conf.is_refusing)
			refuse(sw, client);
		else
			attach(sw, client, &message, fd);
	} else if (message.type == UROCE_MUX_LEASE && !sw->conf.is_silent) {
		lease(sw, client, message.lease.nb);
	}
	if (fd >= 0)
		(void)close(fd);
}

static void
welcome(struct a_switch *sw)
{
	const int fd = accept4(sw->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (unsigned i = 0; i < SWITCH_CLIENTS && fd >= 0; i++) {
		if (sw->client[i].fd < 0) {
			sw->client[i].fd = fd;
			return;
		}
	}
	if (fd >= 0)
		(void)close(fd);
}

/* --- thread of the switch ---------------------------------------------------------------------- */

static bool
may_sleep(struct a_switch *sw)
{
	bool may = true;

	for (unsigned i = 0; i < SWITCH_CLIENTS; i++) {
		struct client *client = &sw->client[i];

		for (uint32_t j = 0; client->is_attached && j < client->shm.plan.nb_pairs; j++)
			may &= uroce_spsc_may_sleep(&client->up[j]);
	}
	return may;
}

/*
 * Wait up to `ms` milliseconds for a message of a client, a doorbell or a wake-up by the test. Then
 * handle all messages that have arrived.
 */
static void
listen_for(struct a_switch *sw, int ms)
{
	struct pollfd fds[2 + 2 * SWITCH_CLIENTS] = { { sw->listen_fd, POLLIN, 0 },
						      { sw->stop_fd, POLLIN, 0 } };
	eventfd_t nothing;

	for (unsigned i = 0; i < SWITCH_CLIENTS; i++) {
		fds[2 + i] = (struct pollfd){ sw->client[i].fd, POLLIN, 0 };
		fds[2 + SWITCH_CLIENTS + i] = (struct pollfd){ sw->client[i].doorbell, POLLIN, 0 };
	}
	pthread_mutex_unlock(&sw->lock);
	(void)poll(fds, 2 + 2 * SWITCH_CLIENTS, ms);
	pthread_mutex_lock(&sw->lock);
	if (fds[1].revents)
		(void)eventfd_read(sw->stop_fd, &nothing);
	if (fds[0].revents)
		welcome(sw);
	for (unsigned i = 0; i < SWITCH_CLIENTS; i++) {
		if (fds[2 + SWITCH_CLIENTS + i].revents)
			(void)eventfd_read(sw->client[i].doorbell, &nothing);
		if (fds[2 + i].revents)
			hear(sw, &sw->client[i]);
	}
}

static void *
run(void *arg)
{
	struct a_switch *sw = arg;
	unsigned nb_idle = 0;

	pthread_mutex_lock(&sw->lock);
	while (!atomic_load(&sw->is_stopping)) {
		if (serve_rings(sw) > 0)
			nb_idle = 0;
		if (++nb_idle > IDLE_LOOKS && may_sleep(sw)) {
			atomic_store(&sw->is_asleep, true);
			listen_for(sw, -1);
			atomic_store(&sw->is_asleep, false);
			nb_idle = 0;
		} else if (nb_idle % 16 == 0) {
			listen_for(sw, 0);
		}
		pthread_mutex_unlock(&sw->lock);
		sched_yield();
		pthread_mutex_lock(&sw->lock);
	}
	pthread_mutex_unlock(&sw->lock);
	return NULL;
}

struct a_switch *
switch_start(const struct switch_conf *conf)
{
	struct a_switch *sw = calloc(1, sizeof(*sw));

	assert_non_null(sw);
	sw->conf = *conf;
	if (sw->conf.host.frame_limit == 0)
		sw->conf.host = switch_host;
	sw->next_block = 1;
	for (unsigned i = 0; i < SWITCH_CLIENTS; i++)
		sw->client[i] = (struct client){ .fd = -1, .doorbell = -1 };
	sw->listen_fd = uroce_mux_listen(conf->path, 0600);
	assert_true(sw->listen_fd >= 0);
	sw->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(sw->stop_fd >= 0);
	pthread_mutex_init(&sw->lock, NULL);
	assert_int_equal(pthread_create(&sw->thread, NULL, run, sw), 0);
	return sw;
}

static void
wake_clients(struct a_switch *sw)
{
	(void)eventfd_write(sw->stop_fd, 1);
}

void
switch_stop(struct a_switch *sw)
{
	atomic_store(&sw->is_stopping, true);
	wake_clients(sw);
	pthread_join(sw->thread, NULL);
	for (unsigned i = 0; i < SWITCH_CLIENTS; i++)
		drop(sw, &sw->client[i]);
	(void)close(sw->listen_fd);
	(void)close(sw->stop_fd);
	pthread_mutex_destroy(&sw->lock);
	free(sw);
}

unsigned
switch_nb_clients(struct a_switch *sw)
{
	return atomic_load(&sw->nb_clients);
}

uint64_t
switch_nb_forwarded(struct a_switch *sw)
{
	return atomic_load(&sw->nb_forwarded);
}

bool
switch_is_asleep(struct a_switch *sw)
{
	return atomic_load(&sw->is_asleep);
}

/* --- faults that tests inject ------------------------------------------------------------------ */

/* Find an attached client. `idx` counts the attached clients in the order of their slots. */
static struct client *
find(struct a_switch *sw, unsigned idx)
{
	for (unsigned i = 0; i < SWITCH_CLIENTS; i++) {
		if (sw->client[i].is_attached && idx-- == 0)
			return &sw->client[i];
	}
	fail_msg("no such client");
	return NULL;
}

void
switch_tell(struct a_switch *sw, const struct uroce_mux_host *host)
{
	pthread_mutex_lock(&sw->lock);
	sw->conf.host = *host;
	for (unsigned i = 0; i < SWITCH_CLIENTS; i++) {
		if (sw->client[i].is_attached)
			send_host(sw, &sw->client[i]);
	}
	pthread_mutex_unlock(&sw->lock);
}

uint32_t
switch_next_buffer(struct a_switch *sw, unsigned idx, unsigned pair)
{
	uint32_t offset;

	pthread_mutex_lock(&sw->lock);
	offset = uroce_spsc_get(&find(sw, idx)->down[pair], 0).offset;
	pthread_mutex_unlock(&sw->lock);
	return offset;
}

void
switch_forge(struct a_switch *sw, unsigned idx, unsigned pair, uint64_t slot, const void *bytes,
	     uint32_t len)
{
	struct client *client;
	struct uroce_spsc_end *end;

	pthread_mutex_lock(&sw->lock);
	client = find(sw, idx);
	end = &client->down[pair];
	assert_true(uroce_spsc_room(end) > 0);
	if (len > 0)
		memcpy(client->shm.mem + uroce_spsc_get(end, 0).offset, bytes, len);
	uroce_spsc_put(end, 0, uroce_spsc_unpack(slot));
	uroce_spsc_push(end, 1);
	if (uroce_spsc_must_wake(end))
		wake(client);
	pthread_mutex_unlock(&sw->lock);
}

void
switch_derange(struct a_switch *sw, unsigned idx, unsigned pair, bool is_down, uint32_t by)
{
	struct client *client;

	pthread_mutex_lock(&sw->lock);
	client = find(sw, idx);
	if (is_down)
		atomic_fetch_add(&client->down[pair].ring->head, by);
	else
		atomic_fetch_add(&client->up[pair].ring->tail, by);
	/* stop serving the client, because its ring has a wrong index */
	client->is_attached = false;
	atomic_fetch_sub(&sw->nb_clients, 1);
	pthread_mutex_unlock(&sw->lock);
}

void
switch_say(struct a_switch *sw, unsigned idx, const void *bytes, uint32_t len)
{
	pthread_mutex_lock(&sw->lock);
	assert_int_equal(send(find(sw, idx)->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL), len);
	pthread_mutex_unlock(&sw->lock);
}
