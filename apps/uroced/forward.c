/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A round of the data path of uroced. Clients have turns by deficit round robin, and the unit is
 * time. The whole time of a turn is measured and charged to the client. Time beyond the turn is
 * subtracted from the client's next turns. So short frames, dropped frames, multicast copies and
 * WAKE messages are charged to a client by the time that they take.
 *
 * A batch is taken from a ring in steps: load the descriptors, copy the headers, check the copies,
 * forward the frames, publish. An index that the client has written is read once for each batch,
 * and each descriptor once. Their values are checked before they are used.
 *
 * A frame stays in the ring of its sender while its destination, the wire or a ring of another
 * client, has no room. The sender's transmit bursts then accept fewer frames. The turn of a client
 * whose frame waits is continued in the next round, before other turns. Frames wait only for a
 * limited time (wait budget) for a client that does not empty its rings. Afterwards frames for this
 * client are dropped.
 *
 * The functions are in one file of more than 500 lines, so that the compiler can inline the steps
 * of a frame.
 */

#include <assert.h>
#include <string.h>
#include <unistd.h>
#include <rte_common.h>

#include "data.h"
#include "mux/binding.h"

/*
 * Maximum number of rounds for which a barrier waits until other clients' earlier frames have been
 * taken from their rings. A client that has overdrawn its turn by the most expensive batch has a
 * new turn in fewer rounds.
 */
#define BARRIER_ROUNDS_MAX 128
static_assert(BARRIER_ROUNDS_MAX * DATA_TURN_NS > (int64_t)DATA_MCAST_MAX_NS,
	      "or a barrier passes what is only late");

/* A descriptor that was taken from a client's ring: a frame or a barrier. */
struct item {
	/*
	 * the frame of the descriptor, in the shared memory of its sender; the sender may change
	 * the frame at any time
	 */
	const uint8_t *bytes;
	/* length of the frame in bytes; 0 if the descriptor does not describe a frame */
	uint32_t len;
	bool is_barrier;
};

/*
 * Copy `len` bytes, UROCE_SHM_FRAME_MIN to FRAME_HEAD, as two parts of a constant length that may
 * overlap. A memcpy() of a length that is not known at compile time would take longer.
 */
static inline void
copy_head(uint8_t *to, const uint8_t *from, uint32_t len)
{
	if (len < FRAME_HEAD / 2) {
		memcpy(to, from, FRAME_HEAD / 4);
		memcpy(to + len - FRAME_HEAD / 4, from + len - FRAME_HEAD / 4, FRAME_HEAD / 4);
	} else {
		memcpy(to, from, FRAME_HEAD / 2);
		memcpy(to + len - FRAME_HEAD / 2, from + len - FRAME_HEAD / 2, FRAME_HEAD / 2);
	}
}
static_assert(UROCE_SHM_FRAME_MIN >= FRAME_HEAD / 4, "a frame has two such halves");

static void
break_client(struct data *data, struct client *client)
{
	const uint64_t one = 1;

	if (atomic_exchange(&client->is_broken, true))
		return;
	(void)!write(data->broken_fd, &one, sizeof(one));
}

static bool
is_broken(const struct client *client)
{
	return atomic_load_explicit(&client->is_broken, memory_order_relaxed);
}

/* Charge the time since `since_ns`, but no more than `max_ns`, to a client's turn. */
static void
charge_turn(const struct data *data, struct client *client, uint64_t since_ns, uint64_t max_ns)
{
	const uint64_t ns = RTE_MIN(data->read_clock() - since_ns, max_ns);

	client->credit_ns -= (int64_t)ns;
	counter_add(&client->counters.busy_ns, ns);
}

/* --- down: to clients ---------------------------------------------------------------------------- */

/*
 * Put a ring to a client into the list of rings with frames to publish, and read for how many
 * frames the ring has room.
 * @return false if the client is broken: the index that it has written to the ring is impossible
 */
static bool
mark_touched(struct data *data, struct client_down *down)
{
	if (down->is_touched)
		return true;
	down->room = uroce_spsc_room(&down->end);
	if (down->room < 0) {
		break_client(data, down->client);
		return false;
	}
	down->is_touched = true;
	down->next = data->touched;
	data->touched = down;
	return true;
}

