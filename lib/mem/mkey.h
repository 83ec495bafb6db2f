/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_MKEY_H
#define UROCE_MEM_MKEY_H

/**
 * @file
 * Mkeys: keys whose memory is a layout, pieces of regions one after the other, and whose data may have
 * block signatures (sig.h) in memory, on the wire, or both. What goes through one is checked, and given
 * or relieved of signatures, on the way [mlx5dv_wr_set_mkey_sig_block(3)].
 *
 * There are three ways to count. Addresses that requests and peers use count bytes of the *wire*, from
 * 0; the layout counts bytes of *memory*; and both without their signatures are the *data*. Only whole
 * blocks have a signature: what is left at the end of a layout has none.
 *
 * Nothing is kept from one packet to the next that is sent: what a packet needs is worked out from memory
 * each time, so that sending again is the same. Of what arrives, a signature that is cut by the end of
 * a packet is kept, and a block is checked if all of it came in order. So the caller takes packets for
 * an mkey in order.
 *
 * An mkey is an entry of the table of regions, free or configured:
 *
 *	add -> free --configure--> configured --configure--> configured ...
 *	            <--invalidate--
 *
 * Concurrency: add and remove are control calls, as those of mr.h. The others may be called by any
 * thread at any time; an mkey has a lock. The first error stays until it is asked for.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/mr.h"
#include "mem/sig.h"

/** What an mkey may be made for. */
enum uroce_mkey_flag {
	UROCE_MKEY_SIGNATURE = 1 << 0,  /* signatures may be configured */
	UROCE_MKEY_REMOTE_INV = 1 << 1, /* a peer may invalidate it */
};

/** A piece of memory; a list of them is a layout. */
struct uroce_mkey_piece {
	uint64_t addr; /* in the region's addresses */
	uint32_t len;  /* bytes */
	uint32_t skip; /* bytes between its end and where it begins in the next repetition */
	uint32_t lkey;
	uint32_t resv;
};

/** Which parts of an mkey a request configures; the others stay. */
enum uroce_mkey_part {
	UROCE_MKEY_ACCESS = 1 << 0,
	UROCE_MKEY_LAYOUT = 1 << 1,
	UROCE_MKEY_SIG = 1 << 2,
};

/** What a request makes of an mkey. */
struct uroce_mkey_conf {
	uint8_t parts; /* enum uroce_mkey_part */
	uint8_t check_mask;
	uint8_t copy_mask;
	uint8_t resv;
	uint32_t access; /* enum ibv_access_flags */
	uint32_t repeat; /* how often the list of pieces is gone through */
	uint32_t nb_pieces;
	struct uroce_sig_domain mem, wire; /* one of no block_len: no signatures there */
	struct uroce_mkey_piece piece[];
};

/** Bytes of a configuration. */
static inline size_t
uroce_mkey_conf_len(uint32_t nb_pieces)
{
	return sizeof(struct uroce_mkey_conf) + nb_pieces * sizeof(struct uroce_mkey_piece);
}

/** A block whose signature was bad. */
struct uroce_mkey_error {
	struct uroce_sig_error sig;
	uint64_t offset; /* of the block, in the bytes that came in: of memory or of the wire */
};

/** Bytes of an mkey of so many pieces. */
size_t uroce_mkey_memsize(uint32_t max_pieces);

/**
 * Make an mkey that is free.
 * @param mem    64-byte aligned, uroce_mkey_memsize() bytes, lent until it was freed
 * @param flags  enum uroce_mkey_flag
 * @param[out] key  lkey and rkey
 * @return 0 or -ENOMEM
 */
int uroce_mkey_add(struct uroce_mr_table *table, void *mem, uint32_t max_pieces, uint32_t flags,
		   uint32_t pdn, uint32_t *key);

/** Withdraw an mkey, configured or not. After the grace period, uroce_mr_free(). */
void uroce_mkey_remove(struct uroce_mr_table *table, uint32_t key);

/**
 * Configure. A configuration that is refused changes nothing.
 * @return 0; -EINVAL: no such mkey, of another PD, too many pieces, signatures that it was not made for
 */
int uroce_mkey_configure(struct uroce_mr_table *table, uint32_t key, uint32_t pdn,
			 const struct uroce_mkey_conf *conf);

/** Free again. @return 0; -EINVAL: no configured mkey of this PD, or a peer may not */
int uroce_mkey_invalidate(struct uroce_mr_table *table, uint32_t key, uint32_t pdn, bool is_remote);

/**
 * Take the first error out.
 * @param[out] error  sig.fault is UROCE_SIG_GOOD if there was none
 * @return 0; -EINVAL: no such mkey
 */
int uroce_mkey_check(struct uroce_mr_table *table, uint32_t key, struct uroce_mkey_error *error);

/** Whether there is any mkey. */
bool uroce_mkey_any(const struct uroce_mr_table *table);

/** Whether a key is that of an mkey. */
bool uroce_mkey_is(const struct uroce_mr_table *table, uint32_t key);

/**
 * Whether `[addr, addr + len)` may be used so, as far as the mkey itself tells: its regions are asked when
 * they are.
 * @param access  enum ibv_access_flags that the operation needs; 0 for local read
 */
bool uroce_mkey_may(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t addr,
		    uint64_t len, uint32_t access);

/**
 * What leaves: the wire's bytes `[addr, addr + len)`.
 * @param is_bad  NULL: signatures in memory are not checked, as they were before; else set if one
 *	that ends here is bad
 * @return 0, or -EFAULT: refused
 */
int uroce_mkey_read(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t addr,
		    uint32_t len, uint32_t access, void *to, bool *is_bad);

/**
 * What arrives: the wire's bytes `[addr, addr + len)`. Memory is written only if all of it may be.
 * @param is_bad  set if a signature that ends here is bad; may be NULL
 * @return 0, or -EFAULT: refused
 */
int uroce_mkey_write(const struct uroce_mr_table *table, uint32_t key, uint32_t pdn, uint64_t addr,
		     const void *from, uint32_t len, uint32_t access, bool *is_bad);

#endif /* UROCE_MEM_MKEY_H */
