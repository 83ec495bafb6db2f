/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A hostile client of the soak: it runs attacks that it chooses at random, one after the other.
 *
 * Each attack is a process of its own. The process ends when uroced refuses it, when the attack is
 * complete, or by SIGKILL after a random time of 0.1 to 2.1 s. So a client may die at any moment.
 * Attackers know the QPNs of the good clients.
 */

#include "soak.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "peer.h"
#include "wire/build.h"
#include "wire/icrc.h"
#include "wire/psn.h"
#include "now_ms.h"

#define ATTACK_MS  2000
#define NB_PAIRS   2u
#define BAD_OFFSET 4096u
#define NB_CROWD   100u

static const struct soak *soak;
static const char *path;
static struct peer eve;
static uint8_t frame[UROCE_SHM_FRAME_MAX];

static uint64_t
draw(void)
{
	return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

/* Draw a QP number that a client may hold. */
static uint32_t
draw_qpn(void)
{
	return (uint32_t)draw() % ((UROCE_MUX_BLOCKS - 2) * UROCE_MUX_BLOCK) + UROCE_MUX_BLOCK;
}

/* Publish all descriptors of the attacker's rings, whatever they contain. */
static void
publish_all(void)
{
	for (uint32_t i = 0; i < NB_PAIRS; i++) {
		const int32_t room = uroce_spsc_room(&eve.up[i]);
		const int32_t ready = uroce_spsc_ready(&eve.down[i]);

		if (room > 0)
			peer_push(&eve, i, (uint32_t)room);
		if (ready > 0)
			uroce_spsc_pop(&eve.down[i], (uint32_t)ready);
	}
}

/* Write one descriptor, which names a frame, into all slots of the rings up. */
static void
name_in_all_slots(struct uroce_spsc_desc named)
{
	for (uint32_t i = 0; i < NB_PAIRS; i++) {
		for (uint32_t slot = 0; slot < eve.up[i].nb_slots; slot++)
			atomic_store(&eve.up[i].ring->slot[slot], uroce_spsc_pack(named));
	}
}

/* Write a frame into the first buffer, and let all descriptors of the rings up name it. */
static void
name_frame(const uint8_t *bytes, uint16_t len)
{
	const uint64_t at = uroce_shm_buffer(&eve.area.plan, 0, false, 0);

	memcpy(eve.area.mem + at, bytes, len);
	name_in_all_slots((struct uroce_spsc_desc){ (uint32_t)at, len });
}

static void
send_for_ever(void)
{
	for (;;)
		publish_all();
}

/* --- attacks ------------------------------------------------------------------------------------- */

static void
write_garbage_into_slots(void)
{
	peer_open(&eve, path, NB_PAIRS, 64);
	for (;;) {
		for (uint32_t i = 0; i < NB_PAIRS; i++) {
			for (uint32_t slot = 0; slot < 64; slot++) {
				atomic_store(&eve.up[i].ring->slot[slot], draw());
				atomic_store(&eve.down[i].ring->slot[slot], draw());
			}
		}
		publish_all();
	}
}

static void
write_garbage_into_indexes(void)
{
	peer_open(&eve, path, NB_PAIRS, 64);
	(void)usleep((useconds_t)random() % 100000);
	for (;;) {
		atomic_store(&eve.up[0].ring->head, (uint32_t)draw());
		atomic_store(&eve.down[1].ring->tail, (uint32_t)draw());
		(void)eventfd_write(eve.doorbell, 1);
	}
}

static void
send_small_frames_to_itself(void)
{
	peer_open(&eve, path, NB_PAIRS, 16384);
	name_frame(frame, peer_build(&eve, frame, NULL, peer_qpn(&eve, 0), UROCE_SHM_FRAME_MIN));
	send_for_ever();
}

/* Send frames to a ring whose consumer reports that it sleeps, and reads no WAKE message. */
static void
send_to_rings_that_sleep(void)
{
	peer_open(&eve, path, NB_PAIRS, 64);
	name_frame(frame, peer_build(&eve, frame, NULL, peer_qpn(&eve, 0), 100));
	for (;;) {
		for (uint32_t i = 0; i < NB_PAIRS; i++)
			(void)uroce_spsc_may_sleep(&eve.down[i]);
		publish_all();
	}
}

static void
punch_pages(void)
{
	peer_open(&eve, path, NB_PAIRS, 256);
	name_frame(frame, peer_build(&eve, frame, NULL, peer_qpn(&eve, 0), 4000));
	for (;;) {
		(void)fallocate(eve.area_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				(off_t)eve.area.plan.size);
		(void)madvise(eve.area.mem, eve.area.plan.size, MADV_REMOVE);
		publish_all();
	}
}

static void
attach_large_areas(void)
{
	for (;;) {
		struct uroce_shm_layout plan = { .nb_pairs = 1, .nb_slots = 64 };

		memset(&eve, 0, sizeof(eve));
		peer_connect(&eve, path);
		plan.frame_max = eve.host.frame_limit;
		plan.down[0] = 4096;
		plan.size = UROCE_SHM_SIZE_MAX / 4;
		assert_int_equal(uroce_shm_create(&eve.area, &plan, &eve.area_fd), 0);
		peer_reread(&eve);
		peer_attach(&eve);
		peer_close(&eve);
	}
}

/* Make a TCP connection whose close() waits, since the peer does not read what was sent. */
static int
make_lingering_socket(void)
{
	const struct linger linger = { 1, 30 };
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)bind(listener, (const struct sockaddr *)&addr, len);
	(void)listen(listener, 1);
	(void)getsockname(listener, (struct sockaddr *)&addr, &len);
	(void)connect(fd, (const struct sockaddr *)&addr, len);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	while (send(fd, frame, sizeof(frame), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	return fd;
}

static void
pass_descriptors_that_block(void)
{
	union uroce_mux_message out = { .hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION } };

	for (unsigned i = 0; i < 8; i++) {
		const int fd = make_lingering_socket();

		peer_connect(&eve, path);
		if (i % 2 == 0) {
			peer_make_area(&eve, 1, 64);
			(void)close(eve.area_fd);
			eve.area_fd = fd;
			peer_ask_attach(&eve);
		} else {
			(void)uroce_mux_send(eve.socket, &out, fd);
		}
		(void)close(fd);
		(void)usleep(50000);
		(void)close(eve.socket);
	}
}

static void
lease_and_release(void)
{
	union uroce_mux_message out;

	peer_open(&eve, path, 1, 64);
	while (peer_lease(&eve, 256) > 0) {
		out.release = (struct uroce_mux_release){ UROCE_MUX_RELEASE, eve.nb_leases };
		for (uint32_t i = 0; i < eve.nb_leases; i++)
			out.release.block[i] = eve.lease[i].block;
		assert_int_equal(uroce_mux_send(eve.socket, &out, -1), 0);
		eve.nb_leases = 0;
	}
}

/* Attach with invented tokens of leases. */
static void
take_back_blocks_of_others(void)
{
	for (;;) {
		memset(&eve, 0, sizeof(eve));
		peer_connect(&eve, path);
		peer_make_area(&eve, 1, 64);
		for (; eve.nb_leases < 512; eve.nb_leases++)
			eve.lease[eve.nb_leases] =
				(struct uroce_mux_lease){ draw_qpn() / UROCE_MUX_BLOCK, 0, draw() };
		peer_attach(&eve);
		peer_close(&eve);
	}
}

/* Build a frame as the peer of a QP would send it, with a valid ICRC. @return length in bytes */
static uint16_t
build_as_peer(uint32_t qpn, uint8_t opcode, uint32_t psn, const uint8_t *dmac)
{
	const struct uroce_opcode *op = &uroce_opcode_table[opcode];
	const uint32_t rest = op->ext_len + (uint32_t)random() % 64 * 4;
	struct uroce_path_conf conf = { .udp_sport = 0xc000 };
	struct uroce_path path_to;
	struct uroce_bth *bth;
	uint32_t crc;

	memcpy(conf.smac, eve.host.mac, sizeof(conf.smac));
	memcpy(conf.dmac, dmac ? dmac : eve.host.mac, sizeof(conf.dmac));
	memcpy(conf.sip, eve.host.addr[1].ip, sizeof(conf.sip));
	memcpy(conf.dip, eve.host.addr[1].ip, sizeof(conf.dip));
	uroce_path_init(&path_to, &conf);
	bth = uroce_path_put(&path_to, frame, (uint32_t)sizeof(*bth) + rest + UROCE_ICRC_LEN, &crc);
	uroce_bth_put(bth, opcode, 0, 0xffff, qpn, psn & UROCE_PSN_MASK);
	(void)!getrandom(bth + 1, rest, 0);
	if (op->ext_mask & 1 << UROCE_EXT_DETH)
		*(struct uroce_deth *)((uint8_t *)(bth + 1) + op->ext_off[UROCE_EXT_DETH]) =
			(struct uroce_deth){ .src_qpn = be24_make(peer_qpn(&eve, 0)) };
	crc = uroce_icrc_bth(crc, (const uint8_t *)bth);
	crc = uroce_crc32(crc, bth + 1, rest);
	uroce_icrc_store((uint8_t *)(bth + 1) + rest, crc);
	return (uint16_t)(path_to.hdr_len + rest + UROCE_ICRC_LEN);
}

static const struct soak_good *
draw_good(void)
{
	return &soak->good[(size_t)random() % SOAK_GOOD];
}

/*
 * Send forged RC requests, responses, ACKs and NAKs, with PSNs near those of the good connections.
 */
static void
forge_requests_of_good_ones(void)
{
	peer_open(&eve, path, NB_PAIRS, 64);
	for (;;) {
		const struct soak_good *good = draw_good();
		const uint32_t psn = atomic_load(&good->psn) + (uint32_t)random() % 8192;

		name_frame(frame, build_as_peer(atomic_load(&good->qpn), (uint8_t)(random() % 0x18),
						psn, NULL));
		publish_all();
	}
}

static void
forge_requests_of_anybody(void)
{
	peer_open(&eve, path, NB_PAIRS, 64);
	for (;;) {
		name_frame(frame,
			   build_as_peer(draw_qpn(), (uint8_t)draw(), (uint32_t)draw(), NULL));
		publish_all();
	}
}

/* Send datagrams to RC QPs, which must drop them. */
static void
send_datagrams_to_good_ones(void)
{
	peer_open(&eve, path, NB_PAIRS, 256);
	for (;;) {
		name_frame(frame, build_as_peer(atomic_load(&draw_good()->qpn), 0x64, 0, NULL));
		publish_all();
	}
}

static void
send_to_groups(void)
{
	static const uint8_t group[6] = { 0x01, 0x00, 0x5e, 1, 2, 3 };

	peer_open(&eve, path, NB_PAIRS, 256);
	for (;;) {
		name_frame(frame, build_as_peer(0xffffff, 0x64, 0, group));
		publish_all();
	}
}

/*
 * Send frames to a client of this process that receives nothing, so that uroced waits at each
 * frame.
 */
static void
send_to_one_who_takes_nothing(void)
{
	static struct peer other;

	peer_open(&eve, path, NB_PAIRS, 64);
	peer_open(&other, path, 1, 64);
	name_frame(frame, build_as_peer(peer_qpn(&other, 0), 0x64, 0, NULL));
	send_for_ever();
}

static void
write_garbage_into_bindings(void)
{
	peer_open(&eve, path, NB_PAIRS, 64);
	name_frame(frame, peer_build(&eve, frame, NULL, peer_qpn(&eve, 0), 100));
	for (;;) {
		for (uint32_t i = 0; i < UROCE_MUX_BLOCK; i++)
			atomic_store(uroce_binding_slot(&eve.area, i), draw());
		publish_all();
	}
}

/* Change the headers of a frame between valid and invalid while uroced reads it. */
static void *
flip(void *arg)
{
	uint8_t *at = arg;

	for (;;) {
		atomic_fetch_xor((_Atomic uint8_t *)(at + 11), 0x40); /* source MAC */
		atomic_fetch_xor((_Atomic uint8_t *)(at + 29), 0x40); /* source IP address */
		atomic_fetch_xor((_Atomic uint8_t *)(at + 37), 0x40); /* UDP destination port */
		atomic_fetch_xor((_Atomic uint8_t *)(at + 48), 0x40); /* destination QPN */
	}
	return NULL;
}

static void
change_frames_meanwhile(void)
{
	pthread_t thread;

	peer_open(&eve, path, NB_PAIRS, 64);
	name_frame(frame, peer_build(&eve, frame, NULL, peer_qpn(&eve, 0), 500));
	assert_int_equal(
		pthread_create(&thread, NULL, flip,
			       eve.area.mem + uroce_shm_buffer(&eve.area.plan, 0, false, 0)),
		0);
	send_for_ever();
}

/*
 * Use the memory of the indexes as a receive buffer, so that uroced writes frames over the indexes.
 */
static void
name_rings_as_buffers(void)
{
	peer_open(&eve, path, NB_PAIRS, 64);
	name_frame(frame, peer_build(&eve, frame, NULL, peer_qpn(&eve, 0), 600));
	for (;;) {
		for (uint32_t slot = 0; slot < 64; slot++)
			atomic_store(&eve.down[0].ring->slot[slot], (uint32_t)random() % 2048);
		publish_all();
	}
}

static void
connect_and_leave(void)
{
	for (;;) {
		const int fd = uroce_mux_connect(path);

		if (fd >= 0)
			(void)close(fd);
	}
}

static void
send_garbage_messages(void)
{
	static uint8_t bytes[sizeof(union uroce_mux_message)];

	for (;;) {
		const uint32_t type = (uint32_t)random() % (UROCE_MUX_NB_TYPES + 2);
		const int fd = uroce_mux_connect(path);

		if (fd < 0)
			continue;
		(void)!getrandom(bytes, sizeof(bytes), 0);
		memcpy(bytes, &type, sizeof(type));
		(void)send(fd, bytes, (size_t)random() % sizeof(bytes),
			   MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)close(fd);
	}
}

static void
request_and_never_read(void)
{
	union uroce_mux_message hello = { .hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION } };

	peer_connect(&eve, path);
	for (;;)
		(void)uroce_mux_send(eve.socket, &hello, -1);
}

