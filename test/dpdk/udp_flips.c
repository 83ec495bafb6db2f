/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port `udp`: the test sends the datagram of a WRITE many times, each time with a different bit
 * flipped. No frame may be accepted if the ICRC covers the flipped bit. The kernel computes no UDP
 * checksum on the loopback interface, so the ICRC is the only check. The test gets the datagram by
 * a wrapper of sendmsg().
 */

#include "udp_pair.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "datapath/worker/round.h"
#include "wire/build.h"

#define PAYLOAD_LEN 960u /* the frame with all headers is about 1 KiB long */
/* offset of the byte of the BTH that the ICRC does not cover: FECN, BECN, reserved bits */
#define MASKED_BYTE 4u

static bool is_taking; /* whether sendmsg() stores the next datagram, and sends no datagram */
static uint8_t datagram[2048];
static size_t datagram_len;

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);

ssize_t
__wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	const bool is_taken = datagram_len > 0;
	size_t len = 0;

	if (!is_taking)
		return __real_sendmsg(fd, msg, flags);
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		const struct iovec *part = &msg->msg_iov[i];

		if (!is_taken)
			memcpy(datagram + len, part->iov_base, part->iov_len);
		len += part->iov_len;
	}
	datagram_len = is_taken ? datagram_len : len;
	return (ssize_t)len;
}

/* Post a WRITE, and store its datagram, which is not sent. */
static void
take_datagram(void)
{
	const time_t end = time(NULL) + 60;

	is_taking = true;
	rig_post_send(udp_from, IBV_WR_RDMA_WRITE, 1, 0, PAYLOAD_LEN, udp_to, 0);
	while (datagram_len == 0 && time(NULL) < end)
		rig_drive(dev_a);
	assert_in_range(datagram_len, PAYLOAD_LEN, sizeof(datagram));
}

static uint64_t
count_verdicts(unsigned first, unsigned end)
{
	uint64_t nb = 0;

	for (unsigned i = first; i < end; i++)
		nb += dev_b->worker[0]->stats.verdict[i];
	return nb;
}

static uint64_t
count_frames(void)
{
	return count_verdicts(0, UROCE_VERDICT_NB);
}

/* Get the number of frames that have passed the parser and the check of the ICRC. */
static uint64_t
count_accepted(void)
{
	return count_verdicts(0, UROCE_VERDICT_NOT_ROCE) +
	       count_verdicts(UROCE_VERDICT_BAD_ICRC + 1, UROCE_VERDICT_NB);
}

/* Send the stored datagram from the socket of dev_a to dev_b, and let dev_b receive it. */
static void
send_datagram(void)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(UROCE_UDP_PORT) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(UROCE_UDP_PORT) };
	const bool is_v4 = inet_pton(AF_INET, udp_addr_b, &v4.sin_addr) == 1;
	const struct sockaddr *to = is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	const uint64_t nb = count_frames();
	const time_t end = time(NULL) + 60;

	if (!is_v4)
		assert_int_equal(inet_pton(AF_INET6, udp_addr_b, &v6.sin6_addr), 1);
	assert_int_equal(sendto(udp_queue_of(dev_a)->socket[0].fd, datagram, datagram_len, 0, to,
				is_v4 ? sizeof(v4) : sizeof(v6)),
			 (ssize_t)datagram_len);
	while (count_frames() == nb && time(NULL) < end)
		rig_drive(dev_b);
	assert_int_equal(count_frames(), nb + 1);
}

/* For each bit of the stored datagram, send the datagram with this bit flipped. */
static void
flip_each_bit(const char *family)
{
	const uint64_t bad_icrcs = udp_bad_icrcs(dev_b);
	unsigned nb_accepted = 0, nb_masked = 0;

	for (unsigned bit = 0; bit < datagram_len * 8; bit++) {
		const uint8_t flip = (uint8_t)(0x80 >> bit % 8);
		const uint64_t before = count_accepted();

		datagram[bit / 8] ^= flip;
		send_datagram();
		datagram[bit / 8] ^= flip;
		if (count_accepted() == before)
			continue;
		if (bit / 8 == MASKED_BYTE)
			nb_masked++;
		else
			nb_accepted++;
	}
	print_message("# %s: %zu flips: %u accepted in the byte that the ICRC does not cover, %u "
		      "elsewhere; %u dropped by the ICRC, the rest by the parser\n",
		      family, datagram_len * 8, nb_masked, nb_accepted,
		      (unsigned)(udp_bad_icrcs(dev_b) - bad_icrcs));
	assert_int_equal(nb_accepted, 0);
	assert_int_equal(nb_masked, 8);
}

/*
 * Send the datagram without a flipped bit. The frame must be accepted, which proves that the other
 * frames were dropped because of the flipped bits.
 */
static void
send_unchanged(void)
{
	const uint64_t before = count_accepted();

	send_datagram();
	assert_int_equal(count_accepted(), before + 1);
	rig_check(udp_to, 0, udp_from, 0, PAYLOAD_LEN);
}

static void
udp_port__flipped_bits_over_ipv4(void **state)
{
	(void)state;
	take_datagram();
	flip_each_bit("IPv4");
	send_unchanged();
}

static void
udp_port__flipped_bits_over_ipv6(void **state)
{
	(void)state;
	if (!udp_has_namespace) {
		print_message("# no network namespace, so there are not two addresses of IPv6\n");
		skip();
	}
	snprintf(udp_addr_a, sizeof(udp_addr_a), "2001:db8::1");
	snprintf(udp_addr_b, sizeof(udp_addr_b), "2001:db8::2");
	udp_open_pair("", IBV_QPT_RC);
	take_datagram();
	flip_each_bit("IPv6");
	send_unchanged();
}

static int
end(void **state)
{
	is_taking = false;
	datagram_len = 0;
	return udp_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(udp_port__flipped_bits_over_ipv4, udp_setup_ipv4,
						end),
		cmocka_unit_test_teardown(udp_port__flipped_bits_over_ipv6, end),
	};

	udp_has_namespace = udp_make_namespace();
	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
