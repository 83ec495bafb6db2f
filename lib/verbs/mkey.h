/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_MKEY_H
#define UROCE_VERBS_MKEY_H

/**
 * @file
 * Limits of an mkey, which is a key for memory that consists of pieces of registered regions.
 */

#include "mem/mkey.h"
#include "verbs/object.h"

/**
 * Maximum number of pieces of memory of an mkey: as many as fit into the inline data of one
 * request.
 */
#define UROCE_MAX_MKEY_ENTRIES                                                                     \
	((UROCE_MAX_INLINE - sizeof(struct uroce_mkey_conf)) / sizeof(struct uroce_mkey_piece))

#endif /* UROCE_VERBS_MKEY_H */
