/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tests the turns of clients in the data path. The clients have no process: their rings are memory
 * of this program. The clock is computed from the work that was done: each frame, each copied byte
 * and each WAKE message has a price. So deficit round robin gives each client an amount of work
 * that the test knows to the nanosecond.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "data.h"
#include "mux/binding.h"
#include "peer.h"

#define NB_SLOTS    512u
#define NB_ROUNDS   1000u
#define FRAME_ROOM  4352u
#define LONG_FRAME  4242u
#define SHORT_FRAME 54u
#define NB_MAX      320u
#define OTHER_QPN   (1000u * UROCE_MUX_BLOCK) /* a QP number in a block that no client holds */

static struct data data;
static struct lease_table leases;
static struct uroce_port port;
static struct peer sender; /* this peer only builds frames, and has no connection */

/* --- the clock, which is computed from the work -------------------------------------------------- */

static struct {
	uint64_t frame_ns, wake_ns;
	/*
	 * bytes that are copied in a nanosecond; the lengths of all frames are multiples of this
	 * number
	 */
	uint64_t bytes;
} price;

static uint64_t start_ns; /* value of the clock before any work is done */
static uint64_t kept_ns;  /* time for which the data path loses the CPU in the next batch */
static uint64_t read_ns;  /* the last value of the clock */

/* Get the number of frames of a client that were forwarded or dropped. */
static uint64_t
nb_done(const struct client *client)
{
	uint64_t nb = client->counters.frames_up;

	for (unsigned i = 0; i < FRAME_NB_DROPS; i++)
		nb += client->counters.drop[i];
	return nb;
}

static uint64_t
get_work_ns(void)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < NB_MAX; i++) {
		const struct client *client = data.client[i];

		if (client)
			ns += nb_done(client) * price.frame_ns +
			      client->counters.bytes_down / price.bytes +
			      client->counters.wakes * price.wake_ns;
	}
	return ns;
}

static uint64_t
read_work_clock(void)
{
	uint64_t now_ns = start_ns + get_work_ns();

	if (kept_ns > 0 && now_ns != read_ns) {
		start_ns += kept_ns;
		now_ns += kept_ns;
		kept_ns = 0;
	}
	read_ns = now_ns;
	return now_ns;
}

/* --- clients ------------------------------------------------------------------------------------- */

static int
set_up(void **state)
{
	struct uroce_mux_host told = { .mac = { 2, 0, 0, 0, 0, 1 }, .nb_addr = 1 };
	static const uint8_t ip[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };

	(void)state;
	memcpy(told.addr[0].ip, ip, sizeof(ip));
	told.frame_limit = FRAME_ROOM;
	memset(&data, 0, sizeof(data));
	memset(&leases, 0, sizeof(leases));
	price.frame_ns = 300;
	price.bytes = 2;
	price.wake_ns = 11000;
	kept_ns = 0;
	start_ns = read_ns = UINT64_C(1000000000);
	sender.host = told;
	data.leases = &leases;
	data.read_clock = read_work_clock;
	data.broken_fd = -1;
	data.now_ns = start_ns;
	wire_init(&data.wire, &port, NULL);
	frame_host_set(&data.host, &told);
	return 0;
}

static uint32_t
qpn_of(const struct client *client)
{
	return (client->slot + 1u) * UROCE_MUX_BLOCK;
}

/*
 * Add a client that holds a block. All descriptors of its rings up name one frame, and all of its
 * rings down one empty buffer.
 */
