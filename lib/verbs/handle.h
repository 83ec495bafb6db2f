/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_HANDLE_H
#define UROCE_VERBS_HANDLE_H

/**
 * @file
 * Checks whether a program passes a valid object to a control call. The kernel finds an object by
 * the number in its field `handle`, and returns ENOENT if there is none. In this library each
 * object has a check word, which is computed from the object's address, its kind and its number.
 * The word does not match if the number was changed, or if the object is of another kind or a copy.
 * It does not match either if the object was destroyed, as long as its memory is not reused. Calls
 * of the data path do not check the word.
 */

#include <errno.h>
#include <stdint.h>

#include "verbs/object.h"

enum uroce_kind {
	UROCE_KIND_PD = 1,
	UROCE_KIND_MR,
	UROCE_KIND_MW,
	UROCE_KIND_DM,
	UROCE_KIND_AH,
	UROCE_KIND_CQ,
	UROCE_KIND_SRQ,
	UROCE_KIND_QP,
};

/** Compute the check word of an object. The word is never 0, which marks a destroyed object. */
static inline uint64_t
uroce_handle_word(const void *object, uint32_t handle, enum uroce_kind kind)
{
	return (uint64_t)kind << 60 ^ (uint64_t)handle << 24 ^ (uintptr_t)object;
}

/**
 * Define three functions for a kind of object. `_begin` makes the handle of a complete object
 * valid. `_end` makes the handle invalid; its store is atomic, because a compiler may remove a
 * plain store that no code reads before free(). `_check` checks whether the handle is valid. It
 * returns 0, -EINVAL if `ibv` is NULL, or -ENOENT if `ibv` is not an object of this kind or was
 * destroyed.
 */
#define UROCE_HANDLE(name, kind)                                                                   \
	static inline void uroce_v##name##_begin(struct uroce_v##name *object)                     \
	{                                                                                          \
		object->word = uroce_handle_word(object, object->ibv.handle, kind);                \
	}                                                                                          \
	static inline void uroce_v##name##_end(struct uroce_v##name *object)                       \
	{                                                                                          \
		__atomic_store_n(&object->word, 0, __ATOMIC_RELAXED);                              \
	}                                                                                          \
	static inline int uroce_v##name##_check(const struct ibv_##name *ibv)                      \
	{                                                                                          \
		const struct uroce_v##name *const object = (const struct uroce_v##name *)ibv;      \
                                                                                                   \
		if (ibv == NULL)                                                                   \
			return -EINVAL;                                                            \
		return object->word == uroce_handle_word(object, ibv->handle, kind) ? 0 : -ENOENT; \
	}

UROCE_HANDLE(pd, UROCE_KIND_PD)
UROCE_HANDLE(mr, UROCE_KIND_MR)
UROCE_HANDLE(mw, UROCE_KIND_MW)
UROCE_HANDLE(dm, UROCE_KIND_DM)
UROCE_HANDLE(ah, UROCE_KIND_AH)
UROCE_HANDLE(cq, UROCE_KIND_CQ)
UROCE_HANDLE(srq, UROCE_KIND_SRQ)
UROCE_HANDLE(qp, UROCE_KIND_QP)

#undef UROCE_HANDLE

/**
 * Check a QP that may come from another provider. A QP without a context is refused before its
 * check word is read, because the object may be shorter than struct uroce_vqp.
 */
static inline int
uroce_vqp_check_any(const struct ibv_qp *ibv)
{
	return ibv == NULL || ibv->context == NULL ? -EINVAL : uroce_vqp_check(ibv);
}

#endif /* UROCE_VERBS_HANDLE_H */
