/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_MKEY_H
#define UROCE_MEM_MKEY_H

/**
 * @file
 * Mkeys: keys whose memory is a layout, a sequence of pieces of memory regions. The data of an mkey
 * may have block signatures (sig.h) in memory, on the wire, or both. Data that passes through an
 * mkey is checked, and signatures are added or removed [mlx5dv_wr_set_mkey_sig_block(3)].
 *
 * There are three ways to count the bytes of an mkey:
 *
 *	wire	the bytes in packets; addresses of requests and of peers count these, from 0
 *	memory	the bytes of the layout
 *	data	the bytes of either side without its signatures
 *
 * Only whole blocks have a signature. The rest at the end of a layout has none.
 *
 * For transmission an mkey keeps no state between packets. Each packet is computed from memory, so
 * a retransmitted packet equals the original. For reception an mkey keeps a signature that the end
 * of a packet has cut. A block is checked if all of it arrived in order. So the caller passes
 * received packets to an mkey in PSN order.
 *
 * An mkey is an entry of the table of memory regions. The entry is free or configured:
 *
 *	add -> free --configure--> configured --configure--> configured ...
 *	            <--invalidate--
 *
 * Concurrency: add and remove are control calls, as those of mr.h. Any thread may make the other
 * calls at any time; each mkey has a lock. The first error is kept until uroce_mkey_check() reads
 * it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/mr.h"
#include "mem/sig.h"

/** Capabilities of an mkey, chosen at its creation. */
enum uroce_mkey_flag {
	UROCE_MKEY_SIGNATURE = 1 << 0,  /* requests may configure signatures in the mkey */
	UROCE_MKEY_REMOTE_INV = 1 << 1, /* a peer may invalidate the mkey */
};

/** A piece of a memory region. The layout of an mkey is a list of pieces, which may be repeated. */
struct uroce_mkey_piece {
	/*
	 * address of the first byte of the piece, as in requests that use the key `lkey` of its
	 * region
	 */
	uint64_t addr;
	uint32_t len; /* length of the piece in bytes */
	/*
	 * number of bytes between the end of the piece in one repetition of the list of pieces, and
	 * the beginning of the piece in the next repetition
	 */
	uint32_t skip;
	uint32_t lkey;
	uint32_t resv;
};

/** Parts of the configuration of an mkey that a request sets. The other parts do not change. */
enum uroce_mkey_part {
	UROCE_MKEY_ACCESS = 1 << 0,
	UROCE_MKEY_LAYOUT = 1 << 1,
	UROCE_MKEY_SIG = 1 << 2,
};

/** A configuration of an mkey, which a request applies. */
struct uroce_mkey_conf {
	uint8_t parts; /* parts of the configuration that are set (enum uroce_mkey_part) */
	uint8_t check_mask;
	uint8_t copy_mask;
	uint8_t resv;
	uint32_t access; /* access rights of the mkey (enum ibv_access_flags) */
	uint32_t repeat; /* number of times that the list of pieces is repeated */
	uint32_t nb_pieces;
	/*
	 * formats of the mkey's data in memory and on the wire; if the block_len of a format is 0,
	 * the data on that side has no signatures
	 */
	struct uroce_sig_domain mem, wire;
	struct uroce_mkey_piece piece[];
};

/** Number of bytes of an mkey configuration with `nb_pieces` pieces. */
static inline size_t
uroce_mkey_conf_len(uint32_t nb_pieces)
{
	return sizeof(struct uroce_mkey_conf) + nb_pieces * sizeof(struct uroce_mkey_piece);
}

/** First signature error of an mkey: the block whose signature was bad. */
struct uroce_mkey_error {
	struct uroce_sig_error sig;
	/*
	 * offset in bytes of the block, in memory or on the wire: the side whose signature was
	 * checked
	 */
	uint64_t offset;
};

/** Number of bytes of memory that an mkey with up to `max_pieces` pieces takes. */
size_t uroce_mkey_memsize(uint32_t max_pieces);

/**
 * Create an mkey that is not configured ("free").
 * @param mem  memory of the mkey: 64-byte aligned, uroce_mkey_memsize() bytes; in use until
 *   uroce_mr_free()
 * @param flags  enum uroce_mkey_flag
 * @param[out] key  lkey and rkey
 * @return 0 or -ENOMEM
 */
int uroce_mkey_add(struct uroce_mr_table *table, void *mem, uint32_t max_pieces, uint32_t flags,
		   uint32_t pdn, uint32_t *key);

/**
 * Remove an mkey, configured or not, from the table. The caller waits for a grace period, after
 * which no worker uses the mkey, and then calls uroce_mr_free().
 */
void uroce_mkey_remove(struct uroce_mr_table *table, uint32_t key);

/**
 * Configure an mkey. A configuration that is refused changes nothing.
 * @return 0; -EINVAL: there is no such mkey, it belongs to another PD, it gets too many pieces or
 *	bytes, or it gets signatures and was created without UROCE_MKEY_SIGNATURE
 */
int uroce_mkey_configure(struct uroce_mr_table *table, uint32_t key, uint32_t pdn,
			 const struct uroce_mkey_conf *conf);

/**
 * Invalidate a configured mkey. It loses its configuration, and a request may configure it again.
 * @return 0; -EINVAL: there is no configured mkey with this key and PD, or a peer may not
 *	invalidate it
 */
int uroce_mkey_invalidate(struct uroce_mr_table *table, uint32_t key, uint32_t pdn, bool is_remote);

/**
 * Read and clear the first signature error of an mkey.
 * @param[out] error  sig.fault is UROCE_SIG_GOOD if there was no error
 * @return 0; -EINVAL: no such mkey
 */
int uroce_mkey_check(struct uroce_mr_table *table, uint32_t key, struct uroce_mkey_error *error);

/** Whether the table of memory keys has any mkey. */
bool uroce_mkey_any(const struct uroce_mr_table *table);

/** Whether a key is that of an mkey, free or configured. */
bool uroce_mkey_is(const struct uroce_mr_table *table, uint32_t key);

/**
 * Whether an mkey grants `access` to `[addr, addr + len)`. The regions of its layout are checked
 * later, when the memory is read or written.
 * @param access  enum ibv_access_flags that the operation needs; 0 for local read
 */
bool uroce_mkey_may(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t addr,
		    uint64_t len, uint32_t access);

/**
 * Read the wire bytes `[addr, addr + len)` of an mkey into `to`, for a packet that is transmitted.
 * @param is_bad  NULL for a retransmission: signatures in memory are not checked again. Otherwise
 *	`*is_bad` is set if a block of the mkey whose end is in the range has a bad signature.
 * @return 0; -EFAULT: access is refused
 */
int uroce_mkey_read(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t addr,
		    uint32_t len, uint32_t access, void *to, bool *is_bad);

/**
 * Write the wire bytes `[addr, addr + len)` of an mkey, from a packet that was received. Memory is
 * written only if all memory of the range may be written.
 * @param is_bad  set if a signature that ends in the range is bad; may be NULL
 * @return 0; -EFAULT: access is refused
 */
int uroce_mkey_write(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t addr,
		     const void *from, uint32_t len, uint32_t access, bool *is_bad);

#endif /* UROCE_MEM_MKEY_H */
