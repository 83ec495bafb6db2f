/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent of a device (agent.h), which does the work of connection management: its creation and
 * end, its thread, and the turns in which it works. Each turn is a bounded amount of work.
 */

#include "verbs/cm/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "datapath/clock.h"
#include "datapath/log.h"
#include "verbs/cm/cm_telemetry.h"
#include "verbs/cm/manager.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

#define MAX_BACKLOG 4096u

/*
 * Maximum number of batches of messages that are transmitted in the caller's thread when a call to
 * the CM engine ends. The agent's thread transmits the rest.
 */
#define CALL_TURNS 4

/*
 * Maximum number of timers that one call of do_turn() processes. A consumer is a user of the agent.
 * The timers of all ids of one consumer may expire at the same time, and the calls of other
 * consumers wait until do_turn() returns.
 */
#define TURN_TIMERS 64

#define SEC_NS      UINT64_C(1000000000)

/* --- waking the agent's thread ----------------------------------------------------------------- */

static void
wake_agent(const struct uroce_cm_agent *agent)
{
	(void)eventfd_write(agent->wake_fd, 1);
}

/*
 * Clear the eventfd and the timer that may have woken the agent. do_turn() clears the event
 * descriptor of QP 1.
 */
static void
clear_wakeups(struct uroce_cm_agent *agent)
{
	uint64_t count;

	(void)eventfd_read(agent->wake_fd, &count);
	if (read(agent->timer_fd, &count, sizeof(count)) == sizeof(count))
		agent->armed_ns = UROCE_CM_NEVER;
}

static uint64_t
nearest_deadline(const struct uroce_cm_agent *agent)
{
	const uint64_t engine_ns = uroce_cme_deadline(agent->cm);
	const uint64_t sender_ns = uroce_cm_sender_deadline(&agent->sender);

	return engine_ns < sender_ns ? engine_ns : sender_ns;
}

/*
 * Arm the timer for the agent's nearest deadline. A timer that is armed for an earlier time is not
 * changed. Most deadlines are cancelled before they expire, and a wake-up that is too early costs
 * less than a system call for each change.
 */
static void
arm_timer(struct uroce_cm_agent *agent, uint64_t now_ns)
{
	const uint64_t deadline_ns = nearest_deadline(agent);
	/* a timerfd with a time of 0 would be disarmed */
	const uint64_t ns = deadline_ns > now_ns ? deadline_ns - now_ns : 1;
	const struct itimerspec spec = {
		.it_value = { .tv_sec = (time_t)(ns / SEC_NS), .tv_nsec = (long)(ns % SEC_NS) },
	};

	if (deadline_ns >= agent->armed_ns)
		return;
	agent->armed_ns = deadline_ns;
	(void)timerfd_settime(agent->timer_fd, 0, &spec, NULL);
}

/* --- turns of the agent ------------------------------------------------------------------------ */

/*
 * Notify each consumer (user of the agent) whose queue has events. A consumer that was notified
 * before is not notified again until it has found its queue of events empty.
 */
static void
notify_clients(struct uroce_cm_agent *agent)
{
	for (unsigned i = 0; i < agent->nb_clients; i++) {
		struct uroce_cm_client *const client = &agent->clients[i];

		if (client->manager == NULL || client->is_notified ||
		    !uroce_cme_has_owner_event(agent->cm, (uint16_t)i))
			continue;
		client->is_notified = true;
		client->manager->notify(client->manager->arg);
	}
}

/*
 * Whether any consumer (user of the agent) has events of which notify_clients() has not notified
 * it.
 */
static bool
has_pending_notice(const struct uroce_cm_agent *agent)
{
	for (unsigned i = 0; i < agent->nb_clients; i++) {
		const struct uroce_cm_client *const client = &agent->clients[i];

		if (client->manager != NULL && !client->is_notified &&
		    uroce_cme_has_owner_event(agent->cm, (uint16_t)i))
			return true;
	}
	return false;
}

/*
 * Do one turn of the agent's work: receive and transmit a bounded number of messages, run timers,
 * and notify the consumers (users of the agent). The caller holds the agent's lock.
 * @return whether there is more work that can be done at once
 */
static bool
do_turn(struct uroce_cm_agent *agent)
{
	const uint64_t now_ns = uroce_clock_ns();
	bool has_more;

	uroce_gsi_arm(&agent->gsi);
	has_more = uroce_cm_receive(&agent->gsi, agent->cm, &agent->received, now_ns);
	has_more |= uroce_cme_expire_some(agent->cm, now_ns, TURN_TIMERS);
	has_more |= uroce_cm_sender_run(&agent->sender, agent->cm, now_ns);
	notify_clients(agent);
	if (!has_more)
		arm_timer(agent, uroce_clock_ns());
	return has_more;
}

