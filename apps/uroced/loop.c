/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The loop of the data path, and the idle policy. When no frame moves, the thread spins for a
 * while, then sleeps for growing times, then sleeps until a wake-up. Before it sleeps until a
 * wake-up, the thread sets the flag `sleeps` in each ring from a client and reads the ring once
 * more (W2 in mux/spsc_ring.h). The thread also arms the RX wake-up of the port
 * (datapath/port/rx_wakeup.h), and polls the port once more after a short sleep. A port without RX
 * wake-up is polled each 1 to 5 ms.
 *
 * To give a command to the data path, the control thread stores the command, then loads
 * `is_asleep`. Before it sleeps, the data path stores `is_asleep`, then loads the command. So at
 * least one of the two threads sees what the other one stored.
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <rte_pause.h>

#include "data.h"
#include "datapath/clock.h"
#include "datapath/idle_policy.h"
#include "datapath/port/link.h"
#include "log_line.h"

/*
 * time in nanoseconds between two polls of a port without RX wake-up, when no frame has moved for
 * LONG_NS
 */
#define TIMED_SLEEP_LONG_NS UINT64_C(2000000)
#define LONG_NS             UINT64_C(100000000)

/*
 * time in nanoseconds between two polls of the clients' doorbells, while the data path does not
 * sleep
 */
#define DOORBELLS_NS UINT64_C(30000)
#define LINK_NS      UINT64_C(100000000) /* time in ns between two checks of the link */

#define EVENTS       16
/*
 * the data of an epoll event is client.slot of the client that rang its doorbell, or CMDS for an
 * event of `wake_fd`, by which the control thread wakes the data path
 */
#define CMDS CLIENTS_MAX

/*
 * Watch a descriptor by the epoll of the data path.
 * @param of  client.slot of the client to which the doorbell `fd` belongs, or CMDS if `fd` is
 *         `wake_fd`
 */
