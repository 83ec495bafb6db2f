/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Handles the messages that clients send to uroced. A reply is sent at once, or later if the
 * client's socket has no room.
 */

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "log_line.h"

/*
 * `in` is the message of a client that is being handled, `out` the message that is being sent to a
 * client. Only the control thread uses them.
 */
static union uroce_mux_message in, out;

void
handler_refuse(struct control *control, struct client *client, int error, const char *format, ...)
{
	struct uroce_mux_refused *refused = &out.refused;
	char why[sizeof(refused->why) + sizeof("refused: ")];
	va_list args;

	*refused = (struct uroce_mux_refused){ .type = UROCE_MUX_REFUSED, .error = error };
	va_start(args, format);
	(void)vsnprintf(refused->why, sizeof(refused->why), format, args);
	va_end(args);
	(void)uroce_mux_send(client->socket, &out, -1);
	(void)snprintf(why, sizeof(why), "refused: %s", refused->why);
	if (!client->is_attached)
		log_client_line("client %u: %s: pid %d, uid %u", client->slot, why, client->pid,
				client->uid);
	control_leave(control, client, why);
}

/*
 * Check whether the socket of a client has room for a message. A full socket gets room when the
 * client reads earlier messages.
 */
static bool
is_reading(const struct client *client)
{
	struct pollfd fd = { client->socket, POLLOUT, 0 };

	return poll(&fd, 1, 0) == 1 && fd.revents == POLLOUT;
}

/*
 * Send a client the message HOST, which describes the port and its addresses.
 * @return false if the socket has no room, so that HOST has to be sent later
 */
static bool
send_host(struct control *control, struct client *client)
{
	out.this_host = (struct uroce_mux_this_host){
		.type = UROCE_MUX_HOST,
		.version = UROCE_MUX_VERSION,
		.host = control->host->told,
	};
	client->is_host_due = uroce_mux_send(client->socket, &out, -1) == -EAGAIN;
	control->has_due |= client->is_host_due;
	return !client->is_host_due;
}

/* --- ATTACH -------------------------------------------------------------------------------------- */

static void
set_attached(struct control *control, struct client *client)
{
	pthread_mutex_lock(control->stats_lock);
	client->is_attached = true;
	control->nb_attached += !client_is_manager(client);
	pthread_mutex_unlock(control->stats_lock);
}

static void
accept_hello(struct control *control, struct client *client)
{
	const struct lessee lessee = client_lessee(client);
	uint32_t nb_good =
		lease_take_back(control->leases, &lessee, in.attach.lease, in.attach.nb_leases,
				control_now_ns(), out.attached.block);
	int ret;

	if (client_is_manager(client)) {
		lease_give_management(control->leases, &lessee);
		out.attached.block[0] = 0;
		nb_good = 1;
	}
	ret = data_link(control->data, client);
	if (ret < 0) {
		(void)lease_end(control->leases, &lessee, control_now_ns());
		handler_refuse(control, client, -ret, "no doorbell: %s", strerror(-ret));
		return;
	}
	atomic_store(&client->nb_leases, nb_good);
	set_attached(control, client);
	log_client_line("client %u: attached: pid %d, uid %u, %u ring pairs, %u leases of %u",
			client->slot, client->pid, client->uid, client->shm.plan.nb_pairs, nb_good,
			in.attach.nb_leases);
	out.attached.type = UROCE_MUX_ATTACHED;
	out.attached.nb_good = nb_good;
	ret = uroce_mux_send(client->socket, &out, client->doorbell);
	if (ret < 0)
		control_leave(control, client, strerror(-ret));
}

static void
refuse_shm(struct control *control, struct client *client, const char *wrong)
{
	handler_refuse(
		control, client, EINVAL,
		"the shared memory is invalid: %s: allowed is a sealed tmpfs file without holes, "
		"with buffers of %u bytes or more",
		wrong, control->host->told.frame_limit);
}

static void
refuse_second(struct control *control, struct client *client)
{
	handler_refuse(control, client, EBUSY,
		       "a second ATTACH: allowed is one for each connection");
}

/*
 * Give a reader process the job to seal the shared memory of a client, which is mapped already. The
 * ATTACH message of the client is kept until the reader has replied.
 */
static void
seal_shm(struct control *control, struct client *client, int fd)
{
	struct reader_job job = { .kind = READER_SEAL, .plan = in.attach.plan };
	const size_t size = uroce_mux_message_size(UROCE_MUX_ATTACH, in.attach.nb_leases);
	int ret;

	client->attaching = malloc(size);
	if (!client->attaching) {
		handler_refuse(control, client, ENOMEM, "no memory for the ATTACH message");
		return;
	}
	memcpy(client->attaching, &in.attach, size);
	ret = control_ask_reader(control, client, &job, fd);
	if (ret < 0)
		handler_refuse(control, client, -ret, "no process can seal the shared memory: %s",
			       strerror(-ret));
}