/* Attach shared memory that has rings but no buffers. */
static void
open_empty(struct peer *peer, uint32_t nb_pairs)
{
	const uint64_t len = uroce_spsc_size(UROCE_SPSC_SLOTS_MIN);
	struct uroce_shm_layout plan = { .nb_pairs = nb_pairs,
					 .nb_slots = UROCE_SPSC_SLOTS_MIN,
					 .nb_bindings = UROCE_BINDINGS_MIN };

	memset(peer, 0, sizeof(*peer));
	peer_connect(peer, path);
	plan.frame_max = peer->host.frame_limit;
	for (uint32_t i = 0; i < nb_pairs; i++) {
		plan.up[i] = 2 * i * len;
		plan.down[i] = (2 * i + 1) * len;
	}
	plan.bindings = 2 * nb_pairs * len;
	plan.size =
		(plan.bindings + UROCE_BINDINGS_MIN * sizeof(uint64_t) + 8192 + 4095) / 4096 * 4096;
	assert_int_equal(uroce_shm_create(&peer->area, &plan, &peer->area_fd), 0);
	peer_reread(peer);
	peer_attach(peer);
}

static void
stay_idle_in_a_crowd(void)
{
	static struct peer crowd[NB_CROWD];

	for (unsigned i = 0; i < NB_CROWD; i++)
		open_empty(&crowd[i], PEER_PAIRS_MAX);
	(void)pause();
}

