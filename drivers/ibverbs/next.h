/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_NEXT_H
#define UROCE_IBVERBS_NEXT_H

/**
 * @file
 * Definition of functions that replace functions of libc, and call them. Each has a C name of its
 * own, replaced_NAME, and libc's name as its symbol, because libc's headers redefine some names.
 */

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

/**
 * Find the function, of libc or of another library, that the program would call without this
 * library.
 * @param[in,out] found  NULL, or the result of an earlier call
 */
static inline void *
find_next(_Atomic(void *) *found, const char *name)
{
	void *next = atomic_load_explicit(found, memory_order_relaxed);

	if (next == NULL) {
		next = dlsym(RTLD_NEXT, name);
		atomic_store_explicit(found, next, memory_order_relaxed);
	}
	return next;
}

/** The function that is replaced; `found` is a static variable of its caller. */
#define NEXT(name) ((__typeof__(&replaced_##name))find_next(&found, #name))

/** Declare the replacement of a function, and begin its definition. */
#define DECLARE(type, name, params)                                                                \
	__attribute__((visibility("default"))) type replaced_##name params __asm__(#name);         \
	type replaced_##name params

#endif /* UROCE_IBVERBS_NEXT_H */
