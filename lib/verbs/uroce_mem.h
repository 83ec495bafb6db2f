/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_MEM_H
#define UROCE_MEM_H

/**
 * @file
 * Protection domains, and the memory that is registered in them: regions, windows and device
 * memory.
 *
 * This header is a part of <uroce.h>, which includes it and explains the tags in the comments.
 */

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a protection domain.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the PD and frees it by uroce_dealloc_pd().
 * @return the PD, or NULL with errno. EINVAL: `context` is NULL; ENOMEM: there are max_pd PDs, or
 *         there is no memory.
 */
struct ibv_pd *uroce_alloc_pd(struct ibv_context *context);

/**
 * Free a protection domain.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EBUSY: regions, windows, QPs, address handles or other objects use the PD; EINVAL:
 *         `pd` is NULL
 */
int uroce_dealloc_pd(struct ibv_pd *pd);

/**
 * Create a thread domain. A program that creates objects in it, through a parent domain, promises
 * to use them from one thread at a time.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the thread domain and frees it by uroce_dealloc_td().
 * @return the domain, or NULL with errno. EINVAL: comp_mask is not 0, or an argument is NULL;
 *         ENOMEM.
 */
struct ibv_td *uroce_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init_attr);

/**
 * Free a thread domain.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EBUSY: parent domains use the thread domain; EINVAL: `td` is NULL
 */
int uroce_dealloc_td(struct ibv_td *td);

/**
 * Create a parent domain: a PD that is the same protection domain as `attr->pd`, and may have a
 * thread domain. Allocators in `attr` are accepted, but not called: memory comes from the library.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the PD and frees it by uroce_dealloc_pd(). Until then the PD uses
 *         `attr->pd` and `attr->td`.
 * @param attr  pd_context is accepted, but not read
 * @return the PD, or NULL with errno. EINVAL: `attr->pd` is NULL, `attr->pd` or `attr->td` is of
 *         another context, comp_mask has unknown bits, or an argument is NULL; ENOENT: `attr->pd`
 *         is not a valid PD; ENOMEM.
 */
struct ibv_pd *uroce_alloc_parent_domain(struct ibv_context *context,
					 struct ibv_parent_domain_init_attr *attr);

/**
 * Create a PD that is the same protection domain as a PD of another context. One of the two
 * contexts must have been imported from the other. Each PD counts its own users, and the domain
 * ends with its last PD.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the PD and frees it by uroce_unimport_pd() or uroce_dealloc_pd().
 * @param pd_handle  the `handle` of the other PD
 * @return the PD, or NULL with errno. EINVAL: there is no such PD, or `context` is NULL; ENOMEM.
 */
struct ibv_pd *uroce_import_pd(struct ibv_context *context, uint32_t pd_handle);

/**
 * Free a PD that was imported. The call does nothing if the PD has users.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 */
void uroce_unimport_pd(struct ibv_pd *pd);

/**
 * Register memory. The lkey and rkey of a region are the same unpredictable number. The memory is
 * not pinned. It must stay mapped, with its present rights, until the region is deregistered. With
 * LOCAL_WRITE its pages are made resident, so that no worker stops for a page fault.
 *
 * With ON_DEMAND the memory need not be mapped. When a packet reads or writes memory of the region,
 * the pages of this memory must be mapped, or the request fails. `addr` NULL and `length` SIZE_MAX
 * mean the whole address space.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The library may access the memory until uroce_dereg_mr().
 * @param access  enum ibv_access_flags: LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC,
 *         MW_BIND, ZERO_BASED, ON_DEMAND, and UROCE_DV_ACCESS_FLUSH_GLOBAL. The hints HUGETLB and
 *         those of IBV_ACCESS_OPTIONAL_RANGE are accepted.
 * @return the region, or NULL with errno. EINVAL: the flags are unknown, or have remote write or
 *         atomic without local write, `length` is beyond max_mr_size, the range wraps, or `pd` is
 *         NULL; EOPNOTSUPP: ON_DEMAND on Linux before 5.14, or UROCE_DV_ACCESS_FLUSH_PERSISTENT;
 *         EFAULT: the memory is not mapped, or not writable with LOCAL_WRITE; ENOMEM: there are
 *         max_mr regions, windows and mkeys, or there is no memory.
 */
