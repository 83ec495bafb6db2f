/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_MKEY_H
#define UROCE_VERBS_MKEY_H

/**
 * @file
 * What an mkey may have.
 */

#include "mem/mkey.h"
#include "verbs/object.h"

/** Pieces: as many as a request has room for. */
#define UROCE_MAX_MKEY_ENTRIES                                                                     \
	((UROCE_MAX_INLINE - sizeof(struct uroce_mkey_conf)) / sizeof(struct uroce_mkey_piece))

#endif /* UROCE_VERBS_MKEY_H */
