/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_ERRNO_RET_H
#define UROCE_VERBS_ERRNO_RET_H

/**
 * @file
 * Functions by which calls that return an errno set errno, too. The man pages of verbs require
 * only the return value. The kernel's libraries set errno as well, and programs print errno. So
 * each call that fails returns through one of these functions. A call that succeeds does not
 * change errno.
 */

#include <errno.h>

/**
 * Set errno, for a call that fails.
 * @param err  a positive errno
 * @return `err`
 */
static inline int
uroce_fail(int err)
{
	errno = err;
	return err;
}

/**
 * Convert the result of an internal function, such as one of lib/datapath, to an errno, and set
 * errno if it is an error.
 * @param ret  0, or -errno
 * @return 0, or the positive errno
 */
static inline int
uroce_errno_ret(int ret)
{
	return ret == 0 ? 0 : uroce_fail(-ret);
}

#endif /* UROCE_VERBS_ERRNO_RET_H */
