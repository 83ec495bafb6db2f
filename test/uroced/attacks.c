/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Attacks of one client by shared memory and messages. After each attack uroced runs, two honest
 * clients have lost nothing, and uroced has no more descriptors and memory than before.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "attacker.h"
#include "wire/hdr.h"
#include "now_ms.h"

static uint8_t frame[UROCE_SHM_FRAME_MAX];

static uint64_t
draw(void)
{
	return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

/* --- garbage in rings ---------------------------------------------------------------------------- */

static void
fill(struct uroce_spsc_end *end, uint64_t (*slot)(void))
{
	for (uint32_t i = 0; i < end->nb_slots; i++)
		atomic_store(&end->ring->slot[i], slot());
}

static void
flood_with(uint64_t (*slot)(void))
{
	(void)peer_build(&pair.from, frame, NULL, peer_qpn(&eve, 0), 500);
	for (unsigned i = 0; i < 300; i++) {
		for (uint32_t pairs = 0; pairs < 2; pairs++) {
			const int32_t room = uroce_spsc_room(&eve.up[pairs]);

			fill(&eve.up[pairs], slot);
			fill(&eve.down[pairs], slot);
			if (room > 0)
				peer_push(&eve, pairs, (uint32_t)room);
			uroce_spsc_pop(&eve.down[pairs], 0);
		}
		pair_step(&pair);
	}
}

static uint64_t
any_slot(void)
{
	return draw();
}

/*
 * Make a random descriptor. Its offset is at an edge of the shared memory or in the rings, and its
 * length is at a limit. A few of these descriptors are valid.
 */
static uint64_t
edge_slot(void)
{
	const uint32_t size = (uint32_t)eve.area.plan.size;
	const uint32_t max = eve.area.plan.frame_max;
	const uint32_t offsets[] = { 0,         1,          63,
				     64,        size,       size - 1,
				     size - 54, size - max, size - max + 1,
				     size - 53, UINT32_MAX, UINT32_MAX - max,
				     8192,      0x80000000 };
	const uint16_t lens[] = {
		0, 1, 53, 54, 55, 127, 128, 129, (uint16_t)max, (uint16_t)(max + 1), 65535, 600
	};

	return uroce_spsc_pack((struct uroce_spsc_desc){
		       offsets[(size_t)random() % (sizeof(offsets) / sizeof(offsets[0]))],
		       lens[(size_t)random() % (sizeof(lens) / sizeof(lens[0]))] }) |
	       (random() % 4 == 0 ? draw() << 48 : 0);
}

static void
slots__of_garbage(void **state)
{
	(void)state;
	attacker_open();
	flood_with(any_slot);
}

static void
slots__at_the_edges(void **state)
{
	(void)state;
	attacker_open();
	flood_with(edge_slot);
}

/*
 * Make a descriptor whose receive buffer is the memory of the rings, so that uroced writes received
 * frames over the indexes of the rings.
 */
static uint64_t
ring_slot(void)
{
	return uroce_spsc_pack((struct uroce_spsc_desc){ (uint32_t)random() % 2048, 600 });
}

static void
slots__that_name_the_rings(void **state)
{
	(void)state;
	attacker_open();
	fill(&eve.down[0], ring_slot);
	fill(&eve.down[1], ring_slot);
	(void)peer_build(&pair.from, frame, NULL, peer_qpn(&eve, 0), 500);
	for (unsigned i = 0; i < 200; i++) {
		if (peer_put(&pair.from, 0, frame, 500))
			peer_push(&pair.from, 0, 1);
		pair_step(&pair);
	}
}

static void
index__that_cannot_be(void **state)
{
	static const uint32_t off[] = { 65, 1u << 31, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(off) / sizeof(off[0]); i++) {
		(void)attacker_begin(NULL);
		attacker_open();
		if (i % 2 == 0) {
			atomic_fetch_add(&eve.up[1].ring->head, off[i / 2]);
			(void)eventfd_write(eve.doorbell, 1);
		} else {
			/* uroced reads the tail of a ring down when it has a frame for the ring */
			atomic_fetch_sub(&eve.down[0].ring->tail, off[i / 2]);
			(void)peer_build(&pair.from, frame, NULL, peer_qpn(&eve, 0) & ~1u, 500);
			peer_send(&pair.from, 0, frame, 500);
		}
		peer_expect_refusal(&eve, "an index of an SPSC ring is invalid");
		peer_close(&eve);
	}
}

#define HANG_MS 300000 /* a limit that only a hang exceeds */

static atomic_bool is_over;

/* Change the headers of a frame between good and bad values as fast as possible. */
static void *
flip(void *arg)
{
	uint8_t *at = arg;

	while (!atomic_load(&is_over)) {
		atomic_fetch_xor((_Atomic uint8_t *)(at + 11), 0x40); /* source MAC */
		atomic_fetch_xor((_Atomic uint8_t *)(at + 29), 0x40); /* source IP address */
		atomic_fetch_xor((_Atomic uint8_t *)(at + 37), 0x40); /* UDP destination port */
	}
	return NULL;
}

static void
frame__that_changes_meanwhile_passes_as_it_was_judged(void **state)
{
	const struct uroce_spsc_desc desc = { 0, 500 };
	uint64_t at;
	uint8_t got[UROCE_SHM_FRAME_MAX];
	unsigned nb_got = 0;
	uint64_t begin_ms;
	pthread_t thread;

	(void)state;
	attacker_open();
	at = uroce_shm_buffer(&eve.area.plan, 0, false, 0);
	(void)peer_build(&eve, eve.area.mem + at, NULL, peer_qpn(&eve, 0) & ~1u, desc.len);
	memcpy(frame, eve.area.mem + at, desc.len);
	for (uint32_t i = 0; i < 64; i++)
		atomic_store(&eve.up[0].ring->slot[i],
			     uroce_spsc_pack((struct uroce_spsc_desc){ (uint32_t)at, desc.len }));
	atomic_store(&is_over, false);
	assert_int_equal(pthread_create(&thread, NULL, flip, eve.area.mem + at), 0);
	begin_ms = now_ms();
	/* on a busy machine it may take longer until a frame passes */
	while (now_ms() < begin_ms + 1000 || (nb_got == 0 && now_ms() < begin_ms + HANG_MS)) {
		const int32_t room = uroce_spsc_room(&eve.up[0]);

		if (room > 0)
			peer_push(&eve, 0, (uint32_t)room);
		while (peer_take(&eve, 0, got) > 0) {
			assert_memory_equal(got, frame, 62);
			nb_got++;
		}
	}
	atomic_store(&is_over, true);
	(void)pthread_join(thread, NULL);
	print_message("# %u frames passed\n", nb_got);
	assert_true(nb_got > 0);
}

/*
 * After the memory is attached, each system call that could punch a hole into it fails, so uroced
 * never touches a new page.
 */
static void
holes__cannot_be_punched(void **state)
{
	const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	size_t size;

	(void)state;
	attacker_open();
	size = eve.area.plan.size;
	(void)peer_build(&eve, frame, NULL, peer_qpn(&eve, 0) & ~1u, 4000);
	for (unsigned i = 0; i < 2000; i++) {
		const size_t at = 4096 + 4096 * (i % 64);

		for (unsigned j = 0; j < 16 && peer_put(&eve, 0, frame, 4000); j++)
			peer_push(&eve, 0, 1);
		assert_int_equal(fallocate(eve.area_fd, punch, (off_t)at, 65536), -1);
		assert_int_equal(madvise(eve.area.mem + at, 65536, MADV_REMOVE), -1);
		(void)madvise(eve.area.mem + at, 65536, MADV_DONTNEED);
		pair_step(&pair);
	}
	assert_int_equal(fallocate(eve.area_fd, punch, 0, (off_t)size), -1);
	assert_int_equal(lseek(eve.area_fd, 0, SEEK_HOLE), size);
}

/*
 * Punch a hole into shared memory while uroced attaches it. Either uroced finds the hole and
 * refuses the memory, or the system call fails.
 */
static void *
punch_on(void *arg)
{
	const int fd = *(const int *)arg;

	while (!atomic_load(&is_over))
		(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				(off_t)(random() % 16 * 4096), 4096);
	return NULL;
}

static void
holes__punched_meanwhile_are_seen(void **state)
{
	unsigned nb_attached = 0, nb_refused = 0;
	pthread_t thread;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		(void)attacker_begin(NULL);
		peer_connect(&eve, daemon_.socket);
		peer_make_area(&eve, 1, 64);
		atomic_store(&is_over, false);
		assert_int_equal(pthread_create(&thread, NULL, punch_on, &eve.area_fd), 0);
		if (i % 2)
			(void)usleep(100);
		peer_ask_attach(&eve);
		if (peer_hear(&eve, UROCE_MUX_ATTACHED)) {
			nb_attached++;
			assert_int_equal(lseek(eve.area_fd, 0, SEEK_HOLE), eve.area.plan.size);
		} else {
			nb_refused++;
		}
		atomic_store(&is_over, true);
		(void)pthread_join(thread, NULL);
		peer_close(&eve);
		pair_step(&pair);
	}
	print_message("# %u attached, %u refused\n", nb_attached, nb_refused);
	assert_true(nb_refused > 0);
}

