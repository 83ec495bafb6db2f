/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Building the request that configures an mkey. The inline data of this request is a struct
 * uroce_mkey_conf (mem/mkey.h). Each setter fills in its part. The setters find all errors that
 * depend on their arguments alone.
 */

#include <errno.h>
#include <rte_common.h>
#include <string.h>

#include "verbs/mkey.h"
#include "verbs/uroce_dv.h"
#include "verbs/wr.h"

static struct uroce_vwr *
get_mkey_wr(struct uroce_dv_qp_ex *dv)
{
	return uroce_vwr_of((struct uroce_vqp *)dv);
}

static struct uroce_mkey_conf *
get_mkey_conf(struct uroce_vwr *vwr)
{
	return (struct uroce_mkey_conf *)vwr->data;
}

/*
 * Set the number of pieces of memory in the mkey configuration, and the length of the
 * configuration.
 */
static void
set_conf_len(struct uroce_vwr *vwr, uint32_t nb_pieces)
{
	get_mkey_conf(vwr)->nb_pieces = nb_pieces;
	vwr->sge[0].length = (uint32_t)uroce_mkey_conf_len(nb_pieces);
}

/* --- builder of the request ------------------------------------------------------------------------ */

static int
check_builder(const struct uroce_vwr *vwr, unsigned wr_flags, const struct uroce_dv_mkey *mkey,
	      const struct uroce_dv_mkey_conf_attr *attr)
{
	if (mkey == NULL || attr == NULL)
		return -EINVAL;
	if (!vwr->has_mkeys || !(wr_flags & IBV_SEND_INLINE))
		return -EOPNOTSUPP;
	return attr->comp_mask != 0 || (attr->conf_flags &
					~(uint32_t)UROCE_DV_MKEY_CONF_FLAG_RESET_SIG_ATTR)
		       ? -EINVAL
		       : 0;
}

void
uroce_dv_wr_mkey_configure(struct uroce_dv_qp_ex *dv, struct uroce_dv_mkey *mkey,
			   uint8_t num_setters, struct uroce_dv_mkey_conf_attr *attr)
{
	struct ibv_qp_ex *const ibv = (struct ibv_qp_ex *)dv;
	struct uroce_vwr *const vwr = get_mkey_wr(dv);
	struct ibv_send_wr *const wr = uroce_vwr_begin(ibv, IBV_WR_DRIVER1);
	const int err = check_builder(vwr, ibv->wr_flags, mkey, attr);

	if (err != 0) {
		uroce_vwr_fail(vwr, err);
		return;
	}
	*get_mkey_conf(vwr) = (struct uroce_mkey_conf){ 0 };
	if (attr->conf_flags & UROCE_DV_MKEY_CONF_FLAG_RESET_SIG_ATTR)
		get_mkey_conf(vwr)->parts = UROCE_MKEY_SIG;
	vwr->nb_setters = num_setters;
	vwr->set = 0;
	vwr->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)vwr->data, .lkey = UROCE_VWR_CONF_KEY };
	set_conf_len(vwr, 0);
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_INLINE;
	wr->wr.rdma.rkey = mkey->lkey;
}

/* --- setters of the mkey configuration ------------------------------------------------------------- */

/*
 * Begin a setter, which sets `part` of the mkey configuration. A request may set each part once.
 * @return false: this setter is invalid, or a call before it failed; the setter must return at once
 */
static bool
begin_setter(struct uroce_vwr *vwr, unsigned part)
{
	if (vwr->err != 0)
		return false;
	if (!vwr->is_open || vwr->wr.opcode != IBV_WR_DRIVER1 || vwr->nb_setters == 0 ||
	    (vwr->set & part) != 0) {
		uroce_vwr_fail(vwr, -EINVAL);
		return false;
	}
	vwr->nb_setters--;
	vwr->set |= (uint8_t)part;
	get_mkey_conf(vwr)->parts |= (uint8_t)part;
	return true;
}

#define ACCESS_KNOWN                                                                               \
	((uint32_t)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |    \
		    IBV_ACCESS_RELAXED_ORDERING))

void
uroce_dv_wr_set_mkey_access_flags(struct uroce_dv_qp_ex *dv, uint32_t access_flags)
{
	struct uroce_vwr *const vwr = get_mkey_wr(dv);

	if (!begin_setter(vwr, UROCE_MKEY_ACCESS))
		return;
	if ((access_flags & ~ACCESS_KNOWN) != 0 ||
	    ((access_flags & IBV_ACCESS_REMOTE_WRITE) && !(access_flags & IBV_ACCESS_LOCAL_WRITE)))
		uroce_vwr_fail(vwr, -EINVAL);
	get_mkey_conf(vwr)->access = access_flags;
}