static struct client_down *
down_of(struct client *to, uint32_t qpn)
{
	const uint32_t nb_pairs = to->shm.plan.nb_pairs;

	return &to->down[nb_pairs > 1 ? qpn % nb_pairs : 0];
}

static inline void
put_together(uint8_t *to, const struct pieces *frame)
{
	if (frame->head_len <= FRAME_HEAD)
		copy_head(to, frame->head, frame->head_len);
	else
		memcpy(to, frame->head, frame->head_len);
	/*
	 * memmove() is used because source and destination may overlap: a client may send from the
	 * buffer into which it receives
	 */
	if (frame->rest_len > 0)
		memmove(to + frame->head_len, frame->rest, frame->rest_len);
}

static void
put_down(struct data *data, struct client *to, uint32_t qpn, const struct pieces *frame)
{
	const uint32_t len = frame->head_len + frame->rest_len;
	struct client_down *down = down_of(to, qpn);
	struct uroce_spsc_desc buffer;

	if (is_broken(to) || !mark_touched(data, down))
		return;
	if ((int32_t)down->nb_new == down->room) {
		counter_add(&to->counters.drop[FRAME_DROP_RING_FULL], 1);
		return;
	}
	buffer = uroce_spsc_get(&down->end, down->nb_new);
	if (!uroce_shm_has_buffer(&to->shm, buffer) || len > to->shm.plan.frame_max) {
		counter_add(&to->counters.drop[FRAME_DROP_BUFFER], 1);
		return;
	}
	put_together(to->shm.mem + buffer.offset, frame);
	buffer.len = (uint16_t)len;
	uroce_spsc_put(&down->end, down->nb_new++, buffer);
	counter_add(&to->counters.frames_down, 1);
	counter_add(&to->counters.bytes_down, len);
}

/* Find the client that holds a QP number. @return NULL if no client holds the QP number */
static struct client *
client_of(const struct data *data, uint32_t qpn)
{
	const unsigned owner = lease_owner(data->leases, qpn);

	return owner > 0 ? data->client[owner - 1] : NULL;
}

/*
 * Check whether the client that owns the destination QP of a frame has bound the QP to the sender
 * of the frame [mux/binding.h]. A client may send to its own QPs without a binding.
 * @param from  the client that sent the frame; NULL if it comes from the wire
 */
static bool
is_bound(const struct data *data, const struct client *to, uint32_t qpn, const struct client *from)
{
	struct uroce_binding binding;

	if (to == from)
		return true;
	binding = uroce_binding_get(&to->shm, qpn);
	if (binding.qpn != qpn)
		return false;
	if (!from)
		return binding.where == UROCE_BINDING_REMOTE;
	return binding.where == UROCE_BINDING_LOCAL &&
	       lease_owner(data->leases, binding.dest_qpn) == from->slot + 1u;
}

/*
 * Find the client that receives a frame from a client or from the wire.
 * @return NULL if the frame has to be dropped; `drop` is the reason
 */
static struct client *
receiver_of(const struct data *data, const struct client *from, const struct frame *frame,
	    enum frame_drop *drop)
{
	struct client *to = client_of(data, frame->qpn);

	if (!to)
		*drop = FRAME_DROP_NOBODY;
	else if (frame_is_connected(frame) && !is_bound(data, to, frame->qpn, from))
		*drop = FRAME_DROP_UNBOUND;
	else
		return to;
	return NULL;
}

enum frame_drop
data_deliver(struct data *data, const struct frame *frame, const struct pieces *pieces)
{
	enum frame_drop drop = FRAME_PASSES;
	struct client *to = receiver_of(data, NULL, frame, &drop);

	if (to)
		put_down(data, to, frame->qpn, pieces);
	return drop;
}

static bool
is_to_group(const struct frame *frame)
{
	return frame->kind == FRAME_ROCE && frame->qpn == FRAME_QPN_GROUP;
}

