/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The neighbours of a device: the neighbour cache, and the rules for writing to this cache. The
 * functions of neigh_frame.h handle the frames.
 */

#include "datapath/net/neigh.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <rte_random.h>

#include "datapath/net/gid_table.h"
#include "datapath/net/igmp_mld.h"
#include "datapath/log.h"
#include "datapath/net/neigh_cache.h"
#include "datapath/net/neigh_frame.h"
#include "base/lock.h"
#include "wire/build.h"

/*
 * Time in ns within which the report of a new multicast group is repeated once, because the first
 * report may be lost [RFC 2236 8.10].
 */
#define REPEAT_NS UINT64_C(10000000000)

struct uroce_neigh {
	struct uroce_neigh_conf confs[2];
	/* The current addresses and MAC of the device: an element of `confs`. */
	_Atomic(const struct uroce_neigh_conf *) conf;
	/*
	 * Time in ns at which the multicast groups must be reported; UINT64_MAX: no report is due.
	 */
	_Atomic uint64_t report_ns;
	struct uroce_lock lock; /* lock of the neighbour cache `cache` */
	struct uroce_neigh_cache cache;
};

struct uroce_neigh *
uroce_neigh_create(const struct uroce_neigh_conf *conf)
{
	struct uroce_neigh *neigh = calloc(1, sizeof(*neigh));

	if (!neigh) {
		UROCE_LOG(ERR, mem, "no memory for the neighbour cache");
		return NULL;
	}
	neigh->confs[0] = *conf;
	atomic_init(&neigh->conf, &neigh->confs[0]);
	atomic_init(&neigh->report_ns, UINT64_MAX);
	/* If getrandom() fails, the seed of the cache is an address of this process. */
	if (getrandom(&neigh->cache.seed, sizeof(neigh->cache.seed), 0) < 0)
		neigh->cache.seed = (uintptr_t)neigh;
	return neigh;
}

void
uroce_neigh_destroy(struct uroce_neigh *neigh)
{
	free(neigh);
}

static const struct uroce_neigh_conf *
get_neigh_conf(const struct uroce_neigh *neigh)
{
	return atomic_load_explicit(&neigh->conf, memory_order_acquire);
}

void
uroce_neigh_set_addrs(struct uroce_neigh *neigh, const struct uroce_gid_table *gids)
{
	const struct uroce_neigh_conf *const now = get_neigh_conf(neigh);
	struct uroce_neigh_conf *const next = &neigh->confs[now == &neigh->confs[0]];

	*next = *now;
	next->nb_addr = 0;
	for (unsigned i = 0; i < gids->nb; i++) {
		if (!(gids->kernels >> i & 1) && !uroce_gid_is_empty(gids, i))
			next->addr[next->nb_addr++] = gids->addr[i];
	}
	atomic_store_explicit(&neigh->conf, next, memory_order_release);
}

/*
 * Read the Ethernet header of a frame, which may have a VLAN tag.
 * @return whether the frame belongs to the VLAN of this device
 */
static bool
read_l2(const struct uroce_neigh_conf *conf, uint8_t *frame, uint32_t len, struct uroce_l2 *l2)
{
	const struct uroce_eth *eth = (const struct uroce_eth *)frame;
	uint32_t hdr_len = sizeof(*eth);
	uint16_t vid = 0;

	if (len < sizeof(*eth) + sizeof(struct uroce_vlan))
		return false;
	l2->type = be16_get(eth->type);
	if (l2->type == UROCE_ETHERTYPE_VLAN) {
		const struct uroce_vlan *vlan = (const struct uroce_vlan *)(eth + 1);

		vid = be16_get(vlan->tci) & 0xfff;
		l2->type = be16_get(vlan->type);
		hdr_len += sizeof(*vlan);
	}
	l2->frame = frame;
	l2->l3 = frame + hdr_len;
	l2->l3_len = len - hdr_len;
	return vid == (conf->has_vlan ? conf->vlan_tci & 0xfff : 0);
}

static bool
reply_neighbour(const struct uroce_neigh_conf *conf, const struct uroce_l2 *l2,
		struct uroce_neigh_claim *claim, uint32_t *len)
{
	if (l2->type == UROCE_ETHERTYPE_ARP)
		return uroce_arp_reply(conf, l2, claim);
	if (l2->type == UROCE_ETHERTYPE_IPV4)
		return uroce_icmp_reply(conf, l2, len);
	if (l2->type == UROCE_ETHERTYPE_IPV6)
		return uroce_icmpv6_reply(conf, l2, claim, len);
	return false;
}

/*
 * Store the MAC that a frame claims for its sender in the neighbour cache. A reply is accepted only
 * if the cache has an entry of the sender's address. A request is accepted only if such an entry
 * exists or can be created.
 * @return whether the claim was accepted
 */
