/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Transmit on the port `udp`. Consecutive frames of a burst with the same addresses, traffic class,
 * hop limit and length become one message, which the kernel cuts into datagrams (UDP_SEGMENT). Only
 * the last datagram of a message may be shorter. All messages of a burst leave in one sendmmsg().
 *
 * The kernel gives datagram i of a message the IPv4 identification i, and the ICRC of the datagram
 * is corrected for that. If the kernel does not accept the message, the corrections are undone,
 * because the frames stay pending and may be sent in other messages.
 */

#include <errno.h>
#include <string.h>
#include <netinet/udp.h>

#include "datapath/log.h"
#include "datapath/udp/udp_port.h"
#include "datapath/udp/udp_queue.h"
#include "wire/icrc.h"
#include "wire/parse.h"

/*
 * TTL and hop limit that the kernel uses without a control message, for destinations that are no
 * multicast groups.
 */
#define DEFAULT_TTL 64
#define AFTER_SPORT (8u - 2) /* number of bytes of a UDP header behind the source port */

/* The header fields of a frame, and pointers into its headers. */
struct view {
	bool is_ipv6;
	uint8_t hdr_len; /* length of the headers up to the UDP payload */
	uint8_t tclass;
	uint8_t ttl;
	const uint8_t *src; /* source address, directly followed by the destination address */
	uint8_t ip_len;     /* length of an IP address: 4 or 16 bytes */
	struct uroce_udp *udp;
	uint32_t len; /* length of the UDP payload */
};

/*
 * Parse the headers of a frame. A frame with IPv4 options is refused: a client of uroced may write
 * any frame, and uroced has checked the RoCE packet behind the options, but this function expects
 * the packet at a fixed offset.
 * @return whether the frame is IP and UDP, as all frames of a device on this port should be
 */
static bool
view_frame(const struct rte_mbuf *frame, struct view *view)
{
	uint8_t *const at = rte_pktmbuf_mtod(frame, uint8_t *);
	const struct uroce_eth *eth = (const struct uroce_eth *)at;
	const struct uroce_ipv4 *ipv4 = (const struct uroce_ipv4 *)(eth + 1);
	const struct uroce_ipv6 *ipv6 = (const struct uroce_ipv6 *)(eth + 1);

	*view = (struct view){ .is_ipv6 = be16_get(eth->type) == UROCE_ETHERTYPE_IPV6 };
	view->ip_len = view->is_ipv6 ? 16 : 4;
	view->hdr_len = view->is_ipv6 ? UROCE_UDP_HDR_MAX : UROCE_UDP_HDR_IPV4;
	if (frame->data_len <= view->hdr_len ||
	    (!view->is_ipv6 &&
	     (be16_get(eth->type) != UROCE_ETHERTYPE_IPV4 || ipv4->version_ihl != 0x45)))
		return false;
	view->tclass = view->is_ipv6 ? (uint8_t)(be32_get(ipv6->version_flow) >> 20) : ipv4->tos;
	view->ttl = view->is_ipv6 ? ipv6->hop_limit : ipv4->ttl;
	view->src = view->is_ipv6 ? ipv6->src : ipv4->src;
	view->udp = (struct uroce_udp *)(at + view->hdr_len - sizeof(struct uroce_udp));
	view->len = frame->pkt_len - view->hdr_len;
	return (view->is_ipv6 ? ipv6->next_header : ipv4->protocol) == UROCE_IPPROTO_UDP;
}

static bool
is_same_flow(const struct view *a, const struct view *b)
{
	return a->is_ipv6 == b->is_ipv6 && a->tclass == b->tclass && a->ttl == b->ttl &&
	       memcmp(a->src, b->src, 2u * a->ip_len) == 0;
}

