/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DV_MKEY_H
#define UROCE_DV_MKEY_H

/**
 * @file
 * Mkeys and block signatures, by the names that mlx5dv gives them; <uroce_dv.h> includes this.
 *
 * An mkey is a key for memory that is put together of pieces of registered regions. A send request
 * configures it, and requests behind that one on the same QP, or a peer, may use it at once, by addresses
 * that begin at 0. What goes through may have a signature behind each block of data, in memory, on the wire,
 * or both: then signatures are checked and stripped, generated, or passed on, as the two sides ask for
 * [mlx5dv_wr_set_mkey_sig_block(3)]. A bad one fails no transfer; uroce_dv_mkey_check() tells of it.
 *
 *	struct uroce_dv_qp_ex *dv = uroce_dv_qp_ex_from_ibv_qp_ex(ibv_qp_to_qp_ex(qp));
 *
 *	ibv_wr_start(qpx);
 *	qpx->wr_flags = IBV_SEND_INLINE;
 *	uroce_dv_wr_mkey_configure(dv, mkey, 3, &conf);
 *	uroce_dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE);
 *	uroce_dv_wr_set_mkey_layout_list(dv, 1, &sge);
 *	uroce_dv_wr_set_mkey_sig_block(dv, &sig);
 *	ret = ibv_wr_complete(qpx);
 */

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- what there is --------------------------------------------------------------------------------- */

enum uroce_dv_sig_type {
	UROCE_DV_SIG_TYPE_T10DIF,
	UROCE_DV_SIG_TYPE_CRC,
};

enum uroce_dv_sig_t10dif_bg_type {
	UROCE_DV_SIG_T10DIF_CRC,
	UROCE_DV_SIG_T10DIF_CSUM,
};

enum uroce_dv_sig_crc_type {
	UROCE_DV_SIG_CRC_TYPE_CRC32,
	UROCE_DV_SIG_CRC_TYPE_CRC32C,
	UROCE_DV_SIG_CRC_TYPE_CRC64_XP10,
};

enum uroce_dv_block_size {
	UROCE_DV_BLOCK_SIZE_512,
	UROCE_DV_BLOCK_SIZE_520,
	UROCE_DV_BLOCK_SIZE_4048,
	UROCE_DV_BLOCK_SIZE_4096,
	UROCE_DV_BLOCK_SIZE_4160,
};

/** A bit for each value of the enum of that name. */
struct uroce_dv_sig_caps {
	uint64_t block_size;
	uint32_t block_prot; /* enum uroce_dv_sig_type */
	uint16_t t10dif_bg;
	uint16_t crc_type;
};

enum uroce_dv_context_comp_mask {
	UROCE_DV_CONTEXT_MASK_SIGNATURE_OFFLOAD = 1 << 10,
};

struct uroce_dv_context {
	uint64_t comp_mask; /* in: what is asked for; out: what of it is told */
	struct uroce_dv_sig_caps sig_caps;
	uint16_t max_mkey_entries; /* of one configuration */
};

/**
 * What signatures there are. All, on every device.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, or EINVAL: a NULL
 */
int uroce_dv_query_device(struct ibv_context *context, struct uroce_dv_context *attrs);

/* --- queue pairs ----------------------------------------------------------------------------------- */

enum uroce_dv_qp_init_attr_mask {
	UROCE_DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS = 1 << 0,
	UROCE_DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS = 1 << 2,
};

enum uroce_dv_qp_create_flags {
	/*
	 * The QP stops in SQD, with IBV_EVENT_SQ_DRAINED, when the data of one of its requests had a bad
	 * signature: behind that request, and before the next one with IBV_SEND_FENCE. RC alone.
	 */
	UROCE_DV_QP_CREATE_SIG_PIPELINING = 1 << 6,
};

enum uroce_dv_qp_create_send_ops_flags {
	UROCE_DV_QP_EX_WITH_MR_INTERLEAVED = 1 << 0,
	UROCE_DV_QP_EX_WITH_MR_LIST = 1 << 1,
	UROCE_DV_QP_EX_WITH_MKEY_CONFIGURE = 1 << 2,
};

struct uroce_dv_qp_init_attr {
	uint64_t comp_mask;      /* enum uroce_dv_qp_init_attr_mask */
	uint32_t create_flags;   /* enum uroce_dv_qp_create_flags */
	uint64_t send_ops_flags; /* enum uroce_dv_qp_create_send_ops_flags */
};