static struct client *
add_client(uint16_t slot, uint32_t nb_pairs, uint32_t nb_slots)
{
	struct client *client = client_create(-1, slot);
	struct uroce_shm *shm;
	uint64_t at = 0;

	assert_non_null(client);
	client->uid = 1000;
	shm = &client->shm;
	shm->plan = (struct uroce_shm_layout){ .nb_pairs = nb_pairs,
					       .nb_slots = nb_slots,
					       .nb_bindings = UROCE_BINDINGS_MIN };
	for (uint32_t i = 0; i < nb_pairs; i++) {
		shm->plan.up[i] = at;
		at += uroce_spsc_size(nb_slots);
		shm->plan.down[i] = at;
		at += uroce_spsc_size(nb_slots);
	}
	shm->plan.bindings = at;
	at += UROCE_BINDINGS_MIN * sizeof(uint64_t);
	shm->plan.frame_max = FRAME_ROOM;
	shm->plan.size = (at + 2 * FRAME_ROOM + 63) / 64 * 64;
	shm->mem = aligned_alloc(64, shm->plan.size);
	assert_non_null(shm->mem);
	memset(shm->mem, 0, shm->plan.size);
	for (uint32_t i = 0; i < nb_pairs * nb_slots; i++)
		uroce_shm_down(shm, i / nb_slots)->slot[i % nb_slots] =
			uroce_spsc_pack((struct uroce_spsc_desc){ (uint32_t)(at + FRAME_ROOM), 0 });
	assert_true(client_take_rings(client));
	leases.owner[slot + 1] = (uint16_t)(slot + 1);
	data.client[slot] = client;
	runq_add(&data, client);
	return client;
}

static uint8_t *
frame_of(struct client *client)
{
	const struct uroce_shm_layout *plan = &client->shm.plan;

	return client->shm.mem + plan->bindings + UROCE_BINDINGS_MIN * sizeof(uint64_t);
}

/*
 * Let all descriptors of a client's rings up name the client's frame.
 * @param len  the length in the descriptors
 */
static void
set_descs(struct client *client, uint16_t len)
{
	const struct uroce_shm_layout *plan = &client->shm.plan;
	const uint32_t at = (uint32_t)(frame_of(client) - client->shm.mem);

	for (uint32_t i = 0; i < plan->nb_pairs * plan->nb_slots; i++)
		uroce_shm_up(&client->shm, i / plan->nb_slots)->slot[i % plan->nb_slots] =
			uroce_spsc_pack((struct uroce_spsc_desc){ at, len });
}

static void
send_to(struct client *client, uint32_t qpn, uint16_t len)
{
	(void)peer_build(&sender, frame_of(client), NULL, qpn, len);
	set_descs(client, len);
}

static void
fill_up(struct client *client)
{
	for (uint32_t i = 0; i < client->shm.plan.nb_pairs; i++) {
		struct uroce_spsc_ring *up = uroce_shm_up(&client->shm, i);

		atomic_store(&up->head, atomic_load(&up->tail) + client->shm.plan.nb_slots);
	}
}

static void
empty_down(struct client *client)
{
	for (uint32_t i = 0; i < client->shm.plan.nb_pairs; i++) {
		struct uroce_spsc_ring *down = uroce_shm_down(&client->shm, i);

		atomic_store(&down->tail, atomic_load(&down->head));
	}
}

static void
round_of_work(void)
{
	data.last_ns = data.now_ns;
	data.now_ns = read_work_clock();
	(void)data_round(&data);
}

/* Run rounds in which the given clients always have frames to send and room to receive. */
static void
run_rounds(struct client *const *clients, unsigned nb, unsigned nb_rounds)
{
	for (unsigned i = 0; i < nb_rounds; i++) {
		for (unsigned j = 0; j < nb; j++) {
			fill_up(clients[j]);
			empty_down(clients[j]);
		}
		round_of_work();
	}
}

static int
tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NB_MAX; i++) {
		struct client *client = data.client[i];

		if (!client)
			continue;
		free(client->shm.mem);
		client->shm.mem = NULL;
		client_destroy(client, NULL);
	}
	wire_fini(&data.wire);
	return 0;
}

/* --- ways to get more than a fair share ---------------------------------------------------------- */

static void
send_long(struct client *client)
{
	send_to(client, qpn_of(client), LONG_FRAME);
}

