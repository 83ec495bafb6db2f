/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The connection to uroced. To make it, who attaches says HELLO, hears of the HOST, and says ATTACH; all is
 * done when ATTACHED comes, whoever waits for it. The device's creator does that once; then a thread has the
 * connection, hears what uroced says unasked, and makes it anew when it has ended.
 *
 * The thread does for who sleeps what uroced does for the thread: it writes to an eventfd when WAKE comes. It
 * reads the socket alone, so that no word is taken by one that it is not for; and who sleeps has a descriptor
 * that outlives connections.
 *
 * A child that is forked would keep the connection, and uroced would take it for a client that lives. So
 * it closes what it inherits, and there is a lock for that: no descriptor is made, or received, amidst a fork.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "datapath/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <rte_lcore.h>

#include "datapath/clock.h"
#include "datapath/dev.h"
#include "datapath/link.h"
#include "datapath/log.h"
#include "datapath/port.h"
#include "datapath/qpn.h"
#include "datapath/round.h"

#define RETRY_MS    10  /* from one try to connect to the next */
#define SELDOM_MS   100 /* the same where uroced does not want us, or has been away for long */
#define NB_RETRIES  300 /* before that is long */
#define PATIENCE_NS UINT64_C(5000000000) /* for an answer */
#define WORDS_MAX   64 /* messages that are taken before anything else is looked at */

/* --- a process and its child ------------------------------------------------------------------- */

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uroce_attach *attached; /* under fork_lock */

static void
prepare_fork(void)
{
	pthread_mutex_lock(&fork_lock);
}

static void
end_fork(void)
{
	pthread_mutex_unlock(&fork_lock);
}

static void
shut(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void
shut_all(struct uroce_attach *attach)
{
	shut(&attach->fd);
	shut(&attach->bell_fd);
	shut(&attach->notice_fd);
	shut(&attach->errand_fd);
	shut(&attach->area_fd);
}

/* The area is not the child's, see make_area(). */
static void
begin_child(void)
{
	for (struct uroce_attach *at = attached; at; at = at->next) {
		shut_all(at);
		at->area.mem = NULL;
	}
	attached = NULL;
	pthread_mutex_unlock(&fork_lock);
}

static void
watch_forks(void)
{
	(void)pthread_atfork(prepare_fork, end_fork, begin_child);
}

static void
enlist(struct uroce_attach *attach)
{
	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&fork_lock);
	attach->next = attached;
	attached = attach;
	pthread_mutex_unlock(&fork_lock);
}

/* Its descriptors are closed before a child could inherit them. */
static void
strike_off(struct uroce_attach *attach)
{
	struct uroce_attach **link = &attached;

	pthread_mutex_lock(&fork_lock);
	while (*link && *link != attach)
		link = &(*link)->next;
	if (*link)
		*link = attach->next;
	shut_all(attach);
	pthread_mutex_unlock(&fork_lock);
}

/* --- words ------------------------------------------------------------------------------------- */

/* Why nobody answered. */
static void
log_absence(const char *path, int err)
{
	if (err == -EACCES || err == -EPERM)
		UROCE_LOG(ERR, port,
			  "uroced: %s: no permission: allowed are those who may write to it, who "
			  "are its owner and group (ls -l %s)",
			  path, path);
	else
		UROCE_LOG(ERR, port,
			  "uroced: %s: %s: allowed is the socket of a uroced that runs "
			  "(socket=PATH)",
			  path, strerror(-err));
}

/* Once for each time that we were attached. */
static void
log_refusal(struct uroce_attach *attach, const char *why)
{
	if (!attach->is_refused)
		UROCE_LOG(ERR, port, "%s: refused: %s", attach->path, why);
	attach->is_refused = true;
}

static int
greet(int fd)
{
	union uroce_mux_message message = { .hello = { .type = UROCE_MUX_HELLO,
						       .version = UROCE_MUX_VERSION } };

	return uroce_mux_send(fd, &message, -1);
}