unsigned
data_deliver_all(struct data *data, const struct client *from, const struct frame *frame,
		 const struct pieces *pieces)
{
	unsigned nb = 0;

	for (unsigned i = 0; i < data->nb_clients; i++) {
		struct client *to = data->runq[i];

		if (to == from || (is_to_group(frame) && client_is_manager(to)))
			continue;
		put_down(data, to, 0, pieces);
		nb++;
	}
	return nb;
}

/*
 * Send a client a WAKE message, because rings to this client have frames. Sending the message takes
 * as long as forwarding many frames. So the time is charged to the receiving client, in its own
 * turn, and the client gets one WAKE for all of its rings. If the socket is full, the WAKE message
 * is not needed, because the client still has earlier WAKE messages to read.
 */
static void
wake(const struct data *data, struct client *client)
{
	const union uroce_mux_message message = { .wake = { UROCE_MUX_WAKE } };
	const uint64_t begin_ns = data->read_clock();

	client->is_wake_due = false;
	(void)uroce_mux_send(client->socket, &message, -1);
	counter_add(&client->counters.wakes, 1);
	charge_turn(data, client, begin_ns, DATA_BATCH_MAX_NS);
}

void
data_publish(struct data *data)
{
	struct client_down *down = data->touched;

	for (; down; down = down->next) {
		const uint32_t nb_new = down->nb_new;

		down->is_touched = false;
		down->nb_new = 0;
		if (nb_new == 0)
			continue;
		uroce_spsc_push(&down->end, nb_new);
		if (uroce_spsc_must_wake(&down->end)) {
			down->client->is_wake_due = true;
			runq_activate(data, down->client);
		}
	}
	data->touched = NULL;
}

/* --- up: from clients ---------------------------------------------------------------------------- */

/*
 * What became of a descriptor in a client's ring: its frame was forwarded or dropped, or its
 * barrier was passed (GONE), or the descriptor stays in the ring (WAITS).
 */
enum forward_verdict {
	GONE,
	/*
	 * the frame was copied to all clients; the batch ends with it, so that the higher limit
	 * DATA_MCAST_MAX_NS can be applied to the time of the batch
	 */
	GONE_TO_ALL,
	WAITS,
};

/*
 * The wait budget of a client is the time for which senders may wait for the client, while its ring
 * is full. FRAME_NS is added to the budget for each frame that the client takes. Senders begin to
 * wait for a client when its budget exceeds WAIT_BUDGET_MIN_NS. A round takes at most ROUND_MAX_NS
 * off a budget, since another thread may have had the CPU during the round.
 */
#define FRAME_NS           UINT64_C(100000)
#define WAIT_BUDGET_MIN_NS (DATA_STALL_NS / 20)
#define ROUND_MAX_NS       (DATA_STALL_NS / 20)

/*
 * Decide whether senders of frames wait for a client whose ring is full. The waiting time is
 * bounded: the time in which senders waited is taken off the client's wait budget. The budget grows
 * with each frame that the client takes, and slowly with time.
 */
static __attribute__((noinline)) bool
has_wait_budget(const struct data *data, struct client_down *down)
{
	struct client *to = down->client;
	const uint32_t taken = down->end.mine - down->end.nb_slots + (uint32_t)down->room;
	const uint64_t passed_ns = data->now_ns - to->full_ns;
	uint64_t ns = to->wait_budget_ns;

	if (to->is_awaited && to->full_ns == data->last_ns)
		ns -= RTE_MIN(ns, RTE_MIN(passed_ns, ROUND_MAX_NS));
	else
		ns += passed_ns / 10;
	ns += (taken - down->taken) * FRAME_NS;
	down->taken = taken;
	to->full_ns = data->now_ns;
	to->wait_budget_ns = RTE_MIN(ns, DATA_STALL_NS);
	to->is_awaited = to->wait_budget_ns > (to->is_awaited ? 0 : WAIT_BUDGET_MIN_NS);
	return to->is_awaited;
}

/*
 * Check whether a frame has to wait in the ring of its sender: the ring to its receiver has no
 * room, and the wait budget of this receiver is not used up.
 */
static bool
is_awaited(struct data *data, struct client *to, uint32_t qpn)
{
	struct client_down *down = down_of(to, qpn);

	return !is_broken(to) && mark_touched(data, down) && (int32_t)down->nb_new == down->room &&
	       has_wait_budget(data, down);
}