static void
send_short(struct client *client)
{
	send_to(client, qpn_of(client), SHORT_FRAME);
}

static void
send_garbage(struct client *client)
{
	set_descs(client, SHORT_FRAME - 1);
}

static void
forge_source(struct client *client)
{
	send_short(client);
	frame_of(client)[6] ^= 0x10;
}

static void
forge_datagram(struct client *client)
{
	struct peer other = sender;

	send_to(client, qpn_of(client), 100);
	other.lease[0].block = 1; /* the block of client 0 */
	peer_make_datagram(&other, frame_of(client), 1);
}

static void
send_to_nobody(struct client *client)
{
	send_to(client, OTHER_QPN, SHORT_FRAME);
}

static void
send_unbound(struct client *client)
{
	send_to(client, UROCE_MUX_BLOCK, SHORT_FRAME); /* to a QP number of client 0 */
}

/* The ways in which a client tries to get more than its share. The first client is honest. */
static const struct behaviour {
	const char *name;
	void (*begin)(struct client *client);
	uint32_t nb_pairs;
	uint16_t len; /* the length of frames that are copied; 0 if all frames are dropped */
	enum frame_drop drop;
} behaviours[] = {
	{ "long frames", send_long, 1, LONG_FRAME, FRAME_PASSES },
	{ "short frames, four rings", send_short, 4, SHORT_FRAME, FRAME_PASSES },
	{ "garbage in descriptors", send_garbage, 1, 0, FRAME_DROP_SLOT },
	{ "forged MACs", forge_source, 1, 0, FRAME_DROP_SOURCE },
	{ "forged source QPNs", forge_datagram, 2, 0, FRAME_DROP_FORGED },
	{ "frames to nobody", send_to_nobody, 1, 0, FRAME_DROP_NOBODY },
	{ "frames to another's QP", send_unbound, 3, 0, FRAME_DROP_UNBOUND },
	{ "long frames, two rings", send_long, 2, LONG_FRAME, FRAME_PASSES },
};
#define NB_BEHAVIOURS (sizeof(behaviours) / sizeof(behaviours[0]))

/*
 * Compute the time that a client gets in a number of rounds. A client gets whole batches, until the
 * time of its turns is used up.
 */
static uint64_t
expected_ns(unsigned nb_rounds, uint64_t batch_ns)
{
	return (nb_rounds * (uint64_t)DATA_TURN_NS + batch_ns - 1) / batch_ns * batch_ns;
}

static uint64_t
batch_ns_of(uint16_t len)
{
	return DATA_BATCH * (price.frame_ns + len / price.bytes);
}

static uint64_t
nb_drops(const struct client *client)
{
	return nb_done(client) - client->counters.frames_up;
}

static void
turns__are_equal_in_work_whatever_is_sent(void **state)
{
	struct client *clients[NB_BEHAVIOURS];
	uint64_t sum_ns = 0;

	(void)state;
	for (unsigned i = 0; i < NB_BEHAVIOURS; i++) {
		clients[i] = add_client((uint16_t)i, behaviours[i].nb_pairs, NB_SLOTS);
		behaviours[i].begin(clients[i]);
	}
	run_rounds(clients, NB_BEHAVIOURS, NB_ROUNDS);
	for (unsigned i = 0; i < NB_BEHAVIOURS; i++) {
		const struct counters *counters = &clients[i]->counters;
		const uint64_t batch_ns = batch_ns_of(behaviours[i].len);
		const uint64_t ns = expected_ns(NB_ROUNDS, batch_ns);

		print_message("# %s: %u frames\n", behaviours[i].name,
			      (unsigned)nb_done(clients[i]));
		assert_int_equal(counters->busy_ns, ns);
		assert_int_equal(nb_done(clients[i]), ns / batch_ns * DATA_BATCH);
		if (behaviours[i].drop != FRAME_PASSES)
			assert_int_equal(counters->drop[behaviours[i].drop], nb_drops(clients[i]));
		assert_int_equal(nb_drops(clients[i]) > 0, behaviours[i].drop != FRAME_PASSES);
		sum_ns += counters->busy_ns;
	}
	/* all work was charged to some client */
	assert_int_equal(get_work_ns(), sum_ns);
}

