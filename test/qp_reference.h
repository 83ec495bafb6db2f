/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_QP_REFERENCE_H
#define UROCE_TEST_QP_REFERENCE_H

/**
 * @file
 * The transitions of a QP as the reference writes them, in words [IBA 11.2.5.2, as the kernel's
 * ib_modify_qp_is_ok() enforces it]: for the tests of those who have them as a table.
 */

#include <stdbool.h>
#include <infiniband/verbs.h>

#define QP_REFERENCE_STATES (IBV_QPS_ERR + 1)
#define QP_REFERENCE_KINDS  5

struct qp_reference_kind {
	const char *name; /* as the reference has it */
	enum ibv_qp_type type;
};

extern const struct qp_reference_kind qp_reference_kinds[QP_REFERENCE_KINDS];

/** What a transition takes; `mask` of ibv_modify_qp, but for IBV_QP_STATE. */
struct qp_reference_cell {
	bool is_valid;
	int required;
	int optional;
};

/** The cell of a transition, states in [0, QP_REFERENCE_STATES). */
const struct qp_reference_cell *qp_reference_cell(unsigned kind, int from, int to);

/** The name of a state. */
const char *qp_reference_state(int state);

#endif /* UROCE_TEST_QP_REFERENCE_H */
