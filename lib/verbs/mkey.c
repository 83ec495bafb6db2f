/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mkeys: creating and destroying an mkey, and reading its signature errors. A request on a send
 * queue configures an mkey (mkey_wr.c), and the worker of the QP executes this request.
 */

#include <errno.h>
#include <rte_common.h>
#include <stdlib.h>

#include "datapath/device/hugemem.h"
#include "mem/mkey.h"
#include "verbs/errno_ret.h"
#include "verbs/mkey.h"
#include "verbs/uroce_dv.h"

/** An mkey of a program: the struct that the program sees, and the memory of the mkey's layout. */
struct uroce_vmkey {
	struct uroce_dv_mkey dv;
	struct ibv_pd *pd;
	void *mem; /* hugepage memory for the layout of the mkey, which uroce_mkey_add() uses */
};

static struct uroce_vmkey *
vmkey(struct uroce_dv_mkey *dv)
{
	return (struct uroce_vmkey *)dv;
}

int
uroce_dv_query_device(struct ibv_context *context, struct uroce_dv_context *attrs)
{
	if (context == NULL || attrs == NULL)
		return uroce_fail(EINVAL);
	attrs->max_mkey_entries = UROCE_MAX_MKEY_ENTRIES;
	attrs->comp_mask &= UROCE_DV_CONTEXT_MASK_SIGNATURE_OFFLOAD;
	if (attrs->comp_mask == 0)
		return 0;
	attrs->sig_caps = (struct uroce_dv_sig_caps){
		.block_size = 1 << UROCE_DV_BLOCK_SIZE_512 | 1 << UROCE_DV_BLOCK_SIZE_520 |
			      1 << UROCE_DV_BLOCK_SIZE_4048 | 1 << UROCE_DV_BLOCK_SIZE_4096 |
			      1 << UROCE_DV_BLOCK_SIZE_4160,
		.block_prot = 1 << UROCE_DV_SIG_TYPE_T10DIF | 1 << UROCE_DV_SIG_TYPE_CRC,
		.t10dif_bg = 1 << UROCE_DV_SIG_T10DIF_CRC | 1 << UROCE_DV_SIG_T10DIF_CSUM,
		.crc_type = 1 << UROCE_DV_SIG_CRC_TYPE_CRC32 | 1 << UROCE_DV_SIG_CRC_TYPE_CRC32C |
			    1 << UROCE_DV_SIG_CRC_TYPE_CRC64_XP10,
	};
	return 0;
}

static int
check_mkey_init(const struct uroce_dv_mkey_init_attr *init)
{
	const uint32_t known = UROCE_DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
			       UROCE_DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE |
			       UROCE_DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE;

	if (init == NULL || init->pd == NULL || init->max_entries == 0 ||
	    init->max_entries > UROCE_MAX_MKEY_ENTRIES)
		return EINVAL;
	if ((init->create_flags & ~known) != 0)
		return EOPNOTSUPP;
	return init->create_flags & UROCE_DV_MKEY_INIT_ATTR_FLAGS_INDIRECT ? 0 : EINVAL;
}

static uint32_t
get_mkey_flags(uint32_t create_flags)
{
	return (create_flags & UROCE_DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE ? UROCE_MKEY_SIGNATURE
									     : 0) |
	       (create_flags & UROCE_DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE
			? UROCE_MKEY_REMOTE_INV
			: 0);
}

/*
 * Allocate the memory of an mkey, and add the mkey to the device's table of memory keys.
 * @return 0, or a positive errno
 */
static int
add_mkey(struct uroce_vmkey *mkey, const struct uroce_dv_mkey_init_attr *init)
{
	struct uroce_dev *const dev = uroce_vcontext_dev(init->pd->context);
	uint32_t key = 0;

	mkey->pd = init->pd;
	mkey->mem = uroce_hugemem_alloc(uroce_mkey_memsize(init->max_entries),
					uroce_dev_socket_id(dev));
	if (mkey->mem == NULL)
		return ENOMEM;
	pthread_mutex_lock(&dev->lock);
	const int ret =
		uroce_mkey_add(dev->mrs, mkey->mem, init->max_entries,
			       get_mkey_flags(init->create_flags), uroce_vpd(init->pd)->pdn, &key);

	pthread_mutex_unlock(&dev->lock);
	if (ret != 0)
		uroce_hugemem_free(mkey->mem);
	mkey->dv.lkey = key;
	mkey->dv.rkey = key;
	return -ret;
}

struct uroce_dv_mkey *
uroce_dv_create_mkey(struct uroce_dv_mkey_init_attr *init)
{
	struct uroce_vmkey *mkey = NULL;
	int err = check_mkey_init(init);

	if (err == 0) {
		mkey = calloc(1, sizeof(*mkey));
		err = mkey != NULL ? add_mkey(mkey, init) : ENOMEM;
	}
	if (err != 0) {
		free(mkey);
		errno = err;
		return NULL;
	}
	uroce_users_add(init->pd->context, &uroce_vpd(init->pd)->nb_users);
	return &mkey->dv;
}

int
uroce_dv_destroy_mkey(struct uroce_dv_mkey *dv)
{
	if (dv == NULL)
		return uroce_fail(EINVAL);
	struct uroce_vmkey *const mkey = vmkey(dv);
	struct uroce_dev *const dev = uroce_vcontext_dev(mkey->pd->context);

	pthread_mutex_lock(&dev->lock);
	uroce_mkey_remove(dev->mrs, dv->lkey);
	pthread_mutex_unlock(&dev->lock);
	/*
	 * wait until no worker uses the mkey: a worker that found the mkey before the removal may
	 * still use it
	 */
	uroce_dev_grace(dev);
	pthread_mutex_lock(&dev->lock);
	uroce_mr_free(dev->mrs, dv->lkey);
	pthread_mutex_unlock(&dev->lock);

	uroce_users_drop(mkey->pd->context, &uroce_vpd(mkey->pd)->nb_users);
	uroce_hugemem_free(mkey->mem);
	free(mkey);
	return 0;
}

static const enum uroce_dv_mkey_err_type err_types[] = {
	[UROCE_SIG_GOOD] = UROCE_DV_MKEY_NO_ERR,
	[UROCE_SIG_BAD_GUARD] = UROCE_DV_MKEY_SIG_BLOCK_BAD_GUARD,
	[UROCE_SIG_BAD_REF_TAG] = UROCE_DV_MKEY_SIG_BLOCK_BAD_REFTAG,
	[UROCE_SIG_BAD_APP_TAG] = UROCE_DV_MKEY_SIG_BLOCK_BAD_APPTAG,
};

int
uroce_dv_mkey_check(struct uroce_dv_mkey *dv, struct uroce_dv_mkey_err *err_info)
{
	struct uroce_mkey_error error;

	if (dv == NULL || err_info == NULL)
		return uroce_fail(EINVAL);
	const int ret =
		uroce_mkey_check(uroce_vcontext_dev(vmkey(dv)->pd->context)->mrs, dv->lkey, &error);

	if (ret != 0)
		return uroce_errno_ret(ret);
	*err_info = (struct uroce_dv_mkey_err){
		.err_type = err_types[error.sig.fault],
		.err.sig = {
			.actual_value = error.sig.actual,
			.expected_value = error.sig.expected,
			.offset = error.offset,
		},
	};
	return 0;
}
