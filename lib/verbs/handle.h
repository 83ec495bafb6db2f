/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_HANDLE_H
#define UROCE_VERBS_HANDLE_H

/**
 * @file
 * Whether what a program hands to a control call is an object of ours. The kernel looks an object up by the number in
 * its field `handle`, and answers ENOENT where there is none. Here the object itself is used, so it carries a word
 * that is made of its address, its kind and that number: a number that was changed, an object of another kind, a copy,
 * and one that was destroyed and whose memory is as it was left, differ from it. The data path does not look.
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

/** Not 0. */
static inline uint64_t
uroce_handle_word(const void *object, uint32_t handle, enum uroce_kind kind)
{
	return (uint64_t)kind << 60 ^ (uint64_t)handle << 24 ^ (uintptr_t)object;
}

/**
 * Of each kind: its handle is good from now on, when all of the object is there; it is no longer, and no compiler takes
 * that for a store without a reader; whether it is.
 * @return 0; -EINVAL: NULL; -ENOENT: it is no object of ours, or none any more
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

#endif /* UROCE_VERBS_HANDLE_H */