/* --- shared memory that is refused --------------------------------------------------------------- */

/* Expect that an ATTACH with another file or another layout is refused. */
static void
refuse_area(int fd, const struct uroce_shm_layout *plan, const char *why)
{
	peer_connect(&eve, daemon_.socket);
	if (fd >= 0) {
		(void)close(eve.area_fd);
		eve.area_fd = fd;
	}
	eve.area.plan = *plan;
	peer_ask_attach(&eve);
	peer_expect_refusal(&eve, why);
	peer_hang_up(&eve);
}

enum pages { NO_PAGES, PAGES, PAGES_BEHIND_THE_END };

static int
make_file(const struct uroce_shm_layout *plan, unsigned seals, int64_t missing, enum pages pages)
{
	const int fd = memfd_create("eve", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, (off_t)plan->size - missing), 0);
	if (pages == PAGES)
		assert_int_equal(posix_fallocate(fd, 0, (off_t)plan->size - missing), 0);
	if (pages == PAGES_BEHIND_THE_END)
		assert_int_equal(
			fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)plan->size, (off_t)plan->size),
			0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void
shm__that_cannot_be_used_is_refused(void **state)
{
	const unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW;
	struct uroce_shm_layout good, plan;
	char path[] = "/var/tmp/uroced-eve-XXXXXX";
	void *mem;
	size_t size;
	int fd;

	(void)state;
	peer_connect(&eve, daemon_.socket);
	peer_make_area(&eve, 2, 64);
	peer_hang_up(&eve);
	mem = eve.area.mem;
	good = plan = eve.area.plan;
	size = good.size;
	refuse_area(make_file(&good, F_SEAL_GROW, 0, PAGES), &good, "can become shorter");
	refuse_area(make_file(&good, F_SEAL_SHRINK, 0, PAGES), &good, "can become longer");
	refuse_area(make_file(&good, seals, 4096, PAGES), &good, "is not the size of the layout");
	refuse_area(make_file(&good, seals, -4096, PAGES), &good, "is not the size of the layout");
	refuse_area(make_file(&good, seals, 0, NO_PAGES), &good, "the file has holes");
	refuse_area(make_file(&good, seals, 0, PAGES_BEHIND_THE_END), &good, "the file has holes");
	refuse_area(make_file(&good, seals | F_SEAL_WRITE, 0, PAGES), &good, "written");
	refuse_area(make_file(&good, seals | F_SEAL_FUTURE_WRITE, 0, PAGES), &good, "written");
	refuse_area(make_file(&good, seals | F_SEAL_SEAL, 0, PAGES), &good,
		    "cannot be sealed against hole punching");
	fd = mkstemp(path);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)size), 0);
	(void)unlink(path);
	/* files that are refused: one on another file system, and files that cannot have seals */
	refuse_area(fd, &good, "");
	refuse_area(open("/dev/zero", O_RDWR | O_CLOEXEC), &good, "no regular file");
	refuse_area(eventfd(0, EFD_CLOEXEC), &good, "no regular file");
	plan.up[1] = good.down[0];
	refuse_area(make_file(&good, seals, 0, PAGES), &plan, "overlap");
	plan = good;
	plan.up[0] += 8;
	refuse_area(-1, &plan, "at a multiple of 64");
	plan.up[0] = good.size - 64;
	refuse_area(-1, &plan, "not within the shared memory");
	plan = good;
	plan.frame_max = 4000;
	refuse_area(-1, &plan, "shorter than the port's frames");
	plan = good;
	plan.nb_slots = 100;
	refuse_area(-1, &plan, "out of bounds");
	plan = good;
	plan.nb_pairs = 33;
	refuse_area(-1, &plan, "out of bounds");
	plan = good;
	plan.size = UINT64_MAX - 4095;
	refuse_area(-1, &plan, "size is out of bounds");
	eve.area.plan = good;
	assert_ptr_equal(mem, eve.area.mem);
}

