/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DV_MKEY_H
#define UROCE_DV_MKEY_H

/**
 * @file
 * Mkeys and block signatures, with the names of mlx5dv. <uroce_dv.h> includes this header.
 *
 * An mkey is a key for memory that consists of pieces of registered regions. A send request
 * configures the mkey. Later requests of the same QP, or a peer, may use the mkey immediately, with
 * addresses that begin at 0. Data that is transferred may have a signature behind each block: in
 * memory, on the wire, or both. Depending on the two sides, signatures are checked and stripped,
 * generated, or passed on [mlx5dv_wr_set_mkey_sig_block(3)]. A bad signature does not make the
 * transfer fail; uroce_dv_mkey_check() reports it.
 *
 *	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(qp);
 *	struct uroce_dv_qp_ex *dv = uroce_dv_qp_ex_from_ibv_qp_ex(qpx);
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

/* --- capabilities ---------------------------------------------------------------------------------- */

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

/**
 * Supported signatures. Each member is a bit mask: the bit 1 << value is set for each supported
 * value of the member's enum.
 */
struct uroce_dv_sig_caps {
	uint64_t block_size; /* a bit for each supported value of enum uroce_dv_block_size */
	uint32_t block_prot; /* a bit for each supported value of enum uroce_dv_sig_type */
	uint16_t t10dif_bg; /* a bit for each supported value of enum uroce_dv_sig_t10dif_bg_type */
	uint16_t crc_type;  /* a bit for each supported value of enum uroce_dv_sig_crc_type */
};

enum uroce_dv_context_comp_mask {
	UROCE_DV_CONTEXT_MASK_SIGNATURE_OFFLOAD = 1 << 10,
};

struct uroce_dv_context {
	/*
	 * set of fields (enum uroce_dv_context_comp_mask): on input the fields that are requested,
	 * on output the fields that were written
	 */
	uint64_t comp_mask;
	struct uroce_dv_sig_caps sig_caps;
	uint16_t max_mkey_entries; /* maximum number of pieces of memory of one mkey */
};

/**
 * Query which signatures the device supports. All devices of this library support all signatures.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EINVAL: an argument is NULL
 */
int uroce_dv_query_device(struct ibv_context *context, struct uroce_dv_context *attrs);

/* --- queue pairs ----------------------------------------------------------------------------------- */

enum uroce_dv_qp_init_attr_mask {
	UROCE_DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS = 1 << 0,
	UROCE_DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS = 1 << 2,
};

enum uroce_dv_qp_create_flags {
	/*
	 * This flag is for RC only. If the data of a request had a bad signature, the QP stops in
	 * SQD, and raises IBV_EVENT_SQ_DRAINED. It stops after this request, and before the next
	 * request with IBV_SEND_FENCE.
	 */
	UROCE_DV_QP_CREATE_SIG_PIPELINING = 1 << 6,
};

enum uroce_dv_qp_create_send_ops_flags {
	UROCE_DV_QP_EX_WITH_MR_INTERLEAVED = 1 << 0,
	UROCE_DV_QP_EX_WITH_MR_LIST = 1 << 1,
	UROCE_DV_QP_EX_WITH_MKEY_CONFIGURE = 1 << 2,
};

struct uroce_dv_qp_init_attr {
	uint64_t comp_mask;    /* set of the valid fields (enum uroce_dv_qp_init_attr_mask) */
	uint32_t create_flags; /* flags of the creation (enum uroce_dv_qp_create_flags) */
	/* calls that may build requests (enum uroce_dv_qp_create_send_ops_flags) */
	uint64_t send_ops_flags;
};

/**
 * Create a QP as uroce_create_qp_ex() does, with attributes that verbs do not have. For a QP that
 * configures mkeys, `qp_attr` has IBV_QP_INIT_ATTR_SEND_OPS_FLAGS. The max_inline_data of such a
 * QP suffices to configure an mkey with four pieces.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the QP and destroys it by uroce_destroy_qp().
 * @return the QP, or NULL with errno as uroce_create_qp_ex(). EOPNOTSUPP: also for an unknown flag,
 *         or one that the QP type does not support; EINVAL: also if `qp_attr` has no send
 *         operations.
 */
struct ibv_qp *uroce_dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *qp_attr,
				  struct uroce_dv_qp_init_attr *dv_attr);

