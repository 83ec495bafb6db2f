/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Texts for users: the reasons of a REJ, and the status of a SIDR_REP and of an APR.
 */

#include "cm/reason.h"

#include <stddef.h>

/* clang-format off */
static const char *const reason_texts[] = {
	[UROCE_CM_REASON_NO_QP] = "the peer has no QP for it",
	[UROCE_CM_REASON_NO_EEC] = "the peer has no end-to-end context for it",
	[UROCE_CM_REASON_NO_RESOURCES] = "the peer lacks resources",
	[UROCE_CM_REASON_TIMEOUT] = "the peer has waited too long for an answer",
	[UROCE_CM_REASON_UNSUPPORTED] = "the peer does not support what was asked for",
	[UROCE_CM_REASON_INVALID_COMM_ID] = "the peer does not know the communication ID",
	[UROCE_CM_REASON_INVALID_COMM_INSTANCE] = "the two communication IDs belong to different connections",
	[UROCE_CM_REASON_INVALID_SERVICE_ID] = "no listener for the service ID or port, or its address is not the peer's",
	[UROCE_CM_REASON_INVALID_TRANSPORT] = "the listener uses another transport service",
	[UROCE_CM_REASON_STALE_CONN] = "the peer still has an earlier connection of this QP or communication ID",
	[UROCE_CM_REASON_RDC_NOT_EXIST] = "the peer has no reliable datagram channel to this host",
	[UROCE_CM_REASON_INVALID_GID] = "the destination GID of the primary path is not one of the peer",
	[UROCE_CM_REASON_INVALID_LID] = "the destination LID of the primary path is not one of the peer",
	[UROCE_CM_REASON_INVALID_SL] = "service level of the primary path refused",
	[UROCE_CM_REASON_INVALID_TRAFFIC_CLASS] = "traffic class of the primary path refused",
	[UROCE_CM_REASON_INVALID_HOP_LIMIT] = "hop limit of the primary path refused",
	[UROCE_CM_REASON_INVALID_PACKET_RATE] = "packet rate of the primary path refused",
	[UROCE_CM_REASON_INVALID_ALT_GID] = "the destination GID of the alternate path is not one of the peer",
	[UROCE_CM_REASON_INVALID_ALT_LID] = "the destination LID of the alternate path is not one of the peer",
	[UROCE_CM_REASON_INVALID_ALT_SL] = "service level of the alternate path refused",
	[UROCE_CM_REASON_INVALID_ALT_TRAFFIC_CLASS] = "traffic class of the alternate path refused",
	[UROCE_CM_REASON_INVALID_ALT_HOP_LIMIT] = "hop limit of the alternate path refused",
	[UROCE_CM_REASON_INVALID_ALT_PACKET_RATE] = "packet rate of the alternate path refused",
	[UROCE_CM_REASON_PORT_CM_REDIRECT] = "ask another port and another connection manager of the peer",
	[UROCE_CM_REASON_PORT_REDIRECT] = "ask for another port of the peer",
	[UROCE_CM_REASON_INVALID_MTU] = "path MTU refused",
	[UROCE_CM_REASON_INSUFFICIENT_RESP_RESOURCES] = "more READs and atomics at a time than the other end accepts",
	[UROCE_CM_REASON_CONSUMER_DEFINED] = "refused by the peer's program, or its QP could not be set up",
	[UROCE_CM_REASON_INVALID_RNR_RETRY] = "RNR retry count refused",
	[UROCE_CM_REASON_DUPLICATE_LOCAL_COMM_ID] = "this host already uses the communication ID with the peer",
	[UROCE_CM_REASON_INVALID_CLASS_VERSION] = "the peer uses another version of communication management",
	[UROCE_CM_REASON_INVALID_FLOW_LABEL] = "flow label of the primary path refused",
	[UROCE_CM_REASON_INVALID_ALT_FLOW_LABEL] = "flow label of the alternate path refused",
	[UROCE_CM_REASON_VENDOR_OPTION_NOT_SUPPORTED] = "the peer does not support the options of ECE",
};

static const char *const sidr_status_texts[] = {
	[UROCE_CM_SIDR_SUCCESS] = "the service has a QP",
	[UROCE_CM_SIDR_UNSUPPORTED] = "no listener for the service ID or port",
	[UROCE_CM_SIDR_REJECT] = "refused by the peer's program",
	[UROCE_CM_SIDR_NO_QP] = "the peer has no QP for it",
	[UROCE_CM_SIDR_REDIRECT] = "ask another connection manager",
	[UROCE_CM_SIDR_UNSUPPORTED_VERSION] = "the peer uses another version of communication management",
};

static const char *const apr_status_texts[] = {
	[UROCE_CM_APR_SUCCESS] = "alternate path loaded",
	[UROCE_CM_APR_INVALID_COMM_ID] = "the peer does not know the communication IDs",
	[UROCE_CM_APR_UNSUPPORTED] = "the peer does not support alternate paths",
	[UROCE_CM_APR_REJECT] = "refused by the peer's program",
	[UROCE_CM_APR_REDIRECT] = "ask another connection manager",
	[UROCE_CM_APR_IS_CURRENT] = "the path is already the alternate path",
	[UROCE_CM_APR_INVALID_QPN_EECN] = "the QP number is not that of the connection",
	[UROCE_CM_APR_INVALID_LID] = "the destination LID is not one of the peer",
	[UROCE_CM_APR_INVALID_GID] = "the destination GID is not one of the peer",
	[UROCE_CM_APR_INVALID_FLOW_LABEL] = "flow label refused",
	[UROCE_CM_APR_INVALID_TRAFFIC_CLASS] = "traffic class refused",
	[UROCE_CM_APR_INVALID_HOP_LIMIT] = "hop limit refused",
	[UROCE_CM_APR_INVALID_PACKET_RATE] = "packet rate refused",
	[UROCE_CM_APR_INVALID_SL] = "service level refused",
};
/* clang-format on */

#define NB_TEXTS(texts) (sizeof(texts) / sizeof((texts)[0]))

const char *
uroce_cm_reason_text(unsigned reason)
{
	const char *text = reason < NB_TEXTS(reason_texts) ? reason_texts[reason] : NULL;

	return text ? text : "unknown reason";
}

const char *
uroce_cm_sidr_status_text(unsigned status)
{
	return status < NB_TEXTS(sidr_status_texts) ? sidr_status_texts[status] : "unknown status";
}

const char *
uroce_cm_apr_status_text(unsigned status)
{
	return status < NB_TEXTS(apr_status_texts) ? apr_status_texts[status] : "unknown status";
}
