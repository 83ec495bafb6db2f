/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_H
#define UROCE_MEM_H

/**
 * @file
 * Protection domains, and memory that is registered in them: regions, windows, device memory.
 *
 * It is a part of <uroce.h>, which includes it and says what the comments mean.
 */

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make a protection domain.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be freed by uroce_dealloc_pd().
 * @return the PD, or NULL with errno: EINVAL `context` is NULL, ENOMEM max_pd PDs, or no memory
 */
struct ibv_pd *uroce_alloc_pd(struct ibv_context *context);

/**
 * Free a protection domain.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EBUSY regions, windows, QPs or address handles use it; EINVAL `pd` is NULL
 */
int uroce_dealloc_pd(struct ibv_pd *pd);

/**
 * Make a thread domain. Those who make objects in it, by a parent domain, promise to use them from one
 * thread at a time.
 *
 * @lcore  Any thread.
 * @mt     Safe, as is the use of such objects from many threads all the same.
 * @owner  The caller's, to be freed by uroce_dealloc_td().
 * @return the domain, or NULL with errno: EINVAL comp_mask is not 0, or an argument is NULL; ENOMEM
 */
struct ibv_td *uroce_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init_attr);

/**
 * Free a thread domain.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EBUSY parent domains use it; EINVAL `td` is NULL
 */
int uroce_dealloc_td(struct ibv_td *td);

/**
 * Make a parent domain: a PD that is the same domain as `attr->pd`, and has a thread domain.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be freed by uroce_dealloc_pd(). It uses `attr->pd` and `attr->td` meanwhile.
 * @param attr  pd_context is accepted, and nobody reads it
 * @return the PD, or NULL with errno: EINVAL `attr->pd` is NULL, it or `attr->td` is of another context,
 *         unknown bits in comp_mask, an argument NULL; EOPNOTSUPP allocators of the caller's; ENOMEM
 */
struct ibv_pd *uroce_alloc_parent_domain(struct ibv_context *context,
					 struct ibv_parent_domain_init_attr *attr);

/**
 * Make a PD that is the same domain as one of a context that was imported from this one, or this one
 * from it. Each counts its own users, and the domain ends with the last of them.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be freed by uroce_unimport_pd() or uroce_dealloc_pd().
 * @param pd_handle  the `handle` of that PD
 * @return the PD, or NULL with errno: EINVAL there is none, or `context` is NULL; ENOMEM
 */
struct ibv_pd *uroce_import_pd(struct ibv_context *context, uint32_t pd_handle);

/**
 * Free a PD that was imported. One that has users stays as it is.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 */
void uroce_unimport_pd(struct ibv_pd *pd);

/**
 * Register memory. lkey and rkey of a region are the same unpredictable number. The memory is not
 * pinned; it must stay mapped, with the rights that it has now, until the region is deregistered.
 * With LOCAL_WRITE its pages are made resident, so that no worker stops for a page fault.
 *
 * With ON_DEMAND it need not be mapped: what a request names is looked for when a packet is sent from there
 * or placed there, and the request fails if it is not there. `addr` NULL and `length` SIZE_MAX
 * are the whole address space.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The memory is lent to the region until uroce_dereg_mr().
 * @param access  enum ibv_access_flags: LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC,
 *                MW_BIND, ZERO_BASED, ON_DEMAND; the hints HUGETLB and those of
 *                IBV_ACCESS_OPTIONAL_RANGE are accepted
 * @return the region, or NULL with errno: EINVAL unknown flags, remote write or atomic without local
 *         write, `length` 0 or beyond max_mr_size, a range that wraps, `pd` NULL; EOPNOTSUPP ON_DEMAND
 *         on Linux before 5.14; EFAULT not mapped, or not writable with LOCAL_WRITE; ENOMEM
 *         max_mr regions, or no memory
 */
struct ibv_mr *uroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);

/**
 * Register memory that work requests and peers address from `iova` on, or, with ZERO_BASED, from 0.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_reg_mr().
 * @return as uroce_reg_mr(); EINVAL also when `iova` + `length` wraps
 */
struct ibv_mr *uroce_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				 int access);

/**
 * The same; it is what the macros of <infiniband/verbs.h> call when flags may be optional ones.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_reg_mr().
 * @return as uroce_reg_mr_iova()
 */
struct ibv_mr *uroce_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				  unsigned int access);

/**
 * Make a null region: as an element of a scatter list it reads as zeros, and forgets what is written to
 * it, at any address and length. It has no rkey.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be deregistered by uroce_dereg_mr().
 * @return the region, or NULL with errno: EINVAL `pd` is NULL; ENOMEM
 */
struct ibv_mr *uroce_alloc_null_mr(struct ibv_pd *pd);

/**
 * Change memory, domain or rights of a region, as if it were deregistered and registered again. Its keys
 * stay. Requests that name it meanwhile fail. A call that fails changes nothing.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  As uroce_reg_mr(); the old memory is no longer lent.
 * @param flags  IBV_REREG_MR_CHANGE_TRANSLATION (`addr`, `length`), _PD (`pd`), _ACCESS (`access`,
 *               else 0), or-ed
 * @return 0, or IBV_REREG_MR_ERR_INPUT with errno: EINVAL as uroce_reg_mr(), no or unknown flags, `pd`
 *         of another context, a region that is not of the program's memory; EFAULT, EOPNOTSUPP as
 *         uroce_reg_mr(); EBUSY memory windows are bound to it
 */
