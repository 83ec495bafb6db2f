/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Receive on the port `udp`. A message of the kernel is one datagram, or up to 64 datagrams of one
 * flow and one length (UDP_GRO), of which the last may be shorter. The kernel copies each datagram
 * into an mbuf of its own: recvmsg() gets the mbufs as parts (struct iovec), each as long as a
 * datagram of the socket's latest message. If the new message has datagrams of another length, its
 * bytes are copied to other mbufs by way of a buffer that has room for the longest message.
 * Datagrams that have no mbuf yet wait in this buffer.
 *
 * Headers of Ethernet, IP and UDP are written in front of each datagram. The identification of IPv4
 * is unknown and written as 0. Datagram i of a message probably had identification i, because the
 * sender probably also is a port `udp`. So its ICRC is changed to the value for identification 0.
 * The worker accepts a frame with any identification (struct uroce_port_policy), so that a wrong
 * guess only costs time.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/udp.h>
#include <rte_ip.h>

#include "datapath/udp/udp_frame.h"
#include "datapath/udp/udp_port.h"
#include "datapath/udp/udp_queue.h"
#include "wire/icrc.h"
#include "wire/parse.h"

/* Length in bytes of the longest message that the kernel delivers. */
#define MESSAGE_MAX 65536u

/*
 * Length in bytes of a message of several datagrams from which on a copy to other mbufs costs more
 * than a second system call. After a message of this length or more, the next message of the socket
 * is expected to have datagrams of the same length.
 */
#define LEARN_LEN 2048u

/*
 * Number of consecutive messages of a socket, of one datagram or shorter than LEARN_LEN, after
 * which the next message is expected to have one datagram.
 */
#define CHEAP_MAX 64

/* Number of consecutive messages of one socket after which another socket is read first. */
#define STREAK_MAX 16

static void
take_control(const struct cmsghdr *cmsg, struct uroce_udp_arrival *arrival)
{
	const bool is_v4 = cmsg->cmsg_level == IPPROTO_IP, is_v6 = cmsg->cmsg_level == IPPROTO_IPV6;
	const int type = cmsg->cmsg_type;
	struct in6_pktinfo v6;
	struct in_pktinfo v4;
	int value;

	if (is_v4 && type == IP_PKTINFO) {
		memcpy(&v4, CMSG_DATA(cmsg), sizeof(v4));
		memcpy(arrival->dest, &v4.ipi_addr, sizeof(v4.ipi_addr));
	} else if (is_v6 && type == IPV6_PKTINFO) {
		memcpy(&v6, CMSG_DATA(cmsg), sizeof(v6));
		memcpy(arrival->dest, &v6.ipi6_addr, sizeof(v6.ipi6_addr));
	} else if (is_v4 && type == IP_TOS) {
		/* the value of the control message IP_TOS has one byte */
		arrival->tclass = *CMSG_DATA(cmsg);
	} else {
		memcpy(&value, CMSG_DATA(cmsg), sizeof(value));
		if (is_v6 && type == IPV6_TCLASS)
			arrival->tclass = (uint8_t)value;
		else if ((is_v6 && type == IPV6_HOPLIMIT) || (is_v4 && type == IP_TTL))
			arrival->ttl = (uint8_t)value;
		else if (cmsg->cmsg_level == IPPROTO_UDP && type == UDP_GRO && value > 0)
			arrival->segment_len = (uint32_t)value;
	}
}

/*
 * Whether a receive call on a socket must be repeated. If the call fails although the socket is not
 * empty, the network has reported an error about an earlier datagram. The kernel returns such an
 * error from one call only, and datagrams may wait behind it. The error queue of the socket has the
 * details.
 */