/**
 * As uroce_create_qp_ex(), with what is ours alone. Of a QP that is to configure mkeys `qp_attr` has
 * IBV_QP_INIT_ATTR_SEND_OPS_FLAGS; its max_inline_data is at least enough for four pieces.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  To be destroyed with uroce_destroy_qp().
 * @return NULL with errno: as uroce_create_qp_ex(); EOPNOTSUPP a flag that there is not, or not with this
 *	type; EINVAL no send operations
 */
struct ibv_qp *uroce_dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *qp_attr,
				  struct uroce_dv_qp_init_attr *dv_attr);

/** A QP, as the calls that build our requests take it. */
struct uroce_dv_qp_ex;

/** It; NULL of NULL. */
static inline struct uroce_dv_qp_ex *
uroce_dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
	return (struct uroce_dv_qp_ex *)qp;
}

/* --- mkeys ----------------------------------------------------------------------------------------- */

enum uroce_dv_mkey_init_attr_flags {
	UROCE_DV_MKEY_INIT_ATTR_FLAGS_INDIRECT = 1 << 0, /* to be set: there are no others */
	UROCE_DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE = 1 << 1,
	UROCE_DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE = 1 << 4,
};

struct uroce_dv_mkey_init_attr {
	struct ibv_pd *pd;
	uint32_t create_flags; /* enum uroce_dv_mkey_init_attr_flags */
	uint16_t max_entries;  /* pieces; out: how many it may have */
};

/** Both keys are one number. */
struct uroce_dv_mkey {
	uint32_t lkey;
	uint32_t rkey;
};

/**
 * Make an mkey that is not configured.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  To be destroyed with uroce_dv_destroy_mkey(), before its PD.
 * @return NULL with errno: EINVAL no PD, no entries or more than one configuration has, not INDIRECT;
 *	EOPNOTSUPP another flag; ENOMEM
 */
struct uroce_dv_mkey *uroce_dv_create_mkey(struct uroce_dv_mkey_init_attr *init);

/**
 * End an mkey. Requests that name it are refused from now on.
 *
 * @lcore  Any thread.
 * @mt     Safe, for one of those that do it.
 * @return 0, or EINVAL: `mkey` is NULL
 */
int uroce_dv_destroy_mkey(struct uroce_dv_mkey *mkey);

/* --- configuration --------------------------------------------------------------------------------- */

enum uroce_dv_mkey_conf_flags {
	UROCE_DV_MKEY_CONF_FLAG_RESET_SIG_ATTR = 1 << 0, /* no signatures any more */
};

struct uroce_dv_mkey_conf_attr {
	uint32_t conf_flags; /* enum uroce_dv_mkey_conf_flags */
	uint64_t comp_mask;  /* 0 */
};

/**
 * Begin a request that configures an mkey, between ibv_wr_start() and ibv_wr_complete(). What no setter
 * says stays as it was. wr_flags has IBV_SEND_INLINE: the configuration is part of the request, and
 * must fit max_inline_data (64 bytes and 24 for each piece). It completes as IBV_WC_DRIVER1. To undo all
 * there is IBV_WR_LOCAL_INV with the mkey's key.
 *
 * @lcore  The thread that called ibv_wr_start().
 * @mt     As all calls between the two.
 * @param num_setters  how many setters follow; each may once
 *
 * What is wrong is told by ibv_wr_complete(): EINVAL; EOPNOTSUPP the QP was not made for it. An mkey of
 * another PD, or with fewer entries or without the signatures, fails the request with IBV_WC_MW_BIND_ERR.
 */
void uroce_dv_wr_mkey_configure(struct uroce_dv_qp_ex *qp, struct uroce_dv_mkey *mkey,
				uint8_t num_setters, struct uroce_dv_mkey_conf_attr *attr);

/** Setter: what the mkey may be used for, enum ibv_access_flags; 0: to be read by its own process. */
void uroce_dv_wr_set_mkey_access_flags(struct uroce_dv_qp_ex *qp, uint32_t access_flags);

/** Setter: its memory is the pieces of a list, one after the other. */
void uroce_dv_wr_set_mkey_layout_list(struct uroce_dv_qp_ex *qp, uint16_t num_sges,
				      const struct ibv_sge *sge);

struct uroce_dv_mr_interleaved {
	uint64_t addr;
	uint32_t bytes_count;
	uint32_t bytes_skip; /* between a piece and where it begins in the next repetition */
	uint32_t lkey;
};

/** Setter: its memory is the pieces of a list, the list being gone through repeat_count times. */
void uroce_dv_wr_set_mkey_layout_interleaved(struct uroce_dv_qp_ex *qp, uint32_t repeat_count,
					     uint16_t num_interleaved,
					     const struct uroce_dv_mr_interleaved *data);

