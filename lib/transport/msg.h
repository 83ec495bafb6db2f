/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_MSG_H
#define UROCE_TRANSPORT_MSG_H

/**
 * @file
 * The payload of a message being received (RC and UC).
 */

#include "transport/context.h"

/**
 * Execute a packet of a SEND or WRITE that is the next one in order: check it against its message,
 * place its payload, complete the receive request that it ends.
 * @return UROCE_VERDICT_REQUEST, or why it was refused; then nothing was changed
 */
enum uroce_verdict uroce_msg_recv(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				  uint64_t now_ns);

/** UC: no acknowledgement; a gap loses the message that it falls in [IBA 9.8.2.2]. */
enum uroce_verdict uroce_msg_recv_uc(struct uroce_qpc *qpc, const struct uroce_pkt *pkt,
				     uint64_t now_ns);

#endif /* UROCE_TRANSPORT_MSG_H */
