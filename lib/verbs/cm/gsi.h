/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_GSI_H
#define UROCE_VERBS_CM_GSI_H

/**
 * @file
 * QP 1 of a device: the QP of the general services interface (GSI), which sends and receives MADs
 * [IBA 13.5.1]. QP 1 is a UD QP with a number and a Q_Key that QPs of programs cannot have. QP 1
 * belongs to a context of the library, which no program sees.
 *
 * A MAD is sent as inline data, so no buffer waits for its completion. Received MADs are stored in
 * a pool of buffers. A MAD that finds no free buffer is dropped, and the sender repeats it.
 *
 * One thread at a time calls these functions.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "cm/message.h"
#include "verbs/object.h"
#include "wire/build.h"

/** Q_Key of QP 1 [IBA 3.5.3]. */
#define UROCE_GSI_QKEY 0x80010000u

/** Maximum number of MADs that one call of uroce_gsi_recv() takes. */
#define UROCE_GSI_BATCH 64u

struct uroce_gsi {
	struct uroce_vcontext context; /* context of QP 1, its PD, CQ and MR */
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* CQ of QP 1, for the send queue and for the receive queue */
	struct uroce_vqp *qp;
	struct ibv_mr *mr;
	uint8_t *buffers; /* memory of `mr`: buffers for received datagrams */
	/* eventfd, readable when the armed CQ has completions */
	int event_fd;
	bool is_dead; /* QP 1 has failed: it neither sends nor receives any more */
	/* datagrams that were dropped because they do not have the length of a MAD */
	uint64_t nb_no_mad;
};

/** A received MAD. */
struct uroce_gsi_rx {
	uint32_t buffer;     /* number of the receive buffer that has the MAD */
	struct ibv_grh *grh; /* IP header of the datagram, in the receive buffer */
	const uint8_t *mad;  /* the MAD, in the receive buffer; valid until uroce_gsi_give_back() */
	struct ibv_wc wc;    /* completion of the receive request */
};

/**
 * Create QP 1 of a device, post its receive buffers, and arm its CQ.
 * @return 0, or -errno: ENOMEM; the errors of uroce_dev_alloc_gsi(); the start of an announced
 *         device failed
 */
int uroce_gsi_open(struct uroce_gsi *gsi, struct uroce_vdevice *device);

/**
 * Wait until the MADs that were given to uroce_gsi_send() are sent, or until 100 ms are over.
 */
void uroce_gsi_drain(struct uroce_gsi *gsi);

/** Destroy QP 1, its CQ, MR and PD, and free its buffers. */
void uroce_gsi_close(struct uroce_gsi *gsi);

/**
 * Make the descriptor `event_fd` unreadable, and arm the CQ of QP 1: the next completion makes the
 * descriptor readable. A completion that is already in the CQ does not make the descriptor
 * readable, so the caller polls the CQ afterwards.
 */
void uroce_gsi_arm(struct uroce_gsi *gsi);

/**
 * Take received MADs.
 * @param[out] has_more  whether more MADs may have arrived
 * @return number of MADs in `rx`, at most `max`
 */
unsigned uroce_gsi_recv(struct uroce_gsi *gsi, struct uroce_gsi_rx *rx, unsigned max,
			bool *has_more);

/** Post the buffers of received MADs again, at most UROCE_GSI_BATCH of them. */
void uroce_gsi_give_back(struct uroce_gsi *gsi, const struct uroce_gsi_rx *rx, unsigned nb);

/**
 * Get the number of MADs that can be sent now. The number may grow at any time, as completions
 * arrive.
 */
unsigned uroce_gsi_room(struct uroce_gsi *gsi);

/**
 * Send a MAD to QP 1 of another host, or of this host. The caller has checked uroce_gsi_room(). If
 * the MAD takes the last room, its completion makes `event_fd` readable, if the CQ is armed.
 */
void uroce_gsi_send(struct uroce_gsi *gsi, const struct uroce_path *path,
		    const uint8_t mad[UROCE_MAD_LEN]);

#endif /* UROCE_VERBS_CM_GSI_H */