static int
watch(struct data *data, int fd, uint32_t events, uint32_t of)
{
	struct epoll_event event = { .events = events, .data.u32 = of };

	return epoll_ctl(data->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

struct data *
data_create(struct uroce_port *port, struct uroce_neigh *neigh, struct lease_table *leases)
{
	struct data *data = aligned_alloc(64, sizeof(*data));

	if (!data) {
		log_line("no memory for the data path");
		return NULL;
	}
	memset(data, 0, sizeof(*data));
	data->leases = leases;
	data->read_clock = uroce_clock_ns;
	wire_init(&data->wire, port, neigh);
	groups_init(&data->groups, port, data->client);
	uroce_rx_wakeups_init(&data->notices, port);
	data->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	data->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	data->broken_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (data->epoll_fd < 0 || data->wake_fd < 0 || data->broken_fd < 0 ||
	    watch(data, data->wake_fd, EPOLLIN, CMDS) < 0) {
		log_line("no descriptors for the data path: %s", strerror(errno));
		data_destroy(data);
		return NULL;
	}
	return data;
}

void
data_destroy(struct data *data)
{
	if (!data)
		return;
	uroce_rx_wakeups_fini(&data->notices);
	wire_fini(&data->wire);
	(void)close(data->epoll_fd);
	(void)close(data->wake_fd);
	(void)close(data->broken_fd);
	free(data);
}

/* --- commands ------------------------------------------------------------------------------------ */

/*
 * Run the command that the control thread has given to the data path, if there is one.
 * @return whether a command was run
 */
static bool
run_cmd(struct data *data)
{
	struct data_cmd *wish = atomic_load_explicit(&data->cmd, memory_order_acquire);

	if (!wish)
		return false;
	atomic_store_explicit(&data->cmd, NULL, memory_order_relaxed);
	wish->run(data, wish->arg);
	(void)sem_post(&wish->is_done);
	return true;
}

static void
run_in_loop(struct data *data, void (*grant)(struct data *data, void *arg), void *arg)
{
	struct data_cmd wish = { .run = grant, .arg = arg };

	(void)sem_init(&wish.is_done, 0, 0);
	atomic_store(&data->cmd, &wish);
	if (atomic_load(&data->is_asleep))
		(void)eventfd_write(data->wake_fd, 1);
	while (sem_wait(&wish.is_done) < 0)
		;
	(void)sem_destroy(&wish.is_done);
}

/* The argument and the result of run_link(): a client that is added to the data path. */
struct newcomer {
	struct client *client;
	int ret;
};

static void
run_link(struct data *data, void *arg)
{
	struct newcomer *newcomer = arg;
	struct client *client = newcomer->client;

	/*
	 * the doorbell of a client is an eventfd that is never read: with EPOLLET each write to it
	 * is an event
	 */
	newcomer->ret = watch(data, client->doorbell, EPOLLIN | EPOLLET, client->slot);
	if (newcomer->ret < 0)
		return;
	data->client[client->slot] = client;
	runq_add(data, client);
}

int
data_link(struct data *data, struct client *client)
{
	struct newcomer newcomer = { client, 0 };

	run_in_loop(data, run_link, &newcomer);
	return newcomer.ret;
}

/*
 * Remove a client from the data path. The doorbell of the client is removed from the epoll
 * explicitly: close() would not do so, because the client has a descriptor of the same eventfd.
 */
static void
run_unlink(struct data *data, void *arg)
{
	struct client *client = arg;

	(void)epoll_ctl(data->epoll_fd, EPOLL_CTL_DEL, client->doorbell, NULL);
	groups_forget(&data->groups, client->slot);
	data->client[client->slot] = NULL;
	data->nb_waiting -= client->nb_barriers;
	runq_remove(data, client);
}

void
data_unlink(struct data *data, struct client *client)
{
	run_in_loop(data, run_unlink, client);
}

static void
run_set_host(struct data *data, void *arg)
{
	data->host = *(const struct frame_host *)arg;
}

void
data_set_host(struct data *data, const struct frame_host *host)
{
	run_in_loop(data, run_set_host, (void *)(uintptr_t)host);
}

static void
run_end(struct data *data, void *arg)
{
	(void)arg;
	data->is_ending = true;
}

void
data_end(struct data *data)
{
	run_in_loop(data, run_end, NULL);
}

/* --- sleep --------------------------------------------------------------------------------------- */

/*
 * Handle the epoll events of the clients' doorbells and of `wake_fd`, by which the control thread
 * wakes the data path. The eventfd of a doorbell is never read.
 */
static void
take_events(struct data *data)
{
	struct epoll_event events[EVENTS];
	const int nb = epoll_wait(data->epoll_fd, events, EVENTS, 0);
	eventfd_t nothing;

	data->nb_heard += nb < EVENTS;

	for (int i = 0; i < nb; i++) {
		const uint32_t of = events[i].data.u32;

		if (of == CMDS)
			(void)eventfd_read(data->wake_fd, &nothing);
		else if (data->client[of])
			runq_on_doorbell(data, data->client[of]);
	}
}

/*
 * Poll the clients' doorbells, and take the turns from idle clients. Polling doorbells is a system
 * call, so it is done only every DOORBELLS_NS, or when a barrier waits.
 */
static void
update_runq(struct data *data)
{
	if (data->nb_waiting == 0 && data->now_ns - data->doorbells_ns < DOORBELLS_NS)
		return;
	data->doorbells_ns = data->now_ns;
	if (data->nb_active < data->nb_clients || data->nb_waiting > 0)
		take_events(data);
	runq_park_idle(data);
}

/*
 * Sleep until a client's doorbell, a command of the control thread, or an RX wake-up of the port,
 * for at most `max_ns`.
 * @return whether the port raised its RX wake-up
 */
static bool
wait_for(struct data *data, int notice_fd, uint64_t max_ns)
{
	const struct timespec time = { .tv_nsec = (long)max_ns };
	struct pollfd fds[2] = { { data->epoll_fd, POLLIN, 0 }, { notice_fd, POLLIN, 0 } };
	int nb = 0;

	atomic_store(&data->is_asleep, true);
	if (!atomic_load(&data->cmd))
		nb = ppoll(fds, 2, &time, NULL);
	atomic_store(&data->is_asleep, false);
	if (nb <= 0)
		return false;
	if (fds[0].revents)
		take_events(data);
	if (fds[1].revents)
		uroce_rx_wakeup_take(&data->notices, 0, fds[1].revents);
	return fds[1].revents != 0;
}

static void
disarm_wakeup(struct data *data)
{
	if (!data->is_down)
		return;
	data->is_down = false;
	data_awake(data);
	uroce_rx_wakeups_disarm(&data->notices);
}

/*
 * Prepare for a sleep until a wake-up: set the flag `sleeps` in all rings from clients, and arm the
 * RX wake-up of the port.
 * @return whether these rings are empty
 */
static bool
arm_wakeup(struct data *data, bool *has_notices)
{
	const struct uroce_port *port = data->wire.port;

	data->is_down = true;
	*has_notices = uroce_port_rx_wakeup(port) != UROCE_RX_WAKEUP_NONE &&
		       uroce_rx_wakeup_arm(&data->notices, 0, data->now_ns);
	return data_may_sleep(data);
}

/* The state of the idle policy, which decides whether the data path spins or sleeps. */
struct idle_state {
	uint64_t active_ns, sleep_ns;
	bool has_notices; /* the RX wake-up is armed, and the port has not been polled since then */
	/* the last sleep ended by the RX wake-up, and no frame was received since then */
	bool is_noticed;
};

/*
 * Choose the length of the sleep between two polls of a port without RX wake-up.
 * @return the time in nanoseconds
 */
static uint64_t
get_max_sleep_ns(const struct data *data, const struct idle_state *self)
{
	if (!uroce_port_is_up(data->wire.port))
		return UROCE_IDLE_TIMED_DOWN_NS;
	return data->now_ns - self->active_ns < LONG_NS ? UROCE_IDLE_TIMED_MAX_NS
							: TIMED_SLEEP_LONG_NS;
}

static void
wait_idle(struct data *data, struct idle_state *self)
{
	if (data->now_ns - self->active_ns < UROCE_IDLE_SPIN_NS) {
		rte_pause();
		return;
	}
	if (self->has_notices) {
		self->has_notices = false;
		self->is_noticed = wait_for(data, data->notices.of[0].fd, UROCE_IDLE_WAKEUP_MAX_NS);
		return;
	}
	if (self->is_noticed || self->sleep_ns <= UROCE_IDLE_TIMED_LAST_NS) {
		(void)wait_for(data, -1,
			       self->is_noticed ? UROCE_IDLE_TIMED_MAX_NS : self->sleep_ns);
		self->sleep_ns *= 2;
		self->is_noticed = false;
		return;
	}
	if (arm_wakeup(data, &self->has_notices)) {
		(void)wait_for(data, -1,
			       self->has_notices ? UROCE_IDLE_TIMED_MIN_NS
						 : get_max_sleep_ns(data, self));
		return;
	}
	self->has_notices = false;
	disarm_wakeup(data);
	/*
	 * A frame waits for room in the port or in the ring of its receiver. So the sleep is short,
	 * and the client that has to make room may get the CPU.
	 */
	if (data_waits(data))
		self->sleep_ns = UROCE_IDLE_TIMED_MIN_NS;
}

/*
 * Check the link of the port every LINK_NS, and restart the port if its link is lost. Also copy the
 * counters of a port on UDP sockets of the kernel (`udp`) to a place where other threads read them.
 */
static void
watch_link(struct wire *wire, uint64_t now_ns)
{
	struct uroce_port *port = wire->port;

	if (now_ns < wire->link_check_ns)
		return;
	uroce_link_check(port);
	wire_read_udp_counters(wire);
	wire->link_check_ns = now_ns + LINK_NS;
	if (!uroce_link_is_lost(port, now_ns))
		return;
	atomic_store(&port->is_ready, false);
	uroce_link_restart(port, now_ns);
}

void
data_run(struct data *data)
{
	struct idle_state self = { .active_ns = uroce_clock_ns(),
				   .sleep_ns = UROCE_IDLE_TIMED_MIN_NS };

	(void)prctl(PR_SET_TIMERSLACK, 1000ul);
	data->now_ns = self.active_ns;
	while (!data->is_ending) {
		const unsigned nb = data_round(data);
		const bool is_asked = run_cmd(data);
		const uint64_t now_ns = uroce_clock_ns();

		if (nb > 0)
			counter_add(&data->busy_ns, now_ns - data->now_ns);
		data->last_ns = data->now_ns;
		data->now_ns = now_ns;
		watch_link(&data->wire, now_ns);
		update_runq(data);
		counter_add(&data->nb_loops, 1);
		if (nb > 0 || is_asked || data->wire.nb_pending > 0) {
			self = (struct idle_state){ .active_ns = now_ns,
						    .sleep_ns = UROCE_IDLE_TIMED_MIN_NS };
			disarm_wakeup(data);
			uroce_rx_wakeups_end_trials(&data->notices);
		} else {
			wait_idle(data, &self);
			data->now_ns = uroce_clock_ns();
		}
	}
	disarm_wakeup(data);
}