/*
 * Neither the control thread nor the data path enters or unmaps the pages of large shared memory.
 */
static void
shm__that_is_large_costs_no_thread_that_others_wait_for(void **state)
{
	const uint64_t nb_control = daemon_nb_faults(&daemon_, "uroced-control");
	const uint64_t nb_data = daemon_nb_faults(&daemon_, "uroced");
	const unsigned kib = daemon_kib(&daemon_, "RssShmem");
	uint64_t nb_pages = 0;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		(void)attacker_begin(NULL);
		peer_open(&eve, daemon_.socket, 4, 2048);
		nb_pages += eve.area.plan.size / 4096;
		while (daemon_kib(&daemon_, "RssShmem") < kib + eve.area.plan.size / 1024)
			pair_step(&pair);
		peer_close(&eve);
		while (daemon_kib(&daemon_, "RssShmem") > kib + 1024)
			pair_step(&pair);
	}
	print_message("# %u pages, of which %u were entered by control, %u by the data path\n",
		      (unsigned)nb_pages,
		      (unsigned)(daemon_nb_faults(&daemon_, "uroced-control") - nb_control),
		      (unsigned)(daemon_nb_faults(&daemon_, "uroced") - nb_data));
	assert_true(daemon_nb_faults(&daemon_, "uroced-control") - nb_control < nb_pages / 16);
	assert_true(daemon_nb_faults(&daemon_, "uroced") - nb_data < nb_pages / 16);
	(void)attacker_begin(NULL);
}

