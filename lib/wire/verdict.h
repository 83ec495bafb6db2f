/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_WIRE_VERDICT_H
#define UROCE_WIRE_VERDICT_H

/**
 * @file
 * Verdicts: the result of the checks of a received frame. The enum, the name and the text of each
 * verdict are generated from one list, UROCE_VERDICT_LIST.
 *
 * A bad packet is no error of the library. It is counted, and may cause a NAK. It is not logged,
 * except by an alert that names a suspected attack. The list is in lib/wire, because the parser
 * makes the first checks. The order of the list is the order of the checks: parser, look-up of the
 * QP, responder, requester.
 */

/* clang-format off */
#define UROCE_VERDICT_LIST(X) \
	/* verdicts of accepted frames */ \
	X(REQUEST,         "request executed or placed") \
	X(RESPONSE,        "response that moved the requester forward") \
	X(DATAGRAM,        "datagram delivered") \
	/* checks of the parser, in wire/parse.c */ \
	X(NOT_ROCE,        "not RoCEv2: other EtherType, protocol or UDP port") \
	X(TRUNCATED,       "frame shorter than the lengths in its headers") \
	X(BAD_IP,          "IP header malformed, or a first fragment") \
	X(BAD_UDP_LEN,     "UDP length disagrees with the IP length") \
	X(BAD_BTH_VERSION, "BTH transport version is not 0") \
	X(BAD_OPCODE,      "opcode unknown or reserved") \
	X(BAD_LEN,         "length impossible for the opcode: headers, payload or pad") \
	X(BAD_ICRC,        "invariant CRC wrong") \
	/* checks of the look-up: does the addressed QP exist, and may this peer use it */ \
	X(NO_QP,           "no QP of that number") \
	X(WRONG_SERVICE,   "opcode of another transport service than that of the QP") \
	X(NOT_READY,       "QP in a state that does not receive") \
	X(WRONG_PEER,      "source or destination address is not the connected one") \
	X(BAD_PKEY,        "P_Key does not match") \
	X(BAD_QKEY,        "Q_Key does not match") \
	/* checks of the responder */ \
	X(DUPLICATE,       "duplicate request, response repeated") \
	X(STALE,           "duplicate request whose response is no longer available") \
	X(OOO_PLACED,      "middle of a WRITE or READ behind a PSN gap: placed") \
	X(OOO_BUFFERED,    "behind a PSN gap: buffered until the gap is closed") \
	X(PSN_GAP,         "request ahead of the expected PSN, dropped: NAK, PSN sequence error") \
	X(BAD_SEQUENCE,    "opcode out of sequence in its message: NAK, invalid request") \
	X(BAD_REQUEST,     "request malformed or not allowed: NAK, invalid request") \
	X(NO_ACCESS,       "key, range or right refused: NAK, remote access error") \
	X(LOCAL_FAULT,     "local memory of the responder refused: NAK, operation error") \
	X(NO_RECEIVE,      "no receive request posted: RNR NAK, or dropped (UC, UD)") \
	X(BAD_INVALIDATE,  "key of a SEND with invalidate refused: NAK, remote operation error") \
	X(NO_RESOURCE,     "no resource for a READ or atomic: RNR NAK") \
	X(TOO_LONG,        "message longer than the receive buffer") \
	/* checks of the requester */ \
	X(GHOST,           "response to no outstanding request, or a duplicate response") \
	X(RESPONSE_GAP,    "response behind a READ or atomic without response: implied NAK, retransmission") \
	X(NAK_SEQ,         "NAK, PSN sequence error: retransmission from its PSN") \
	X(NAK_RNR,         "RNR NAK: retransmission after the RNR timer") \
	X(NAK_FATAL,       "NAK that ends the request in error") \
	X(BAD_RESPONSE,    "response malformed for its request") \
	X(CNP,             "congestion notification packet") \
	/* verdicts of the data path (lib/datapath), when another worker owns the QP */ \
	X(FORWARDED,       "forwarded to the worker that owns the QP") \
	X(OVERRUN,         "forwarded, but the ring of the owner was full: dropped") \
	/* verdict of the data path about a MAD that the device answers without a QP */ \
	X(LIMITED,         "Get(ClassPortInfo) to QP 1, dropped because too many had arrived")

enum uroce_verdict {
#define UROCE_VERDICT_ENUM(name, text) UROCE_VERDICT_##name,
	UROCE_VERDICT_LIST(UROCE_VERDICT_ENUM)
#undef UROCE_VERDICT_ENUM
	UROCE_VERDICT_NB
};
/* clang-format on */

/**
 * Get the name of a verdict in lower case ("bad_icrc"), for counters. The result is never NULL. For
 * a value outside the enum it is "?".
 */
const char *uroce_verdict_name(enum uroce_verdict verdict);

/**
 * Get the text of a verdict from the list, for users. The result is never NULL. For a value outside
 * the enum it is "?".
 */
const char *uroce_verdict_text(enum uroce_verdict verdict);

#endif /* UROCE_WIRE_VERDICT_H */