static void
say_refusal(const union uroce_mux_message *message, char why[256])
{
	const size_t room = sizeof(message->refused.why);

	memcpy(why, message->refused.why, room);
	why[room - 1] = '\0';
}

/* Until a message comes, an errand, or this much time has passed; never: -1. */
static void
wait_for(int fd, int errand_fd, int ms)
{
	struct pollfd fds[] = { { fd, POLLIN, 0 }, { errand_fd, POLLIN, 0 } };
	eventfd_t nothing;

	if (poll(fds, RTE_DIM(fds), ms) > 0 && fds[1].revents)
		(void)eventfd_read(errand_fd, &nothing);
}

/* What uroced answers to HELLO. @return 0, or -errno */
static int
hear_host(int fd, union uroce_mux_message *message)
{
	const time_t end = time(NULL) + (time_t)(PATIENCE_NS / 1000000000);
	int ret = greet(fd), other = -1;

	if (ret == 0)
		ret = -EAGAIN;
	while (ret == -EAGAIN && time(NULL) <= end) {
		ret = uroce_mux_receive(fd, message, &other);
		if (ret == -EAGAIN)
			wait_for(fd, -1, 1000);
	}
	shut(&other);
	if (ret == 1 && message->type == UROCE_MUX_HOST &&
	    message->this_host.version == UROCE_MUX_VERSION)
		return 0;
	if (ret == 1 && message->type == UROCE_MUX_REFUSED)
		return message->refused.error > 0 ? -message->refused.error : -EPERM;
	return ret == 1 ? -EPROTO : ret == 0 ? -ECONNRESET : ret == -EAGAIN ? -ETIMEDOUT : ret;
}

/* @return the connection, over which HOST came; or -errno */
static int
call_host(const char *path, union uroce_mux_message *message)
{
	int fd = uroce_mux_connect(path);
	const int ret = fd < 0 ? fd : hear_host(fd, message);

	if (ret == 0)
		return fd;
	shut(&fd);
	return ret;
}

int
uroce_attach_call(const char *path, struct uroce_mux_host *host)
{
	union uroce_mux_message message = { .type = 0 };
	const int fd = call_host(path, &message);

	if (fd >= 0)
		*host = message.this_host.host;
	return fd;
}

int
uroce_attach_ask(const char *path, struct uroce_mux_host *host)
{
	union uroce_mux_message message = { .type = 0 };
	int fd = call_host(path, &message);
	char why[256];

	if (fd >= 0) {
		*host = message.this_host.host;
		shut(&fd);
		return 0;
	}
	if (message.type == UROCE_MUX_REFUSED) {
		say_refusal(&message, why);
		UROCE_LOG(ERR, port, "%s: refused: %s", path, why);
	} else {
		log_absence(path, fd);
	}
	return fd;
}

/* --- the host ---------------------------------------------------------------------------------- */

int
uroce_attach_addrs(const struct uroce_mux_host *host, struct uroce_addr addr[UROCE_MUX_ADDRS_MAX])
{
	const uint32_t nb = RTE_MIN(host->nb_addr, UROCE_MUX_ADDRS_MAX);

	static_assert(UROCE_MUX_ADDRS_MAX == UROCE_GIDS_MAX, "all fit");
	for (uint32_t i = 0; i < nb; i++) {
		memcpy(addr[i].ip, host->addr[i].ip, sizeof(addr[i].ip));
		addr[i].prefix_len = (uint8_t)RTE_MIN(host->addr[i].prefix_len, 128);
	}
	return (int)nb;
}

void
uroce_attach_adopt(struct uroce_dev_conf *conf, const struct uroce_mux_host *host)
{
	memcpy(conf->gw4, host->gw4, sizeof(conf->gw4));
	memcpy(conf->gw6, host->gw6, sizeof(conf->gw6));
	conf->has_vlan = host->has_vlan;
	conf->vlan_tci = host->vlan_tci;
	if (conf->path_mtu == 0)
		conf->path_mtu = host->path_mtu;
}

