/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CM_MAIN_H
#define UROCED_CM_MAIN_H

/**
 * @file
 * The program of the connection manager, which uroced starts (cm_process.h).
 */

#include <stdbool.h>

/**
 * Serve clients of the connection manager until uroced ends. The descriptors of enum cm_fd are
 * open.
 * @param is_unconfined  enter no sandbox
 * @return exit status
 */
int cm_main(bool is_unconfined);

#endif /* UROCED_CM_MAIN_H */