struct ibv_mr *uroce_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);

/**
 * Register memory that work requests and peers address from `iova` on, or, with ZERO_BASED, from 0
 * on.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_reg_mr().
 * @return as uroce_reg_mr(). EINVAL: also if `iova` + `length` wraps.
 */
struct ibv_mr *uroce_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				 int access);

/**
 * Register memory as uroce_reg_mr_iova(). The macros of <infiniband/verbs.h> make this call if
 * flags may be optional.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  As uroce_reg_mr().
 * @return as uroce_reg_mr_iova()
 */
struct ibv_mr *uroce_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				  unsigned int access);

/**
 * Create a null region. As an element of a scatter list, at any address and length, a null region
 * reads as zeros, and discards what is written to it. A null region has no rkey.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the region and deregisters it by uroce_dereg_mr().
 * @return the region, or NULL with errno. EINVAL: `pd` is NULL; ENOMEM.
 */
struct ibv_mr *uroce_alloc_null_mr(struct ibv_pd *pd);

/**
 * Change the memory, the domain or the rights of a region, as if it were deregistered and
 * registered again. Its keys stay. Requests that name the region during the call fail. A call that
 * fails changes nothing.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @owner  As uroce_reg_mr(). On return the library does not access the old memory any more.
 * @param flags  IBV_REREG_MR_CHANGE_TRANSLATION (`addr`, `length`), _PD (`pd`), _ACCESS (`access`,
 *         which is 0 without this flag), or-ed
 * @return 0, or IBV_REREG_MR_ERR_INPUT with errno. EINVAL: as uroce_reg_mr(), or there are no or
 *         unknown flags, the new `addr` is NULL, the new `length` is 0, `pd` is of another context,
 *         `access` is not 0 without its flag, or the region is not of the program's memory;
 *         EFAULT, EOPNOTSUPP: as uroce_reg_mr(); EBUSY: memory windows are bound to the region.
 */
int uroce_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		   int access);

/**
 * Make pages of on-demand regions resident, before packets use them. The pages are ready when the
 * call returns, with or without IBV_ADVISE_MR_FLAG_FLUSH.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @param advice  IBV_ADVISE_MR_ADVICE_PREFETCH, _PREFETCH_WRITE or _PREFETCH_NO_FAULT
 * @return 0; EINVAL: `pd` is NULL, the flags are unknown, there are no elements, a key belongs to a
 *         window, or a region is not on demand; EOPNOTSUPP: the advice is unknown; EFAULT: a key is
 *         invalid, or a range is not in its region, or is not mapped with the right that the advice
 *         needs; ENOENT: the key was replaced by another key of the same object; EPERM: a region
 *         belongs to another PD, or has no LOCAL_WRITE and the advice is PREFETCH_WRITE; ENOMEM
 */
int uroce_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		    struct ibv_sge *sg_list, uint32_t num_sge);

/**
 * Deregister memory. On return the library does not access the memory, and requests that name its
 * key fail. A call that fails changes nothing.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EINVAL: `mr` is NULL, or was deregistered; EBUSY: memory windows are bound to the
 *         region
 */
int uroce_dereg_mr(struct ibv_mr *mr);

/**
 * Register a dma-buf: `length` bytes from `offset` on, which peers and requests address from `iova`
 * on. The dma-buf is mapped for the CPU, so its exporter must allow the mapping.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `fd` may be closed on return. The library may access the memory until uroce_dereg_mr().
 * @param access  LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, RELAXED_ORDERING
 * @return the region, whose `addr` is `offset`; or NULL with errno. EINVAL: the flags are unknown,
 *         or have remote write or atomic without local write, `fd` is not a dma-buf, the range is
 *         empty or not in the dma-buf, `iova` and `offset` differ within a page, or `pd` is NULL;
 *         EBADF; EACCES: the dma-buf may not be written; EOPNOTSUPP: its exporter does not let the
 *         CPU map it; ENOMEM.
 */
struct ibv_mr *uroce_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				   int fd, int access);