void
uroce_attach_host(struct uroce_attach *attach, struct uroce_mux_host *host)
{
	pthread_mutex_lock(&attach->lock);
	*host = attach->host;
	pthread_mutex_unlock(&attach->lock);
}

/* What a device has for life. */
static bool
is_same_host(const struct uroce_mux_host *a, const struct uroce_mux_host *b)
{
	return memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && a->frame_limit == b->frame_limit &&
	       a->has_vlan == b->has_vlan && (!a->has_vlan || a->vlan_tci == b->vlan_tci);
}

static bool
is_possible(const struct uroce_mux_host *host)
{
	return host->frame_limit >= UROCE_AREA_FRAME_MIN &&
	       host->frame_limit <= UROCE_AREA_FRAME_MAX && host->nb_addr <= UROCE_MUX_ADDRS_MAX;
}

static void
show_link(struct uroce_attach *attach)
{
	bool is_up;

	pthread_mutex_lock(&attach->lock);
	is_up = attach->is_attached && attach->host.is_up;
	pthread_mutex_unlock(&attach->lock);
	if (attach->dev)
		uroce_link_set(attach->port, is_up);
	else
		atomic_store(&attach->port->is_up, is_up); /* it begins so */
}

static int
take_host(struct uroce_attach *attach, const struct uroce_mux_this_host *said)
{
	const struct uroce_mux_host *host = &said->host;

	if (said->version != UROCE_MUX_VERSION || !is_possible(host)) {
		log_refusal(attach, "uroced is of another version");
		return -EPROTO;
	}
	if (attach->host.frame_limit > 0 && !is_same_host(host, &attach->host)) {
		log_refusal(attach, "uroced has another MAC, VLAN or longest frame now: allowed "
				    "are those that it had");
		return -ESTALE;
	}
	pthread_mutex_lock(&attach->lock);
	if (memcmp(&attach->host, host, sizeof(*host)) != 0)
		atomic_store(&attach->has_news, true);
	attach->host = *host;
	pthread_mutex_unlock(&attach->lock);
	atomic_store_explicit(&attach->mbps, host->mbps, memory_order_relaxed);
	show_link(attach);
	return 0;
}

/* --- messages ---------------------------------------------------------------------------------- */

/* Whatever has happened: who sleeps looks for itself. */
static void
wake_sleeper(const struct uroce_attach *attach)
{
	(void)eventfd_write(attach->notice_fd, 1);
}

/* The bell is another one. What was put into a lane while it was not hung up yet is rung for now. */
static void
hang_up_bell(struct uroce_attach *attach, int *fd)
{
	(void)dup3(*fd, attach->bell_fd, O_CLOEXEC);
	shut(fd);
	(void)eventfd_write(attach->bell_fd, 1);
}

/* @return as uroce_mux_receive(); a descriptor is the bell */
static int
receive(struct uroce_attach *attach)
{
	int ret, fd;

	pthread_mutex_lock(&fork_lock);
	ret = uroce_mux_receive(attach->fd, &attach->message, &fd);
	if (fd >= 0 && attach->message.type == UROCE_MUX_ATTACHED)
		hang_up_bell(attach, &fd);
	shut(&fd);
	pthread_mutex_unlock(&fork_lock);
	return ret == 0 ? -ECONNRESET : ret;
}

static int
take_refused(struct uroce_attach *attach)
{
	const int error = attach->message.refused.error;
	char why[256];

	say_refusal(&attach->message, why);
	log_refusal(attach, why);
	return error > 0 && error < 4096 ? -error : -EPERM;
}

/* @return 0, or -errno: the connection is to be ended */
static int
act(struct uroce_attach *attach)
{
	const union uroce_mux_message *message = &attach->message;

	switch (message->type) {
	case UROCE_MUX_HOST:
		return take_host(attach, &message->this_host);
	case UROCE_MUX_ATTACHED:
		uroce_attach_take_good(attach, &message->attached);
		return 0;
	case UROCE_MUX_LEASED:
		uroce_attach_take_leased(attach, &message->leased);
		return 0;
	case UROCE_MUX_WAKE:
		wake_sleeper(attach);
		return 0;
	case UROCE_MUX_REFUSED:
		return take_refused(attach);
	}
	return -EPROTO;
}