/*
 * Refuse an ATTACH message if the user of the client would exceed one of its limits.
 * @return whether the message was refused
 */
static bool
refuse_excess(struct control *control, struct client *client, const struct uroce_shm_layout *plan)
{
	const struct user_limits *limits = &control->limits;
	const uint32_t nb_pairs = control_sum_of(control, client->uid).nb_pairs;
	const struct mapper_sum mapped = mapper_sum_of(&control->mapper, client->uid);
	const uint64_t nb_bytes = (uint64_t)limits->mib << 20;

	if (client_is_manager(client))
		return false;
	if (plan->nb_pairs > limits->nb_pairs || nb_pairs > limits->nb_pairs - plan->nb_pairs) {
		counter_add(&control->refused[USER_LIMIT_PAIRS], 1);
		handler_refuse(control, client, EDQUOT,
			       "%u ring pairs in addition to the %u of user %u: allowed are %u "
			       "(--user-pairs)",
			       plan->nb_pairs, nb_pairs, client->uid, limits->nb_pairs);
		return true;
	}
	if (mapped.nb_areas < 2 * limits->nb_clients && plan->size <= nb_bytes &&
	    mapped.nb_bytes <= nb_bytes - plan->size)
		return false;
	counter_add(&control->refused[USER_LIMIT_MEMORY], 1);
	handler_refuse(
		control, client, EDQUOT,
		"%llu KiB of shared memory: user %u has %u files of %llu KiB, including files that "
		"uroced is unmapping: allowed are %u files of %u MiB (--user-memory)",
		(unsigned long long)plan->size >> 10, client->uid, mapped.nb_areas,
		(unsigned long long)mapped.nb_bytes >> 10, 2 * limits->nb_clients, limits->mib);
	return true;
}

static void
handle_attach(struct control *control, struct client *client, int fd)
{
	const struct uroce_mux_attach *ask = &in.attach;
	const char *wrong;

	if (ask->version != UROCE_MUX_VERSION) {
		handler_refuse(control, client, EPROTO, "ATTACH of version %u: allowed is %u",
			       ask->version, UROCE_MUX_VERSION);
		return;
	}
	if (client->is_attached) {
		refuse_second(control, client);
		return;
	}
	if (refuse_excess(control, client, &ask->plan))
		return;
	wrong = client_map(client, &control->mapper, &ask->plan, fd,
			   control->host->told.frame_limit);
	if (wrong)
		refuse_shm(control, client, wrong);
	else
		seal_shm(control, client, fd);
}

/*
 * Complete the ATTACH of a client when the reader process that had to seal the shared memory has
 * replied.
 * @param wrong  why the reader refuses the shared memory; an empty string if it accepts the memory
 */
static void
finish_attach(struct control *control, struct client *client, const char *wrong)
{
	struct uroce_mux_attach *said = client->attaching;

	memcpy(&in.attach, said, uroce_mux_message_size(UROCE_MUX_ATTACH, said->nb_leases));
	free(said);
	client->attaching = NULL;
	if (wrong[0] == '\0')
		wrong = client_take_up(client, &control->mapper);
	if (wrong)
		refuse_shm(control, client, wrong);
	else
		accept_hello(control, client);
}

/* --- leases -------------------------------------------------------------------------------------- */

/*
 * Lease blocks of QP numbers to a client and send the reply LEASED.
 * @return false if the leases have to wait: uroced has just started, or the socket has no room
 */
static bool
send_leases(struct control *control, struct client *client)
{
	struct uroce_mux_leased *leased = &out.leased;
	const struct lessee lessee = client_lessee(client);
	const uint32_t nb_has = atomic_load(&client->nb_leases);
	const uint64_t now_ns = control_now_ns();
	uint32_t nb_asked;

	control->has_due = true;
	if (now_ns < control->lease_ns || !is_reading(client))
		return false;
	leased->type = UROCE_MUX_LEASED;
	leased->nb = UROCE_MUX_LEASES_MAX - nb_has;
	if (leased->nb > client->nb_wanted)
		leased->nb = client->nb_wanted;
	nb_asked = leased->nb;
	leased->nb = lease_take(control->leases, &lessee, nb_asked, now_ns, leased->lease);
	if (leased->nb < nb_asked) {
		counter_add(&control->refused[USER_LIMIT_BLOCKS], 1);
		log_client_line(
			"client %u: %u blocks fewer than requested: user %u has %u: allowed "
			"are %u (--user-blocks), and half of the blocks that others leave",
			client->slot, nb_asked - leased->nb, client->uid,
			lease_count(control->leases, client->uid), control->limits.nb_blocks);
	}
	atomic_store(&client->nb_leases, nb_has + leased->nb);
	client->has_request = false;
	(void)uroce_mux_send(client->socket, &out, -1);
	return true;
}