static bool
learn_claim(struct uroce_neigh *neigh, const struct uroce_neigh_claim *claim, uint64_t now_ns)
{
	struct uroce_neigh_entry *entry;

	uroce_lock_take(&neigh->lock);
	entry = claim->is_answer ? uroce_neigh_cache_find(&neigh->cache, claim->ip)
				 : uroce_neigh_cache_add(&neigh->cache, claim->ip, false, now_ns);
	if (entry) {
		memcpy(entry->mac, claim->mac, sizeof(entry->mac));
		entry->is_known = true;
		entry->seen_ns = now_ns;
	}
	uroce_lock_release(&neigh->lock);
	return entry != NULL;
}

/*
 * Schedule a report of all multicast groups at a random time within `ns`, so that not all hosts
 * report at once. If a report is already scheduled for an earlier time, nothing changes.
 */
static void
schedule_report(struct uroce_neigh *neigh, uint64_t now_ns, uint64_t ns)
{
	const uint64_t at_ns = now_ns + (ns > 0 ? rte_rand_max(ns) : 0);
	uint64_t due_ns = atomic_load(&neigh->report_ns);

	while (at_ns < due_ns && !atomic_compare_exchange_weak(&neigh->report_ns, &due_ns, at_ns))
		;
}

uint32_t
uroce_neigh_report(struct uroce_neigh *neigh, const uint8_t group[16],
		   enum uroce_neigh_report report, uint64_t now_ns, uint8_t *frame)
{
	if (!uroce_igmp_mld_is_reported(group))
		return 0;
	if (report == UROCE_NEIGH_JOINED)
		schedule_report(neigh, now_ns, REPEAT_NS);
	return uroce_igmp_mld_put_report(get_neigh_conf(neigh), group, report == UROCE_NEIGH_LEFT,
					 frame);
}

bool
uroce_neigh_is_report_due(struct uroce_neigh *neigh, uint64_t now_ns)
{
	uint64_t due_ns = atomic_load_explicit(&neigh->report_ns, memory_order_relaxed);

	return now_ns >= due_ns &&
	       atomic_compare_exchange_strong(&neigh->report_ns, &due_ns, UINT64_MAX);
}

enum uroce_neigh_verdict
uroce_neigh_input(struct uroce_neigh *neigh, uint8_t *frame, uint32_t *len, uint32_t room,
		  uint64_t now_ns)
{
	struct uroce_neigh_claim claim = { .is_valid = false };
	struct uroce_l2 l2;
	bool is_reply, is_learnt;
	uint64_t resp_ns;

	if (!read_l2(get_neigh_conf(neigh), frame, *len, &l2))
		return UROCE_NEIGH_IGNORED;
	if (uroce_igmp_mld_read_query(&l2, &resp_ns)) {
		schedule_report(neigh, now_ns, resp_ns);
		return UROCE_NEIGH_LEARNT;
	}
	l2.room = room - (uint32_t)(l2.l3 - frame);
	is_reply = reply_neighbour(get_neigh_conf(neigh), &l2, &claim, len);
	is_learnt = claim.is_valid && learn_claim(neigh, &claim, now_ns);
	if (is_reply)
		return UROCE_NEIGH_REPLY;
	return is_learnt ? UROCE_NEIGH_LEARNT : UROCE_NEIGH_IGNORED;
}

bool
uroce_neigh_find(struct uroce_neigh *neigh, const uint8_t ip[16], uint64_t now_ns, uint8_t mac[6])
{
	const struct uroce_neigh_entry *entry;
	bool is_fresh;

	uroce_lock_take(&neigh->lock);
	entry = uroce_neigh_cache_find(&neigh->cache, ip);
	is_fresh = entry && entry->is_known && now_ns - entry->seen_ns < UROCE_NEIGH_FRESH_NS;
	if (is_fresh)
		memcpy(mac, entry->mac, sizeof(entry->mac));
	uroce_lock_release(&neigh->lock);
	return is_fresh;
}

uint32_t
uroce_neigh_request(struct uroce_neigh *neigh, const uint8_t sip[16], const uint8_t ip[16],
		    uint64_t now_ns, uint8_t *frame)
{
	uroce_lock_take(&neigh->lock);
	(void)uroce_neigh_cache_add(&neigh->cache, ip, true, now_ns);
	uroce_lock_release(&neigh->lock);
	return uroce_ip_is_v4(ip) ? uroce_arp_request(get_neigh_conf(neigh), sip, ip, frame)
				  : uroce_icmpv6_solicit(get_neigh_conf(neigh), sip, ip, frame);
}