/* Lease all blocks that the user may have, with many clients. */
static void
hoard_leases(void)
{
	static struct peer hoarder[NB_CROWD];

	for (unsigned i = 0; i < NB_CROWD; i++) {
		open_empty(&hoarder[i], 1);
		if (peer_lease(&hoarder[i], UROCE_MUX_LEASES_MAX) == 0)
			break;
	}
	(void)pause();
}

static void
truncate_the_area(void)
{
	peer_open(&eve, path, 1, 64);
	name_frame(frame, peer_build(&eve, frame, NULL, peer_qpn(&eve, 0), 500));
	for (;;) {
		(void)ftruncate(eve.area_fd, BAD_OFFSET);
		publish_all();
	}
}

/* Send an ATTACH, and leave before uroced replies. */
static void
leave_amid_attach(void)
{
	for (;;) {
		memset(&eve, 0, sizeof(eve));
		peer_connect(&eve, path);
		peer_make_area(&eve, 1 + (uint32_t)random() % 4, 64);
		peer_ask_attach(&eve);
		(void)usleep((useconds_t)random() % 2000);
		peer_close(&eve);
	}
}

static void *
punch_on(void *arg)
{
	const int fd = *(const int *)arg;

	for (;;)
		(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				(off_t)(random() % 16 * 4096), 4096);
	return NULL;
}