/*
 * Send a frame to the wire. A multicast frame is also delivered to the clients. On the port `udp` a
 * report of a multicast group (IGMP, MLD) is not sent: the kernel joins the group instead.
 */
static enum frame_drop
send_away(struct data *data, const struct client *from, const struct frame *frame,
	  const struct pieces *pieces)
{
	if (data->host.is_udp && frame->kind == FRAME_REPORT)
		return groups_report(&data->groups, from->slot, frame, data->now_ns);
	if (!is_to_group(frame))
		return wire_send(&data->wire, pieces);
	(void)data_deliver_all(data, from, frame, pieces);
	(void)wire_send(&data->wire, pieces);
	return FRAME_PASSES;
}

/*
 * Check a UD datagram from a client. It is dropped if its source QP does not belong to the sender,
 * or if the user of the sender may not use the Q_Key.
 */
static enum frame_drop
classify_datagram(const struct data *data, const struct client *from, const struct frame *frame)
{
	if (frame->kind != FRAME_ROCE || frame->src_qpn == FRAME_QPN_NONE)
		return FRAME_PASSES;
	if (lease_owner(data->leases, frame->src_qpn) != from->slot + 1u)
		return FRAME_DROP_FORGED;
	if (frame_has_privileged_qkey(frame) && from->uid != 0 && !client_is_manager(from))
		return FRAME_DROP_QKEY;
	return FRAME_PASSES;
}

static enum frame_drop
classify_frame(const struct data *data, const struct client *from, const struct pieces *pieces,
	       struct frame *frame)
{
	enum frame_drop drop;

	if (pieces->head_len == 0)
		return FRAME_DROP_SLOT;
	frame_read(pieces->head, pieces->head_len, frame);
	drop = frame_filter_up(frame, &data->host);
	return drop == FRAME_PASSES ? classify_datagram(data, from, frame) : drop;
}

/* --- barriers ------------------------------------------------------------------------------------ */

/*
 * Mark the frames that a client has in its rings to uroced. Barriers of other clients that the data
 * path has reached since the last marking wait for these frames. A ring with an impossible index
 * counts as empty.
 */
static void
mark_rings(const struct data *data, struct client *client)
{
	struct client_marks *marks = &client->marks;

	if (marks->number != marks->passed || marks->passed == data->nb_barriers)
		return;
	marks->number = data->nb_barriers;
	for (uint32_t i = 0; i < client->shm.plan.nb_pairs; i++) {
		const int32_t nb_ready = uroce_spsc_ready(&client->up[i]);

		marks->index[i] = client->up[i].mine + (uint32_t)RTE_MAX(nb_ready, 0);
	}
}

static bool
is_mark_reached(const struct client *client, uint32_t ring)
{
	return (int32_t)(client->up[ring].mine - client->marks.index[ring]) >= 0;
}

static void
check_marks(struct client *client)
{
	struct client_marks *marks = &client->marks;

	if (marks->number == marks->passed)
		return;
	for (uint32_t i = 0; i < client->shm.plan.nb_pairs; i++) {
		if (!is_mark_reached(client, i))
			return;
	}
	marks->passed = marks->number;
}

/*
 * Check whether all frames that a client had in its rings to uroced, when another client's barrier
 * was reached, have been taken. Frames behind a newer barrier of the client itself do not count:
 * otherwise two clients could wait for each other.
 */
static bool
has_passed(const struct client *client, uint64_t number)
{
	const struct client_marks *marks = &client->marks;

	if (marks->passed >= number || is_broken(client))
		return true;
	if (marks->number < number)
		return false;
	for (uint32_t i = 0; i < client->shm.plan.nb_pairs; i++) {
		if (!is_mark_reached(client, i) &&
		    !(client->barrier[i].is_met && client->barrier[i].number > number))
			return false;
	}
	return true;
}

static bool
have_others_passed(const struct data *data, const struct client *from, uint64_t number)
{
	for (unsigned i = 0; i < data->nb_active; i++) {
		if (data->runq[i] != from && !has_passed(data->runq[i], number))
			return false;
	}
	return true;
}

