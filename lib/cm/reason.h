/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_REASON_H
#define UROCE_CM_REASON_H

/**
 * @file
 * Reasons of a REJ, and the status of a SIDR_REP and of an APR. Values and names are those of the
 * standard [IBA 12.6.7.2, 12.8.2, 12.11.2]; the texts explain the values to a user.
 */

/** Reasons of a REJ. The value 34 is reserved. */
enum uroce_cm_reason {
	UROCE_CM_REASON_NO_QP = 1,
	UROCE_CM_REASON_NO_EEC = 2,
	UROCE_CM_REASON_NO_RESOURCES = 3,
	UROCE_CM_REASON_TIMEOUT = 4,
	UROCE_CM_REASON_UNSUPPORTED = 5,
	UROCE_CM_REASON_INVALID_COMM_ID = 6,
	UROCE_CM_REASON_INVALID_COMM_INSTANCE = 7,
	UROCE_CM_REASON_INVALID_SERVICE_ID = 8,
	UROCE_CM_REASON_INVALID_TRANSPORT = 9,
	UROCE_CM_REASON_STALE_CONN = 10,
	UROCE_CM_REASON_RDC_NOT_EXIST = 11,
	/* The reasons 12 to 17 concern the primary path of the REQ. */
	UROCE_CM_REASON_INVALID_GID = 12,
	UROCE_CM_REASON_INVALID_LID = 13,
	UROCE_CM_REASON_INVALID_SL = 14,
	UROCE_CM_REASON_INVALID_TRAFFIC_CLASS = 15,
	UROCE_CM_REASON_INVALID_HOP_LIMIT = 16,
	UROCE_CM_REASON_INVALID_PACKET_RATE = 17,
	/* The reasons 18 to 23 concern the alternate path of the REQ. */
	UROCE_CM_REASON_INVALID_ALT_GID = 18,
	UROCE_CM_REASON_INVALID_ALT_LID = 19,
	UROCE_CM_REASON_INVALID_ALT_SL = 20,
	UROCE_CM_REASON_INVALID_ALT_TRAFFIC_CLASS = 21,
	UROCE_CM_REASON_INVALID_ALT_HOP_LIMIT = 22,
	UROCE_CM_REASON_INVALID_ALT_PACKET_RATE = 23,
	UROCE_CM_REASON_PORT_CM_REDIRECT = 24,
	UROCE_CM_REASON_PORT_REDIRECT = 25,
	UROCE_CM_REASON_INVALID_MTU = 26,
	UROCE_CM_REASON_INSUFFICIENT_RESP_RESOURCES = 27,
	UROCE_CM_REASON_CONSUMER_DEFINED = 28,
	UROCE_CM_REASON_INVALID_RNR_RETRY = 29,
	UROCE_CM_REASON_DUPLICATE_LOCAL_COMM_ID = 30,
	UROCE_CM_REASON_INVALID_CLASS_VERSION = 31,
	UROCE_CM_REASON_INVALID_FLOW_LABEL = 32,
	UROCE_CM_REASON_INVALID_ALT_FLOW_LABEL = 33,
	UROCE_CM_REASON_VENDOR_OPTION_NOT_SUPPORTED = 35,
};

/** The status of a SIDR_REP: the service is resolved, or the reason why it is not resolved. */
enum uroce_cm_sidr_status {
	UROCE_CM_SIDR_SUCCESS = 0,
	UROCE_CM_SIDR_UNSUPPORTED = 1,
	UROCE_CM_SIDR_REJECT = 2,
	UROCE_CM_SIDR_NO_QP = 3,
	UROCE_CM_SIDR_REDIRECT = 4,
	UROCE_CM_SIDR_UNSUPPORTED_VERSION = 5,
};

/** The status of an APR: the alternate path is accepted, or the reason why it is not accepted. */
enum uroce_cm_apr_status {
	UROCE_CM_APR_SUCCESS = 0,
	UROCE_CM_APR_INVALID_COMM_ID = 1,
	UROCE_CM_APR_UNSUPPORTED = 2,
	UROCE_CM_APR_REJECT = 3,
	UROCE_CM_APR_REDIRECT = 4,
	UROCE_CM_APR_IS_CURRENT = 5,
	UROCE_CM_APR_INVALID_QPN_EECN = 6,
	UROCE_CM_APR_INVALID_LID = 7,
	UROCE_CM_APR_INVALID_GID = 8,
	UROCE_CM_APR_INVALID_FLOW_LABEL = 9,
	UROCE_CM_APR_INVALID_TRAFFIC_CLASS = 10,
	UROCE_CM_APR_INVALID_HOP_LIMIT = 11,
	UROCE_CM_APR_INVALID_PACKET_RATE = 12,
	UROCE_CM_APR_INVALID_SL = 13,
};

/**
 * Get the text of the reason of a REJ, for users. The result is never NULL; for an unknown reason
 * it is "unknown reason".
 */
const char *uroce_cm_reason_text(unsigned reason);

/**
 * Get the text of a status of a SIDR_REP, for users. The result is never NULL; for an unknown
 * status it is "unknown status".
 */
const char *uroce_cm_sidr_status_text(unsigned status);

/**
 * Get the text of a status of an APR, for users. The result is never NULL; for an unknown status it
 * is "unknown status".
 */
const char *uroce_cm_apr_status_text(unsigned status);

#endif /* UROCE_CM_REASON_H */