/*
 * A thread punches holes into the shared memory while uroced attaches it. uroced refuses the
 * memory, or has sealed it before the first hole.
 */
static void
punch_pages_amid_attach(void)
{
	pthread_t thread;

	peer_connect(&eve, path);
	peer_make_area(&eve, 1, 64);
	assert_int_equal(pthread_create(&thread, NULL, punch_on, &eve.area_fd), 0);
	peer_ask_attach(&eve);
	if (peer_hear(&eve, UROCE_MUX_ATTACHED))
		send_for_ever();
}

static void
pass_many_descriptors(void)
{
	const struct uroce_mux_hello hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION };
	struct iovec iov = { (void *)(uintptr_t)&hello, sizeof(hello) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(200 * sizeof(int))];
	} room = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room };
	int fds[200];

	for (unsigned i = 0; i < 200; i++)
		fds[i] = STDERR_FILENO;
	for (;;) {
		const unsigned nb = (unsigned)random() % 200 + 1;
		const int fd = uroce_mux_connect(path);

		room.align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					       .cmsg_type = SCM_RIGHTS,
					       .cmsg_len = CMSG_LEN(nb * sizeof(int)) };
		memcpy(CMSG_DATA(&room.align), fds, nb * sizeof(int));
		msg.msg_controllen = CMSG_SPACE(nb * sizeof(int));
		(void)sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (fd >= 0)
			(void)close(fd);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} attacks[] = {
#define ATTACK(name)                                                                               \
	{                                                                                          \
#name, name                                                                        \
	}
	ATTACK(write_garbage_into_slots),
	ATTACK(write_garbage_into_indexes),
	ATTACK(write_garbage_into_bindings),
	ATTACK(name_rings_as_buffers),
	ATTACK(change_frames_meanwhile),
	ATTACK(send_small_frames_to_itself),
	ATTACK(send_to_rings_that_sleep),
	ATTACK(send_to_one_who_takes_nothing),
	ATTACK(send_datagrams_to_good_ones),
	ATTACK(send_to_groups),
	ATTACK(forge_requests_of_good_ones),
	ATTACK(forge_requests_of_anybody),
	ATTACK(punch_pages),
	ATTACK(punch_pages_amid_attach),
	ATTACK(truncate_the_area),
	ATTACK(attach_large_areas),
	ATTACK(leave_amid_attach),
	ATTACK(pass_descriptors_that_block),
	ATTACK(pass_many_descriptors),
	ATTACK(lease_and_release),
	ATTACK(hoard_leases),
	ATTACK(take_back_blocks_of_others),
	ATTACK(connect_and_leave),
	ATTACK(send_garbage_messages),
	ATTACK(request_and_never_read),
	ATTACK(stay_idle_in_a_crowd),
#undef ATTACK
};