/** A QP, as an argument of the calls that build requests for mkeys. */
struct uroce_dv_qp_ex;

/**
 * Convert a QP to the form that the calls which build requests for mkeys take. NULL gives NULL.
 */
static inline struct uroce_dv_qp_ex *
uroce_dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
	return (struct uroce_dv_qp_ex *)qp;
}

/* --- mkeys ----------------------------------------------------------------------------------------- */

enum uroce_dv_mkey_init_attr_flags {
	/* this flag is required, because all mkeys are indirect */
	UROCE_DV_MKEY_INIT_ATTR_FLAGS_INDIRECT = 1 << 0,
	UROCE_DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE = 1 << 1,
	UROCE_DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE = 1 << 4,
};

struct uroce_dv_mkey_init_attr {
	struct ibv_pd *pd;
	uint32_t create_flags; /* flags of the creation (enum uroce_dv_mkey_init_attr_flags) */
	uint16_t max_entries;  /* number of pieces of memory that the mkey may have */
};

/** An mkey. Its lkey and rkey are the same number. */
struct uroce_dv_mkey {
	uint32_t lkey;
	uint32_t rkey;
};

/**
 * Create an mkey that is not configured.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the mkey and destroys it by uroce_dv_destroy_mkey(), before its PD.
 * @return the mkey, or NULL with errno. EINVAL: there is no PD, the flag INDIRECT is missing, or
 *         max_entries is 0 or more than one configuration can have; EOPNOTSUPP: an unknown flag;
 *         ENOMEM.
 */
struct uroce_dv_mkey *uroce_dv_create_mkey(struct uroce_dv_mkey_init_attr *init);

/**
 * Destroy an mkey. From now on, requests that name its key are refused.
 *
 * @lcore  Any thread.
 * @mt     Safe, if only one thread destroys the mkey.
 * @return 0; EINVAL: `mkey` is NULL
 */
int uroce_dv_destroy_mkey(struct uroce_dv_mkey *mkey);

/* --- configuration --------------------------------------------------------------------------------- */

enum uroce_dv_mkey_conf_flags {
	/* the request removes the signatures of the mkey */
	UROCE_DV_MKEY_CONF_FLAG_RESET_SIG_ATTR = 1 << 0,
};

struct uroce_dv_mkey_conf_attr {
	uint32_t conf_flags; /* flags of the configuration (enum uroce_dv_mkey_conf_flags) */
	uint64_t comp_mask;  /* set of further fields: none exist, so it must be 0 */
};

/**
 * Begin a request that configures an mkey, between ibv_wr_start() and ibv_wr_complete(). Parts of
 * the configuration that no setter sets do not change. The configuration is part of the request, so
 * wr_flags must have IBV_SEND_INLINE. The configuration must fit into max_inline_data. It takes 64
 * bytes, and 24 more for each piece. The request completes as IBV_WC_DRIVER1. IBV_WR_LOCAL_INV with
 * the mkey's key removes the whole configuration.
 *
 * ibv_wr_complete() reports errors. EINVAL: an argument is invalid; EOPNOTSUPP: the QP was not
 * created for mkeys, or IBV_SEND_INLINE is missing. The request fails with IBV_WC_MW_BIND_ERR if
 * the mkey belongs to another PD, has too few entries, or was created without signatures.
 *
 * @lcore  The thread that called ibv_wr_start().
 * @mt     As all calls between ibv_wr_start() and ibv_wr_complete().
 * @param num_setters  the number of setters that follow; each setter may be called once
 */
void uroce_dv_wr_mkey_configure(struct uroce_dv_qp_ex *qp, struct uroce_dv_mkey *mkey,
				uint8_t num_setters, struct uroce_dv_mkey_conf_attr *attr);

/**
 * Setter: set the access rights of the mkey (enum ibv_access_flags). 0 permits only local reads.
 */
void uroce_dv_wr_set_mkey_access_flags(struct uroce_dv_qp_ex *qp, uint32_t access_flags);

/** Setter: set the memory of the mkey to the pieces of memory in a list, one after the other. */
void uroce_dv_wr_set_mkey_layout_list(struct uroce_dv_qp_ex *qp, uint16_t num_sges,
				      const struct ibv_sge *sge);

struct uroce_dv_mr_interleaved {
	uint64_t addr;
	uint32_t bytes_count;
	/*
	 * bytes from the end of a piece of memory to the start of the same piece in the next
	 * repetition
	 */
	uint32_t bytes_skip;
	uint32_t lkey;
};