static void
handle_lease(struct control *control, struct client *client)
{
	if (!client->is_attached || client->has_request) {
		handler_refuse(control, client, EPROTO,
			       "LEASE before %s: allowed is one at a time, after ATTACHED",
			       client->has_request ? "the reply to another" : "ATTACHED");
		return;
	}
	if (client_is_manager(client)) {
		handler_refuse(control, client, EPERM,
			       "LEASE of the connection manager: allowed is the block of QP 1");
		return;
	}
	client->has_request = true;
	client->nb_wanted = in.lease.nb;
	(void)send_leases(control, client);
}

static void
handle_release(struct control *control, struct client *client)
{
	const struct uroce_mux_release *ask = &in.release;
	const struct lessee lessee = client_lessee(client);
	const uint64_t now_ns = control_now_ns();

	for (uint32_t i = 0; i < ask->nb; i++) {
		if (client->is_attached &&
		    lease_release(control->leases, &lessee, ask->block[i], now_ns)) {
			atomic_fetch_sub(&client->nb_leases, 1);
			continue;
		}
		handler_refuse(
			control, client, EPROTO,
			"RELEASE of block %u, which the client does not hold: allowed are blocks "
			"that it holds",
			ask->block[i]);
		return;
	}
}

bool
handler_send_due(struct control *control, struct client *client)
{
	bool is_done = true;

	if (client->is_host_due)
		is_done = send_host(control, client);
	if (client->has_request)
		is_done &= send_leases(control, client);
	return !is_done;
}

/* --- messages ------------------------------------------------------------------------------------ */

static void
handle_message(struct control *control, struct client *client, int fd)
{
	switch (in.type) {
	case UROCE_MUX_HELLO:
		client->is_greeted = in.hello.version == UROCE_MUX_VERSION;
		if (client->is_greeted)
			(void)send_host(control, client);
		else
			handler_refuse(control, client, EPROTO,
				       "HELLO of version %u: allowed is %u", in.hello.version,
				       UROCE_MUX_VERSION);
		return;
	case UROCE_MUX_ATTACH:
		handle_attach(control, client, fd);
		return;
	case UROCE_MUX_LEASE:
		handle_lease(control, client);
		return;
	case UROCE_MUX_RELEASE:
		handle_release(control, client);
		return;
	}
	handler_refuse(control, client, EPROTO,
		       "a message of type %u: allowed are HELLO, ATTACH, LEASE, RELEASE", in.type);
}

/*
 * Handle a message of a client that uroced or a reader process has received, or handle an error of
 * the receive call.
 * @param ret  the result of uroce_mux_receive()
 */
static void
handle_received(struct control *control, struct client *client, int ret, int fd)
{
	if (ret == 1)
		handle_message(control, client, fd);
	else if (ret == -EPROTO)
		handler_refuse(control, client, EPROTO,
			       "a malformed message: allowed are messages of version %u",
			       UROCE_MUX_VERSION);
	else if (ret != -EAGAIN && ret != -EINTR)
		control_leave(control, client,
			      ret == 0 ? "it closed the connection" : strerror(-ret));
}

void
handler_take(struct control *control, struct client *client)
{
	struct reader_job job = { .kind = READER_TAKE };
	bool has_fds;
	int ret = uroce_mux_peek(client->socket, &has_fds), fd;

	if (!has_fds) {
		if (ret == 1)
			ret = uroce_mux_receive(client->socket, &in, &fd);
		handle_received(control, client, ret, -1);
		return;
	}
	ret = control_ask_reader(control, client, &job, client->socket);
	if (ret < 0)
		handler_refuse(
			control, client, -ret,
			"no process can receive the descriptors: %s: allowed are descriptors that "
			"can be closed at once",
			strerror(-ret));
}

void
handler_take_reply(struct control *control, struct client *client,
		   const struct reader_answer *answer, int fd)
{
	if (answer->kind == READER_SEAL) {
		finish_attach(control, client, answer->why);
		return;
	}
	if (answer->why[0] != '\0') {
		if (client->is_attached)
			refuse_second(control, client);
		else
			refuse_shm(control, client, answer->why);
		return;
	}
	if (answer->ret == 1)
		memcpy(&in, &answer->message, sizeof(in));
	handle_received(control, client, answer->ret, fd);
}
