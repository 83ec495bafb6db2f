/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Names of completion statuses and AETH syndromes, so that the traces of all tests use the same
 * words.
 */

#include "names.h"

#include "wire/syndrome.h"

const char *
name_of_status(enum ibv_wc_status status)
{
	static const char *const names[] = {
		[IBV_WC_SUCCESS] = "SUCCESS",
		[IBV_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
		[IBV_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
		[IBV_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
		[IBV_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
		[IBV_WC_MW_BIND_ERR] = "MW_BIND_ERR",
		[IBV_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
		[IBV_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
		[IBV_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
		[IBV_WC_REM_OP_ERR] = "REM_OP_ERR",
		[IBV_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
		[IBV_WC_REM_INV_RD_REQ_ERR] = "REM_INV_RD_REQ_ERR",
	};

	if (status >= sizeof(names) / sizeof(names[0]) || !names[status])
		return "?";
	return names[status];
}

const char *
name_of_aeth(uint8_t syndrome)
{
	static const char *const naks[] = { "NAK_SEQ", "NAK_INV_REQUEST", "NAK_REM_ACCESS",
					    "NAK_REM_OP", "NAK_INV_RD_REQUEST" };
	const uint8_t value = uroce_syndrome_value(syndrome);

	switch (uroce_syndrome_kind(syndrome)) {
	case UROCE_AETH_ACK:
		return "ACK";
	case UROCE_AETH_RNR:
		return "RNR_NAK";
	case UROCE_AETH_NAK:
		return value < sizeof(naks) / sizeof(naks[0]) ? naks[value] : "NAK_?";
	case UROCE_AETH_RESERVED:
		break;
	}
	return "AETH_?";
}