#define NB_ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

static_assert(NB_ATTACKS <= SOAK_ATTACKS, "each kind has a counter");

const char *
soak_attack_name(unsigned kind)
{
	return kind < NB_ATTACKS ? attacks[kind].name : NULL;
}

/*
 * Run an attack in this process, and end. The output of peer.c about a refused attack is discarded.
 */
static void
become_attack(unsigned kind)
{
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(null, STDERR_FILENO);
	attacks[kind].run();
	_exit(0);
}

static bool
is_over(void)
{
	return atomic_load(&soak->phase) == SOAK_OVER;
}

/* Run an attack until it ends or its time is over. */
static void
attack(unsigned kind)
{
	const uint64_t until_ms = now_ms() + 100 + (uint64_t)random() % ATTACK_MS;
	const pid_t pid = fork();

	if (pid < 0)
		return;
	if (pid == 0)
		become_attack(kind);
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (now_ms() >= until_ms || is_over())
			(void)kill(pid, SIGKILL);
		(void)usleep(5000);
	}
}

void
soak_run_hostile(struct soak *whole, unsigned nth, unsigned seed)
{
	soak = whole;
	path = whole->socket;
	srandom(seed);
	while (!is_over()) {
		const unsigned kind = (unsigned)random() % NB_ATTACKS;

		srandom((unsigned)random());
		attack(kind);
		whole->hostile[nth].nb[kind]++;
	}
	_exit(0);
}
