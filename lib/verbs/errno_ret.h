/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_ERRNO_RET_H
#define UROCE_VERBS_ERRNO_RET_H

/**
 * @file
 * What a call answers that returns the value of errno. The man pages ask for that value alone, but the kernel's
 * libraries set errno as well, and programs print that. So every such call ends here when it fails; when it succeeds,
 * errno is as it was.
 */

#include <errno.h>

/** @param err  an errno. @return the same */
static inline int
uroce_fail(int err)
{
	errno = err;
	return err;
}

/** @param ret  0, or -errno, as below this floor. @return 0, or the errno */
static inline int
uroce_errno_ret(int ret)
{
	return ret == 0 ? 0 : uroce_fail(-ret);
}

#endif /* UROCE_VERBS_ERRNO_RET_H */