bool
uroce_cm_agent_process(struct uroce_cm_agent *agent)
{
	bool has_more;

	uroce_fair_lock_get(&agent->lock);
	clear_wakeups(agent);
	has_more = do_turn(agent);
	uroce_fair_lock_release(&agent->lock);
	return has_more;
}

uint64_t
uroce_cm_agent_begin_call(struct uroce_cm_agent *agent)
{
	uroce_fair_lock_get(&agent->lock);
	return uroce_clock_ns();
}

void
uroce_cm_agent_end_call(struct uroce_cm_agent *agent)
{
	const uint64_t now_ns = uroce_clock_ns();
	bool has_more = uroce_cme_has_tx(agent->cm);

	for (unsigned i = 0; i < CALL_TURNS && has_more; i++)
		has_more = uroce_cm_sender_run(&agent->sender, agent->cm, now_ns);
	arm_timer(agent, now_ns);
	if (has_more || has_pending_notice(agent))
		wake_agent(agent);
	uroce_fair_lock_release(&agent->lock);
}

/* --- the agent's thread ------------------------------------------------------------------------ */

static void *
run_agent(void *arg)
{
	struct uroce_cm_agent *const agent = arg;
	struct epoll_event event;

	for (;;) {
		const bool has_more = uroce_cm_agent_process(agent);

		/*
		 * uroce_cm_agent_process() also clears the wake-up of stop_agent_thread(), so
		 * `is_stopping` is checked after the call of uroce_cm_agent_process(), and not
		 * before.
		 */
		if (atomic_load(&agent->is_stopping))
			return NULL;
		if (!has_more)
			(void)epoll_wait(agent->epoll_fd, &event, 1, -1);
	}
}

/*
 * Start the agent's thread. All signals are blocked in this thread, because they are for the
 * program's threads.
 */
static int
start_agent_thread(struct uroce_cm_agent *agent)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = uroce_dpdk_thread_start(&agent->thread, "uroce-cm", run_agent, agent);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	agent->has_thread = ret == 0;
	return ret;
}

static void
stop_agent_thread(struct uroce_cm_agent *agent)
{
	uroce_fair_lock_get(&agent->lock);
	const bool has_thread = agent->has_thread;

	agent->has_thread = false;
	uroce_fair_lock_release(&agent->lock);
	if (!has_thread)
		return;
	atomic_store(&agent->is_stopping, true);
	wake_agent(agent);
	uroce_dpdk_thread_join(&agent->thread);
}

int
uroce_cm_agent_take_over(struct uroce_cm_agent *agent)
{
	stop_agent_thread(agent);
	return agent->epoll_fd;
}

/* --- creation and end of an agent -------------------------------------------------------------- */

