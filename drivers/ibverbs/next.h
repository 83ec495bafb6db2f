/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_NEXT_H
#define UROCE_IBVERBS_NEXT_H

/**
 * @file
 * Macros that define a replacement of a function of libc, and that call the replaced function. The
 * replacement has the C name replaced_NAME, because libc's headers redefine some names. Its symbol
 * is the name in libc.
 */

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

/**
 * Find the function, of libc or of another library, that the program would call if this library
 * were not preloaded.
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

/**
 * The function, of libc or of another library, that replaced_NAME() replaces. The caller has a
 * static variable `found`, in which the address of this function is kept.
 */
#define NEXT(name) ((__typeof__(&replaced_##name))find_next(&found, #name))

/**
 * Declare the replacement of a function of libc or of another library, and begin its definition.
 */
#define DECLARE(type, name, params)                                                                \
	__attribute__((visibility("default"))) type replaced_##name params __asm__(#name);         \
	type replaced_##name params

#endif /* UROCE_IBVERBS_NEXT_H */
