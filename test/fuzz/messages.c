/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages of clients to uroced, in any order and of any bytes, with or without file descriptors.
 * Two clients have sockets as control.c creates them, and read the responses of uroced as a client
 * does. This file replaces the control thread: it reads a message if there is one, and handles the
 * result of a reader at once. A block of QP numbers must be leased to one client at a time, the
 * number of leases must agree with the messages, and no message may follow a refusal.
 */

#include "bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "lease_record.h"
#include "log_line.h"

#define STEPS_MAX  32
#define NB_CLIENTS 2
#define NB_SLOTS   64u
#define LEASES_OF  16u /* maximum number of leases that the test remembers for a client */
#define FILE_MAX   (UINT64_C(16) << 20)

static struct control control;
static struct host host;
static struct lease_record records[UROCE_MUX_BLOCKS];
static uint64_t now_ns = 1000000000;

/* The state of a client, which it computes from the messages that it has sent and received. */
static struct peer {
	int socket;
	bool is_attached, is_refused;
	/* leases that LEASED messages reported, perhaps in an earlier connection */
	struct uroce_mux_lease lease[LEASES_OF];
	unsigned nb_told;
	uint32_t nb_leases; /* number of leases, computed from the messages */
	uint32_t nb_wanted; /* number of leases that the latest LEASE message requested */
} peers[NB_CLIENTS];

/* --- functions that replace the control thread --------------------------------------------------- */

uint64_t
control_now_ns(void)
{
	return now_ns;
}

void
control_leave(struct control *from, struct client *client, const char *why)
{
	const struct lessee lessee = client_lessee(client);
	const uint32_t nb_leases = atomic_load(&client->nb_leases);

	expect(from == &control && why[0] != '\0' && control.client[client->slot] == client);
	control.client[client->slot] = NULL;
	expect(lease_end(control.leases, &lessee, now_ns) == nb_leases);
	(void)close(client->socket);
	client_destroy(client, &control.mapper);
}

struct user_sum
control_sum_of(const struct control *from, uid_t uid)
{
	struct user_sum sum = { 0, 0 };

	for (unsigned i = 0; i < NB_CLIENTS; i++)
		sum.nb_pairs +=
			from->client[i] && from->client[i]->uid == uid && from->client[i]->part
				? from->client[i]->shm.plan.nb_pairs
				: 0;
	return sum;
}

/*
 * A job for the reader. After each message, the test does the job and handles its result, as the
 * control thread does in its loop.
 */
static struct {
	bool is_due;
	struct reader_job job;
	int fd;
} asked;

int
control_ask_reader(struct control *from, struct client *client, struct reader_job *job, int fd)
{
	expect(from == &control && !asked.is_due);
	job->slot = client->slot;
	asked.is_due = true;
	asked.job = *job;
	asked.fd = fd >= 0 ? dup(fd) : -1;
	client->reader = 0;
	return 0;
}

static void
answer_job(void)
{
	static struct reader_answer response;
	struct client *client = control.client[asked.job.slot];
	const int fd = reader_do(&asked.job, asked.fd, &response);

	(void)close(asked.fd);
	asked.is_due = false;
	if (client) {
		client->reader = -1;
		handler_take_reply(&control, client, &response, fd);
	}
	if (fd >= 0)
		(void)close(fd);
}

int
data_link(struct data *data, struct client *client)
{
	expect(!data && client->shm.mem && client->doorbell >= 0 && !client->is_attached);
	return 0;
}

/* Replaces the log of uroced, so that the test prints nothing. */
void
log_client_line(const char *format, ...)
{
	(void)format;
}

/* --- messages to a client ------------------------------------------------------------------------ */

static bool
is_leased_to(const struct peer *peer, uint32_t block)
{
	return lease_owner(control.leases, block * UROCE_MUX_BLOCK) == peer - peers + 1u;
}

static void
hear_leased(struct peer *peer, const struct uroce_mux_leased *leased)
{
	expect(leased->nb <= peer->nb_wanted);
	peer->nb_leases += leased->nb;
	expect(peer->nb_leases <= UROCE_MUX_LEASES_MAX);
	for (uint32_t i = 0; i < leased->nb; i++) {
		const uint32_t block = leased->lease[i].block;

		expect(block > 0 && block < UROCE_MUX_BLOCKS - 1 && is_leased_to(peer, block));
		peer->lease[peer->nb_told++ % LEASES_OF] = leased->lease[i];
	}
}

