/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_FD_LIMIT_H
#define UROCED_FD_LIMIT_H

/**
 * @file
 * The number of descriptors that a process of uroced may have. Each client needs some.
 */

/** Allow as many descriptors as the process may allow itself. */
void fd_limit_raise(void);

#endif /* UROCED_FD_LIMIT_H */
