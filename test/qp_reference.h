/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_QP_REFERENCE_H
#define UROCE_TEST_QP_REFERENCE_H

/**
 * @file
 * The transitions of a QP as the reference writes them, in words [IBA 11.2.5.2, as the kernel's
 * ib_modify_qp_is_ok() enforces it]. Tests of tables of transitions compare with it.
 */

#include <stdbool.h>
#include <infiniband/verbs.h>

#define QP_REFERENCE_STATES (IBV_QPS_ERR + 1)
#define QP_REFERENCE_KINDS  5

struct qp_reference_kind {
	const char *name; /* the name in the reference */
	enum ibv_qp_type type;
};

extern const struct qp_reference_kind qp_reference_kinds[QP_REFERENCE_KINDS];

/** The attributes of a transition, as in the mask of ibv_modify_qp without IBV_QP_STATE. */
struct qp_reference_cell {
	bool is_valid;
	int required;
	int optional;
};

/** The attributes of a transition between states in [0, QP_REFERENCE_STATES). */
const struct qp_reference_cell *qp_reference_cell(unsigned kind, int from, int to);

/** The name of a state. */
const char *qp_reference_state(int state);

#endif /* UROCE_TEST_QP_REFERENCE_H */