/* Get the address of the ICRC of a frame, which is in the last bytes of the frame. */
static uint8_t *
find_frame_icrc(const struct rte_mbuf *frame)
{
	const struct rte_mbuf *last = frame;

	while (last->next)
		last = last->next;
	return rte_pktmbuf_mtod(last, uint8_t *) + last->data_len - UROCE_ICRC_LEN;
}

static void
correct_icrc(uint8_t *icrc_at, uint32_t term)
{
	uroce_icrc_store(icrc_at, uroce_icrc_load(icrc_at) ^ term);
}

/*
 * Set the source port of a frame to that of the socket, and correct the ICRC. Only a reply that was
 * built in the mbuf of a received frame has another source port.
 */
static void
set_sport(const struct rte_mbuf *frame, const struct view *view)
{
	const uint16_t change = be16_get(view->udp->sport) ^ UROCE_UDP_PORT;
	struct uroce_icrc_field field;

	if (likely(change == 0))
		return;
	uroce_icrc_field_init(&field, (uint16_t)(AFTER_SPORT + view->len - UROCE_ICRC_LEN));
	correct_icrc(find_frame_icrc(frame), uroce_icrc_field_term(&field, change));
	view->udp->sport = be16_make(UROCE_UDP_PORT);
}

/*
 * Change the ICRCs of the frames of a message for the IPv4 identifications that the kernel will
 * write. A second call with the same frames undoes the change.
 */
static void
toggle_idents(struct rte_mbuf **frames, unsigned nb)
{
	struct uroce_icrc_field field;
	struct view view;
	uint32_t len = 0;

	for (unsigned i = 1; i < nb && view_frame(frames[i], &view) && !view.is_ipv6; i++) {
		if (view.len != len)
			uroce_icrc_field_init(&field, (uint16_t)(UROCE_UDP_AFTER_IDENT + view.len -
								 UROCE_ICRC_LEN));
		len = view.len;
		correct_icrc(find_frame_icrc(frames[i]),
			     uroce_icrc_field_term(&field, (uint16_t)i));
	}
}

/* --- messages ---------------------------------------------------------------------------------- */

/* Append a control message (struct cmsghdr) to those of a message. */
static void
add_control(struct msghdr *msg, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *cmsg =
		(struct cmsghdr *)((uint8_t *)msg->msg_control + msg->msg_controllen);

	*cmsg = (struct cmsghdr){ .cmsg_len = CMSG_LEN(len),
				  .cmsg_level = level,
				  .cmsg_type = type };
	memcpy(CMSG_DATA(cmsg), data, len);
	msg->msg_controllen += CMSG_SPACE(len);
}

static void
add_source(struct msghdr *msg, const struct uroce_udp_socket *sock, const struct view *view)
{
	struct in_pktinfo v4 = { 0 };
	struct in6_pktinfo v6 = { .ipi6_ifindex = (unsigned)sock->if_index };

	if (view->is_ipv6) {
		memcpy(&v6.ipi6_addr, view->src, sizeof(v6.ipi6_addr));
		add_control(msg, IPPROTO_IPV6, IPV6_PKTINFO, &v6, sizeof(v6));
		return;
	}
	memcpy(&v4.ipi_spec_dst, view->src, sizeof(v4.ipi_spec_dst));
	add_control(msg, IPPROTO_IP, IP_PKTINFO, &v4, sizeof(v4));
}

static bool
is_to_group(const struct view *view)
{
	return view->is_ipv6 ? view->src[16] == 0xff : view->src[4] >> 4 == 0xe;
}

static void
add_controls(struct msghdr *msg, const struct uroce_udp_socket *sock, const struct view *view,
	     unsigned nb_frames)
{
	const int level = view->is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
	const int tclass = view->tclass, ttl = view->ttl;
	const uint16_t segment_len = (uint16_t)view->len;

	if (tclass != 0)
		add_control(msg, level, view->is_ipv6 ? IPV6_TCLASS : IP_TOS, &tclass,
			    sizeof(tclass));
	if (ttl != DEFAULT_TTL || is_to_group(view))
		add_control(msg, level, view->is_ipv6 ? IPV6_HOPLIMIT : IP_TTL, &ttl, sizeof(ttl));
	if (sock->is_any)
		add_source(msg, sock, view);
	if (nb_frames > 1)
		add_control(msg, IPPROTO_UDP, UDP_SEGMENT, &segment_len, sizeof(segment_len));
}

