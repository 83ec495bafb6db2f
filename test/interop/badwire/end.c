/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An end of the wire. Before a socket receives a frame, the kernel removes its VLAN tag and passes
 * the tag in ancillary data. So each frame is received behind room for a tag, and the tag is
 * inserted again.
 */

#include "end.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/hdr.h"

#define TAG_LEN sizeof(struct uroce_vlan)
/* size of a receive buffer; longer frames are counted in `nb_overflow` */
#define FRAME_MAX (64 * 1024)
#define SLOT_LEN  (TAG_LEN + FRAME_MAX)
/* size of the socket's receive and send buffers; the kernel allows twice as many bytes */
#define SOCKET_BYTES (64 * 1024 * 1024)

/* Ancillary data of a received frame: it has the VLAN tag. */
union beside {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
};

static bool
set(int fd, int option, const void *value, socklen_t len)
{
	return setsockopt(fd, SOL_PACKET, option, value, len) == 0;
}

/* Make the buffers of a socket as large as possible, so that few frames are lost. */
static void
set_room(int fd)
{
	const int bytes = SOCKET_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static bool
attach(int fd, unsigned index)
{
	const int one = 1;
	const struct sockaddr_ll at = { .sll_family = AF_PACKET,
					.sll_protocol = htons(ETH_P_ALL),
					.sll_ifindex = (int)index };
	const struct packet_mreq all = { .mr_ifindex = (int)index, .mr_type = PACKET_MR_PROMISC };

	set_room(fd);
	return set(fd, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) &&
	       set(fd, PACKET_AUXDATA, &one, sizeof(one)) &&
	       set(fd, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) &&
	       bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
}

/*
 * The number of frames that the interface has dropped instead of sending them, since its creation.
 */
static uint32_t
tx_dropped(const struct end *end)
{
	struct ifaddrs *list;
	uint32_t nb = end->tx_dropped;

	if (getifaddrs(&list) < 0)
		return nb;
	for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
		const struct rtnl_link_stats *stats = at->ifa_data;

		if (at->ifa_addr && at->ifa_addr->sa_family == AF_PACKET && stats &&
		    strcmp(at->ifa_name, end->name) == 0)
			nb = stats->tx_dropped;
	}
	freeifaddrs(list);
	return nb;
}

bool
end_open(struct end *end, const char *name, struct reason *why)
{
	const unsigned index = if_nametoindex(name);

	*end = (struct end){ .name = name, .index = index, .fd = -1 };
	if (index == 0)
		return refuse(why, "%s: no such interface: allowed are those that ip link lists",
			      name);
	/* with protocol 0 the socket receives nothing until it is bound to an interface */
	end->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (end->fd < 0)
		return refuse(why, "%s: a raw socket: %s: allowed is who has CAP_NET_RAW, as root",
			      name, strerror(errno));
	if (!attach(end->fd, index)) {
		(void)refuse(why,
			     "%s: a raw socket: %s: allowed is an Ethernet interface, on "
			     "Linux 4.20 or later",
			     name, strerror(errno));
		end_close(end);
		return false;
	}
	end->room = malloc(END_BURST * SLOT_LEN);
	end->tx_dropped = tx_dropped(end);
	if (end->room)
		return true;
	end_close(end);
	return refuse(why, "%s: no memory for frames", name);
}

void
end_close(struct end *end)
{
	if (end->fd >= 0)
		(void)close(end->fd);
	free(end->room);
	end->fd = -1;
	end->room = NULL;
}

bool
end_is_there(const struct end *end)
{
	return if_nametoindex(end->name) == end->index;
}

/* --- receiving from the interface -------------------------------------------------------------- */

static void
restore_tag(struct frame *frame, const struct tpacket_auxdata *aux)
{
	const uint16_t type = aux->tp_status & TP_STATUS_VLAN_TPID_VALID ? aux->tp_vlan_tpid
									 : UROCE_ETHERTYPE_VLAN;
	const size_t addresses = offsetof(struct uroce_eth, type);
	struct uroce_eth *eth;
	be16 *tci;

	frame->bytes -= TAG_LEN;
	frame->len += TAG_LEN;
	memmove(frame->bytes, frame->bytes + TAG_LEN, addresses);
	eth = (struct uroce_eth *)frame->bytes;
	tci = (be16 *)(eth + 1);
	eth->type = be16_make(type);
	*tci = be16_make(aux->tp_vlan_tci);
}

static void
take(struct frame *frame, uint8_t *slot, struct mmsghdr *message)
{
	frame->bytes = slot + TAG_LEN;
	frame->len = message->msg_len;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message->msg_hdr); cmsg;
	     cmsg = CMSG_NXTHDR(&message->msg_hdr, cmsg)) {
		struct tpacket_auxdata aux;

		if (cmsg->cmsg_level != SOL_PACKET || cmsg->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(cmsg), sizeof(aux));
		if (aux.tp_status & TP_STATUS_VLAN_VALID)
			restore_tag(frame, &aux);
	}
}

unsigned
end_receive(struct end *end)
{
	struct mmsghdr messages[END_BURST];
	union beside beside[END_BURST];
	struct iovec slots[END_BURST];
	unsigned nb = 0;
	int nb_received;

	for (unsigned i = 0; i < END_BURST; i++) {
		slots[i] = (struct iovec){ .iov_base = end->room + i * SLOT_LEN + TAG_LEN,
					   .iov_len = FRAME_MAX };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &slots[i],
						       .msg_iovlen = 1,
						       .msg_control = &beside[i],
						       .msg_controllen = sizeof(beside[i]) };
	}
	/* recvmmsg() fails if the link is down, and then there are no frames */
	nb_received = recvmmsg(end->fd, messages, END_BURST, 0, NULL);
	for (int i = 0; i < nb_received; i++) {
		if (messages[i].msg_hdr.msg_flags & MSG_TRUNC)
			end->nb_overflow++;
		else
			take(&end->burst[nb++], end->room + (size_t)i * SLOT_LEN, &messages[i]);
	}
	return nb;
}

/* --- sending to the interface ------------------------------------------------------------------ */

void
end_put(struct end *end, uint8_t *bytes, uint32_t len)
{
	if (end->nb_out == END_BURST)
		end_flush(end);
	end->out[end->nb_out++] = (struct iovec){ .iov_base = bytes, .iov_len = len };
}

void
end_flush(struct end *end)
{
	struct mmsghdr messages[END_BURST];
	unsigned at = 0;

	for (unsigned i = 0; i < end->nb_out; i++)
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &end->out[i], .msg_iovlen = 1 };
	while (at < end->nb_out) {
		const int nb = sendmmsg(end->fd, messages + at, end->nb_out - at, 0);

		if (nb > 0) {
			at += (unsigned)nb;
			end->nb_sent += (unsigned)nb;
		} else if (nb == 0 || errno != EINTR) {
			/* skip the frame that was refused; the frames behind it may be accepted */
			at++;
			end->nb_unsent++;
		}
	}
	end->nb_out = 0;
}

/* --- counting lost frames ---------------------------------------------------------------------- */

void
end_count_losses(struct end *end)
{
	const uint32_t dropped = tx_dropped(end);
	struct tpacket_stats stats; /* the kernel's counts since the previous getsockopt() */
	socklen_t len = sizeof(stats);

	end->nb_dropped += dropped - end->tx_dropped;
	end->tx_dropped = dropped;
	if (getsockopt(end->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len) == 0)
		end->nb_overflow += stats.tp_drops;
}