/* A client that had nothing to send gets one turn, not all turns that it did not use. */
static void
turns__without_frames_are_not_saved(void **state)
{
	struct client *honest = add_client(0, 1, NB_SLOTS), *saver = add_client(1, 1, NB_SLOTS);

	(void)state;
	send_long(honest);
	send_short(saver);
	run_rounds(&honest, 1, NB_ROUNDS);
	assert_int_equal(saver->counters.busy_ns, 0);
	fill_up(saver);
	round_of_work();
	assert_int_equal(saver->counters.busy_ns, expected_ns(1, batch_ns_of(SHORT_FRAME)));
}

/*
 * A client always reports that it sleeps, so each frame to it requires a WAKE. The client gets at
 * most one WAKE in a turn, and the time for the WAKE is subtracted from the time for the frames of
 * this client.
 */
static void
wakes__are_charged_to_who_sleeps(void **state)
{
	struct client *clients[2] = { add_client(0, 1, NB_SLOTS), add_client(1, 4, NB_SLOTS) };
	struct client *honest = clients[0], *sleeper = clients[1];
	const uint64_t turns_ns = NB_ROUNDS * (uint64_t)DATA_TURN_NS;
	const uint64_t batch_ns = batch_ns_of(SHORT_FRAME);
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	sleeper->socket = ends[0];
	send_long(honest);
	send_short(sleeper);
	for (unsigned i = 0; i < NB_ROUNDS; i++) {
		for (uint32_t pair = 0; pair < 4; pair++)
			atomic_store(&uroce_shm_down(&sleeper->shm, pair)->sleeps, 1);
		run_rounds(clients, 2, 1);
	}
	print_message("# %u wakes, %u frames\n", (unsigned)sleeper->counters.wakes,
		      (unsigned)nb_done(sleeper));
	assert_int_equal(honest->counters.busy_ns, expected_ns(NB_ROUNDS, batch_ns_of(LONG_FRAME)));
	assert_in_range(sleeper->counters.busy_ns, turns_ns, turns_ns + batch_ns - 1);
	assert_in_range(sleeper->counters.wakes, 1, NB_ROUNDS);
	assert_int_equal(get_work_ns(), honest->counters.busy_ns + sleeper->counters.busy_ns);
	assert_int_equal(sleeper->counters.busy_ns,
			 nb_done(sleeper) / DATA_BATCH * batch_ns +
				 sleeper->counters.wakes * price.wake_ns);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/*
 * A receiver that sleeps and sends nothing is charged for its WAKEs. The client that sends to this
 * receiver is not charged for the WAKEs.
 */
static void
wakes__are_not_charged_to_who_sends(void **state)
{
	struct client *clients[2] = { add_client(0, 1, NB_SLOTS), add_client(1, 1, NB_SLOTS) };
	struct client *honest = clients[0], *sleeper = clients[1];
	const struct uroce_binding binding = { qpn_of(sleeper), qpn_of(honest),
					       UROCE_BINDING_LOCAL };
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	sleeper->socket = ends[0];
	uroce_binding_set(&sleeper->shm, &binding);
	send_to(honest, qpn_of(sleeper), LONG_FRAME);
	for (unsigned i = 0; i < NB_ROUNDS; i++) {
		atomic_store(&uroce_shm_down(&sleeper->shm, 0)->sleeps, 1);
		empty_down(sleeper);
		run_rounds(clients, 1, 1);
	}
	assert_int_equal(honest->counters.busy_ns, expected_ns(NB_ROUNDS, batch_ns_of(LONG_FRAME)));
	assert_in_range(sleeper->counters.wakes, 1, NB_ROUNDS);
	assert_int_equal(sleeper->counters.busy_ns, sleeper->counters.wakes * price.wake_ns);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/*
 * A client that has used more than the time of its turns gets no WAKE until the time of its next
 * turns has made up for the excess.
 */
static void
wake__waits_for_the_turns_of_who_sleeps(void **state)
{
	struct client *honest = add_client(0, 1, NB_SLOTS), *sleeper = add_client(1, 1, NB_SLOTS);
	const struct uroce_binding binding = { qpn_of(sleeper), qpn_of(honest),
					       UROCE_BINDING_LOCAL };
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	sleeper->socket = ends[0];
	sleeper->credit_ns = -10 * DATA_TURN_NS;
	uroce_binding_set(&sleeper->shm, &binding);
	send_to(honest, qpn_of(sleeper), SHORT_FRAME);
	atomic_store(&uroce_shm_down(&sleeper->shm, 0)->sleeps, 1);
	for (unsigned i = 0; i < 11; i++) {
		assert_int_equal(sleeper->counters.wakes, 0);
		empty_down(sleeper);
		run_rounds(&honest, 1, 1);
	}
	assert_int_equal(sleeper->counters.wakes, 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/*
 * The sender of a multicast frame is charged for the copies of all receivers, even if this is more
 * than DATA_BATCH_MAX_NS, the limit for other batches.
 */
static void
mcast__is_charged_for_all_copies(void **state)
{
	struct client *clients[128], *sender_of_mcast;
	static const uint8_t mac[6] = { 0x01, 0x00, 0x5e, 1, 2, 3 };
	const unsigned nb = sizeof(clients) / sizeof(clients[0]);
	uint64_t frame_ns;

	(void)state;
	for (unsigned i = 0; i < nb; i++)
		clients[i] = add_client((uint16_t)i, 1, NB_SLOTS);
	sender_of_mcast = clients[1];
	send_long(clients[0]);
	(void)peer_build(&sender, frame_of(sender_of_mcast), mac, FRAME_QPN_GROUP, LONG_FRAME);
	sender.lease[0].block = qpn_of(sender_of_mcast) / UROCE_MUX_BLOCK;
	peer_make_datagram(&sender, frame_of(sender_of_mcast), 1);
	set_descs(sender_of_mcast, LONG_FRAME);
	for (unsigned i = 0; i < NB_ROUNDS; i++) {
		for (unsigned j = 2; j < nb; j++)
			empty_down(clients[j]);
		run_rounds(clients, 2, 1);
	}
	frame_ns = price.frame_ns + (nb - 1) * LONG_FRAME / price.bytes;
	assert_true(frame_ns > DATA_BATCH_MAX_NS);
	assert_int_equal(sender_of_mcast->counters.busy_ns, expected_ns(NB_ROUNDS, frame_ns));
	assert_int_equal(sender_of_mcast->counters.frames_up,
			 expected_ns(NB_ROUNDS, frame_ns) / frame_ns);
	assert_int_equal(clients[0]->counters.busy_ns,
			 expected_ns(NB_ROUNDS, batch_ns_of(LONG_FRAME)));
}

/*
 * A multicast datagram is not delivered to the connection manager: a flood of them would fill its
 * ring down, in which the messages of all users arrive.
 */
static void
mcast__does_not_reach_the_connection_manager(void **state)
{
	struct client *clients[3];
	static const uint8_t mac[6] = { 0x01, 0x00, 0x5e, 1, 2, 3 };

	(void)state;
	for (uint16_t i = 0; i < 3; i++)
		clients[i] = add_client(i, 1, NB_SLOTS);
	clients[2]->uid = CLIENT_UID_MANAGER;
	(void)peer_build(&sender, frame_of(clients[0]), mac, FRAME_QPN_GROUP, LONG_FRAME);
	sender.lease[0].block = qpn_of(clients[0]) / UROCE_MUX_BLOCK;
	peer_make_datagram(&sender, frame_of(clients[0]), 1);
	set_descs(clients[0], LONG_FRAME);
	run_rounds(clients, 1, 1);
	assert_true(clients[1]->counters.frames_down > 0);
	assert_int_equal(clients[2]->counters.frames_down, 0);
	assert_int_equal(clients[2]->counters.drop[FRAME_DROP_RING_FULL], 0);
}

/* A batch in which the data path loses the CPU is charged DATA_BATCH_MAX_NS at most. */
static void
batch__that_was_kept_from_the_cpu_is_charged_little(void **state)
{
	struct client *clients[2] = { add_client(0, 1, NB_SLOTS), add_client(1, 1, NB_SLOTS) };
	const uint64_t batch_ns = batch_ns_of(LONG_FRAME);

	(void)state;
	send_long(clients[0]);
	send_long(clients[1]);
	kept_ns = UINT64_C(50000000);
	run_rounds(clients, 2, NB_ROUNDS);
	assert_int_equal(kept_ns, 0);
	assert_in_range(clients[0]->counters.busy_ns, NB_ROUNDS * (uint64_t)DATA_TURN_NS,
			NB_ROUNDS * (uint64_t)DATA_TURN_NS + batch_ns);
	/* one batch was charged DATA_BATCH_MAX_NS, and each other batch its price */
	assert_int_equal((clients[0]->counters.busy_ns - DATA_BATCH_MAX_NS) % batch_ns, 0);
	assert_int_equal(clients[1]->counters.busy_ns, expected_ns(NB_ROUNDS, batch_ns));
}

/*
 * A turn that waits for room in another client's ring is continued first in the next round, and
 * gets no more time.
 */
static void
turn__that_waits_for_room_earns_nothing(void **state)
{
	struct client *clients[3] = { add_client(0, 1, NB_SLOTS), add_client(1, 1, NB_SLOTS),
				      add_client(2, 1, UROCE_SPSC_SLOTS_MIN) };
	struct client *from = clients[1], *to = clients[2];
	const struct uroce_binding binding = { qpn_of(to), qpn_of(from), UROCE_BINDING_LOCAL };
	uint64_t before_ns;

	(void)state;
	uroce_binding_set(&to->shm, &binding);
	send_long(clients[0]);
	send_to(from, qpn_of(to), SHORT_FRAME);
	to->wait_budget_ns = DATA_STALL_NS;
	to->full_ns = data.now_ns;
	empty_down(to);
	run_rounds(clients, 2, 100);
	assert_int_equal(to->counters.frames_down, UROCE_SPSC_SLOTS_MIN);
	assert_true(from->is_cut_short);
	for (unsigned i = 0; i < 3; i++) {
		assert_ptr_equal(data.runq[data.first], from);
		run_rounds(clients, 2, 1);
	}
	before_ns = from->counters.busy_ns;
	assert_true(before_ns < 2 * DATA_TURN_NS);
	for (unsigned i = 0; i < 100; i++) {
		empty_down(to);
		run_rounds(clients, 2, 1);
		assert_true(from->counters.busy_ns - before_ns <=
			    (i + 1) * (uint64_t)DATA_TURN_NS + batch_ns_of(SHORT_FRAME));
	}
}

/* --- idle clients -------------------------------------------------------------------------------- */

#define NB_IDLE 256u

static uint32_t
tail_of(const struct client *client, uint32_t pair)
{
	return atomic_load(&uroce_shm_up(&client->shm, pair)->tail);
}

static void
put_one(struct client *client, uint32_t pair)
{
	struct uroce_spsc_ring *up = uroce_shm_up(&client->shm, pair);

	atomic_store(&up->head, atomic_load(&up->head) + 1);
}

/*
 * Clients that have the maximum number of rings send nothing for a while. After that no round reads
 * their rings, so a frame in one of these rings is not taken. A doorbell gives the client turns
 * again if one of its rings has a frame.
 */
static void
idle_clients__are_not_looked_at_until_they_ring(void **state)
{
	struct client *good, *idle[NB_IDLE];

	(void)state;
	good = add_client(0, 1, NB_SLOTS);
	send_long(good);
	for (unsigned i = 0; i < NB_IDLE; i++) {
		idle[i] = add_client((uint16_t)(i + 1), UROCE_SHM_PAIRS_MAX, UROCE_SPSC_SLOTS_MIN);
		send_short(idle[i]);
	}
	assert_int_equal(data.nb_active, NB_IDLE + 1);
	start_ns += RUNQ_PARK_NS;
	run_rounds(&good, 1, 1);
	runq_park_idle(&data);
	assert_int_equal(data.nb_active, 1);
	assert_int_equal(data.nb_clients, NB_IDLE + 1);
	for (unsigned i = 0; i < NB_IDLE; i++) {
		for (uint32_t pair = 0; pair < UROCE_SHM_PAIRS_MAX; pair++)
			assert_int_equal(uroce_shm_up(&idle[i]->shm, pair)->sleeps, 1);
		/* a doorbell without a frame has no effect */
		runq_on_doorbell(&data, idle[i]);
	}
	assert_int_equal(data.nb_active, 1);
	for (unsigned i = 0; i < NB_IDLE; i++)
		put_one(idle[i], i % UROCE_SHM_PAIRS_MAX);
	run_rounds(&good, 1, NB_ROUNDS);
	for (unsigned i = 0; i < NB_IDLE; i++)
		assert_int_equal(tail_of(idle[i], i % UROCE_SHM_PAIRS_MAX), 0);
	assert_int_equal(get_work_ns(), good->counters.busy_ns);
	for (unsigned i = 0; i < NB_IDLE; i++)
		runq_on_doorbell(&data, idle[i]);
	assert_int_equal(data.nb_active, NB_IDLE + 1);
	run_rounds(&good, 1, 1);
	for (unsigned i = 0; i < NB_IDLE; i++)
		assert_int_equal(tail_of(idle[i], i % UROCE_SHM_PAIRS_MAX), 1);
}

/*
 * A client that sends from time to time keeps its turns without a doorbell. A client that sends
 * nothing for RUNQ_PARK_NS leaves the run queue.
 */
static void
clients__that_send_now_and_then_stay(void **state)
{
	struct client *often = add_client(0, 1, NB_SLOTS), *never = add_client(1, 1, NB_SLOTS);

	(void)state;
	send_short(often);
	for (unsigned i = 0; i < 10; i++) {
		start_ns += RUNQ_PARK_NS / 2;
		put_one(often, 0);
		empty_down(often);
		round_of_work();
		runq_park_idle(&data);
		assert_int_equal(data.nb_active, i == 0 ? 2 : 1);
	}
	assert_ptr_equal(data.runq[0], often);
	assert_ptr_equal(data.runq[1], never);
	assert_int_equal(often->counters.frames_up, 10);
}

#define TURNS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TURNS_TEST(turns__are_equal_in_work_whatever_is_sent),
		TURNS_TEST(turns__without_frames_are_not_saved),
		TURNS_TEST(wakes__are_charged_to_who_sleeps),
		TURNS_TEST(wakes__are_not_charged_to_who_sends),
		TURNS_TEST(wake__waits_for_the_turns_of_who_sleeps),
		TURNS_TEST(mcast__is_charged_for_all_copies),
		TURNS_TEST(mcast__does_not_reach_the_connection_manager),
		TURNS_TEST(batch__that_was_kept_from_the_cpu_is_charged_little),
		TURNS_TEST(turn__that_waits_for_room_earns_nothing),
		TURNS_TEST(idle_clients__are_not_looked_at_until_they_ring),
		TURNS_TEST(clients__that_send_now_and_then_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
