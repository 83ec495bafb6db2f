/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log lines about control operations of a QP. The functions of lib/transport return the reason of a
 * refusal as data, and this file writes the sentence.
 */

#include "verbs/qp_log.h"

#include <rte_common.h>

#include "datapath/log.h"
#include "datapath/net/address_text.h"
#include "datapath/net/path_fault.h"
#include "datapath/sentence.h"
#include "transport/qp_state.h"

static const char *const states[] = {
	[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR",
	[IBV_QPS_RTS] = "RTS",     [IBV_QPS_SQD] = "SQD",   [IBV_QPS_SQE] = "SQE",
	[IBV_QPS_ERR] = "ERR",
};

static const struct {
	int bit;
	const char *name;
} attributes[] = {
	{ IBV_QP_STATE, "IBV_QP_STATE" },
	{ IBV_QP_CUR_STATE, "IBV_QP_CUR_STATE" },
	{ IBV_QP_EN_SQD_ASYNC_NOTIFY, "IBV_QP_EN_SQD_ASYNC_NOTIFY" },
	{ IBV_QP_ACCESS_FLAGS, "IBV_QP_ACCESS_FLAGS" },
	{ IBV_QP_PKEY_INDEX, "IBV_QP_PKEY_INDEX" },
	{ IBV_QP_PORT, "IBV_QP_PORT" },
	{ IBV_QP_QKEY, "IBV_QP_QKEY" },
	{ IBV_QP_AV, "IBV_QP_AV" },
	{ IBV_QP_PATH_MTU, "IBV_QP_PATH_MTU" },
	{ IBV_QP_TIMEOUT, "IBV_QP_TIMEOUT" },
	{ IBV_QP_RETRY_CNT, "IBV_QP_RETRY_CNT" },
	{ IBV_QP_RNR_RETRY, "IBV_QP_RNR_RETRY" },
	{ IBV_QP_RQ_PSN, "IBV_QP_RQ_PSN" },
	{ IBV_QP_MAX_QP_RD_ATOMIC, "IBV_QP_MAX_QP_RD_ATOMIC" },
	{ IBV_QP_ALT_PATH, "IBV_QP_ALT_PATH" },
	{ IBV_QP_MIN_RNR_TIMER, "IBV_QP_MIN_RNR_TIMER" },
	{ IBV_QP_SQ_PSN, "IBV_QP_SQ_PSN" },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, "IBV_QP_MAX_DEST_RD_ATOMIC" },
	{ IBV_QP_PATH_MIG_STATE, "IBV_QP_PATH_MIG_STATE" },
	{ IBV_QP_CAP, "IBV_QP_CAP" },
	{ IBV_QP_DEST_QPN, "IBV_QP_DEST_QPN" },
	{ IBV_QP_RATE_LIMIT, "IBV_QP_RATE_LIMIT" },
};

static const char *
name_state(enum ibv_qp_state state)
{
	return (unsigned)state < RTE_DIM(states) ? states[state] : "an unknown state";
}

/*
 * Add to a sentence the names of the attributes in a mask. Bits without a name are added as a
 * number.
 */
static void
add_attributes(struct uroce_sentence *sentence, int mask)
{
	const char *comma = "";

	for (size_t i = 0; i < RTE_DIM(attributes); i++) {
		if (!(mask & attributes[i].bit))
			continue;
		uroce_sentence_add(sentence, "%s%s", comma, attributes[i].name);
		mask &= ~attributes[i].bit;
		comma = ", ";
	}
	if (mask != 0)
		uroce_sentence_add(sentence, "%s0x%x", comma, (unsigned)mask);
}

/* Add to a sentence the states to which the QP may be modified. */
static void
add_next_states(struct uroce_sentence *sentence, enum ibv_qp_type type, enum ibv_qp_state from)
{
	const char *comma = "";
	int required, allowed;

	for (int to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++) {
		if (!uroce_qp_state_attrs(type, from, (enum ibv_qp_state)to, &required, &allowed))
			continue;
		uroce_sentence_add(sentence, "%s%s", comma, states[to]);
		comma = ", ";
	}
}

