/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of QP state transitions. A cell of the table is a transition. For each kind of QP the
 * cell holds the attributes that the transition requires, and those that it allows in addition. An
 * empty cell is a transition that does not exist. Two types of QP are different kinds if their
 * rules differ. The names of attributes are abbreviated to two letters.
 */
#include "transport/qp_state.h"

#include <errno.h>
#include <stddef.h>

enum kind {
	KIND_UD,
	KIND_UC,
	KIND_RC,
	KIND_XI, /* XRC initiator: IBV_QPT_XRC_SEND */
	KIND_XT, /* XRC target: IBV_QPT_XRC_RECV */
	KIND_NB
};

#define AF IBV_QP_ACCESS_FLAGS
#define AP IBV_QP_ALT_PATH
#define AV IBV_QP_AV
#define CS IBV_QP_CUR_STATE
#define DQ IBV_QP_DEST_QPN
#define EN IBV_QP_EN_SQD_ASYNC_NOTIFY
#define MD IBV_QP_MAX_DEST_RD_ATOMIC
#define MQ IBV_QP_MAX_QP_RD_ATOMIC
#define MT IBV_QP_PATH_MTU
#define PK IBV_QP_PKEY_INDEX
#define PM IBV_QP_PATH_MIG_STATE
#define PT IBV_QP_PORT
#define QK IBV_QP_QKEY
#define RC IBV_QP_RETRY_CNT
#define RN IBV_QP_MIN_RNR_TIMER
#define RP IBV_QP_RQ_PSN
#define RR IBV_QP_RNR_RETRY
#define SP IBV_QP_SQ_PSN
#define TO IBV_QP_TIMEOUT

struct transition {
	bool is_valid;
	int required[KIND_NB];
	int optional[KIND_NB];
};

/* One set of attributes for all connected QPs: UC, RC, XRC initiator (XI) and target (XT). */
#define CONNECTED(set)  [KIND_UC] = (set), [KIND_RC] = (set), [KIND_XI] = (set), [KIND_XT] = (set)

#define TO_RESET_OR_ERR [IBV_QPS_RESET] = { .is_valid = true }, [IBV_QPS_ERR] = { .is_valid = true }

static const struct transition transitions[IBV_QPS_ERR + 1][IBV_QPS_ERR + 1] = {
	[IBV_QPS_RESET] = {
		[IBV_QPS_RESET] = { .is_valid = true },
		[IBV_QPS_INIT] = {
			.is_valid = true,
			.required = { [KIND_UD] = PK | PT | QK, CONNECTED(PK | PT | AF) },
		},
	},
	[IBV_QPS_INIT] = {
		TO_RESET_OR_ERR,
		[IBV_QPS_INIT] = {
			.is_valid = true,
			.optional = { [KIND_UD] = PK | PT | QK, CONNECTED(PK | PT | AF) },
		},
		[IBV_QPS_RTR] = {
			.is_valid = true,
			.required = {
				[KIND_UC] = AV | MT | DQ | RP,
				[KIND_XI] = AV | MT | DQ | RP,
				[KIND_RC] = AV | MT | DQ | RP | MD | RN,
				[KIND_XT] = AV | MT | DQ | RP | MD | RN,
			},
			.optional = { [KIND_UD] = PK | QK, CONNECTED(AP | AF | PK) },
		},
	},
	[IBV_QPS_RTR] = {
		TO_RESET_OR_ERR,
		[IBV_QPS_RTS] = {
			.is_valid = true,
			.required = {
				[KIND_UD] = SP,
				[KIND_UC] = SP,
				[KIND_RC] = TO | RC | RR | SP | MQ,
				[KIND_XI] = TO | RC | RR | SP | MQ,
				[KIND_XT] = TO | SP,
			},
			.optional = {
				[KIND_UD] = CS | QK,
				[KIND_UC] = CS | AP | AF | PM,
				[KIND_XI] = CS | AP | AF | PM,
				[KIND_RC] = CS | AP | AF | RN | PM,
				[KIND_XT] = CS | AP | AF | RN | PM,
			},
		},
	},
	[IBV_QPS_RTS] = {
		TO_RESET_OR_ERR,
		[IBV_QPS_RTS] = {
			.is_valid = true,
			.optional = {
				[KIND_UD] = CS | QK,
				[KIND_UC] = CS | AF | AP | PM,
				[KIND_XI] = CS | AF | AP | PM,
				[KIND_RC] = CS | AF | AP | PM | RN,
				[KIND_XT] = CS | AF | AP | PM | RN,
			},
		},
		[IBV_QPS_SQD] = {
			.is_valid = true,
			.optional = { [KIND_UD] = EN, CONNECTED(EN) },
		},
	},
	[IBV_QPS_SQD] = {
		TO_RESET_OR_ERR,
		[IBV_QPS_RTS] = {
			.is_valid = true,
			.optional = {
				[KIND_UD] = CS | QK,
				[KIND_UC] = CS | AP | AF | PM,
				[KIND_XI] = CS | AP | AF | PM,
				[KIND_RC] = CS | AP | AF | RN | PM,
				[KIND_XT] = CS | AP | AF | RN | PM,
			},
		},
		[IBV_QPS_SQD] = {
			.is_valid = true,
			.optional = {
				[KIND_UD] = PK | QK,
				[KIND_UC] = AV | AP | AF | PK | PM,
				[KIND_RC] = PT | AV | TO | RC | RR | MQ | MD | AP | AF | PK | RN | PM,
				[KIND_XI] = PT | AV | TO | RC | RR | MQ | AP | AF | PK | PM,
				[KIND_XT] = PT | AV | TO | MD | AP | AF | PK | RN | PM,
			},
		},
	},
	[IBV_QPS_SQE] = {
		TO_RESET_OR_ERR,
		[IBV_QPS_RTS] = {
			.is_valid = true,
			.optional = { [KIND_UD] = CS | QK, [KIND_UC] = CS | AF },
		},
	},
	[IBV_QPS_ERR] = { TO_RESET_OR_ERR },
};

static int
get_service_kind(enum ibv_qp_type type)
{
	switch ((int)type) {
	case IBV_QPT_RC:
		return KIND_RC;
	case IBV_QPT_UC:
		return KIND_UC;
	case IBV_QPT_UD:
		return KIND_UD;
	case IBV_QPT_XRC_SEND:
		return KIND_XI;
	case IBV_QPT_XRC_RECV:
		return KIND_XT;
	}
	return -EINVAL;
}

bool
uroce_qp_state_attrs(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to,
		     int *required, int *allowed)
{
	const int kind = get_service_kind(type);

	if (kind < 0 || (unsigned)from > IBV_QPS_ERR || (unsigned)to > IBV_QPS_ERR ||
	    !transitions[from][to].is_valid)
		return false;
	*required = transitions[from][to].required[kind];
	*allowed = *required | transitions[from][to].optional[kind] | IBV_QP_STATE;
	return true;
}
