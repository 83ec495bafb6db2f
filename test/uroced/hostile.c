/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A hostile user of uroced: random attacks, one after the other, until its time is over.
 *
 *     hostile SOCKET UID SECONDS SEED
 *
 * Each attack is a process of its own. It ends when uroced refuses it, when it is through, or after
 * two seconds by SIGKILL. So a client also dies at any moment. The output is a line that counts the
 * attacks by name.
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
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
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "peer.h"
#include "wire/hdr.h"

#define ATTACK_MS  2000
#define NB_PAIRS   2u
#define BAD_OFFSET 4096u

static const char *path;
static struct peer eve;
static uint8_t frame[UROCE_SHM_FRAME_MAX];

static uint64_t
now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t
draw(void)
{
	return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

/* @return a QP number that a client may hold */
static uint32_t
draw_qpn(void)
{
	return (uint32_t)draw() % ((UROCE_MUX_BLOCKS - 2) * UROCE_MUX_BLOCK) + UROCE_MUX_BLOCK;
}

/* Publish all descriptors, whatever they contain. */
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

/* Have all descriptors of the rings up name one frame. */
static void
name_in_all_slots(struct uroce_spsc_desc named)
{
	for (uint32_t i = 0; i < NB_PAIRS; i++) {
		for (uint32_t slot = 0; slot < eve.up[i].nb_slots; slot++)
			atomic_store(&eve.up[i].ring->slot[slot], uroce_spsc_pack(named));
	}
}

/* Write a frame into the first buffer, and have all descriptors name it. */
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
		(void)eventfd_write(eve.bell, 1);
	}
}

static void
send_small_frames_to_itself(void)
{
	peer_open(&eve, path, NB_PAIRS, 16384);
	name_frame(frame, peer_build(&eve, frame, NULL, peer_qpn(&eve, 0), UROCE_SHM_FRAME_MIN));
	send_for_ever();
}

/* Each frame is for a ring whose consumer says that it sleeps, and that reads no WAKE. */
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
punch_holes(void)
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

/* Show tokens of blocks that the client never had. */
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

static void
forge_requests(void)
{
	peer_open(&eve, path, NB_PAIRS, 64);
	for (;;) {
		struct uroce_bth *bth =
			(struct uroce_bth *)(frame + sizeof(struct uroce_eth) +
					     sizeof(struct uroce_ipv4) + sizeof(struct uroce_udp));

		(void)peer_build(&eve, frame, NULL, draw_qpn(), 300);
		bth->opcode = (uint8_t)draw();
		name_frame(frame, 300);
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
ask_and_never_read(void)
{
	union uroce_mux_message hello = { .hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION } };

	peer_connect(&eve, path);
	for (;;)
		(void)uroce_mux_send(eve.socket, &hello, -1);
}

static void
stay_idle_in_a_crowd(void)
{
	static struct peer crowd[16];

	for (unsigned i = 0; i < 16; i++)
		peer_open(&crowd[i], path, PEER_PAIRS_MAX, 64);
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

#define ATTACK(name)                                                                               \
	{                                                                                          \
#name, name                                                                        \
	}
static const struct {
	const char *name;
	void (*run)(void);
} attacks[] = {
	ATTACK(write_garbage_into_slots),
	ATTACK(write_garbage_into_indexes),
	ATTACK(send_small_frames_to_itself),
	ATTACK(send_to_rings_that_sleep),
	ATTACK(punch_holes),
	ATTACK(attach_large_areas),
	ATTACK(pass_descriptors_that_block),
	ATTACK(lease_and_release),
	ATTACK(take_back_blocks_of_others),
	ATTACK(forge_requests),
	ATTACK(connect_and_leave),
	ATTACK(send_garbage_messages),
	ATTACK(ask_and_never_read),
	ATTACK(stay_idle_in_a_crowd),
	ATTACK(truncate_the_area),
};

#define NB_ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

/* Discard what peer.c prints of an attack that was refused. */
static void
become_attack(size_t which)
{
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(null, STDERR_FILENO);
	(void)signal(SIGALRM, SIG_DFL);
	attacks[which].run();
	_exit(0);
}

/* Run an attack until it ends, or its time is over. */
static void
attack(size_t which)
{
	const uint64_t until_ms = now_ms() + 100 + (uint64_t)random() % ATTACK_MS;
	const pid_t pid = fork();

	if (pid < 0)
		return;
	if (pid == 0)
		become_attack(which);
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (now_ms() >= until_ms)
			(void)kill(pid, SIGKILL);
		(void)usleep(5000);
	}
}

static void
become_user(uid_t uid)
{
	if (setgroups(0, NULL) != 0 || setgid(uid) != 0 || setuid(uid) != 0) {
		perror("hostile: this needs root");
		exit(2);
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int
main(int argc, char **argv)
{
	unsigned nb[NB_ATTACKS] = { 0 };
	uint64_t until_ms;

	if (argc != 5) {
		(void)fprintf(stderr,
			      "hostile: allowed are 4 arguments: SOCKET UID SECONDS SEED\n");
		return 2;
	}
	path = argv[1];
	srandom((unsigned)strtoul(argv[4], NULL, 10));
	until_ms = now_ms() + 1000 * strtoull(argv[3], NULL, 10);
	become_user((uid_t)strtoul(argv[2], NULL, 10));
	while (now_ms() < until_ms) {
		const size_t which = (size_t)random() % NB_ATTACKS;

		nb[which]++;
		srandom((unsigned)random());
		attack(which);
	}
	for (size_t i = 0; i < NB_ATTACKS; i++)
		(void)printf("%s\"%s\": %u%s", i == 0 ? "{" : " ", attacks[i].name, nb[i],
			     i + 1 < NB_ATTACKS ? "," : "}\n");
	return 0;
}
