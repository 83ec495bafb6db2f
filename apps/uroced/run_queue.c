/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The run queue: the clients whose rings a round of the data path reads. Reading an empty ring
 * takes little time, but there may be a thousand clients with 32 pairs of rings each, and most of
 * them send nothing. A client that has sent nothing for RUNQ_PARK_NS gets no turns until it rings
 * its doorbell. While a client has no turns, `sleeps` is set in its rings (W2 in mux/spsc_ring.h),
 * as in all rings while the data path sleeps. A client that sends at least once in RUNQ_PARK_NS
 * keeps its turns, so its frames do not wait until doorbells are polled.
 *
 * The queue is an array of two parts: first the clients that have turns, then the clients that have
 * none. To move a client from one part to the other, it is swapped with the client at the border.
 */

#include "data.h"

static void
set_runq_pos(struct data *data, struct client *client, uint32_t place)
{
	data->runq[place] = client;
	client->runq_pos = place;
}

static void
swap_runq_pos(struct data *data, struct client *client, uint32_t place)
{
	struct client *other = data->runq[place];

	set_runq_pos(data, other, client->runq_pos);
	set_runq_pos(data, client, place);
}

static bool
is_parked(const struct data *data, const struct client *client)
{
	return client->runq_pos >= data->nb_active;
}

void
runq_activate(struct data *data, struct client *client)
{
	if (!is_parked(data, client))
		return;
	runq_awake(client);
	swap_runq_pos(data, client, data->nb_active++);
}

void
runq_add(struct data *data, struct client *client)
{
	set_runq_pos(data, client, data->nb_clients++);
	client->active_ns = data->now_ns;
	runq_activate(data, client);
}

static void
deactivate_client(struct data *data, struct client *client)
{
	swap_runq_pos(data, client, --data->nb_active);
	if (data->first >= data->nb_active)
		data->first = 0;
}

void
runq_remove(struct data *data, struct client *client)
{
	if (!is_parked(data, client))
		deactivate_client(data, client);
	swap_runq_pos(data, client, --data->nb_clients);
	data->runq[data->nb_clients] = NULL;
}

static bool
has_frames(const struct client *client)
{
	for (uint32_t i = 0; i < client->shm.plan.nb_pairs; i++) {
		if (uroce_spsc_ready(&client->up[i]) != 0)
			return true;
	}
	return false;
}

/*
 * Set the flag `sleeps` in all rings from a client, so that the client rings its doorbell when it
 * sends. uroce_spsc_may_sleep() does this for one ring. This function needs only one fence for the
 * stores to all rings.
 */
bool
runq_may_sleep(struct client *client)
{
	for (uint32_t i = 0; i < client->shm.plan.nb_pairs; i++)
		atomic_store_explicit(&client->up[i].ring->sleeps, 1, memory_order_relaxed);
	/*
	 * Fence W2 (mux/spsc_ring.h) orders the stores of `sleeps` in the rings before the loads of
	 * `head`
	 */
	atomic_thread_fence(memory_order_seq_cst);
	return !has_frames(client);
}

/*
 * A doorbell may arrive late: the client may have cleared the flag `sleeps` of its ring before the
 * data path took the client's frame and ended the client's turns. So the flag is set again in all
 * rings of the client.
 */
void
runq_on_doorbell(struct data *data, struct client *client)
{
	if (is_parked(data, client) && !runq_may_sleep(client))
		runq_activate(data, client);
}

void
runq_awake(struct client *client)
{
	for (uint32_t i = 0; i < client->shm.plan.nb_pairs; i++)
		uroce_spsc_awake(&client->up[i]);
}

/*
 * Check whether a client is idle: it has sent nothing for RUNQ_PARK_NS, it has neither a waiting
 * frame nor a barrier, and no WAKE message for it is due.
 */
static bool
is_client_idle(const struct data *data, const struct client *client)
{
	return data->now_ns - client->active_ns >= RUNQ_PARK_NS && !client->is_wake_due &&
	       !client->is_cut_short && client->nb_barriers == 0;
}

void
runq_park_idle(struct data *data)
{
	for (unsigned i = data->nb_active; i > 0; i--) {
		struct client *client = data->runq[i - 1];

		if (!is_client_idle(data, client))
			continue;
		if (runq_may_sleep(client))
			deactivate_client(data, client);
		else
			runq_awake(client);
	}
}
