/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_REFUSAL_H
#define UROCE_IBVERBS_REFUSAL_H

/**
 * @file
 * Reports the failure of calls of libibverbs that do not reach liburoce. For other calls liburoce
 * sets errno.
 */

#include <errno.h>

/**
 * Set errno to the error that a call of libibverbs will return, because programs print errno and
 * not the return value.
 * @return `err`
 */
static inline int
refuse(int err)
{
	errno = err;
	return err;
}

#endif /* UROCE_IBVERBS_REFUSAL_H */
