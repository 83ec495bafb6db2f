/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CM_VERDICT_H
#define UROCE_CM_VERDICT_H

/**
 * @file
 * Verdicts of the codec of CM messages on a received MAD and on the IP header in its private data.
 * One list gives the enum, the name and the text. The order of the list is the order of the checks.
 */

/* clang-format off */
#define UROCE_CM_VERDICT_LIST(X) \
	X(ACCEPTED,          "message of communication management") \
	/* checks of the MAD header, in cm/message.c */ \
	X(BAD_BASE_VERSION,  "base version of the MAD is not 1") \
	X(OTHER_CLASS,       "MAD of another class than communication management") \
	X(BAD_CLASS_VERSION, "class version of the MAD is not 2") \
	X(BAD_METHOD,        "method of the MAD is not Send") \
	X(UNKNOWN_ATTR,      "attribute is no message of communication management") \
	/* checks of the IP header in the private data, in cm/ip_header.c */ \
	X(BAD_IP_CM_VERSION, "version of the IP header in the private data is not 0") \
	X(BAD_IP_VERSION,    "IP version in the private data is neither 4 nor 6")

enum uroce_cm_verdict {
#define UROCE_CM_VERDICT_ENUM(name, text) UROCE_CM_VERDICT_##name,
	UROCE_CM_VERDICT_LIST(UROCE_CM_VERDICT_ENUM)
#undef UROCE_CM_VERDICT_ENUM
	UROCE_CM_VERDICT_NB
};
/* clang-format on */

/**
 * Get the name of a verdict on a received MAD in lower case ("bad_method"), for counters. The
 * result is never NULL. For a value outside the enum it is "?".
 */
const char *uroce_cm_verdict_name(enum uroce_cm_verdict verdict);

/**
 * Get the text of a verdict on a received MAD from the list, for users. The result is never NULL.
 * For a value outside the enum it is "?".
 */
const char *uroce_cm_verdict_text(enum uroce_cm_verdict verdict);

#endif /* UROCE_CM_VERDICT_H */