/**
 * Create another `struct ibv_mr` for a region, in the same protection domain. The program frees
 * the struct by uroce_dereg_mr(), which also ends the region, or by uroce_unimport_mr(), which
 * does not.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the struct.
 * @param pd  the region's PD, or an import of that PD
 * @param mr_handle  the `handle` in the region's other struct
 * @return the struct, whose `addr` is NULL; or NULL with errno. ENOENT: the domain has no such
 *         region; EINVAL: `pd` is NULL; ENOMEM.
 */
struct ibv_mr *uroce_import_mr(struct ibv_pd *pd, uint32_t mr_handle);

/**
 * Free an imported `struct ibv_mr`, or one whose region was deregistered through another struct.
 * When its last struct is freed, a region ends.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 */
void uroce_unimport_mr(struct ibv_mr *mr);

/**
 * Allocate device memory, which is hugepage memory of this host. All blocks of the device together
 * have at most max_dm_size bytes.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the memory and frees it by uroce_free_dm(). `attr` may be reused on
 *         return.
 * @param attr  `length`; `log_align_req`, at most 30: the address is a multiple of 2 to this power;
 *         `comp_mask`: 0
 * @return zeroed memory, or NULL with errno. EINVAL: `length` is 0, the alignment or `comp_mask` is
 *         not supported, or an argument is NULL; ENOMEM.
 */
struct ibv_dm *uroce_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);

/**
 * Free device memory.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EBUSY: the memory is registered; EINVAL: `dm` is NULL
 */
int uroce_free_dm(struct ibv_dm *dm);

/**
 * Copy into device memory, or out of device memory.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @return 0; EFAULT: the range is not in the device memory; EINVAL: an argument is NULL, or the
 *         offset or the length is not a multiple of 4
 */
int uroce_memcpy_to_dm(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr, size_t length);
int uroce_memcpy_from_dm(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset, size_t length);

/**
 * Register device memory. Requests and peers use addresses from 0 on, where 0 is the byte at
 * `dm_offset`.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The program cannot free `dm` before it deregisters the region.
 * @param access  ZERO_BASED, with LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND
 *         and the hints of uroce_reg_mr()
 * @return the region, whose `addr` is NULL; or NULL with errno. EINVAL: ZERO_BASED is missing,
 *         other flags are unknown, or have remote write or atomic without local write, the range is
 *         not in `dm`, `dm` is of another context, or an argument is NULL; ENOMEM.
 */
struct ibv_mr *uroce_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset,
			       size_t length, unsigned int access);

/**
 * Create a memory window that is not bound. Regions, windows and mkeys of a device share a table
 * with max_mr entries.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  The caller owns the window and frees it by uroce_dealloc_mw().
 * @param type  IBV_MW_TYPE_1: belongs to the PD, and is bound by uroce_bind_mw(). IBV_MW_TYPE_2:
 *         belongs to a QP (type 2B), and is bound by posting IBV_WR_BIND_MW.
 * @return the window, or NULL with errno. EINVAL: `pd` is NULL, or the type is neither of the two;
 *         ENOMEM.
 */
struct ibv_mw *uroce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);

/**
 * Free a memory window, whether it is bound or not. On return, requests that name any of its keys
 * fail.
 *
 * @lcore  Any thread but a worker's.
 * @mt     Safe.
 * @return 0; EINVAL: `mw` is NULL
 */
int uroce_dealloc_mw(struct ibv_mw *mw);

/**
 * Post a request that binds a type 1 window to a piece of a region. If the length is 0, the request
 * removes the binding of the window. On return `mw->rkey` is the new key, which becomes valid when
 * the request is executed. If the request fails the new key never becomes valid, and the program
 * restores the former key.
 *
 * @lcore  Any thread.
 * @mt     Safe.
 * @owner  `bind` may be reused on return.
 * @return 0; EINVAL: `mw` is not of type 1, `mr` is NULL with an address or a length or is a null
 *         region, the flags are unknown, or an argument is NULL; EPERM: region and window belong to
 *         different PDs; otherwise as uroce_post_send()
 */
int uroce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

#ifdef __cplusplus
}
#endif

#endif /* UROCE_MEM_H */