/** Configure access and a list in one call: a builder with its setters. */
void uroce_dv_wr_mr_list(struct uroce_dv_qp_ex *qp, struct uroce_dv_mkey *mkey,
			 uint32_t access_flags, uint16_t num_sges, struct ibv_sge *sge);

/** The same with a list that is repeated. */
void uroce_dv_wr_mr_interleaved(struct uroce_dv_qp_ex *qp, struct uroce_dv_mkey *mkey,
				uint32_t access_flags, uint32_t repeat_count,
				uint16_t num_interleaved, struct uroce_dv_mr_interleaved *data);

/* --- signatures ------------------------------------------------------------------------------------ */

enum uroce_dv_sig_t10dif_flags {
	UROCE_DV_SIG_T10DIF_FLAG_REF_REMAP = 1 << 0,
	UROCE_DV_SIG_T10DIF_FLAG_APP_ESCAPE = 1 << 1,
	UROCE_DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE = 1 << 2,
};

struct uroce_dv_sig_t10dif {
	enum uroce_dv_sig_t10dif_bg_type bg_type;
	uint16_t bg; /* where the guard begins: 0 or 0xffff */
	uint16_t app_tag;
	uint32_t ref_tag; /* of the mkey's first block */
	uint16_t flags;   /* enum uroce_dv_sig_t10dif_flags */
};

struct uroce_dv_sig_crc {
	enum uroce_dv_sig_crc_type type;
	uint64_t seed; /* 0, or all ones; of CRC32 and CRC32C the low 32 bits count */
};

struct uroce_dv_sig_block_domain {
	enum uroce_dv_sig_type sig_type;
	union {
		const struct uroce_dv_sig_t10dif *dif;
		const struct uroce_dv_sig_crc *crc;
	} sig;
	enum uroce_dv_block_size block_size;
	uint64_t comp_mask; /* 0 */
};

/** Bytes of a signature that are checked or copied: those of T10-DIF from the guard (bit 7) on. */
enum uroce_dv_sig_mask {
	UROCE_DV_SIG_MASK_T10DIF_GUARD = 0xc0,
	UROCE_DV_SIG_MASK_T10DIF_APPTAG = 0x30,
	UROCE_DV_SIG_MASK_T10DIF_REFTAG = 0x0f,
	UROCE_DV_SIG_MASK_CRC32 = 0xf0,
	UROCE_DV_SIG_MASK_CRC32C = UROCE_DV_SIG_MASK_CRC32,
	UROCE_DV_SIG_MASK_CRC64_XP10 = 0xff,
};

enum uroce_dv_sig_block_attr_flags {
	UROCE_DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK = 1 << 0, /* copy_mask is set */
};

struct uroce_dv_sig_block_attr {
	const struct uroce_dv_sig_block_domain *mem;  /* NULL: no signatures in memory */
	const struct uroce_dv_sig_block_domain *wire; /* NULL: none on the wire */
	uint32_t flags;                               /* enum uroce_dv_sig_block_attr_flags */
	uint8_t check_mask;                           /* enum uroce_dv_sig_mask */
	/* where both sides have the same: what of a signature is passed on; by default all that agrees */
	uint8_t copy_mask;
	uint64_t comp_mask; /* 0 */
};

/** Setter: the signatures of both sides. */
void uroce_dv_wr_set_mkey_sig_block(struct uroce_dv_qp_ex *qp,
				    const struct uroce_dv_sig_block_attr *attr);

/* --- errors ---------------------------------------------------------------------------------------- */

enum uroce_dv_mkey_err_type {
	UROCE_DV_MKEY_NO_ERR,
	UROCE_DV_MKEY_SIG_BLOCK_BAD_GUARD,
	UROCE_DV_MKEY_SIG_BLOCK_BAD_REFTAG,
	UROCE_DV_MKEY_SIG_BLOCK_BAD_APPTAG,
};

struct uroce_dv_sig_err {
	uint64_t actual_value;   /* what follows from the data, and the configuration */
	uint64_t expected_value; /* what the signature says */
	uint64_t offset;         /* of the block, in what came in: of memory or of the wire */
};

struct uroce_dv_mkey_err {
	enum uroce_dv_mkey_err_type err_type;
	union {
		struct uroce_dv_sig_err sig;
	} err;
};

/**
 * Take the first error since the last call. To be called when the transfer is known to have ended.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0, or EINVAL: a NULL
 */
int uroce_dv_mkey_check(struct uroce_dv_mkey *mkey, struct uroce_dv_mkey_err *err_info);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_DV_MKEY_H */