static bool
must_repeat(struct uroce_udp_queue *queue, ssize_t ret)
{
	if (likely(ret >= 0 || errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	queue->errors.are_waiting = true;
	return true;
}

/*
 * Receive a message from a socket.
 * @return whether there was a message
 */
static bool
recv_message(struct uroce_udp_queue *queue, const struct uroce_udp_socket *sock, unsigned nb_parts,
	     struct uroce_udp_arrival *arrival)
{
	_Alignas(struct cmsghdr) uint8_t control[256];
	struct msghdr msg = {
		.msg_name = &arrival->from,
		.msg_namelen = sizeof(arrival->from),
		.msg_iov = queue->rx.part,
		.msg_iovlen = nb_parts,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len = recvmsg(sock->fd, &msg, MSG_DONTWAIT);

	if (unlikely(must_repeat(queue, len)))
		len = recvmsg(sock->fd, &msg, MSG_DONTWAIT);
	if (len < 0)
		return false;
	memset(arrival->dest, 0, sizeof(arrival->dest));
	arrival->tclass = 0;
	arrival->ttl = 0;
	arrival->segment_len = 0;
	arrival->len = (uint32_t)len;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		take_control(cmsg, arrival);
	if (arrival->segment_len == 0 || arrival->segment_len > arrival->len)
		arrival->segment_len = arrival->len;
	return true;
}

/* --- identifications --------------------------------------------------------------------------- */

/*
 * Change the ICRCs of the datagrams of a received message from the values for the probable IPv4
 * identifications 0, 1, 2 ... to the values for identification 0.
 */
static void
clear_idents(struct uroce_udp_rx *rx, const struct uroce_udp_origin *origin,
	     struct rte_mbuf **frames, unsigned nb)
{
	for (unsigned i = 1; i < nb; i++) {
		const uint32_t len = frames[i]->data_len - (uint32_t)origin->hdr_len;
		uint8_t *icrc_at;

		if (len < UROCE_ICRC_LEN)
			continue;
		if (len != rx->terms_len)
			uroce_icrc_field_init(&rx->terms, (uint16_t)(UROCE_UDP_AFTER_IDENT + len -
								     UROCE_ICRC_LEN));
		rx->terms_len = len;
		icrc_at = rte_pktmbuf_mtod_offset(frames[i], uint8_t *,
						  frames[i]->data_len - UROCE_ICRC_LEN);
		uroce_icrc_store(icrc_at, uroce_icrc_load(icrc_at) ^
						  uroce_icrc_field_term(&rx->terms, (uint16_t)i));
	}
}

/* --- messages that did not fit ----------------------------------------------------------------- */

static uint8_t *
get_overflow(struct uroce_udp_rx *rx)
{
	if (!rx->overflow)
		rx->overflow = malloc(MESSAGE_MAX);
	return rx->overflow;
}

static uint32_t
get_datagram_max(const struct uroce_port *port, uint32_t hdr_len)
{
	return port->frame_limit - hdr_len;
}

/*
 * Move datagrams into mbufs from the overflow buffer, where a message waits that did not fit the
 * prepared mbufs.
 * @return number of frames
 */
static unsigned
take_left(const struct uroce_port *port, struct uroce_udp_queue *queue, struct rte_mbuf **frames,
	  unsigned room)
{
	struct uroce_udp_rx *rx = &queue->rx;
	const struct uroce_udp_origin *origin = &rx->left_origin;
	unsigned nb = 0;

	while (rx->left_at < rx->left_end && nb < room && rx->nb_spare > 0) {
		const uint32_t len = RTE_MIN(rx->left_len, rx->left_end - rx->left_at);
		const uint8_t *from = rx->overflow + rx->left_at;

		rx->left_at += len;
		if (len > get_datagram_max(port, origin->hdr_len)) {
			uroce_udp_count(&queue->stats.rx_too_long, 1);
			continue;
		}
		frames[nb] = rx->spare[--rx->nb_spare];
		memcpy(rte_pktmbuf_mtod_offset(frames[nb], uint8_t *, origin->hdr_len), from, len);
		uroce_udp_finish_frame(origin, frames[nb++], len);
	}
	return nb;
}

/*
 * Copy a message that did not fit its mbufs to the overflow buffer. The end of the message is in
 * this buffer already.
 * @param in_mbufs  number of bytes of the parts that are mbufs
 */
static void
collect_message(struct uroce_udp_queue *queue, const struct uroce_udp_arrival *arrival,
		uint32_t in_mbufs)
{
	struct uroce_udp_rx *rx = &queue->rx;
	uint32_t left = RTE_MIN(arrival->len, in_mbufs);
	uint8_t *to = rx->overflow;

	for (const struct iovec *part = rx->part; left > 0; part++) {
		const uint32_t len = RTE_MIN(left, (uint32_t)part->iov_len);

		memcpy(to, part->iov_base, len);
		to += len;
		left -= len;
	}
	rx->left_at = 0;
	rx->left_end = arrival->len;
	rx->left_len = arrival->segment_len;
	uroce_udp_count(&queue->stats.rx_copied, 1);
}

/* --- the burst --------------------------------------------------------------------------------- */

static bool
is_single_datagram(const struct uroce_udp_arrival *arrival)
{
	return arrival->segment_len == arrival->len;
}

/*
 * Record the lengths of a received message, which determine the parts (struct iovec) for the
 * socket's next message.
 */
static void
expect_segment_len(struct uroce_udp_socket *sock, const struct uroce_udp_arrival *arrival,
		   bool is_copied)
{
	const bool is_single = is_single_datagram(arrival);
	const bool is_cheap = is_single || arrival->len < LEARN_LEN;

	sock->nb_cheap = is_cheap ? sock->nb_cheap + 1 : 0;
	if ((is_single && is_copied) || sock->nb_cheap >= CHEAP_MAX)
		sock->segment_len = 0;
	else if (is_copied && !is_cheap)
		sock->segment_len = arrival->segment_len;
}

/*
 * Prepare the parts (struct iovec) for the reception of a message: mbufs, and the overflow buffer
 * behind them.
 * @param[out] in_mbufs  number of bytes of the parts that are mbufs
 * @return number of parts that are mbufs
 */
static unsigned
prepare_parts(struct uroce_udp_rx *rx, uint32_t hdr_len, uint32_t part_len, unsigned nb,
	      uint32_t *in_mbufs)
{
	unsigned n = 0;

	for (*in_mbufs = 0; n < nb && *in_mbufs < MESSAGE_MAX; n++) {
		rx->part[n] = (struct iovec){
			.iov_base = rte_pktmbuf_mtod_offset(rx->spare[rx->nb_spare - 1 - n],
							    uint8_t *, hdr_len),
			.iov_len = part_len,
		};
		*in_mbufs += part_len;
	}
	rx->part[n] = (struct iovec){
		.iov_base = rx->overflow + *in_mbufs,
		.iov_len = *in_mbufs < MESSAGE_MAX ? MESSAGE_MAX - *in_mbufs : 0,
	};
	return n;
}

/*
 * Complete the mbufs of a received message that fitted the prepared mbufs, so that each mbuf is a
 * frame.
 */
static unsigned
take_mbufs(struct uroce_udp_rx *rx, const struct uroce_udp_origin *origin,
	   const struct uroce_udp_arrival *arrival, struct rte_mbuf **frames)
{
	unsigned nb = 0;

	for (uint32_t at = 0; at < arrival->len; at += arrival->segment_len) {
		frames[nb] = rx->spare[--rx->nb_spare];
		uroce_udp_finish_frame(origin, frames[nb++],
				       RTE_MIN(arrival->segment_len, arrival->len - at));
	}
	return nb;
}

/*
 * Choose the length of each part (struct iovec) that is an mbuf, for the next message of a socket.
 */
static uint32_t
choose_part_len(const struct uroce_port *port, const struct uroce_udp_socket *sock,
		uint32_t hdr_len)
{
	const uint32_t max = get_datagram_max(port, hdr_len);

	return sock->segment_len > 0 ? RTE_MIN(sock->segment_len, max) : max;
}

/*
 * Choose the number of parts (struct iovec) that are mbufs, for the next message of a socket. If a
 * message of several datagrams is expected, its length is read first, because a call with many
 * parts that finds no message would cost more than both calls.
 * @return number of parts; 0: there is no message, no mbuf, or no room
 */
static unsigned
count_parts(struct uroce_udp_queue *queue, const struct uroce_udp_socket *sock, uint32_t part_len,
	    unsigned room)
{
	const unsigned max = RTE_MIN(room, queue->rx.nb_spare);
	ssize_t len;

	if (max == 0)
		return 0;
	if (sock->segment_len == 0)
		return 1;
	len = recv(sock->fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
	if (unlikely(must_repeat(queue, len)))
		len = recv(sock->fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
	if (len < 0)
		return 0;
	return RTE_MIN(RTE_MAX(((unsigned)len + part_len - 1) / part_len, 1u), max);
}

/*
 * Receive a message from a socket, as at most `room` frames; the rest waits in the overflow buffer.
 * @param[out] nb_frames  number of frames; 0: the datagrams of the message are empty or too long
 * @return whether there was a message
 */
static bool
receive_message(const struct uroce_port *port, struct uroce_udp_queue *queue,
		struct uroce_udp_socket *sock, struct rte_mbuf **frames, unsigned room,
		unsigned *nb_frames)
{
	struct uroce_udp_rx *rx = &queue->rx;
	const uint32_t hdr_len = sock->is_ipv6 ? UROCE_UDP_HDR_MAX : UROCE_UDP_HDR_IPV4;
	const uint32_t part_len = choose_part_len(port, sock, hdr_len);
	struct uroce_udp_origin origin;
	struct uroce_udp_arrival arrival;
	uint32_t in_mbufs;
	unsigned nb = count_parts(queue, sock, part_len, room);
	bool has_fitted;

	if (nb == 0)
		return false;
	nb = prepare_parts(rx, hdr_len, part_len, nb, &in_mbufs);
	if (!recv_message(queue, sock, nb + 1, &arrival))
		return false;
	uroce_udp_count(&queue->stats.rx_messages, 1);
	uroce_udp_make_origin(port, sock->is_ipv6, &arrival, &origin);
	has_fitted = is_single_datagram(&arrival)
			     ? arrival.len <= part_len
			     : arrival.segment_len == part_len && arrival.len <= in_mbufs;
	expect_segment_len(sock, &arrival, !has_fitted);
	if (has_fitted) {
		nb = take_mbufs(rx, &origin, &arrival, frames);
	} else {
		collect_message(queue, &arrival, in_mbufs);
		rx->left_origin = origin;
		nb = take_left(port, queue, frames, room);
	}
	if (!sock->is_ipv6)
		clear_idents(rx, &origin, frames, nb);
	*nb_frames = nb;
	return true;
}

/*
 * Receive the next message of a socket that has valid frames. Messages whose datagrams are empty or
 * too long are skipped, at most UROCE_BURST of them, so that a sender of such messages does not
 * delay the messages of others.
 * @return number of frames; 0: no message with frames was found
 */
static unsigned
receive_from(const struct uroce_port *port, struct uroce_udp_queue *queue,
	     struct uroce_udp_socket *sock, struct rte_mbuf **frames, unsigned room)
{
	unsigned nb = 0;

	for (unsigned i = 0; i < UROCE_BURST && nb == 0; i++) {
		if (!receive_message(port, queue, sock, frames, room, &nb))
			break;
	}
	return nb;
}

/*
 * Allocate mbufs for the next messages, and the overflow buffer.
 * @return whether at least one mbuf and the overflow buffer are available
 */
static bool
refill_spare(const struct uroce_port *port, uint16_t queue_idx, struct uroce_udp_rx *rx)
{
	const unsigned nb = UROCE_BURST - rx->nb_spare;

	if (nb > 0 &&
	    rte_pktmbuf_alloc_bulk(port->pool[queue_idx], &rx->spare[rx->nb_spare], nb) == 0)
		rx->nb_spare = UROCE_BURST;
	return rx->nb_spare > 0 && get_overflow(rx);
}

/*
 * Choose the socket that the next receive burst reads first: the one that had frames, so that a
 * single flow does not cost a system call for each other socket. Other sockets get their turn after
 * STREAK_MAX messages.
 */
static void
choose_next_socket(struct uroce_udp_queue *queue, bool had_frames)
{
	struct uroce_udp_rx *rx = &queue->rx;

	rx->streak = had_frames ? rx->streak + 1 : 0;
	if (had_frames && rx->streak < STREAK_MAX)
		return;
	rx->streak = 0;
	rx->next_socket = (rx->next_socket + 1) % queue->nb_sockets;
}

/*
 * Whether the sockets of a queue were empty when the thread that drives the queue woke. The thread
 * was woken for something else, such as a doorbell, and handles that before it reads the sockets.
 */
static bool
was_found_empty(struct uroce_udp_queue *queue)
{
	if (likely(!atomic_load_explicit(&queue->is_known_empty, memory_order_relaxed)))
		return false;
	atomic_store_explicit(&queue->is_known_empty, false, memory_order_relaxed);
	return true;
}

uint16_t
uroce_udp_port_rx(const struct uroce_port *port, uint16_t queue_idx, struct rte_mbuf **frames,
		  uint16_t max)
{
	struct uroce_udp_queue *queue = port->udp->queue[queue_idx];
	struct uroce_udp_rx *rx = &queue->rx;
	unsigned nb = 0;

	if (was_found_empty(queue))
		return 0;
	if (unlikely(queue->errors.are_waiting))
		uroce_udp_read_errors(port, queue);
	if (!refill_spare(port, queue_idx, rx)) {
		uroce_udp_count(&queue->stats.no_mbuf, 1);
		return 0;
	}
	if (rx->left_at < rx->left_end)
		return (uint16_t)take_left(port, queue, frames, max);
	for (unsigned i = 0; i < queue->nb_sockets && nb == 0; i++) {
		struct uroce_udp_socket *sock = &queue->socket[rx->next_socket];

		nb = receive_from(port, queue, sock, frames, max);
		choose_next_socket(queue, nb > 0);
	}
	return (uint16_t)nb;
}
