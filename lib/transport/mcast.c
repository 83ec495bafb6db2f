/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of multicast groups is a hash table with chains, whose nodes are memberships. A link is
 * the index of a node, in a bucket or in the node before. A node is published by a store of its
 * index to a link (release M1, acquire A5). A node is removed by setting the link that leads to it
 * to the next node of the chain. The removed node keeps its own link until the grace period is
 * over, so that a thread that has reached the node can continue its walk.
 */
#include "transport/mcast.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "wire/build.h"

#define NB_BUCKETS 64 /* number of chains of the hash table, a power of two */
#define IDX_NONE   UINT32_MAX

struct node {
	uint8_t gid[16];
	void *member;
	/* index of the next node of the chain, or of the list of free nodes */
	_Atomic uint32_t next;
};

struct uroce_mcast_table {
	_Atomic uint32_t bucket[NB_BUCKETS]; /* index of the first node of each chain */
	uint32_t first_free;
	struct node nodes[];
};

size_t
uroce_mcast_table_memsize(uint32_t nb_max)
{
	return sizeof(struct uroce_mcast_table) + (size_t)nb_max * sizeof(struct node);
}

struct uroce_mcast_table *
uroce_mcast_table_init(void *mem, uint32_t nb_max)
{
	struct uroce_mcast_table *table = mem;

	assert((uintptr_t)mem % 64 == 0 && nb_max >= 1);
	table->first_free = 0;
	for (uint32_t i = 0; i < NB_BUCKETS; i++)
		atomic_init(&table->bucket[i], IDX_NONE);
	for (uint32_t i = 0; i < nb_max; i++)
		atomic_init(&table->nodes[i].next, i + 1 < nb_max ? i + 1 : IDX_NONE);
	return table;
}

bool
uroce_gid_is_multicast(const uint8_t gid[16])
{
	return uroce_ip_is_v4(gid) ? gid[12] >> 4 == 0xe : gid[0] == 0xff;
}

void
uroce_pkt_dgid(const struct uroce_pkt *pkt, uint8_t gid[16])
{
	if (pkt->is_ipv6) {
		memcpy(gid, ((const struct uroce_ipv6 *)pkt->ip)->dst, 16);
		return;
	}
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, ((const struct uroce_ipv4 *)pkt->ip)->dst, 4);
}

/* Hash a GID by its last four bytes, in which multicast groups differ. */
static unsigned
hash_gid(const uint8_t gid[16])
{
	uint32_t low;

	memcpy(&low, gid + 12, sizeof(low));
	return low * 0x9e3779b1u >> 26;
}
static_assert(NB_BUCKETS == 1 << (32 - 26), "the hash is as long as a bucket's number");

/*
 * Find the link (the field with the index of the node) that leads to a membership.
 * @return NULL: the member is not in the group
 */
static _Atomic uint32_t *
find_link(struct uroce_mcast_table *table, const uint8_t gid[16], const void *member)
{
	_Atomic uint32_t *link = &table->bucket[hash_gid(gid)];

	for (;;) {
		const uint32_t idx = atomic_load_explicit(link, memory_order_relaxed);

		if (idx == IDX_NONE)
			return NULL;
		struct node *node = &table->nodes[idx];

		if (node->member == member && memcmp(node->gid, gid, 16) == 0)
			return link;
		link = &node->next;
	}
}

int
uroce_mcast_attach(struct uroce_mcast_table *table, const uint8_t gid[16], void *member)
{
	_Atomic uint32_t *bucket = &table->bucket[hash_gid(gid)];
	const uint32_t idx = table->first_free;

	if (!uroce_gid_is_multicast(gid))
		return -EINVAL;
	if (find_link(table, gid, member))
		return 0;
	if (idx == IDX_NONE)
		return -ENOMEM;
	struct node *node = &table->nodes[idx];

	table->first_free = atomic_load_explicit(&node->next, memory_order_relaxed);
	memcpy(node->gid, gid, 16);
	node->member = member;
	atomic_store_explicit(&node->next, atomic_load_explicit(bucket, memory_order_relaxed),
			      memory_order_relaxed);
	/*
	 * release M1: a thread that loads this link (acquire A5 in a walk) sees the fields of the
	 * node
	 */
	atomic_store_explicit(bucket, idx, memory_order_release);
	return 0;
}

int
uroce_mcast_detach(struct uroce_mcast_table *table, const uint8_t gid[16], const void *member,
		   uint32_t *idx)
{
	_Atomic uint32_t *link = find_link(table, gid, member);

	if (!link)
		return -EINVAL;
	*idx = atomic_load_explicit(link, memory_order_relaxed);
	/*
	 * release M1: a thread that loads this link (acquire A5 in a walk) sees the fields of the
	 * next node
	 */
	atomic_store_explicit(link,
			      atomic_load_explicit(&table->nodes[*idx].next, memory_order_relaxed),
			      memory_order_release);
	return 0;
}

void
uroce_mcast_free(struct uroce_mcast_table *table, uint32_t idx)
{
	atomic_store_explicit(&table->nodes[idx].next, table->first_free, memory_order_relaxed);
	table->first_free = idx;
}

unsigned
uroce_mcast_count(const struct uroce_mcast_table *table, const uint8_t gid[16])
{
	struct uroce_mcast_walk walk;
	unsigned nb = 0;

	uroce_mcast_walk_begin(&walk, table, gid);
	while (uroce_mcast_walk_next(&walk))
		nb++;
	return nb;
}

void
uroce_mcast_walk_begin(struct uroce_mcast_walk *walk, const struct uroce_mcast_table *table,
		       const uint8_t gid[16])
{
	walk->table = table;
	memcpy(walk->gid, gid, 16);
	/*
	 * acquire A5 pairs with release M1, the store of this link in uroce_mcast_attach() and
	 * uroce_mcast_detach(): the fields of the node are visible
	 */
	walk->idx = atomic_load_explicit(&table->bucket[hash_gid(gid)], memory_order_acquire);
}

void *
uroce_mcast_walk_next(struct uroce_mcast_walk *walk)
{
	while (walk->idx != IDX_NONE) {
		const struct node *node = &walk->table->nodes[walk->idx];

		/*
		 * acquire A5 pairs with release M1, the store of this link in uroce_mcast_attach()
		 * and uroce_mcast_detach(): the fields of the next node are visible
		 */
		walk->idx = atomic_load_explicit(&node->next, memory_order_acquire);
		if (memcmp(node->gid, walk->gid, 16) == 0)
			return node->member;
	}
	return NULL;
}
