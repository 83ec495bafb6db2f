/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints failed completions. After the first failure of a QP all later requests are flushed. So all
 * failed completions are counted, but only the first REPORTED_MAX are described in full.
 */

#include "failures.h"

#include <inttypes.h>
#include <stdio.h>

#include <uroce.h>

#define REPORTED_MAX 2u

static const char *const names[FAILURES_STATUSES] = {
	[IBV_WC_SUCCESS] = "IBV_WC_SUCCESS",
	[IBV_WC_LOC_LEN_ERR] = "IBV_WC_LOC_LEN_ERR",
	[IBV_WC_LOC_QP_OP_ERR] = "IBV_WC_LOC_QP_OP_ERR",
	[IBV_WC_LOC_EEC_OP_ERR] = "IBV_WC_LOC_EEC_OP_ERR",
	[IBV_WC_LOC_PROT_ERR] = "IBV_WC_LOC_PROT_ERR",
	[IBV_WC_WR_FLUSH_ERR] = "IBV_WC_WR_FLUSH_ERR",
	[IBV_WC_MW_BIND_ERR] = "IBV_WC_MW_BIND_ERR",
	[IBV_WC_BAD_RESP_ERR] = "IBV_WC_BAD_RESP_ERR",
	[IBV_WC_LOC_ACCESS_ERR] = "IBV_WC_LOC_ACCESS_ERR",
	[IBV_WC_REM_INV_REQ_ERR] = "IBV_WC_REM_INV_REQ_ERR",
	[IBV_WC_REM_ACCESS_ERR] = "IBV_WC_REM_ACCESS_ERR",
	[IBV_WC_REM_OP_ERR] = "IBV_WC_REM_OP_ERR",
	[IBV_WC_RETRY_EXC_ERR] = "IBV_WC_RETRY_EXC_ERR",
	[IBV_WC_RNR_RETRY_EXC_ERR] = "IBV_WC_RNR_RETRY_EXC_ERR",
	[IBV_WC_REM_ABORT_ERR] = "IBV_WC_REM_ABORT_ERR",
	[IBV_WC_FATAL_ERR] = "IBV_WC_FATAL_ERR",
	[IBV_WC_RESP_TIMEOUT_ERR] = "IBV_WC_RESP_TIMEOUT_ERR",
	[IBV_WC_GENERAL_ERR] = "IBV_WC_GENERAL_ERR",
};

static unsigned
row_of(enum ibv_wc_status status)
{
	return (unsigned)status < FAILURES_STATUSES ? (unsigned)status : IBV_WC_GENERAL_ERR;
}

void
failures_add(struct failures *failures, const struct ibv_wc *wc, const char *request)
{
	unsigned row = row_of(wc->status);

	(request != NULL ? failures->sends : failures->recvs)[row]++;
	if (failures->nb_reported++ >= REPORTED_MAX)
		return;
	fprintf(stderr,
		"uroce-perf: qp 0x%06x: wr 0x%" PRIx64 " (%s): %s, \"%s\", vendor error 0x%x\n",
		wc->qp_num, wc->wr_id, request != NULL ? request : "receive",
		names[row] != NULL ? names[row] : "?", uroce_wc_status_str(wc->status),
		wc->vendor_err);
}

static const char *
print_kind(const uint64_t *counts, const char *kind, const char *separator)
{
	/*
	 * The count of flushed requests is printed last, because flushed requests follow from other
	 * failures.
	 */
	for (unsigned i = 1; i <= FAILURES_STATUSES; i++) {
		unsigned row = (IBV_WC_WR_FLUSH_ERR + i) % FAILURES_STATUSES;

		if (counts[row] == 0)
			continue;
		fprintf(stderr, "%s%" PRIu64 " %s %s", separator, counts[row], kind,
			names[row] != NULL ? names[row] : "?");
		separator = ", ";
	}
	return separator;
}

void
failures_print(const struct failures *failures)
{
	if (failures->nb_reported == 0)
		return;
	const char *separator = "uroce-perf: completions in error: ";
	separator = print_kind(failures->sends, "send", separator);
	print_kind(failures->recvs, "receive", separator);
	fputc('\n', stderr);
}
