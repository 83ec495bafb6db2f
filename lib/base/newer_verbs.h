/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_BASE_NEWER_VERBS_H
#define UROCE_BASE_NEWER_VERBS_H

/**
 * @file
 * Constants of new releases of libibverbs that the installed header may lack: those of FLUSH and
 * ATOMIC_WRITE, with the values of libibverbs. Programs get them from <uroce_dv.h>.
 *
 * UROCE_VERBS_HAS_FLUSH is defined if the installed header declares ibv_wr_flush(). The build
 * checks for the function, because the header does not state its release.
 */

/** Values of enum ibv_wr_opcode for FLUSH and ATOMIC_WRITE. */
enum {
	UROCE_WR_FLUSH = 14,
	UROCE_WR_ATOMIC_WRITE = 15,
};

/** Values of enum ibv_wc_opcode for completions of FLUSH and ATOMIC_WRITE. */
enum {
	UROCE_WC_FLUSH = 8,
	UROCE_WC_ATOMIC_WRITE = 9,
};

/** Values of enum ibv_access_flags for memory that a peer may flush. */
enum {
	UROCE_ACCESS_FLUSH_GLOBAL = 1 << 8,
	UROCE_ACCESS_FLUSH_PERSISTENT = 1 << 9,
};

/**
 * Placement types of a FLUSH, as in enum ibv_placement_type. The FETH uses the same values [IBA
 * A19].
 */
enum {
	UROCE_FLUSH_GLOBAL = 1 << 0,
	UROCE_FLUSH_PERSISTENT = 1 << 1,
};

/**
 * Selectivity levels of a FLUSH, as in enum ibv_selectivity_level. The FETH has the same values
 * [IBA A19].
 */
enum {
	UROCE_FLUSH_RANGE = 0,
	UROCE_FLUSH_MR = 1,
};

#endif /* UROCE_BASE_NEWER_VERBS_H */