/**
 * Setter: set the memory of the mkey to the pieces of memory in a list. The list is repeated
 * repeat_count times.
 */
void uroce_dv_wr_set_mkey_layout_interleaved(struct uroce_dv_qp_ex *qp, uint32_t repeat_count,
					     uint16_t num_interleaved,
					     const struct uroce_dv_mr_interleaved *data);

/**
 * Build a request that configures the access rights of an mkey and a list of its pieces of memory,
 * with all its setters.
 */
void uroce_dv_wr_mr_list(struct uroce_dv_qp_ex *qp, struct uroce_dv_mkey *mkey,
			 uint32_t access_flags, uint16_t num_sges, struct ibv_sge *sge);

/**
 * Build a request that configures the access rights of an mkey and a repeated list of its pieces of
 * memory, with all its setters.
 */
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
	uint16_t bg; /* initial value of the guard: 0 or 0xffff */
	uint16_t app_tag;
	uint32_t ref_tag; /* reference tag of the first block of the mkey */
	uint16_t flags;   /* flags of the signature (enum uroce_dv_sig_t10dif_flags) */
};

struct uroce_dv_sig_crc {
	enum uroce_dv_sig_crc_type type;
	uint64_t seed; /* initial value: 0 or all ones; CRC32 and CRC32C use the low 32 bits */
};

struct uroce_dv_sig_block_domain {
	enum uroce_dv_sig_type sig_type;
	union {
		const struct uroce_dv_sig_t10dif *dif;
		const struct uroce_dv_sig_crc *crc;
	} sig;
	enum uroce_dv_block_size block_size;
	uint64_t comp_mask; /* set of further fields: none exist, so it must be 0 */
};

/**
 * Bytes of a signature that are checked or copied. Bit 7 of the mask is the first byte of the
 * signature. A T10-DIF begins with its guard.
 */
enum uroce_dv_sig_mask {
	UROCE_DV_SIG_MASK_T10DIF_GUARD = 0xc0,
	UROCE_DV_SIG_MASK_T10DIF_APPTAG = 0x30,
	UROCE_DV_SIG_MASK_T10DIF_REFTAG = 0x0f,
	UROCE_DV_SIG_MASK_CRC32 = 0xf0,
	UROCE_DV_SIG_MASK_CRC32C = UROCE_DV_SIG_MASK_CRC32,
	UROCE_DV_SIG_MASK_CRC64_XP10 = 0xff,
};

enum uroce_dv_sig_block_attr_flags {
	/* copy_mask in struct uroce_dv_sig_block_attr is valid */
	UROCE_DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK = 1 << 0,
};

struct uroce_dv_sig_block_attr {
	/* format of the signatures in memory; NULL: there are no signatures in memory */
	const struct uroce_dv_sig_block_domain *mem;
	/* format of the signatures on the wire; NULL: there are no signatures on the wire */
	const struct uroce_dv_sig_block_domain *wire;
	uint32_t flags;     /* flags of this struct (enum uroce_dv_sig_block_attr_flags) */
	uint8_t check_mask; /* bytes of a signature that are checked, enum uroce_dv_sig_mask */
	/*
	 * The bytes of a signature that are copied, if the signatures in memory and on the wire
	 * have the same structure. Without UROCE_DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK these are all
	 * bytes that have the same value on both sides.
	 */
	uint8_t copy_mask;
	uint64_t comp_mask; /* set of further fields: none exist, so it must be 0 */
};

/** Setter: set the formats of the signatures in memory and on the wire. */
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
	uint64_t actual_value;   /* value that uroce computed from the data and the configuration */
	uint64_t expected_value; /* value that the signature contains */
	/* offset of the block in the data that was read from memory or received from the wire */
	uint64_t offset;
};

struct uroce_dv_mkey_err {
	enum uroce_dv_mkey_err_type err_type;
	union {
		struct uroce_dv_sig_err sig;
	} err;
};

/**
 * Take the first signature error of an mkey since the last call. The result is valid if the
 * program knows that the transfer has ended.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EINVAL: an argument is NULL
 */
int uroce_dv_mkey_check(struct uroce_dv_mkey *mkey, struct uroce_dv_mkey_err *err_info);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_DV_MKEY_H */
