/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_REFUSAL_H
#define UROCE_IBVERBS_REFUSAL_H

/**
 * @file
 * Failure of calls that do not reach the engine. The engine sets errno itself.
 */

#include <errno.h>

/**
 * Set errno as well as return it, because programs print errno and not the return value.
 * @return `err`
 */
static inline int
refuse(int err)
{
	errno = err;
	return err;
}

#endif /* UROCE_IBVERBS_REFUSAL_H */