/*
 * Handle a barrier in a ring from a client. The barrier is passed when three conditions are true.
 * The doorbells were polled, so that all clients with frames have turns. The frames that other
 * clients had in their rings when the barrier was reached have been taken. The port was found to
 * have no more received frames. A client that fills its rings faster than its turns allow delays
 * the barriers of other clients by BARRIER_ROUNDS_MAX rounds at most.
 */
static enum forward_verdict
wait_at_barrier(struct data *data, struct client *from, const struct uroce_spsc_end *up)
{
	struct client_barrier *barrier = &from->barrier[up - from->up];

	if (!barrier->is_met) {
		*barrier = (struct client_barrier){
			.is_met = true,
			.number = ++data->nb_barriers,
			.round = data->nb_rounds,
			.nb_emptied = data->wire.nb_emptied,
			.nb_heard = data->nb_heard,
		};
		from->nb_barriers++;
		data->nb_waiting++;
	}
	if (data->wire.nb_emptied == barrier->nb_emptied || data->nb_heard == barrier->nb_heard)
		return WAITS;
	if (data->nb_rounds - barrier->round < BARRIER_ROUNDS_MAX &&
	    !have_others_passed(data, from, barrier->number))
		return WAITS;
	barrier->is_met = false;
	from->nb_barriers--;
	data->nb_waiting--;
	return GONE;
}

/* --- up: frames ---------------------------------------------------------------------------------- */

/*
 * Forward a frame of a client, or drop it.
 * @param head  a copy of the first bytes of the frame, on which all decisions are made
 */
static enum forward_verdict
forward_frame(struct data *data, struct client *from, const struct item *item, const uint8_t *head)
{
	const uint32_t head_len = item->len < FRAME_HEAD ? item->len : FRAME_HEAD;
	const struct pieces pieces = { head, head_len, item->bytes + head_len,
				       item->len - head_len };
	struct frame frame;
	enum frame_drop drop = classify_frame(data, from, &pieces, &frame);

	if (drop == FRAME_PASSES && frame_is_to_us(&frame, &data->host)) {
		struct client *to = receiver_of(data, from, &frame, &drop);

		if (to && is_awaited(data, to, frame.qpn))
			return WAITS;
		if (to)
			put_down(data, to, frame.qpn, &pieces);
	} else if (drop == FRAME_PASSES) {
		if (!wire_has_room(&data->wire))
			return WAITS;
		drop = send_away(data, from, &frame, &pieces);
	}
	if (drop != FRAME_PASSES) {
		counter_add(&from->counters.drop[drop], 1);
		return GONE;
	}
	counter_add(&from->counters.frames_up, 1);
	counter_add(&from->counters.bytes_up, item->len);
	return is_to_group(&frame) ? GONE_TO_ALL : GONE;
}

static void
load_slots(const struct data *data, const struct client *from, const struct uroce_spsc_end *up,
	   struct item *item, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		const struct uroce_spsc_desc slot = uroce_spsc_get(up, i);
		const bool is_good =
			uroce_shm_has(&from->shm, slot) && slot.len <= data->host.frame_limit;

		item[i] = (struct item){ from->shm.mem + (is_good ? slot.offset : 0),
					 is_good ? slot.len : 0,
					 slot.len == 0 && slot.offset == UROCE_SPSC_BARRIER };
		__builtin_prefetch(item[i].bytes);
		__builtin_prefetch(item[i].bytes + 64);
	}
}

static void
copy_heads(struct data *data, const struct item *item, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		if (item[i].len > 0)
			copy_head(data->head[i], item[i].bytes,
				  item[i].len < FRAME_HEAD ? item[i].len : FRAME_HEAD);
	}
}

/*
 * Take a batch of descriptors from a ring of a client, and forward the frames.
 * @return the number of descriptors that were taken from the ring
 */