int uroce_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		   int access);

/**
 * Have pages of on-demand regions ready before packets name them. It is done when the call returns, with
 * IBV_ADVISE_MR_FLAG_FLUSH or without.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param advice  IBV_ADVISE_MR_ADVICE_PREFETCH, _PREFETCH_WRITE, _PREFETCH_NO_FAULT
 * @return 0; EINVAL `pd` NULL, unknown flags, no elements, a key of a window, a region that is not on
 *         demand; EOPNOTSUPP another advice; EFAULT a key that leads nowhere, a range that is not in
 *         its region, or not mapped with the right; ENOENT a key of something that has another by now;
 *         EPERM a region of another PD, PREFETCH_WRITE of one without LOCAL_WRITE; ENOMEM
 */
int uroce_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		    struct ibv_sge *sg_list, uint32_t num_sge);

/**
 * Deregister memory. On return nothing refers to it, and requests that name its key fail.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EINVAL `mr` is NULL, or was deregistered; EBUSY memory windows are bound to it: nothing
 *         has changed
 */
int uroce_dereg_mr(struct ibv_mr *mr);

/**
 * Register a dma-buf: `length` bytes from `offset` on, which peers and requests address from `iova` on. It
 * is mapped for the CPU, so its exporter must allow that.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `fd` may be closed on return; the memory is lent until uroce_dereg_mr().
 * @param access  LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, RELAXED_ORDERING
 * @return the region, whose `addr` is `offset`, or NULL with errno: EINVAL other flags, remote write or
 *         atomic without local write, `fd` no dma-buf, a range that is not in it, `iova` and `offset`
 *         differ within a page, `pd` NULL; EBADF; EACCES it may not be written; EOPNOTSUPP its exporter
 *         does not let the CPU map it; ENOMEM
 */
struct ibv_mr *uroce_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				   int fd, int access);

/**
 * Another `struct ibv_mr` for a region, in the same domain. It is ended by uroce_dereg_mr(), which ends the
 * region, or by uroce_unimport_mr(), which does not.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's.
 * @param pd  the region's PD, or an import of it
 * @param mr_handle  `handle` of the region's
 * @return the region, whose `addr` is NULL; or NULL with errno: ENOENT there is no such region in this
 *         domain, EINVAL `pd` is NULL, ENOMEM
 */
struct ibv_mr *uroce_import_mr(struct ibv_pd *pd, uint32_t mr_handle);

/**
 * Give an imported `struct ibv_mr` up, or one whose region was deregistered through another. The last one
 * ends its region, too.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 */
void uroce_unimport_mr(struct ibv_mr *mr);

/**
 * Take device memory: hugepage memory that is the device's. Of all blocks together there are max_dm_size
 * bytes.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be freed by uroce_free_dm(). `attr` may be reused on return.
 * @param attr  `length`; `log_align_req`: its address is a multiple of two to this power, at most 30;
 *              `comp_mask` 0
 * @return zeroed memory, or NULL with errno: EINVAL `length` is 0, alignment or `comp_mask` unknown, an
 *         argument NULL; ENOMEM
 */
struct ibv_dm *uroce_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);

/**
 * Give device memory back.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EBUSY it is registered; EINVAL `dm` is NULL
 */
int uroce_free_dm(struct ibv_dm *dm);

/**
 * Copy into device memory, and out of it.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EFAULT the range is not in it; EINVAL an argument is NULL, offset or length is no multiple
 *         of 4
 */
int uroce_memcpy_to_dm(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr, size_t length);
int uroce_memcpy_from_dm(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset, size_t length);

/**
 * Register device memory. Requests and peers count from 0, which is `dm_offset`.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `dm` cannot be freed before the region is deregistered.
 * @param access  ZERO_BASED, with LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND and the
 *                hints
 * @return the region, whose `addr` is NULL; or NULL with errno: EINVAL no ZERO_BASED, other flags, remote
 *         write or atomic without local write, a range that is not in it, `dm` of another context, an
 *         argument NULL; ENOMEM
 */
struct ibv_mr *uroce_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset,
			       size_t length, unsigned int access);

/**
 * Make a memory window, which is not bound. Regions and windows of a device share a table of max_mr
 * places.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller's, to be freed by uroce_dealloc_mw().
 * @param type  IBV_MW_TYPE_1: of the PD, bound by uroce_bind_mw(); IBV_MW_TYPE_2: of a QP (2B), bound
 *              by posting IBV_WR_BIND_MW
 * @return the window, or NULL with errno: EINVAL `pd` is NULL, or another type; ENOMEM
 */
struct ibv_mw *uroce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);

/**
 * Free a memory window, bound or not. On return requests that name any of its keys fail.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EINVAL `mw` is NULL
 */
int uroce_dealloc_mw(struct ibv_mw *mw);

/**
 * Post a request that binds a type 1 window to a piece of a region, or, with a length of 0, to nothing.
 * `mw->rkey` is the new key on return; it leads nowhere before the request was executed, and nowhere
 * ever if it fails: then the program restores the key that it had.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `bind` may be reused on return.
 * @return 0; EINVAL `mw` is not of type 1, `mr` NULL with an address or a length, unknown flags, an
 *         argument NULL; EPERM region and window are of different PDs; else as uroce_post_send()
 */
int uroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_MEM_H */