static void
hear_attached(struct peer *peer, const struct uroce_mux_attached *attached)
{
	expect(!peer->is_attached);
	peer->is_attached = true;
	peer->nb_leases = attached->nb_good;
	for (uint32_t i = 0; i < attached->nb_good; i++)
		expect(is_leased_to(peer, attached->block[i]));
}

static void
hear(struct peer *peer)
{
	static union uroce_mux_message message;
	int fd, ret;

	while ((ret = uroce_mux_receive(peer->socket, &message, &fd)) == 1) {
		expect(!peer->is_refused);
		expect((fd >= 0) == (message.type == UROCE_MUX_ATTACHED));
		if (fd >= 0)
			(void)close(fd);
		if (message.type == UROCE_MUX_LEASED)
			hear_leased(peer, &message.leased);
		else if (message.type == UROCE_MUX_ATTACHED)
			hear_attached(peer, &message.attached);
		else if (message.type == UROCE_MUX_REFUSED)
			peer->is_refused =
				memchr(message.refused.why, 0, sizeof(message.refused.why)) != NULL;
		else
			expect(message.type == UROCE_MUX_HOST);
	}
	expect(ret != -EPROTO);
	expect(!peer->is_refused || !control.client[peer - peers]);
}

/* Handle all messages that a client has sent, and read uroced's responses. */
static void
serve(struct peer *peer)
{
	const unsigned slot = (unsigned)(peer - peers);
	bool has_fds;

	while (control.client[slot] &&
	       uroce_mux_peek(control.client[slot]->socket, &has_fds) != -EAGAIN) {
		handler_take(&control, control.client[slot]);
		while (asked.is_due)
			answer_job();
		hear(peer);
	}
	if (control.client[slot])
		expect(atomic_load(&control.client[slot]->nb_leases) == peer->nb_leases);
}

/* --- messages of a client ------------------------------------------------------------------------ */

static void
hang_up(struct peer *peer)
{
	if (peer->socket < 0)
		return;
	(void)shutdown(peer->socket, SHUT_WR);
	serve(peer);
	expect(!control.client[peer - peers]);
	hear(peer);
	(void)close(peer->socket);
	peer->socket = -1;
}

static void
come(struct bytes *in, struct peer *peer)
{
	const uint16_t slot = (uint16_t)(peer - peers);
	int ends[2];

	hang_up(peer);
	expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
	peer->socket = ends[0];
	peer->is_attached = peer->is_refused = false;
	peer->nb_leases = peer->nb_wanted = 0;
	control.client[slot] = client_create(ends[1], slot);
	expect(control.client[slot]);
	control.client[slot]->uid = bytes_u8(in) & 1;
}

/*
 * Make a file, which may be valid shared memory or not.
 * @return a descriptor of the file, or -1 if no file was made
 */
