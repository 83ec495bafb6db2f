/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whose lanes a round looks at. A look at a lane costs little, but there may be a thousand clients of 32 lanes each, most of
 * which have nothing to send. So who had nothing for PARK_NS is parked: its lanes are told that we sleep (W2), as all of
 * them are when we do, and it has no turns until it rings its bell. A client that has something now and then is not parked: it
 * rings no bell, and its frames wait for no look at the bells.
 *
 * The line has two parts: those that have turns, and behind them the parked ones. Who changes parts changes places with the one
 * at the border.
 */

#include "data.h"

#define PARK_NS UINT64_C(1000000)

static void
set_place(struct data *data, struct client *client, uint32_t place)
{
	data->line[place] = client;
	client->place = place;
}

static void
change_places(struct data *data, struct client *client, uint32_t place)
{
	struct client *other = data->line[place];

	set_place(data, other, client->place);
	set_place(data, client, place);
}

static bool
is_parked(const struct data *data, const struct client *client)
{
	return client->place >= data->nb_active;
}

void
line_activate(struct data *data, struct client *client)
{
	if (!is_parked(data, client))
		return;
	line_awake(client);
	change_places(data, client, data->nb_active++);
}

void
line_add(struct data *data, struct client *client)
{
	set_place(data, client, data->nb_clients++);
	client->active_ns = data->now_ns;
	line_activate(data, client);
}

static void
deactivate(struct data *data, struct client *client)
{
	change_places(data, client, --data->nb_active);
	if (data->first >= data->nb_active)
		data->first = 0;
}

void
line_remove(struct data *data, struct client *client)
{
	if (!is_parked(data, client))
		deactivate(data, client);
	change_places(data, client, --data->nb_clients);
	data->line[data->nb_clients] = NULL;
}

static bool
has_frames(const struct client *client)
{
	for (uint32_t i = 0; i < client->area.plan.nb_pairs; i++) {
		if (uroce_lane_ready(&client->up[i]) != 0)
			return true;
	}
	return false;
}

/* As uroce_lane_may_sleep() for each lane, with one fence. */
bool
line_may_sleep(struct client *client)
{
	for (uint32_t i = 0; i < client->area.plan.nb_pairs; i++)
		atomic_store_explicit(&client->up[i].lane->sleeps, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst); /* W2 */
	return !has_frames(client);
}

/*
 * A bell may be late: of a client that saw us sleep, and put that out in its lane when we had taken the frame and parked the
 * client. So the lanes are told again.
 */
void
line_hear(struct data *data, struct client *client)
{
	if (is_parked(data, client) && !line_may_sleep(client))
		line_activate(data, client);
}

void
line_awake(struct client *client)
{
	for (uint32_t i = 0; i < client->area.plan.nb_pairs; i++)
		uroce_lane_awake(&client->up[i]);
}

/* It has sent nothing, waits for nothing, and is owed nothing. */
static bool
is_idle(const struct data *data, const struct client *client)
{
	return data->now_ns - client->active_ns >= PARK_NS && !client->is_wake_due &&
	       !client->is_cut_short && client->nb_barriers == 0;
}

void
line_park(struct data *data)
{
	for (unsigned i = data->nb_active; i > 0; i--) {
		struct client *client = data->line[i - 1];

		if (!is_idle(data, client))
			continue;
		if (line_may_sleep(client))
			deactivate(data, client);
		else
			line_awake(client);
	}
}