static int
make_engine(struct uroce_cm_agent *agent)
{
	const bool is_shared = agent->device->dev->conf.is_attached;
	struct uroce_cm_conf conf = {
		.max_ids = is_shared ? UROCE_CM_SHARED_AGENT_IDS : UROCE_CM_AGENT_IDS,
		.max_backlog = MAX_BACKLOG,
		.max_owners = UROCE_CM_CONSUMERS_MAX,
		.has_accounts = is_shared,
	};
	const uint64_t guid = uroce_get_device_guid(&agent->device->ibv);
	struct ibv_device_attr attr;

	if (getrandom(conf.secret, sizeof(conf.secret), 0) != sizeof(conf.secret))
		return -EIO;
	memcpy(&conf.ca_guid, &guid, sizeof(conf.ca_guid));
	(void)uroce_query_device(&agent->gsi.context.verbs.context, &attr);
	conf.ack_delay_code = attr.local_ca_ack_delay;
	agent->mem_len = uroce_cme_memsize(&conf);
	agent->mem = mmap(NULL, agent->mem_len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (agent->mem == MAP_FAILED) {
		agent->mem = NULL;
		return -ENOMEM;
	}
	agent->cm = uroce_cme_init(agent->mem, &conf);
	return 0;
}

static int
watch_fd(const struct uroce_cm_agent *agent, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(agent->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int
open_fds(struct uroce_cm_agent *agent)
{
	int ret;

	agent->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	agent->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	agent->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (agent->epoll_fd < 0 || agent->timer_fd < 0 || agent->wake_fd < 0)
		return -errno;
	ret = watch_fd(agent, agent->gsi.event_fd);
	if (ret == 0)
		ret = watch_fd(agent, agent->timer_fd);
	if (ret == 0)
		ret = watch_fd(agent, agent->wake_fd);
	return ret;
}

static void
close_agent_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void
free_agent(struct uroce_cm_agent *agent)
{
	if (agent->mem != NULL)
		(void)munmap(agent->mem, agent->mem_len);
	close_agent_fd(agent->epoll_fd);
	close_agent_fd(agent->timer_fd);
	close_agent_fd(agent->wake_fd);
	uroce_gsi_close(&agent->gsi);
	uroce_fair_lock_destroy(&agent->lock);
	free(agent);
}

static int
make_agent(struct uroce_vdevice *device, struct uroce_cm_agent **out)
{
	struct uroce_cm_agent *const agent = calloc(1, sizeof(*agent));
	int ret;

	if (agent == NULL)
		return -ENOMEM;
	agent->device = device;
	agent->epoll_fd = agent->timer_fd = agent->wake_fd = -1;
	agent->armed_ns = UROCE_CM_NEVER;
	uroce_fair_lock_init(&agent->lock);
	ret = uroce_gsi_open(&agent->gsi, device);
	if (ret == 0)
		ret = open_fds(agent);
	if (ret == 0)
		ret = make_engine(agent);
	if (ret == 0)
		ret = uroce_cm_sender_init(&agent->sender, &agent->gsi, device->dev);
	if (ret == 0)
		ret = start_agent_thread(agent);
	if (ret != 0) {
		free_agent(agent);
		return ret;
	}
	uroce_cm_telemetry_add(agent);
	*out = agent;
	return 0;
}

int
uroce_cm_agent_get(struct uroce_vdevice *device, struct uroce_cm_agent **agent)
{
	int ret = 0;

	pthread_mutex_lock(&device->agent_lock);
	if (device->agent == NULL)
		ret = make_agent(device, &device->agent);
	*agent = device->agent;
	pthread_mutex_unlock(&device->agent_lock);
	return ret;
}

void
uroce_cm_agent_end(struct uroce_vdevice *device)
{
	struct uroce_cm_agent *const agent = device->agent;

	if (agent == NULL)
		return;
	uroce_cm_telemetry_remove(agent);
	/*
	 * If the agent has no thread, the thread of the program that calls uroce_cm_agent_end() may
	 * be the one that drives the workers. No worker would transmit while this thread waits
	 * until QP 1 has sent its MADs. So the call does not wait.
	 */
	const bool can_drain = agent->has_thread;

	stop_agent_thread(agent);
	/*
	 * Ids that were destroyed just now send messages to their peers, which end the connections.
	 * Wait until these messages are sent.
	 */
	if (can_drain)
		uroce_gsi_drain(&agent->gsi);
	device->agent = NULL;
	free_agent(agent);
}

/* --- consumers: users of the agent ------------------------------------------------------------- */

int
uroce_cm_agent_add(struct uroce_cm_agent *agent, struct uroce_cm_manager *manager, uint16_t *number)
{
	unsigned free = 0;

	uroce_fair_lock_get(&agent->lock);
	while (free < agent->nb_clients && agent->clients[free].manager != NULL)
		free++;
	if (free < UROCE_CM_CONSUMERS_MAX) {
		agent->clients[free] = (struct uroce_cm_client){ .manager = manager };
		uroce_cme_set_account(agent->cm, (uint16_t)free, 0);
		if (free == agent->nb_clients)
			agent->nb_clients++;
		*number = (uint16_t)free;
	}
	uroce_fair_lock_release(&agent->lock);
	return free < UROCE_CM_CONSUMERS_MAX ? 0 : -ENOMEM;
}

void
uroce_cm_agent_remove(struct uroce_cm_agent *agent, uint16_t number)
{
	const uint64_t now_ns = uroce_cm_agent_begin_call(agent);

	uroce_cme_destroy_owned(agent->cm, number, now_ns);
	agent->clients[number].manager = NULL;
	uroce_cm_agent_end_call(agent);
}

void
uroce_cm_agent_await_listeners(struct uroce_cm_agent *agent, uint64_t ns)
{
	const uint64_t now_ns = uroce_cm_agent_begin_call(agent);

	uroce_cme_await_listeners(agent->cm, now_ns + ns);
	uroce_cm_agent_end_call(agent);
}
