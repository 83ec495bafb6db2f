/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * check-capture [--cm] FILE.pcap...: compares lib/wire with captures. Every RoCEv2 frame must
 * parse, its ICRC must be valid, and a frame that is built again from its parsed fields must have
 * the same bytes. With --cm: compares lib/cm with the MADs of captures (capture_cm.h).
 *
 * For each file it prints `NAME: N frames, N ok`, and before that a description of the first
 * mismatch. Frames that are not RoCEv2, and bytes behind the IP length, are ignored. Exit status: 0
 * all ok, 1 a mismatch or an unreadable file, 2 no file given.
 */

#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_cm.h"
#include "wire/build.h"
#include "wire/parse.h"

/*
 * The longest frame: an Ethernet header with a VLAN tag, an IPv6 header, and 64 KiB of IPv6
 * payload.
 */
#define FRAME_MAX (18 + 40 + 65536)
#define WHAT_MAX  200

struct tally {
	const char *name; /* name of the capture file, as given in the command line */
	/* number of frames of any kind so far, which is Wireshark's number of the latest frame */
	uint64_t nb_frames;
	uint64_t nb_roce;
	uint64_t nb_ok;
};

/* The name of the part of the frame that contains the byte at `off`. */
static const char *
part_at(const struct uroce_pkt *pkt, size_t off)
{
	const uint8_t *at = pkt->frame + off;
	const uint8_t *bth = (const uint8_t *)pkt->bth;

	if (at < pkt->ip)
		return "Ethernet header";
	if (at < bth - sizeof(struct uroce_udp))
		return "IP header";
	if (at < bth)
		return "UDP header";
	if (at < pkt->ext)
		return "BTH";
	if (at < pkt->payload)
		return "extension headers";
	if (at < pkt->payload + pkt->payload_len)
		return "payload";
	return at < pkt->payload + pkt->payload_len + pkt->pad_len ? "pad" : "ICRC";
}

/*
 * Check whether the frame that lib/wire builds from the parsed fields has the same bytes.
 * @param[out] what if it has not: a description of the first byte that differs
 */
static bool
is_rebuilt(const struct uroce_pkt *pkt, char *what)
{
	static uint8_t again[FRAME_MAX];
	const size_t len = uroce_rebuild(pkt, again, sizeof(again));
	size_t off = 0;

	while (off < len && again[off] == pkt->frame[off])
		off++;
	if (off == len)
		return true;
	snprintf(what, WHAT_MAX, "%s: byte %zu, in the %s, is 0x%02x but rebuilt as 0x%02x",
		 pkt->op->name, off, part_at(pkt, off), pkt->frame[off], again[off]);
	return false;
}

/*
 * Check whether a captured frame is as lib/wire would send it.
 * @param[out] what if the frame is not: the reason
 */
static bool
is_ok(const struct pcap_pkthdr *hdr, enum uroce_verdict verdict, const struct uroce_pkt *pkt,
      char *what)
{
	if (hdr->caplen < hdr->len) {
		snprintf(what, WHAT_MAX, "only %u of its %u bytes were captured", hdr->caplen,
			 hdr->len);
		return false;
	}
	if (verdict > UROCE_VERDICT_DATAGRAM) {
		snprintf(what, WHAT_MAX, "does not parse: %s", uroce_verdict_text(verdict));
		return false;
	}
	if (!uroce_pkt_check_icrc(pkt)) {
		snprintf(what, WHAT_MAX, "%s: %s", pkt->op->name,
			 uroce_verdict_text(UROCE_VERDICT_BAD_ICRC));
		return false;
	}
	return is_rebuilt(pkt, what);
}

static void
check_frame(struct tally *tally, const uint8_t *frame, const struct pcap_pkthdr *hdr)
{
	struct uroce_pkt pkt;
	enum uroce_verdict verdict = uroce_parse(frame, hdr->caplen, &pkt);
	const bool is_first = tally->nb_ok == tally->nb_roce;
	char what[WHAT_MAX];

	tally->nb_frames++;
	if (verdict == UROCE_VERDICT_NOT_ROCE)
		return;
	tally->nb_roce++;
	if (is_ok(hdr, verdict, &pkt, what))
		tally->nb_ok++;
	else if (is_first)
		printf("%s: frame %" PRIu64 ": %s\n", tally->name, tally->nb_frames, what);
}

/* Open a capture of Ethernet frames, or print why that fails. */
static pcap_t *
open_capture(const char *name)
{
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *capture = pcap_open_offline(name, err);
	int link;

	if (capture == NULL) {
		fprintf(stderr, "check-capture: %s%s%s\n", strstr(err, name) ? "" : name,
			strstr(err, name) ? "" : ": ", err);
		return NULL;
	}
	link = pcap_datalink(capture);
	if (link == DLT_EN10MB)
		return capture;
	fprintf(stderr, "check-capture: %s: link type %s, but only Ethernet can be checked\n", name,
		pcap_datalink_val_to_name(link) ? pcap_datalink_val_to_name(link) : "unknown");
	pcap_close(capture);
	return NULL;
}

/*
 * Check each frame of a capture, print the first mismatch, and print a line with the numbers of
 * frames.
 */
static bool
check_frames(struct tally *tally, pcap_t *capture)
{
	struct pcap_pkthdr *hdr;
	const u_char *frame;
	int rc;

	while ((rc = pcap_next_ex(capture, &hdr, &frame)) == 1)
		check_frame(tally, frame, hdr);
	printf("%s: %" PRIu64 " frames, %" PRIu64 " ok\n", tally->name, tally->nb_roce,
	       tally->nb_ok);
	return rc != PCAP_ERROR && tally->nb_ok == tally->nb_roce;
}

static bool
check_cm_messages(struct tally *tally, pcap_t *capture)
{
	struct cm_tally cm = { .name = tally->name };
	struct pcap_pkthdr *hdr;
	const u_char *frame;
	int rc;

	while ((rc = pcap_next_ex(capture, &hdr, &frame)) == 1)
		cm_check_frame(&cm, ++tally->nb_frames, frame, hdr->caplen, hdr->len);
	printf("%s: %" PRIu64 " CM messages, %" PRIu64 " ok, %" PRIu64 " other MADs\n", cm.name,
	       cm.nb_messages, cm.nb_ok, cm.nb_others);
	return rc != PCAP_ERROR && cm.nb_ok == cm.nb_messages;
}

static bool
check_file(const char *name, bool is_cm)
{
	struct tally tally = { .name = name };
	pcap_t *capture = open_capture(name);
	const char *error;
	bool is_ok;

	if (capture == NULL)
		return false;
	is_ok = is_cm ? check_cm_messages(&tally, capture) : check_frames(&tally, capture);
	fflush(stdout);
	error = pcap_geterr(capture);
	if (*error != '\0')
		fprintf(stderr, "check-capture: %s: after frame %" PRIu64 ": %s\n", name,
			tally.nb_frames, error);
	pcap_close(capture);
	return is_ok;
}

int
main(int argc, char **argv)
{
	const bool is_cm = argc > 1 && strcmp(argv[1], "--cm") == 0;
	const int first = is_cm ? 2 : 1;
	int status = EXIT_SUCCESS;

	if (argc <= first) {
		fprintf(stderr,
			"check-capture: no file named: check-capture [--cm] FILE.pcap...\n");
		return 2;
	}
	for (int i = first; i < argc; i++) {
		if (!check_file(argv[i], is_cm))
			status = EXIT_FAILURE;
	}
	return status;
}