static void
set_destination(struct uroce_udp_tx *tx, unsigned at, const struct uroce_udp_socket *sock,
		const struct view *view)
{
	struct msghdr *msg = &tx->msg[at].msg_hdr;

	msg->msg_name = &tx->dest[at];
	if (view->is_ipv6) {
		tx->dest[at].v6 = (struct sockaddr_in6){
			.sin6_family = AF_INET6,
			.sin6_port = htons(UROCE_UDP_PORT),
			.sin6_scope_id = (uint32_t)sock->if_index,
		};
		memcpy(&tx->dest[at].v6.sin6_addr, view->src + 16, 16);
		msg->msg_namelen = sizeof(tx->dest[at].v6);
		return;
	}
	tx->dest[at].v4 =
		(struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(UROCE_UDP_PORT) };
	memcpy(&tx->dest[at].v4.sin_addr, view->src + 4, 4);
	msg->msg_namelen = sizeof(tx->dest[at].v4);
}

/*
 * Count the frames, from the first of `frames` on, that can leave in one message.
 * @param first  view of the first frame
 */
static unsigned
count_segments(const struct uroce_udp_tx *tx, struct rte_mbuf **frames, unsigned nb,
	       const struct view *first)
{
	uint32_t bytes = first->len;
	struct view view;
	unsigned n = 1;

	while (tx->has_segment && !tx->segment_error && n < nb && n < UROCE_UDP_SEGMENTS_MAX &&
	       view_frame(frames[n], &view) && is_same_flow(first, &view) &&
	       view.len <= first->len && bytes + view.len <= UROCE_UDP_MESSAGE_MAX) {
		set_sport(frames[n], &view);
		bytes += view.len;
		n++;
		if (view.len < first->len)
			break;
	}
	return n;
}

/*
 * Append the data of a frame's mbufs, without the headers of the frame, to the parts (struct iovec)
 * of a message.
 * @return number of parts
 */
static unsigned
add_parts(struct iovec *part, const struct rte_mbuf *frame, uint32_t hdr_len)
{
	unsigned nb = 0;

	for (; frame; frame = frame->next, hdr_len = 0)
		part[nb++] = (struct iovec){
			.iov_base = rte_pktmbuf_mtod_offset(frame, uint8_t *, hdr_len),
			.iov_len = frame->data_len - hdr_len,
		};
	return nb;
}

/* Find the socket for the transmission of a frame, by the frame's source address. */
static const struct uroce_udp_socket *
find_tx_socket(const struct uroce_udp_queue *queue, const struct view *view)
{
	for (unsigned i = 0; i < queue->nb_sockets; i++) {
		const struct uroce_udp_socket *sock = &queue->socket[i];
		const uint8_t *ip = sock->is_ipv6 ? sock->ip : sock->ip + 12;

		if (sock->is_ipv6 == view->is_ipv6 &&
		    (sock->is_any || memcmp(ip, view->src, view->ip_len) == 0))
			return sock;
	}
	return NULL;
}

/* Messages of a burst, which are all sent from one socket. */
struct batch {
	const struct uroce_udp_socket *sock;
	unsigned nb_messages;
	unsigned nb_frames;
	unsigned nb_parts;
};

/*
 * Append a message with the first of `frames` to a batch, whose messages are all sent from one
 * socket.
 * @return whether the frames belong to the batch; if not, they need another socket, or there is no
 *   room
 */