/* --- messages ------------------------------------------------------------------------------------ */

/* Send bytes, which need not be a valid message, with `nb_fds` descriptors. */
static void
send_raw(const void *bytes, size_t len, unsigned nb_fds)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(200 * sizeof(int))];
	} room = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[200];

	if (nb_fds > 0) {
		for (unsigned i = 0; i < nb_fds; i++)
			fds[i] = STDERR_FILENO;
		room.align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					       .cmsg_type = SCM_RIGHTS,
					       .cmsg_len = CMSG_LEN(nb_fds * sizeof(int)) };
		memcpy(CMSG_DATA(&room.align), fds, nb_fds * sizeof(int));
		msg.msg_control = &room;
		msg.msg_controllen = CMSG_SPACE(nb_fds * sizeof(int));
	}
	(void)sendmsg(eve.socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
descriptors__that_nobody_wants(void **state)
{
	static const unsigned nb[] = { 1, 2, 7, 8, 9, 200 };
	const struct uroce_mux_hello hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION };

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		peer_connect(&eve, daemon_.socket);
		send_raw(&hello, i % 7 == 6 ? 0 : sizeof(hello), nb[i % 6]);
		if (i % 7 != 6)
			peer_expect_refusal(&eve, "a malformed message");
		peer_hang_up(&eve);
	}
}

static void
messages__of_garbage(void **state)
{
	static uint8_t bytes[sizeof(union uroce_mux_message) + 64];

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		const size_t len = (size_t)random() % (i % 4 ? 64 : sizeof(bytes));
		const uint32_t type = (uint32_t)random() % (UROCE_MUX_NB_TYPES + 2);

		eve.socket = uroce_mux_connect(daemon_.socket);
		if (eve.socket < 0) {
			pair_step(&pair);
			continue;
		}
		(void)!getrandom(bytes, sizeof(bytes), 0);
		memcpy(bytes, &type, sizeof(type));
		send_raw(bytes, len, (unsigned)random() % 3);
		(void)close(eve.socket);
		eve.socket = -1;
		pair_step(&pair);
	}
}

static void
expect_refusal_of(const union uroce_mux_message *message, const char *why)
{
	assert_int_equal(uroce_mux_send(eve.socket, message, -1), 0);
	peer_expect_refusal(&eve, why);
	peer_close(&eve);
	(void)attacker_begin(NULL);
}

static void
messages__out_of_turn(void **state)
{
	union uroce_mux_message out;

	(void)state;
	peer_connect(&eve, daemon_.socket);
	out.hello = (struct uroce_mux_hello){ UROCE_MUX_HELLO, UROCE_MUX_VERSION + 1 };
	expect_refusal_of(&out, "HELLO of version");
	peer_connect(&eve, daemon_.socket);
	out.lease = (struct uroce_mux_lease_more){ UROCE_MUX_LEASE, 1 };
	expect_refusal_of(&out, "before ATTACHED");
	peer_connect(&eve, daemon_.socket);
	out.type = UROCE_MUX_WAKE;
	expect_refusal_of(&out, "a message of type");
	attacker_open();
	memset(&out, 0, 64);
	out.release.type = UROCE_MUX_RELEASE;
	out.release.nb = 1;
	out.release.block[0] = pair.to.lease[0].block;
	expect_refusal_of(&out, "which the client does not hold");
	attacker_open();
	peer_ask_attach(&eve);
	peer_expect_refusal(&eve, "a second ATTACH");
	peer_close(&eve);
}