static int
make_file(struct bytes *in, const struct uroce_shm_layout *plan)
{
	const uint8_t bits = bytes_u8(in);
	struct uroce_shm area;
	int fd;

	if ((bits & 0xc0) == 0xc0)
		return -1;
	if ((bits & 0xc0) == 0x80)
		return open(bits & 1 ? "/dev/null" : "/", O_RDONLY | O_CLOEXEC);
	/*
	 * Shared memory above this limit is not created, because it could use up the memory of the
	 * machine.
	 */
	if ((bits & 0xc0) == 0 && plan->size <= FILE_MAX &&
	    uroce_shm_create(&area, plan, &fd) == 0) {
		if (bits & 0x20) /* fill the ring indexes with invalid values */
			memset(area.mem, bits, 256);
		if (bits & 0x10)
			(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8192);
		uroce_shm_unmap(&area);
		return fd;
	}
	fd = memfd_create("area", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	expect(fd >= 0 && ftruncate(fd, (off_t)bits << 12) == 0);
	if (bits & 0x20)
		(void)fcntl(fd, F_ADD_SEALS, bits & 0x1f);
	return fd;
}

static void
draw_plan(struct bytes *in, struct uroce_shm_layout *plan)
{
	const uint8_t bits = bytes_u8(in);

	(void)uroce_shm_lay_out(plan, 1 + (bits & 1), NB_SLOTS, host.told.frame_limit, 64);
	if (bits & 0x80) {
		for (unsigned i = bits >> 1 & 3; i > 0; i--) {
			const uint16_t at = bytes_u16(in);

			((uint8_t *)plan)[at % sizeof(*plan)] ^= bytes_u8(in);
		}
	}
}

static void
put_attach(struct bytes *in, const struct peer *peer, struct uroce_mux_attach *attach)
{
	const uint8_t bits = bytes_u8(in);

	attach->nb_leases = bits % (LEASES_OF + 1);
	memcpy(attach->lease, peer->lease, sizeof(peer->lease));
	/* present the leases of the other client, perhaps with a wrong token */
	if (bits & 0x80) {
		memcpy(attach->lease, peers[peer == peers].lease, sizeof(peer->lease));
		attach->lease[bits % LEASES_OF].token ^= bits & 0x40;
	}
	draw_plan(in, &attach->plan);
}

static void
put_release(struct bytes *in, const struct peer *peer, struct uroce_mux_release *release)
{
	release->nb = bytes_u8(in) % 5;
	for (uint32_t i = 0; i < release->nb; i++) {
		const uint8_t bits = bytes_u8(in);

		release->block[i] =
			bits & 0x80 ? bytes_u32(in) : peer->lease[bits % LEASES_OF].block;
	}
}

static void
send_raw(const struct peer *peer, const void *bytes, size_t len, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&room.header), &fd, sizeof(fd));
		msg.msg_control = &room;
		msg.msg_controllen = sizeof(room);
	}
	(void)sendmsg(peer->socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
speak(struct bytes *in, struct peer *peer)
{
	static union uroce_mux_message message;
	const uint8_t bits = bytes_u8(in);
	size_t len;
	int fd = -1;

	memset(&message, 0, sizeof(message));
	message.type = bits % (UROCE_MUX_NB_TYPES + 1);
	message.hello.version = UROCE_MUX_VERSION ^ (bits >> 4 == 15);
	if (message.type == UROCE_MUX_ATTACH)
		put_attach(in, peer, &message.attach);
	else if (message.type == UROCE_MUX_RELEASE)
		put_release(in, peer, &message.release);
	else if (message.type == UROCE_MUX_LEASE)
		message.lease.nb = bits & 0x80 ? bytes_u32(in) : bytes_u8(in) % 8;
	len = uroce_mux_message_size(message.type, message.type == UROCE_MUX_ATTACH
							   ? message.attach.nb_leases
							   : message.release.nb);
	if (len == 0)
		len = sizeof(message.hello);
	if (bits >> 4 == 14)
		len = bytes_u16(in) % sizeof(message);
	if (message.type == UROCE_MUX_ATTACH || bits >> 4 == 13)
		fd = make_file(in, &message.attach.plan);
	if (message.type == UROCE_MUX_RELEASE && peer->nb_leases >= message.release.nb)
		/*
		 * The leases in a RELEASE message are not counted any more. If uroced refuses the
		 * message, the connection ends.
		 */
		peer->nb_leases -= message.release.nb;
	if (message.type == UROCE_MUX_LEASE)
		peer->nb_wanted = message.lease.nb;
	send_raw(peer, &message, len, fd);
	if (fd >= 0)
		(void)close(fd);
}

static void
step(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);
	struct peer *peer = &peers[bits & 1];
	static uint8_t raw[256];

	switch (bits >> 1 & 7) {
	case 0:
		if (bits & 0x10)
			come(in, peer);
		else
			hang_up(peer);
		break;
	case 1:
		now_ns += LEASE_QUARANTINE_NS >> (bits >> 4);
		break;
	case 2:
		bytes_take(in, raw, bits);
		if (peer->socket >= 0)
			send_raw(peer, raw, bits, -1);
		break;
	default:
		if (peer->socket < 0)
			come(in, peer);
		speak(in, peer);
	}
	if (peer->socket >= 0)
		serve(peer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct bytes in = { data, len };
	int fd;

	if (!control.leases) {
		control.host = &host;
		control.stats_lock = &lock;
		control.limits = USER_LIMITS_DEFAULT;
		control.leases = lease_table_create(records, now_ns);
		host.told.frame_limit = 256;
		mapper_init(&control.mapper);
		expect(control.leases && mapper_start(&control.mapper) == 0);
	}
	for (unsigned i = 0; i < NB_CLIENTS; i++)
		peers[i] = (struct peer){ .socket = -1 };
	for (unsigned i = 0; i < STEPS_MAX && in.left > 0; i++)
		step(&in);
	for (unsigned i = 0; i < NB_CLIENTS; i++)
		hang_up(&peers[i]);
	now_ns += LEASE_QUARANTINE_NS;
	/* If the test leaks no descriptors, a new descriptor has a low number. */
	fd = dup(STDERR_FILENO);
	expect(fd < 64);
	(void)close(fd);
	return 0;
}
