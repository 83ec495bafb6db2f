/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_UAPI_H
#define UCMA_UAPI_H

/**
 * @file
 * Lets a source file include both the kernel's <rdma/rdma_user_cm.h> and librdmacm's
 * <rdma/rdma_cma.h>. Both headers define the constants below, with the same values. So this file
 * gives other names to the constants of the kernel.
 */

#define RDMA_PS_IPOIB                         UCMA_PS_IPOIB
#define RDMA_PS_IB                            UCMA_PS_IB
#define RDMA_PS_TCP                           UCMA_PS_TCP
#define RDMA_PS_UDP                           UCMA_PS_UDP
#define RDMA_MC_JOIN_FLAG_FULLMEMBER          UCMA_MC_JOIN_FLAG_FULLMEMBER
#define RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER UCMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
#define RDMA_MC_JOIN_FLAG_RESERVED            UCMA_MC_JOIN_FLAG_RESERVED
#define RDMA_OPTION_ID                        UCMA_OPTION_ID
#define RDMA_OPTION_IB                        UCMA_OPTION_IB
#define RDMA_OPTION_ID_TOS                    UCMA_OPTION_ID_TOS
#define RDMA_OPTION_ID_REUSEADDR              UCMA_OPTION_ID_REUSEADDR
#define RDMA_OPTION_ID_AFONLY                 UCMA_OPTION_ID_AFONLY
#define RDMA_OPTION_ID_ACK_TIMEOUT            UCMA_OPTION_ID_ACK_TIMEOUT
#define RDMA_OPTION_IB_PATH                   UCMA_OPTION_IB_PATH

#include <rdma/rdma_user_cm.h>

#undef RDMA_PS_IPOIB
#undef RDMA_PS_IB
#undef RDMA_PS_TCP
#undef RDMA_PS_UDP
#undef RDMA_MC_JOIN_FLAG_FULLMEMBER
#undef RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
#undef RDMA_MC_JOIN_FLAG_RESERVED
#undef RDMA_OPTION_ID
#undef RDMA_OPTION_IB
#undef RDMA_OPTION_ID_TOS
#undef RDMA_OPTION_ID_REUSEADDR
#undef RDMA_OPTION_ID_AFONLY
#undef RDMA_OPTION_ID_ACK_TIMEOUT
#undef RDMA_OPTION_IB_PATH

#include <rdma/rdma_cma.h>

#endif /* UCMA_UAPI_H */
