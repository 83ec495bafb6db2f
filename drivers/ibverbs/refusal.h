/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_REFUSAL_H
#define UROCE_IBVERBS_REFUSAL_H

/**
 * @file
 * Calls that fail before they reach the engine, which sets errno itself.
 */

#include <errno.h>

/** Set errno, which programs print, beside what the call returns. @return `err` */
static inline int
refuse(int err)
{
	errno = err;
	return err;
}

#endif /* UROCE_IBVERBS_REFUSAL_H */