static bool
begin_layout(struct uroce_vwr *vwr, const void *list, uint32_t nb_pieces, uint32_t repeat)
{
	if (!begin_setter(vwr, UROCE_MKEY_LAYOUT))
		return false;
	if (list == NULL || nb_pieces == 0 || nb_pieces > UROCE_MAX_MKEY_ENTRIES || repeat == 0) {
		uroce_vwr_fail(vwr, -EINVAL);
		return false;
	}
	get_mkey_conf(vwr)->repeat = repeat;
	set_conf_len(vwr, nb_pieces);
	return true;
}

void
uroce_dv_wr_set_mkey_layout_list(struct uroce_dv_qp_ex *dv, uint16_t num_sges,
				 const struct ibv_sge *sge)
{
	struct uroce_vwr *const vwr = get_mkey_wr(dv);

	if (!begin_layout(vwr, sge, num_sges, 1))
		return;
	for (unsigned i = 0; i < num_sges; i++)
		get_mkey_conf(vwr)->piece[i] = (struct uroce_mkey_piece){
			.addr = sge[i].addr,
			.len = sge[i].length,
			.lkey = sge[i].lkey,
		};
}

void
uroce_dv_wr_set_mkey_layout_interleaved(struct uroce_dv_qp_ex *dv, uint32_t repeat_count,
					uint16_t num_interleaved,
					const struct uroce_dv_mr_interleaved *data)
{
	struct uroce_vwr *const vwr = get_mkey_wr(dv);

	if (!begin_layout(vwr, data, num_interleaved, repeat_count))
		return;
	for (unsigned i = 0; i < num_interleaved; i++)
		get_mkey_conf(vwr)->piece[i] = (struct uroce_mkey_piece){
			.addr = data[i].addr,
			.len = data[i].bytes_count,
			.skip = data[i].bytes_skip,
			.lkey = data[i].lkey,
		};
}

void
uroce_dv_wr_mr_list(struct uroce_dv_qp_ex *dv, struct uroce_dv_mkey *mkey, uint32_t access_flags,
		    uint16_t num_sges, struct ibv_sge *sge)
{
	uroce_dv_wr_mkey_configure(dv, mkey, 2, &(struct uroce_dv_mkey_conf_attr){ 0 });
	uroce_dv_wr_set_mkey_access_flags(dv, access_flags);
	uroce_dv_wr_set_mkey_layout_list(dv, num_sges, sge);
}

void
uroce_dv_wr_mr_interleaved(struct uroce_dv_qp_ex *dv, struct uroce_dv_mkey *mkey,
			   uint32_t access_flags, uint32_t repeat_count, uint16_t num_interleaved,
			   struct uroce_dv_mr_interleaved *data)
{
	uroce_dv_wr_mkey_configure(dv, mkey, 2, &(struct uroce_dv_mkey_conf_attr){ 0 });
	uroce_dv_wr_set_mkey_access_flags(dv, access_flags);
	uroce_dv_wr_set_mkey_layout_interleaved(dv, repeat_count, num_interleaved, data);
}

/* --- signatures of an mkey ------------------------------------------------------------------------- */

static const uint16_t block_lens[] = {
	[UROCE_DV_BLOCK_SIZE_512] = 512,   [UROCE_DV_BLOCK_SIZE_520] = 520,
	[UROCE_DV_BLOCK_SIZE_4048] = 4048, [UROCE_DV_BLOCK_SIZE_4096] = 4096,
	[UROCE_DV_BLOCK_SIZE_4160] = 4160,
};

static const struct {
	uint8_t kind;
	uint64_t ones;
} crcs[] = {
	[UROCE_DV_SIG_CRC_TYPE_CRC32] = { UROCE_SIG_CRC32, UINT32_MAX },
	[UROCE_DV_SIG_CRC_TYPE_CRC32C] = { UROCE_SIG_CRC32C, UINT32_MAX },
	[UROCE_DV_SIG_CRC_TYPE_CRC64_XP10] = { UROCE_SIG_CRC64, UINT64_MAX },
};

static bool
take_crc(const struct uroce_dv_sig_crc *crc, struct uroce_sig_domain *out)
{
	if (crc == NULL || (unsigned)crc->type >= RTE_DIM(crcs))
		return false;
	out->kind = crcs[crc->type].kind;
	out->seed = crc->seed & crcs[crc->type].ones;
	return out->seed == 0 || out->seed == crcs[crc->type].ones;
}