/* Add to a sentence what is wrong with the value of an attribute, and the allowed range. */
static void
add_value(struct uroce_sentence *sentence, const struct uroce_refusal *refusal)
{
	const unsigned long value = (unsigned long)refusal->value;
	const unsigned long min = (unsigned long)refusal->min, max = (unsigned long)refusal->max;

	if (refusal->mask == IBV_QP_PATH_MTU && value > max && value <= IBV_MTU_4096)
		uroce_sentence_add(
			sentence,
			"path_mtu %lu is %lu bytes, and the port carries %lu: allowed is "
			"up to %lu (option -m of test programs), or a port with longer "
			"frames (ip link mtu, bsize of memif, framesz of af_packet)",
			value, 128UL << value, 128UL << max, 128UL << max);
	else if (refusal->mask == IBV_QP_ACCESS_FLAGS)
		uroce_sentence_add(sentence, "%s: 0x%lx", refusal->field, value);
	else if (min == max)
		uroce_sentence_add(sentence, "%s is %lu: allowed is %lu%s", refusal->field, value,
				   min,
				   max == 1 && value == 0 && (refusal->mask & IBV_QP_AV)
					   ? ", RoCE needs a GRH (option -x or -g of test programs)"
					   : "");
	else
		uroce_sentence_add(sentence, "%s is %lu: allowed are %lu to %lu", refusal->field,
				   value, min, max);
}

void
uroce_qp_log_refusal(const struct uroce_vqp *qp, const struct uroce_refusal *refusal)
{
	struct uroce_sentence sentence = { 0 };

	switch (refusal->reason) {
	case UROCE_REFUSAL_CUR_STATE:
		uroce_sentence_add(&sentence,
				   "cur_qp_state is not the state of the QP, or is none of "
				   "RTR, RTS, SQD and SQE");
		break;
	case UROCE_REFUSAL_TRANSITION:
		uroce_sentence_add(&sentence, "there is no such transition: allowed are ");
		add_next_states(&sentence, qp->ibv.qp_type, refusal->from);
		break;
	case UROCE_REFUSAL_LACKS:
		uroce_sentence_add(&sentence, "the mask lacks required attributes: ");
		add_attributes(&sentence, refusal->mask);
		break;
	case UROCE_REFUSAL_EXCESS:
		uroce_sentence_add(&sentence,
				   "the mask has attributes that are not allowed here: ");
		add_attributes(&sentence, refusal->mask);
		break;
	case UROCE_REFUSAL_DRAINING:
		uroce_sentence_add(&sentence,
				   "the send queue has not drained yet: wait for the event "
				   "IBV_EVENT_SQ_DRAINED");
		break;
	case UROCE_REFUSAL_VALUE:
		add_value(&sentence, refusal);
		break;
	case UROCE_REFUSAL_NONE:
		uroce_sentence_add(&sentence, "the QP was modified by another thread");
		break;
	}
	UROCE_LOG_LIMITED(WARNING, qp, "qp 0x%x: modify from %s to %s refused: %s", qp->ibv.qp_num,
			  name_state(refusal->from), name_state(refusal->to), sentence.text);
}

void
uroce_qp_log_no_path(const struct uroce_vqp *qp, const struct ibv_ah_attr *av, int err)
{
	struct uroce_sentence sentence = { 0 };

	uroce_path_fault_describe(uroce_vcontext_dev(qp->ibv.context), av, err, &sentence);
	UROCE_LOG_LIMITED(WARNING, qp, "qp 0x%x: modify refused: %s", qp->ibv.qp_num,
			  sentence.text);
}

void
uroce_qp_log_modified(const struct uroce_vqp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct uroce_sentence sentence = { 0 };
	char text[INET6_ADDRSTRLEN];

	if (!rte_log_can_log((uint32_t)uroce_log_qp, RTE_LOG_DEBUG))
		return;
	if (mask & IBV_QP_STATE)
		uroce_sentence_add(&sentence, " to %s", name_state(attr->qp_state));
	if (mask & IBV_QP_AV)
		uroce_sentence_add(&sentence, ", connected to %s",
				   uroce_address_text(attr->ah_attr.grh.dgid.raw, text));
	if (mask & IBV_QP_DEST_QPN)
		uroce_sentence_add(&sentence, " qp 0x%x", attr->dest_qp_num);
	if (mask & IBV_QP_PATH_MTU)
		uroce_sentence_add(&sentence, ", path MTU %u", 128u << attr->path_mtu);
	UROCE_LOG(DEBUG, qp, "qp 0x%x: modified%s", qp->ibv.qp_num, sentence.text);
}

void
uroce_qp_log_created(const struct uroce_vqp *qp)
{
	static const char *const types[] = {
		[IBV_QPT_RC] = "RC",
		[IBV_QPT_UC] = "UC",
		[IBV_QPT_UD] = "UD",
		[IBV_QPT_XRC_SEND] = "XRC_SEND",
		[IBV_QPT_XRC_RECV] = "XRC_RECV",
	};

	UROCE_LOG(DEBUG, qp, "qp 0x%x: created, %s, %u send and %u receive requests",
		  qp->ibv.qp_num, types[qp->ibv.qp_type], qp->cap.max_send_wr, qp->cap.max_recv_wr);
}