static bool
add_message(struct uroce_udp_queue *queue, struct rte_mbuf **frames, unsigned nb,
	    const struct view *view, struct batch *batch)
{
	const struct uroce_udp_socket *sock = find_tx_socket(queue, view);
	struct uroce_udp_tx *tx = &queue->tx;
	const unsigned at = batch->nb_messages;
	struct msghdr *msg = &tx->msg[at].msg_hdr;
	unsigned nb_segments, nb_parts = 0;

	if (sock != batch->sock && batch->sock)
		return false;
	batch->sock = sock;
	set_sport(frames[0], view);
	nb_segments = count_segments(tx, frames, nb, view);
	*msg = (struct msghdr){ .msg_control = tx->control[at],
				.msg_iov = &tx->part[batch->nb_parts] };
	for (unsigned i = 0; i < nb_segments; i++) {
		if (batch->nb_parts + nb_parts + frames[i]->nb_segs > UROCE_UDP_PARTS_MAX)
			return false;
		nb_parts += add_parts(&msg->msg_iov[nb_parts], frames[i], view->hdr_len);
	}
	msg->msg_iovlen = nb_parts;
	set_destination(tx, at, sock, view);
	add_controls(msg, sock, view, nb_segments);
	toggle_idents(frames, nb_segments);
	tx->nb_frames[at] = (uint8_t)nb_segments;
	batch->nb_messages++;
	batch->nb_frames += nb_segments;
	batch->nb_parts += nb_parts;
	return true;
}

static struct batch
make_batch(struct uroce_udp_queue *queue, struct rte_mbuf **frames, unsigned nb)
{
	struct batch batch = { .sock = NULL };
	struct view view;

	while (batch.nb_frames < nb && view_frame(frames[batch.nb_frames], &view) &&
	       find_tx_socket(queue, &view) &&
	       add_message(queue, frames + batch.nb_frames, nb - batch.nb_frames, &view, &batch))
		;
	return batch;
}

/* --- errors ------------------------------------------------------------------------------------ */

/* Undo the corrections of the ICRCs in messages that the kernel did not accept. */
static void
undo_messages(struct uroce_udp_tx *tx, unsigned first, unsigned nb, struct rte_mbuf **frames)
{
	for (unsigned i = first; i < nb; i++) {
		toggle_idents(frames, tx->nb_frames[i]);
		frames += tx->nb_frames[i];
	}
}

static bool
is_full(int error)
{
	return error == EAGAIN || error == ENOBUFS || error == ENOMEM || error == EINTR;
}

/*
 * Stop using UDP_SEGMENT. A message of several datagrams has failed, and a message of one datagram
 * was sent after it. So the kernel cannot cut messages.
 */
static void
give_up_segments(const struct uroce_port *port, struct uroce_udp_tx *tx)
{
	tx->has_segment = false;
	UROCE_LOG(WARNING, port,
		  "%s: the kernel cuts no datagrams from messages (UDP_SEGMENT: %s): each datagram "
		  "is a message now, which is slower",
		  port->name, strerror(tx->segment_error));
	tx->segment_error = 0;
}

/*
 * Whether an error may mean that the kernel refuses to cut a message into datagrams. No report of
 * ICMP becomes one of these errors, so that nobody in the network can cause them.
 */
static bool
is_of_segment(int error)
{
	return error == EINVAL || error == EIO;
}

/*
 * Handle the kernel's error for the first message of a batch.
 * @return number of frames that are lost; 0: the frames stay pending
 */
static unsigned
handle_tx_error(const struct uroce_port *port, struct uroce_udp_queue *queue, unsigned nb_frames,
		int error)
{
	struct uroce_udp_tx *tx = &queue->tx;

	tx->segment_error = nb_frames > 1 && is_of_segment(error) ? error : 0;
	if (tx->segment_error)
		return 0;
	uroce_udp_count(&queue->stats.tx_lost, nb_frames);
	if (!tx->has_logged_loss)
		UROCE_LOG(WARNING, port,
			  "%s: the kernel refuses a datagram (%s): it is dropped, and further ones "
			  "are counted only",
			  port->name, strerror(error));
	tx->has_logged_loss = true;
	return nb_frames;
}

