/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Log lines that say why a QP has failed. One table has a row for each status with which a send
 * request fails, and another one for each verdict with which a request of the peer fails.
 */

#include "datapath/worker/failure.h"

#include <stdio.h>
#include <rte_common.h>

#include "datapath/log.h"
#include "datapath/net/address_text.h"
#include "wire/verdict.h"

struct cause {
	const char *what;   /* what has happened, as a part of a sentence */
	const char *advice; /* what the user can try, as a part of a sentence */
};

static const struct cause causes[] = {
	[IBV_WC_LOC_LEN_ERR] = { "the request is longer than this service allows",
				 "send less: a datagram has at most the path MTU, a message 2^31 "
				 "bytes" },
	[IBV_WC_LOC_QP_OP_ERR] = { "the QP cannot execute the request",
				   "check opcode, QP type and max_rd_atomic, which READs and "
				   "atomics "
				   "need" },
	[IBV_WC_LOC_PROT_ERR] = { "an lkey, a range or a right of its own memory is wrong",
				  "check lkey, address and length of each SGE, that the region is "
				  "still registered, and IBV_ACCESS_LOCAL_WRITE if it is written" },
	[IBV_WC_MW_BIND_ERR] = { "the memory window could not be bound",
				 "check that the region has IBV_ACCESS_MW_BIND and contains the "
				 "window" },
	[IBV_WC_BAD_RESP_ERR] = { "the peer's response does not belong to its request",
				  "compare both captures by tcpdump udp port 4791" },
	[IBV_WC_REM_INV_REQ_ERR] = { "the peer refused the request as invalid",
				     "check that the peer's receive buffer holds the message, and "
				     "the "
				     "peer's max_dest_rd_atomic for READs and atomics" },
	[IBV_WC_REM_ACCESS_ERR] = { "the peer refused the key, the range or the right",
				    "check rkey, remote address and length, and that the peer's "
				    "region and QP grant the remote access" },
	[IBV_WC_REM_OP_ERR] = { "the peer could not execute the request",
				"look at the peer's log: its own memory or key is wrong" },
	[IBV_WC_RETRY_EXC_ERR] = { "no response from the peer, after all retries",
				   "check that the peer's program runs and its QP is in RTR, that "
				   "the "
				   "network passes UDP port 4791 (uroce-doctor), and that timeout "
				   "and "
				   "retry_cnt are long enough" },
	[IBV_WC_RNR_RETRY_EXC_ERR] = { "the peer had no receive request, after all RNR retries",
				       "let the peer post more receive requests or earlier, or set "
				       "rnr_retry 7, which has no limit" },
};

/*
 * Advice to the user for a request of the peer that fails, by verdict. The verdict itself is
 * described by uroce_verdict_text().
 */
static const char *const advice_of[UROCE_VERDICT_NB] = {
	[UROCE_VERDICT_BAD_SEQUENCE] = "capture both sides by tcpdump udp port 4791",
	[UROCE_VERDICT_BAD_REQUEST] = "check max_dest_rd_atomic, which READs and atomics need, and "
				      "the path MTU, which must be the same at both QPs",
	[UROCE_VERDICT_NO_ACCESS] = "check which rkey, address and length the peer uses, and that "
				    "region and QP grant the remote access",
	[UROCE_VERDICT_LOCAL_FAULT] = "check lkey, address and length of the receive requests, and "
				      "IBV_ACCESS_LOCAL_WRITE",
	[UROCE_VERDICT_BAD_INVALIDATE] = "check the key that the peer invalidates",
	[UROCE_VERDICT_TOO_LONG] = "post receive requests that are as long as the longest "
				   "message of the peer",
};

static struct cause
find_cause(const struct uroce_failure *failure)
{
	struct cause cause = { NULL, NULL };

	if (failure->is_peers) {
		cause.what = uroce_verdict_text((enum uroce_verdict)failure->verdict);
		if (failure->verdict < RTE_DIM(advice_of))
			cause.advice = advice_of[failure->verdict];
	} else if (failure->status < RTE_DIM(causes)) {
		cause = causes[failure->status];
	}
	if (!cause.what)
		cause.what = "an error of the status in the completion";
	if (!cause.advice)
		cause.advice = "look at uroce-stat --qp";
	return cause;
}

void
uroce_failure_log(const struct uroce_qpc *qpc)
{
	const struct uroce_failure *const failure = &qpc->failure;
	const struct cause cause = find_cause(failure);
	char address[INET6_ADDRSTRLEN], peer[INET6_ADDRSTRLEN + 32] = "";

	/* a UD QP has no fixed peer, so the log line names no peer */
	if (qpc->type != IBV_QPT_UD)
		(void)snprintf(peer, sizeof(peer), ", peer %s qp 0x%x",
			       uroce_address_text_of_peer(&qpc->path, address), qpc->dest_qpn);
	UROCE_LOG_LIMITED(WARNING, qp, "qp 0x%x%s: failed at PSN 0x%x of %s: %s; %s", qpc->qpn,
			  peer, failure->psn,
			  failure->is_peers ? "the peer's requests" : "its requests", cause.what,
			  cause.advice);
}
