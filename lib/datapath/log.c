/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The log types of the library. They are registered before main(), so that EAL's option --log-level
 * finds them.
 */

#include "datapath/log.h"

RTE_LOG_REGISTER(uroce_log_dev, roce.dev, NOTICE);
RTE_LOG_REGISTER(uroce_log_port, roce.port, NOTICE);
RTE_LOG_REGISTER(uroce_log_neigh, roce.neigh, NOTICE);
RTE_LOG_REGISTER(uroce_log_qp, roce.qp, NOTICE);
RTE_LOG_REGISTER(uroce_log_mem, roce.mem, NOTICE);