/* Act on all that comes, until it is this. @return 0, or -errno */
static int
await(struct uroce_attach *attach, enum uroce_mux_type type)
{
	const uint64_t end_ns = uroce_clock_ns() + PATIENCE_NS;

	while (!atomic_load(&attach->is_stopping) && uroce_clock_ns() < end_ns) {
		int ret = receive(attach);

		if (ret == -EAGAIN) {
			wait_for(attach->fd, attach->errand_fd, 1000);
			continue;
		}
		if (ret > 0)
			ret = act(attach);
		if (ret < 0 || attach->message.type == type)
			return ret;
	}
	return -ETIMEDOUT;
}

/* --- attaching --------------------------------------------------------------------------------- */

/* Memory of an area, which no child has. */
static int
create_area(const struct uroce_attach *attach, const struct uroce_area_plan *plan,
	    struct uroce_area *area, int *fd)
{
	int ret;

	pthread_mutex_lock(&fork_lock);
	ret = uroce_area_create(area, plan, fd);
	if (ret == 0)
		(void)madvise(area->mem, plan->size, MADV_DONTFORK);
	pthread_mutex_unlock(&fork_lock);
	if (ret < 0)
		UROCE_LOG(ERR, port, "%s: no memory for an area of %u KiB: %s", attach->path,
			  (unsigned)(plan->size >> 10), strerror(-ret));
	return ret;
}

static int
make_area(struct uroce_attach *attach)
{
	struct uroce_area_plan plan;
	int ret;

	if (!uroce_area_lay_out(&plan, attach->nb_pairs, UROCE_ATTACH_SLOTS,
				attach->host.frame_limit, attach->nb_bindings)) {
		UROCE_LOG(ERR, port, "%s: an area for %u workers is larger than the %u MiB of one",
			  attach->path, attach->nb_pairs, (unsigned)(UROCE_AREA_SIZE_MAX >> 20));
		return -EINVAL;
	}
	ret = create_area(attach, &plan, &attach->area, &attach->area_fd);
	if (ret < 0)
		return ret;
	attach->stride = (uint32_t)(uroce_area_buffer(&plan, 0, false, 1) -
				    uroce_area_buffer(&plan, 0, false, 0));
	uroce_attach_begin(attach);
	return 0;
}

struct renewal {
	const struct uroce_attach *attach;
	const struct uroce_area *fresh;
	uint32_t queue;
};

/* As the worker, so that no burst uses the pair meanwhile. */
static int
renew_pair(void *arg)
{
	const struct renewal *renewal = arg;
	const struct uroce_attach_pair *pair = &renewal->attach->pair[renewal->queue];

	return uroce_area_renew_pair(&renewal->attach->area, renewal->fresh, renewal->queue,
				     &pair->up, &pair->down);
}

/*
 * uroced has sealed the area, and no other one can map it: new memory comes in its place, at the same addresses, pair by
 * pair, with the frames that wait in the lanes. After an error the next try begins with other memory.
 */
static int
renew_area(struct uroce_attach *attach)
{
	struct uroce_dev *dev = attach->dev;
	struct uroce_area fresh = { .mem = NULL };
	struct renewal renewal = { .attach = attach, .fresh = &fresh };
	int ret, error, fd;

	ret = create_area(attach, &attach->area.plan, &fresh, &fd);
	if (ret < 0)
		return ret;
	pthread_mutex_lock(&dev->lock);
	for (unsigned i = 0; i < attach->nb_pairs; i++) {
		renewal.queue = dev->worker[i]->queue;
		error = uroce_worker_call(dev->worker[i], NULL, renew_pair, &renewal);
		ret = error < 0 ? error : ret;
	}
	pthread_mutex_unlock(&dev->lock);
	error = uroce_attach_renew_bindings(attach, &fresh);
	ret = error < 0 ? error : ret;
	pthread_mutex_lock(&fork_lock);
	if (ret == 0) {
		shut(&attach->area_fd);
		attach->area_fd = fd;
	} else {
		shut(&fd);
	}
	pthread_mutex_unlock(&fork_lock);
	return ret;
}