static unsigned
take_batch(struct data *data, struct client *client, struct uroce_spsc_end *up)
{
	const int32_t nb_ready = uroce_spsc_ready(up);
	struct item item[DATA_BATCH];
	enum forward_verdict forward_verdict = GONE;
	uint64_t begin_ns;
	uint32_t nb, i;

	if (nb_ready < 0) {
		break_client(data, client);
		return 0;
	}
	if (nb_ready == 0)
		return 0;
	begin_ns = data->read_clock();
	nb = nb_ready < (int32_t)DATA_BATCH ? (uint32_t)nb_ready : DATA_BATCH;
	load_slots(data, client, up, item, nb);
	copy_heads(data, item, nb);
	for (i = 0; i < nb && forward_verdict == GONE; i++)
		forward_verdict = item[i].is_barrier
					  ? wait_at_barrier(data, client, up)
					  : forward_frame(data, client, &item[i], data->head[i]);
	if (forward_verdict == WAITS) {
		client->is_cut_short = true;
		i--;
	}
	data_publish(data);
	wire_flush(&data->wire, data->now_ns);
	if (i > 0)
		uroce_spsc_pop(up, i);
	charge_turn(data, client, begin_ns,
		    forward_verdict == GONE_TO_ALL ? DATA_MCAST_MAX_NS : DATA_BATCH_MAX_NS);
	return i;
}

/*
 * Take batches from the rings of a client, one ring after the other, until the time of the client's
 * turn is used up or the rings are empty.
 * @return the number of descriptors that were taken
 */
static unsigned
take_turn(struct data *data, struct client *client)
{
	const uint32_t nb_pairs = client->shm.plan.nb_pairs;
	uint32_t nb_idle = 0;
	unsigned nb = 0;

	if (is_broken(client)) {
		client->is_wake_due = false;
		return 0;
	}
	mark_rings(data, client);
	if (!client->is_cut_short)
		client->credit_ns += DATA_TURN_NS;
	client->is_cut_short = false;
	if (client->is_wake_due && client->credit_ns > 0)
		wake(data, client);
	while (client->credit_ns > 0 && nb_idle < nb_pairs && !is_broken(client)) {
		const unsigned n = take_batch(data, client, &client->up[client->next_pair]);

		nb += n;
		nb_idle = n > 0 ? 0 : nb_idle + 1;
		if (client->credit_ns > 0)
			client->next_pair = (client->next_pair + 1) % nb_pairs;
	}
	check_marks(client);
	if (nb > 0)
		client->active_ns = data->now_ns;
	if (client->credit_ns <= 0)
		client->is_cut_short = false;
	else if (!client->is_cut_short)
		client->credit_ns = 0;
	return nb;
}

/*
 * Run one round of the data path: each client that has turns gets its turn. The round begins with
 * the first client whose turn is to be continued. If there is no such client, it begins with the
 * client behind the one that began the last round.
 */
unsigned
data_round(struct data *data)
{
	const unsigned nb_active = data->nb_active, first = data->first;
	unsigned nb = wire_receive(data), next = first + 1;
	bool has_next = false;

	data->nb_rounds++;
	wire_flush(&data->wire, data->now_ns);

	for (unsigned i = 0; i < nb_active; i++) {
		const unsigned at = (first + i) % nb_active;
		const unsigned n = take_turn(data, data->runq[at]);

		if (data->runq[at]->is_cut_short && !has_next) {
			next = at;
			has_next = true;
		}
		/*
		 * a barrier that waits to be passed, or a WAKE message that is due, counts as work,
		 * so that the next round begins soon
		 */
		nb += data->runq[at]->nb_barriers + data->runq[at]->is_wake_due;
		/*
		 * The port is polled after each client that has sent frames, since the RX ring of
		 * the port is short.
		 */
		if (n > 0)
			nb += n + wire_receive(data);
	}
	data->first = nb_active > 0 ? next % nb_active : 0;
	return nb;
}

bool
data_waits(const struct data *data)
{
	for (unsigned i = 0; i < data->nb_active; i++) {
		if (data->runq[i]->is_cut_short)
			return true;
	}
	return false;
}

/* --- sleep --------------------------------------------------------------------------------------- */

bool
data_may_sleep(struct data *data)
{
	bool may = true;

	for (unsigned i = 0; i < data->nb_active; i++)
		may &= is_broken(data->runq[i]) || runq_may_sleep(data->runq[i]);
	return may;
}

void
data_awake(struct data *data)
{
	for (unsigned i = 0; i < data->nb_active; i++)
		runq_awake(data->runq[i]);
}
