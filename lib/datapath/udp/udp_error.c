/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Errors that the kernel reports about datagrams which the sockets have sent: ICMP messages of
 * hosts and routers. The kernel keeps these errors in the error queue of a socket (IP_RECVERR). An
 * error changes no QP, because anybody can send an ICMP message. Errors are counted, and the log
 * has one line for each destination and error.
 */

#include <errno.h>
#include <string.h>
#include <time.h>
#include <linux/errqueue.h>

#include "datapath/log.h"
#include "datapath/net/address_text.h"
#include "datapath/udp/udp_queue.h"

/* Maximum number of errors that are read from a socket at a time. */
#define ERRORS_MAX 16

/* An error that was reported about datagrams to one destination. */
struct report {
	uint8_t ip[16];
	int error;
	uint32_t mtu; /* for EMSGSIZE: the MTU of the path */
};

/* Copy the destination from the address of a message of the error queue to a report. */
static void
take_destination(const struct sockaddr_in6 *to, struct report *report)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)to;

	if (to->sin6_family == AF_INET6) {
		memcpy(report->ip, &to->sin6_addr, sizeof(report->ip));
		return;
	}
	report->ip[10] = report->ip[11] = 0xff;
	memcpy(report->ip + 12, &v4->sin_addr, sizeof(v4->sin_addr));
}

static bool
is_from_network(const struct sock_extended_err *err)
{
	return err->ee_origin == SO_EE_ORIGIN_ICMP || err->ee_origin == SO_EE_ORIGIN_ICMP6;
}

/*
 * Read a message of a socket's error queue.
 * @return 1: the network has reported an error; 0: the kernel itself has reported an error, which a
 *   transmit call has returned already; -1: there is no message
 */
static int
read_error(const struct uroce_udp_socket *sock, struct report *report)
{
	_Alignas(struct cmsghdr) uint8_t control[256];
	struct sockaddr_in6 to = { .sin6_family = AF_UNSPEC };
	struct msghdr msg = {
		.msg_name = &to,
		.msg_namelen = sizeof(to),
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct sock_extended_err err = { 0 };

	*report = (struct report){ .error = 0 };
	if (recvmsg(sock->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return -1;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		if ((cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_RECVERR) ||
		    (cmsg->cmsg_level == IPPROTO_IPV6 && cmsg->cmsg_type == IPV6_RECVERR))
			memcpy(&err, CMSG_DATA(cmsg), sizeof(err));
	}
	take_destination(&to, report);
	report->error = (int)err.ee_errno;
	report->mtu = err.ee_info;
	return is_from_network(&err);
}

/*
 * Whether the destination and the error of a report are among those that were logged last. If not,
 * they are added.
 */
static bool
is_known_report(struct uroce_udp_errors *errors, const struct report *report)
{
	struct uroce_udp_logged_error *to;

	for (unsigned i = 0; i < UROCE_UDP_LOGGED_ERRORS; i++) {
		to = &errors->logged[i];
		if (to->error == report->error && memcmp(to->ip, report->ip, sizeof(to->ip)) == 0)
			return true;
	}
	to = &errors->logged[errors->next_logged++ % UROCE_UDP_LOGGED_ERRORS];
	memcpy(to->ip, report->ip, sizeof(to->ip));
	to->error = report->error;
	return false;
}

static void
log_report(const struct uroce_port *port, const struct report *report)
{
	char text[INET6_ADDRSTRLEN];

	(void)uroce_address_text(report->ip, text);
	if (report->error == EMSGSIZE)
		UROCE_LOG_LIMITED(
			WARNING, port,
			"%s: a router on the path to %s has a link with MTU %u, and drops "
			"longer packets: allowed is a path MTU of at most %u",
			port->name, text, report->mtu,
			uroce_port_largest_mtu(report->mtu + UROCE_PORT_L2));
	else if (report->error == ECONNREFUSED)
		UROCE_LOG_LIMITED(WARNING, port,
				  "%s: %s answers that it has no UDP port 4791: allowed is a host "
				  "on which a program for RoCEv2 runs",
				  port->name, text);
	else
		UROCE_LOG_LIMITED(WARNING, port,
				  "%s: the network does not deliver packets to %s: %s", port->name,
				  text, strerror(report->error));
}

static void
read_errors_of(const struct uroce_port *port, struct uroce_udp_queue *queue,
	       const struct uroce_udp_socket *sock)
{
	struct report report;
	int ret;

	for (unsigned i = 0; i < ERRORS_MAX && (ret = read_error(sock, &report)) >= 0; i++) {
		if (ret == 0)
			continue;
		uroce_udp_count(&queue->stats.icmp_errors, 1);
		if (!is_known_report(&queue->errors, &report))
			log_report(port, &report);
	}
}

void
uroce_udp_read_errors(const struct uroce_port *port, struct uroce_udp_queue *queue)
{
	queue->errors.are_waiting = false;
	for (unsigned i = 0; i < queue->nb_sockets; i++)
		read_errors_of(port, queue, &queue->socket[i]);
}