/* --- the burst --------------------------------------------------------------------------------- */

/* Send messages. A single message is sent by sendmsg(), which is cheaper than sendmmsg(). */
static int
try_messages(int fd, struct mmsghdr *msg, unsigned nb)
{
	if (nb == 1)
		return sendmsg(fd, &msg->msg_hdr, MSG_DONTWAIT) < 0 ? -1 : 1;
	return sendmmsg(fd, msg, nb, MSG_DONTWAIT);
}

/*
 * Send messages. An error may be one that the network has reported about an earlier datagram. The
 * kernel reports such an error once, so the call is repeated once.
 */
static int
send_messages(struct uroce_udp_queue *queue, int fd, struct mmsghdr *msg, unsigned nb)
{
	const int ret = try_messages(fd, msg, nb);

	if (likely(ret == (int)nb) || (ret < 0 && is_full(errno)))
		return ret;
	/* sendmmsg() does not return the error of a message behind the first one */
	queue->errors.are_waiting = true;
	return ret >= 0 ? ret : try_messages(fd, msg, nb);
}

/*
 * Send the first frames of a burst, as far as they leave from one socket.
 * @param[out] is_stopped  whether the kernel accepts no more frames now
 * @return number of frames that were sent or lost
 */
static unsigned
send_batch(const struct uroce_port *port, struct uroce_udp_queue *queue, struct rte_mbuf **frames,
	   unsigned nb, bool *is_stopped)
{
	struct uroce_udp_tx *tx = &queue->tx;
	const struct batch batch = make_batch(queue, frames, nb);
	unsigned nb_sent = 0;
	int ret, error;

	/* The first frame is not IP and UDP, or no socket has its source address, so it is lost. */
	if (batch.nb_messages == 0)
		return handle_tx_error(port, queue, 1, EAFNOSUPPORT);
	ret = send_messages(queue, batch.sock->fd, tx->msg, batch.nb_messages);
	error = errno;
	for (int i = 0; i < ret; i++)
		nb_sent += tx->nb_frames[i];
	if (ret < (int)batch.nb_messages)
		undo_messages(tx, ret > 0 ? (unsigned)ret : 0, batch.nb_messages, frames + nb_sent);
	if (ret > 0 && tx->segment_error)
		give_up_segments(port, tx);
	if (ret > 0)
		uroce_udp_count(&queue->stats.tx_messages, (unsigned)ret);
	if (ret >= 0)
		return nb_sent;
	*is_stopped = is_full(error);
	if (!*is_stopped)
		return handle_tx_error(port, queue, tx->nb_frames[0], error);
	/*
	 * Clear `segment_error`. The pending frames may be dropped before the kernel accepts frames
	 * again, and the next message may then have nothing to do with the error.
	 */
	tx->segment_error = 0;
	return 0;
}

uint16_t
uroce_udp_port_tx(const struct uroce_port *port, uint16_t queue_idx, struct rte_mbuf **frames,
		  uint16_t nb, unsigned *nb_lost)
{
	struct uroce_udp_queue *queue = port->udp->queue[queue_idx];
	const uint64_t nb_lost_before =
		atomic_load_explicit(&queue->stats.tx_lost, memory_order_relaxed);
	bool is_stopped = false;
	unsigned at = 0;

	while (at < nb && !is_stopped)
		at += send_batch(port, queue, frames + at, RTE_MIN(nb - at, UROCE_BURST),
				 &is_stopped);
	rte_pktmbuf_free_bulk(frames, at);
	*nb_lost = (unsigned)(atomic_load_explicit(&queue->stats.tx_lost, memory_order_relaxed) -
			      nb_lost_before);
	return (uint16_t)at;
}