/* An area that no uroced has taken yet. */
static int
prepare_area(struct uroce_attach *attach)
{
	if (!attach->area.mem)
		return make_area(attach);
	return uroce_area_is_taken(attach->area_fd) ? renew_area(attach) : 0;
}

static int
call(struct uroce_attach *attach)
{
	int fd;

	pthread_mutex_lock(&fork_lock);
	fd = uroce_mux_connect(attach->path);
	pthread_mutex_lock(&attach->lock);
	attach->fd = fd < 0 ? -1 : fd;
	pthread_mutex_unlock(&attach->lock);
	pthread_mutex_unlock(&fork_lock);
	return fd < 0 ? fd : greet(fd);
}

static int
send_attach(struct uroce_attach *attach)
{
	union uroce_mux_message *message = &attach->message;

	pthread_mutex_lock(&attach->lock);
	message->attach = (struct uroce_mux_attach){
		.type = UROCE_MUX_ATTACH,
		.version = UROCE_MUX_VERSION,
		.nb_leases = attach->nb_leases,
		.plan = attach->area.plan,
	};
	memcpy(message->attach.lease, attach->lease, attach->nb_leases * sizeof(attach->lease[0]));
	pthread_mutex_unlock(&attach->lock);
	return uroce_mux_send(attach->fd, message, attach->area_fd);
}

/* @return 0, or -errno: there is no connection, or one that is to be ended */
static int
attach_now(struct uroce_attach *attach)
{
	int ret = call(attach);

	if (ret == 0)
		ret = await(attach, UROCE_MUX_HOST);
	if (ret == 0)
		ret = prepare_area(attach);
	atomic_store(&attach->is_broken, false); /* what was so before */
	if (ret == 0)
		ret = send_attach(attach);
	if (ret == 0)
		ret = await(attach, UROCE_MUX_ATTACHED);
	if (ret < 0)
		return ret;
	attach->is_refused = false;
	wake_sleeper(attach);
	show_link(attach);
	return 0;
}

static void
hang_up(struct uroce_attach *attach)
{
	const bool was_attached = attach->is_attached;

	pthread_mutex_lock(&fork_lock);
	pthread_mutex_lock(&attach->lock);
	shut(&attach->fd);
	attach->is_attached = false;
	attach->is_leasing = false;
	pthread_cond_broadcast(&attach->changed);
	pthread_mutex_unlock(&attach->lock);
	pthread_mutex_unlock(&fork_lock);
	if (!was_attached)
		return;
	show_link(attach);
	/* a frame may have come whose sender did not live to say so */
	wake_sleeper(attach);
}

/* --- the thread -------------------------------------------------------------------------------- */

/* Until the connection ends. @return why */
static int
serve(struct uroce_attach *attach)
{
	unsigned nb = 0;

	while (!atomic_load(&attach->is_stopping)) {
		int ret = receive(attach);

		if (ret > 0)
			ret = act(attach);
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		if (ret == -EAGAIN || ++nb % WORDS_MAX == 0) {
			if (atomic_load(&attach->is_broken))
				return -EPROTO;
			wait_for(attach->fd, attach->errand_fd, -1);
		}
	}
	return 0;
}

static void *
watch(void *arg)
{
	struct uroce_attach *attach = arg;
	unsigned nb_tries = 0; /* to connect, in vain */
	int ret;

	for (;;) {
		if (attach->is_attached) {
			nb_tries = 0;
			ret = serve(attach);
			if (ret < 0)
				UROCE_LOG(WARNING, port, "%s: the connection is over: %s",
					  attach->path, strerror(-ret));
		} else {
			ret = attach_now(attach);
			if (ret == 0)
				continue;
		}
		if (atomic_load(&attach->is_stopping))
			return NULL;
		hang_up(attach);
		/* while nobody is there to attach to: then attaching takes no longer for it */
		(void)prepare_area(attach);
		nb_tries++;
		wait_for(-1, attach->errand_fd,
			 attach->is_refused || nb_tries > NB_RETRIES ? SELDOM_MS : RETRY_MS);
	}
}

