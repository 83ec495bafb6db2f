/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks address vectors, and composes a sentence that explains why a path could not be resolved.
 * The GID table is read again for this sentence. If an address has changed since the failure, the
 * sentence describes the changed table.
 */

#include "datapath/net/path_fault.h"

#include <errno.h>
#include <string.h>

#include "datapath/net/address_text.h"
#include "datapath/net/gid.h"
#include "datapath/port/port.h"
#include "transport/mcast.h"
#include "wire/build.h"

static bool
is_zero(const uint8_t ip[16])
{
	static const uint8_t zero[16];

	return memcmp(ip, zero, sizeof(zero)) == 0;
}

static bool
is_of_host(const uint8_t ip[16])
{
	return uroce_ip_is_v4(ip) ? ip[12] != 0 && ip[12] < 224 : !is_zero(ip);
}

enum uroce_av_fault
uroce_av_check(const struct uroce_gid_table *gids, const struct ibv_ah_attr *av)
{
	const uint8_t *const dip = av->grh.dgid.raw;
	const unsigned idx = av->grh.sgid_index;

	if (!av->is_global)
		return UROCE_AV_NO_GRH;
	if (av->port_num != 1)
		return UROCE_AV_PORT;
	if (uroce_gid_is_empty(gids, idx))
		return UROCE_AV_GID_EMPTY;
	if (uroce_ip_is_v4(dip) != uroce_ip_is_v4(gids->addr[idx].ip))
		return UROCE_AV_FAMILY;
	return uroce_gid_is_multicast(dip) || is_of_host(dip) ? UROCE_AV_GOOD : UROCE_AV_NO_HOST;
}

/* --- sentences --------------------------------------------------------------------------------- */

/* Which addresses of the GID table append_gids() lists. */
enum choice {
	ANY,
	IPV4,
	IPV6,
};

/* Append the indices of the used entries of a GID table, with their addresses, to a sentence. */
static void
append_gids(struct uroce_sentence *sentence, const struct uroce_gid_table *gids, enum choice choice)
{
	char text[INET6_ADDRSTRLEN];
	const char *comma = "";

	for (unsigned i = 0; i < gids->nb; i++) {
		const uint8_t *const ip = gids->addr[i].ip;

		if (uroce_gid_is_empty(gids, i) ||
		    (choice != ANY && uroce_ip_is_v4(ip) != (choice == IPV4)))
			continue;
		uroce_sentence_add(sentence, "%s%u (%s)", comma, i, uroce_address_text(ip, text));
		comma = ", ";
	}
	if (comma[0] == '\0')
		uroce_sentence_add(sentence, "none");
}

static void
describe_vector(struct uroce_sentence *sentence, struct uroce_dev *dev,
		const struct uroce_gid_table *gids, const struct ibv_ah_attr *av)
{
	const bool is_v4 = uroce_ip_is_v4(av->grh.dgid.raw);
	char text[INET6_ADDRSTRLEN];

	switch (uroce_av_check(gids, av)) {
	case UROCE_AV_NO_GRH:
		uroce_sentence_add(sentence,
				   "the address vector has no GRH, which RoCE needs: allowed is "
				   "is_global 1, with grh.dgid and a grh.sgid_index of ");
		append_gids(sentence, gids, ANY);
		break;
	case UROCE_AV_PORT:
		uroce_sentence_add(sentence, "port_num %u: allowed is 1", av->port_num);
		break;
	case UROCE_AV_GID_EMPTY:
		uroce_sentence_add(sentence, "GID index %u of %s is empty: allowed are ",
				   av->grh.sgid_index, dev->conf.port);
		append_gids(sentence, gids, ANY);
		break;
	case UROCE_AV_FAMILY:
		uroce_sentence_add(
			sentence,
			"GID index %u is an address of IPv%d and the destination %s is not: "
			"allowed are ",
			av->grh.sgid_index, is_v4 ? 6 : 4,
			uroce_address_text(av->grh.dgid.raw, text));
		append_gids(sentence, gids, is_v4 ? IPV4 : IPV6);
		break;
	case UROCE_AV_NO_HOST:
		uroce_sentence_add(
			sentence,
			"the destination GID %s is no address of a host: allowed is a GID "
			"of the peer, which the peer's program must send",
			uroce_address_text(av->grh.dgid.raw, text));
		break;
	case UROCE_AV_GOOD:
		uroce_sentence_add(sentence, "the destination is not allowed here");
		break;
	}
}

/* Append the IP networks of the device, for one IP version, to a sentence. */
static void
append_networks(struct uroce_sentence *sentence, const struct uroce_gid_table *gids, bool is_v4)
{
	char text[INET6_ADDRSTRLEN];
	const char *comma = "";

	for (unsigned i = 0; i < gids->nb; i++) {
		const struct uroce_addr *const addr = &gids->addr[i];

		if (uroce_gid_is_empty(gids, i) || uroce_ip_is_v4(addr->ip) != is_v4)
			continue;
		uroce_sentence_add(sentence, "%s%s/%u", comma, uroce_address_text(addr->ip, text),
				   is_v4 ? addr->prefix_len - 96u : addr->prefix_len);
		comma = ", ";
	}
}

void
uroce_path_fault_describe(struct uroce_dev *dev, const struct ibv_ah_attr *av, int err,
			  struct uroce_sentence *sentence)
{
	const bool is_v4 = uroce_ip_is_v4(av->grh.dgid.raw);
	struct uroce_gid_table gids;
	char dest[INET6_ADDRSTRLEN];

	uroce_gid_copy(dev, &gids);
	(void)uroce_address_text(av->grh.dgid.raw, dest);
	if (err == -EINVAL) {
		describe_vector(sentence, dev, &gids, av);
	} else if (err == -ETIMEDOUT) {
		uroce_sentence_add(
			sentence,
			"no reply to %s on the way to %s within 3 s: is that host up, has it "
			"this address, do both ports have a link, and are they in one VLAN?",
			is_v4 ? "ARP" : "neighbour discovery", dest);
	} else if (err == -ENETUNREACH && !dev->port->policy->is_udp &&
		   !(gids.kernels >> av->grh.sgid_index & 1)) {
		uroce_sentence_add(sentence, "%s is in no network of %s (", dest, dev->conf.port);
		append_networks(sentence, &gids, is_v4);
		uroce_sentence_add(sentence,
				   ") and there is no gateway: allowed is an address in these "
				   "networks, or the key gw=ADDRESS");
	} else {
		uroce_sentence_add(sentence, "no path to %s: %s (ip route get %s)", dest,
				   strerror(-err), dest);
	}
}