#define NB_WAKES 50u /* fewer messages WAKE than fit into the buffer of a socket */

/* Get the number of WAKE messages that uroced has sent to all clients. */
static uint64_t
count_wakes(void)
{
	unsigned slots[8];
	const unsigned nb = daemon_clients(&daemon_, slots, 8);
	uint64_t sum = 0;

	for (unsigned i = 0; i < nb; i++)
		sum += daemon_ask_client(&daemon_, slots[i], "wakes");
	return sum;
}

/*
 * A client reports before each frame that it sleeps, and reads no WAKE. After that the client sends
 * HELLO many times, and reads no reply.
 */
static void
client__that_never_reads(void **state)
{
	union uroce_mux_message hello = { .hello = { UROCE_MUX_HELLO, UROCE_MUX_VERSION } };

	(void)state;
	attacker_open();
	(void)peer_build(&pair.from, frame, NULL, peer_qpn(&eve, 0) & ~1u, 500);
	for (unsigned i = 0; i % 64 != 0 || count_wakes() < NB_WAKES; i++) {
		(void)uroce_spsc_may_sleep(&eve.down[0]);
		if (peer_put(&pair.from, 0, frame, 500))
			peer_push(&pair.from, 0, 1);
		uroce_spsc_pop(&eve.down[0], (uint32_t)uroce_spsc_ready(&eve.down[0]));
		pair_step(&pair);
	}
	for (unsigned i = 0; i < 3000; i++) {
		(void)uroce_mux_send(eve.socket, &hello, -1);
		pair_step(&pair);
	}
	/* when the client reads at last, it gets the messages */
	assert_true(peer_hear(&eve, UROCE_MUX_HOST));
	assert_true(eve.nb_wakes >= NB_WAKES);
}

static void
doorbell__that_is_full_and_blocks(void **state)
{
	eventfd_t value;

	(void)state;
	attacker_open();
	assert_int_equal(fcntl(eve.doorbell, F_SETFL, 0), 0);
	assert_int_equal(eventfd_write(eve.doorbell, UINT64_MAX - 1), 0);
	pair_run(&pair, 1000);
	for (unsigned i = 0; i < 1000; i++) {
		(void)eventfd_read(eve.doorbell, &value);
		(void)eventfd_write(eve.doorbell, UINT64_MAX - 1);
		pair_step(&pair);
	}
	(void)usleep(50000); /* wait until uroced sleeps, so that it needs the doorbell */
	pair_run(&pair, 1000);
}

/*
 * The doorbell of a client that has left has no effect, although the client still has a descriptor
 * of it.
 */
static void
doorbell__of_one_that_left_is_not_heard(void **state)
{
	int doorbells[20];

	for (unsigned i = 0; i < 20; i++) {
		(void)attacker_begin(NULL);
		attacker_open();
		doorbells[i] = dup(eve.doorbell);
		peer_close(&eve);
	}
	(void)attacker_check(state);
	for (unsigned i = 0; i < 20; i++) {
		(void)eventfd_write(doorbells[i], 1);
		(void)close(doorbells[i]);
	}
	(void)attacker_begin(NULL);
}

int
main(int argc, char **argv)
{
#define ATTACK(test) cmocka_unit_test_setup_teardown(test, attacker_begin, attacker_check)
	const struct CMUnitTest tests[] = {
		ATTACK(slots__of_garbage),
		ATTACK(slots__at_the_edges),
		ATTACK(slots__that_name_the_rings),
		ATTACK(index__that_cannot_be),
		ATTACK(frame__that_changes_meanwhile_passes_as_it_was_judged),
		ATTACK(holes__cannot_be_punched),
		ATTACK(holes__punched_meanwhile_are_seen),
		ATTACK(shm__that_cannot_be_used_is_refused),
		ATTACK(shm__that_is_large_costs_no_thread_that_others_wait_for),
		ATTACK(descriptors__that_nobody_wants),
		ATTACK(messages__of_garbage),
		ATTACK(messages__out_of_turn),
		ATTACK(client__that_never_reads),
		ATTACK(doorbell__that_is_full_and_blocks),
		ATTACK(doorbell__of_one_that_left_is_not_heard),
	};

	daemon_program = argc > 1 ? argv[1] : "uroced";
	srandom(4791);
	return cmocka_run_group_tests(tests, attacker_set_up, attacker_tear_down);
}