int
uroce_attach_watch(struct uroce_attach *attach, struct uroce_dev *dev)
{
	sigset_t all, before;
	int ret;

	attach->dev = dev;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = uroce_dpdk_thread_start(&attach->thread, "uroce-attach", watch, attach);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret == 0)
		return 0;
	attach->dev = NULL;
	UROCE_LOG(ERR, port, "%s: no thread for the connection: %s", attach->path, strerror(-ret));
	return ret;
}

void
uroce_attach_unwatch(struct uroce_attach *attach)
{
	if (!attach->dev)
		return;
	atomic_store(&attach->is_stopping, true);
	(void)eventfd_write(attach->errand_fd, 1);
	uroce_dpdk_thread_join(&attach->thread);
	attach->dev = NULL;
}

void
uroce_attach_break(struct uroce_attach *attach)
{
	if (!atomic_exchange(&attach->is_broken, true))
		(void)eventfd_write(attach->errand_fd, 1);
}

/* --- from beginning to end --------------------------------------------------------------------- */

static int
make_fds(struct uroce_attach *attach)
{
	const int flags = EFD_CLOEXEC | EFD_NONBLOCK;

	pthread_mutex_lock(&fork_lock);
	attach->bell_fd = eventfd(0, flags);
	attach->notice_fd = eventfd(0, flags);
	attach->errand_fd = eventfd(0, flags);
	pthread_mutex_unlock(&fork_lock);
	return attach->bell_fd < 0 || attach->notice_fd < 0 || attach->errand_fd < 0 ? -errno : 0;
}

static struct uroce_attach *
make(struct uroce_port *port, const struct uroce_dev_conf *conf)
{
	struct uroce_attach *attach = calloc(1, sizeof(*attach));
	const size_t len = conf->nb_workers * sizeof(attach->pair[0]);
	pthread_condattr_t attr;

	if (!attach)
		return NULL;
	attach->pair = aligned_alloc(_Alignof(struct uroce_attach_pair), len);
	if (!attach->pair) {
		free(attach->pair);
		free(attach);
		return NULL;
	}
	memset(attach->pair, 0, len);
	attach->port = port;
	attach->path = conf->socket;
	attach->nb_pairs = conf->nb_workers;
	attach->nb_bindings = RTE_MAX(uroce_qpn_table_slots(conf->max_qp), UROCE_BINDINGS_MIN);
	attach->fd = attach->bell_fd = attach->notice_fd = -1;
	attach->errand_fd = attach->area_fd = -1;
	pthread_mutex_init(&attach->lock, NULL);
	pthread_mutex_init(&attach->binding_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&attach->changed, &attr);
	pthread_condattr_destroy(&attr);
	enlist(attach);
	return attach;
}

int
uroce_attach_open(struct uroce_port *port, const struct uroce_dev_conf *conf,
		  const struct uroce_mux_host *known)
{
	struct uroce_attach *attach = make(port, conf);
	int ret;

	if (!attach) {
		UROCE_LOG(ERR, mem, "no memory for the connection to uroced");
		return -ENOMEM;
	}
	if (known)
		attach->host = *known;
	ret = make_fds(attach);
	if (ret == 0)
		ret = attach_now(attach);
	if (ret == 0) {
		port->attach = attach;
		return 0;
	}
	if (!attach->is_refused)
		log_absence(attach->path, ret);
	uroce_attach_close(attach);
	return ret;
}

void
uroce_attach_close(struct uroce_attach *attach)
{
	if (!attach)
		return;
	uroce_attach_unwatch(attach);
	strike_off(attach);
	uroce_area_unmap(&attach->area);
	pthread_cond_destroy(&attach->changed);
	pthread_mutex_destroy(&attach->binding_lock);
	pthread_mutex_destroy(&attach->lock);
	free(attach->pair);
	free(attach);
}
