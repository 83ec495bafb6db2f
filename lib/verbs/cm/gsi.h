/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_GSI_H
#define UROCE_VERBS_CM_GSI_H

/**
 * @file
 * QP 1 of a device: the QP of the general services interface (GSI), which sends and receives MADs
 * [IBA 13.5.1]. It is a UD QP with a number and a Q_Key that programs cannot have. It belongs to a
 * context of the library, which no program sees.
 *
 * A MAD is sent as inline data, so no buffer waits for its completion. Received MADs lie in a pool
 * of buffers. A MAD that finds no free buffer is dropped, and the sender repeats it.
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

/** Most MADs that one call takes. */
#define UROCE_GSI_BATCH 64u

struct uroce_gsi {
	struct uroce_vcontext context; /* the context of the objects */
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* of the send queue and of the receive queue */
	struct uroce_vqp *qp;
	struct ibv_mr *mr;
	uint8_t *buffers; /* memory of the region: buffers of received datagrams */
	/* eventfd, readable when the armed QP has completions */
	int event_fd;
	bool is_dead;       /* the QP has failed; it neither sends nor receives any more */
	uint64_t nb_no_mad; /* datagrams that were dropped because they have another length */
};

/** A received MAD. */
struct uroce_gsi_rx {
	uint32_t buffer;     /* number of the buffer */
	struct ibv_grh *grh; /* IP header of the datagram, in the buffer */
	const uint8_t *mad;  /* in the buffer; valid until uroce_gsi_give_back() */
	struct ibv_wc wc;    /* the completion */
};

/**
 * Create QP 1. The buffers are posted, and the QP is armed.
 * @return 0, or -errno: ENOMEM; the errors of uroce_dev_alloc_gsi(); the start of an announced
 *	device failed
 */
int uroce_gsi_open(struct uroce_gsi *gsi, struct uroce_vdevice *device);

/**
 * Wait until the MADs that were given to uroce_gsi_send() are sent, or until 100 ms are over.
 */
void uroce_gsi_drain(struct uroce_gsi *gsi);

/** Destroy QP 1. */
void uroce_gsi_close(struct uroce_gsi *gsi);

/**
 * Make the descriptor `event_fd` unreadable, and arm the QP: the next completion makes the
 * descriptor readable. The caller polls afterwards, because earlier completions do not.
 */
void uroce_gsi_arm(struct uroce_gsi *gsi);

/**
 * Take received MADs.
 * @param[out] has_more  whether there may be more
 * @return number of MADs in `rx`, at most `max`
 */
unsigned uroce_gsi_recv(struct uroce_gsi *gsi, struct uroce_gsi_rx *rx, unsigned max,
			bool *has_more);

/** Post the buffers of received MADs again, at most UROCE_GSI_BATCH of them. */
void uroce_gsi_give_back(struct uroce_gsi *gsi, const struct uroce_gsi_rx *rx, unsigned nb);

/** Number of MADs that can be sent now, at least; 0: none. */
unsigned uroce_gsi_room(struct uroce_gsi *gsi);

/**
 * Send a MAD to QP 1 of another host, or of this one. There must be room. If no room is left, the
 * completion of the MAD makes `event_fd` readable, if the QP is armed.
 */
void uroce_gsi_send(struct uroce_gsi *gsi, const struct uroce_path *path,
		    const uint8_t mad[UROCE_MAD_LEN]);

#endif /* UROCE_VERBS_CM_GSI_H */
