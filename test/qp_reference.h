/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_QP_REFERENCE_H
#define UROCE_TEST_QP_REFERENCE_H

/**
 * @file
 * The state transitions of a QP, written as text like the reference [IBA 11.2.5.2, as the kernel's
 * ib_modify_qp_is_ok() enforces it]. Tests compare the library's tables of transitions with this
 * one.
 */

#include <stdbool.h>
#include <infiniband/verbs.h>

#define QP_REFERENCE_STATES (IBV_QPS_ERR + 1)
#define QP_REFERENCE_KINDS  5

struct qp_reference_kind {
	const char *name; /* short name of the type in the text */
	enum ibv_qp_type type;
};

extern const struct qp_reference_kind qp_reference_kinds[QP_REFERENCE_KINDS];

/** The attributes of a transition, as bits of the mask of ibv_modify_qp() without IBV_QP_STATE. */
struct qp_reference_cell {
	bool is_valid;
	int required;
	int optional;
};

/** Get the attributes of a transition. `from` and `to` are states in [0, QP_REFERENCE_STATES). */
const struct qp_reference_cell *qp_reference_cell(unsigned kind, int from, int to);

/** Get the name of a state. */
const char *qp_reference_state(int state);

#endif /* UROCE_TEST_QP_REFERENCE_H */
