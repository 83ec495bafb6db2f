/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts for verbs' enums: completion statuses, asynchronous events, node types and port states.
 */

#include <stddef.h>

#include "verbs/uroce.h"

#define NB(table) (sizeof(table) / sizeof((table)[0]))

static const char *const statuses[] = {
	[IBV_WC_SUCCESS] = "success",
	[IBV_WC_LOC_LEN_ERR] = "local length error",
	[IBV_WC_LOC_QP_OP_ERR] = "local QP operation error",
	[IBV_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
	[IBV_WC_LOC_PROT_ERR] = "local protection error",
	[IBV_WC_WR_FLUSH_ERR] = "work request flushed",
	[IBV_WC_MW_BIND_ERR] = "memory window bind error",
	[IBV_WC_BAD_RESP_ERR] = "bad response",
	[IBV_WC_LOC_ACCESS_ERR] = "local access error",
	[IBV_WC_REM_INV_REQ_ERR] = "remote invalid request",
	[IBV_WC_REM_ACCESS_ERR] = "remote access error",
	[IBV_WC_REM_OP_ERR] = "remote operation error",
	[IBV_WC_RETRY_EXC_ERR] = "transport retries exhausted",
	[IBV_WC_RNR_RETRY_EXC_ERR] = "receiver not ready, retries exhausted",
	[IBV_WC_LOC_RDD_VIOL_ERR] = "local RD domain violation",
	[IBV_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
	[IBV_WC_REM_ABORT_ERR] = "aborted by the remote side",
	[IBV_WC_INV_EECN_ERR] = "invalid EE context number",
	[IBV_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
	[IBV_WC_FATAL_ERR] = "fatal error",
	[IBV_WC_RESP_TIMEOUT_ERR] = "response timed out",
	[IBV_WC_GENERAL_ERR] = "general error",
	[IBV_WC_TM_ERR] = "tag matching error",
	[IBV_WC_TM_RNDV_INCOMPLETE] = "tag matching rendezvous incomplete",
};

static const char *const events[] = {
	[IBV_EVENT_CQ_ERR] = "CQ error",
	[IBV_EVENT_QP_FATAL] = "QP fatal error",
	[IBV_EVENT_QP_REQ_ERR] = "QP invalid request error",
	[IBV_EVENT_QP_ACCESS_ERR] = "QP access violation",
	[IBV_EVENT_COMM_EST] = "communication established",
	[IBV_EVENT_SQ_DRAINED] = "send queue drained",
	[IBV_EVENT_PATH_MIG] = "path migrated",
	[IBV_EVENT_PATH_MIG_ERR] = "path migration failed",
	[IBV_EVENT_DEVICE_FATAL] = "device fatal error",
	[IBV_EVENT_PORT_ACTIVE] = "port active",
	[IBV_EVENT_PORT_ERR] = "port error",
	[IBV_EVENT_LID_CHANGE] = "LID changed",
	[IBV_EVENT_PKEY_CHANGE] = "P_Key table changed",
	[IBV_EVENT_SM_CHANGE] = "subnet manager changed",
	[IBV_EVENT_SRQ_ERR] = "SRQ error",
	[IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit reached",
	[IBV_EVENT_QP_LAST_WQE_REACHED] = "last WQE reached",
	[IBV_EVENT_CLIENT_REREGISTER] = "client reregistration asked for",
	[IBV_EVENT_GID_CHANGE] = "GID table changed",
	[IBV_EVENT_WQ_FATAL] = "WQ fatal error",
};

static const char *const node_types[] = {
	[IBV_NODE_CA] = "channel adapter",
	[IBV_NODE_SWITCH] = "switch",
	[IBV_NODE_ROUTER] = "router",
	[IBV_NODE_RNIC] = "RDMA NIC",
	[IBV_NODE_USNIC] = "usNIC",
	[IBV_NODE_USNIC_UDP] = "usNIC UDP",
	[IBV_NODE_UNSPECIFIED] = "unspecified",
};

static const char *const port_states[] = {
	[IBV_PORT_NOP] = "no change",     [IBV_PORT_DOWN] = "down",
	[IBV_PORT_INIT] = "initializing", [IBV_PORT_ARMED] = "armed",
	[IBV_PORT_ACTIVE] = "active",     [IBV_PORT_ACTIVE_DEFER] = "active, deferred",
};

/*
 * Get the text for an enum value, or `none` if the table has no text for it. A negative value
 * becomes a large `size_t`, which is outside of any table.
 */
static const char *
get_enum_name(const char *const *table, size_t nb, size_t number, const char *none)
{
	return number < nb && table[number] != NULL ? table[number] : none;
}

const char *
uroce_wc_status_str(enum ibv_wc_status status)
{
	return get_enum_name(statuses, NB(statuses), (size_t)status, "unknown status");
}

const char *
uroce_event_type_str(enum ibv_event_type event)
{
	return get_enum_name(events, NB(events), (size_t)event, "unknown event");
}

const char *
uroce_node_type_str(enum ibv_node_type node_type)
{
	return get_enum_name(node_types, NB(node_types), (size_t)node_type, "unknown");
}

const char *
uroce_port_state_str(enum ibv_port_state port_state)
{
	return get_enum_name(port_states, NB(port_states), (size_t)port_state, "unknown state");
}