static bool
take_dif(const struct uroce_dv_sig_t10dif *dif, struct uroce_sig_domain *out)
{
	const unsigned known = UROCE_DV_SIG_T10DIF_FLAG_REF_REMAP |
			       UROCE_DV_SIG_T10DIF_FLAG_APP_ESCAPE |
			       UROCE_DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE;

	if (dif == NULL || (dif->flags & ~known) != 0 || (dif->bg != 0 && dif->bg != UINT16_MAX) ||
	    (unsigned)dif->bg_type > UROCE_DV_SIG_T10DIF_CSUM)
		return false;
	out->kind =
		dif->bg_type == UROCE_DV_SIG_T10DIF_CRC ? UROCE_SIG_T10_CRC : UROCE_SIG_T10_CSUM;
	out->seed = dif->bg;
	out->app_tag = dif->app_tag;
	out->ref_tag = dif->ref_tag;
	/* enum uroce_dv_sig_t10dif_flags and enum uroce_sig_flag have the same bits */
	out->flags = (uint8_t)dif->flags;
	return true;
}

/*
 * Convert the attributes of the signatures on one side, memory or wire.
 * @return false: the attributes are invalid
 */
static bool
take_domain(const struct uroce_dv_sig_block_domain *domain, struct uroce_sig_domain *out)
{
	*out = (struct uroce_sig_domain){ 0 };
	if (domain == NULL)
		return true;
	if (domain->comp_mask != 0 || (unsigned)domain->block_size >= RTE_DIM(block_lens) ||
	    (unsigned)domain->sig_type > UROCE_DV_SIG_TYPE_CRC)
		return false;
	if (domain->sig_type == UROCE_DV_SIG_TYPE_CRC ? !take_crc(domain->sig.crc, out)
						      : !take_dif(domain->sig.dif, out))
		return false;
	out->block_len = block_lens[domain->block_size];
	out->len = uroce_sig_len(out->kind);
	return true;
}

static bool
is_dif(const struct uroce_sig_domain *domain)
{
	return domain->kind == UROCE_SIG_T10_CRC || domain->kind == UROCE_SIG_T10_CSUM;
}

/*
 * Whether memory and wire have signatures of the same structure behind blocks of the same length.
 */
static bool
is_same_structure(const struct uroce_sig_domain *mem, const struct uroce_sig_domain *wire)
{
	return mem->block_len != 0 && mem->block_len == wire->block_len &&
	       (mem->kind == wire->kind || (is_dif(mem) && is_dif(wire)));
}

/* Compute a mask of the bytes of a signature that have the same value in memory and on the wire. */
static uint8_t
common_of(const struct uroce_sig_domain *mem, const struct uroce_sig_domain *wire)
{
	const bool has_guard = mem->kind == wire->kind && mem->seed == wire->seed;
	uint8_t mask = 0;

	if (!is_same_structure(mem, wire))
		return 0;
	if (!is_dif(mem))
		return has_guard ? UINT8_MAX : 0;
	if (has_guard)
		mask |= UROCE_DV_SIG_MASK_T10DIF_GUARD;
	if (mem->app_tag == wire->app_tag)
		mask |= UROCE_DV_SIG_MASK_T10DIF_APPTAG;
	if (mem->ref_tag == wire->ref_tag && !((mem->flags ^ wire->flags) & UROCE_SIG_REF_REMAP))
		mask |= UROCE_DV_SIG_MASK_T10DIF_REFTAG;
	return mask;
}

static int
take_sig(const struct uroce_dv_sig_block_attr *attr, struct uroce_mkey_conf *conf)
{
	const bool has_mask = attr->flags & UROCE_DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK;

	if (attr->comp_mask != 0 ||
	    (attr->flags & ~(uint32_t)UROCE_DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK) != 0 ||
	    !take_domain(attr->mem, &conf->mem) || !take_domain(attr->wire, &conf->wire))
		return -EINVAL;
	if (has_mask && !is_same_structure(&conf->mem, &conf->wire))
		return -EINVAL;
	conf->check_mask = attr->check_mask;
	conf->copy_mask = has_mask ? attr->copy_mask : common_of(&conf->mem, &conf->wire);
	return 0;
}

void
uroce_dv_wr_set_mkey_sig_block(struct uroce_dv_qp_ex *dv,
			       const struct uroce_dv_sig_block_attr *attr)
{
	struct uroce_vwr *const vwr = get_mkey_wr(dv);

	if (!begin_setter(vwr, UROCE_MKEY_SIG))
		return;
	const int err = attr != NULL ? take_sig(attr, get_mkey_conf(vwr)) : -EINVAL;

	if (err != 0)
		uroce_vwr_fail(vwr, err);
}
