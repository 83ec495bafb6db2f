/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QP 1, the QP of the general services interface of a device. Only its number and its Q_Key differ
 * from those of other UD QPs.
 *
 * The completion queue is polled and armed by internal functions, and not by the calls for
 * programs. The calls for programs also drive the worker, and notify the service thread that the
 * program sleeps. A program may drive the worker at the same time, and the thread of connection
 * management must not disturb this program.
 */

#include "verbs/cm/gsi.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <rte_common.h>

#include "datapath/device/qpn.h"
#include "datapath/log.h"
#include "verbs/uroce.h"
#include "verbs/xrc.h"

/*
 * NB_RECV is the number of buffers for received datagrams, NB_SEND that of send requests. A
 * thousand clients may connect at a time, and each client has up to two messages in flight. The
 * thread that takes the messages may wait some milliseconds for a CPU.
 */
#define NB_RECV 4096u
#define NB_SEND 512u

#define GRH_LEN sizeof(struct ibv_grh)
/* Length of a receive buffer. A longer datagram is no MAD: it does not fit, and is dropped. */
#define BUFFER_LEN (GRH_LEN + UROCE_MAD_LEN)
/*
 * distance in bytes between two receive buffers, a multiple of 64, so that each buffer begins at a
 * cache line
 */
#define BUFFER_STRIDE 320u

/*
 * Interval in ns at which uroce_gsi_drain() checks whether all MADs are sent. The function gives up
 * after 100 ms.
 */
#define DRAIN_PAUSE_NS 100000
#define DRAIN_PAUSES   1000u

static int
open_internal_context(struct uroce_vcontext *context, struct uroce_vdevice *device)
{
	*context = (struct uroce_vcontext){
		.device = device,
		/*
		 * without a descriptor, asynchronous events of the objects of this context are
		 * dropped
		 */
		.event_fd = -1,
		.events_end = &context->events,
		.verbs.context = {
			.device = &device->ibv,
			.cmd_fd = -1,
			.async_fd = -1,
			.num_comp_vectors = 1,
		},
	};
	pthread_mutex_init(&context->verbs.context.mutex, NULL);
	/*
	 * An announced device is started before QP 1 is created, because the number of its workers
	 * is not known before the start.
	 */
	return uroce_vcontext_start(&context->verbs.context);
}

static int
make_qp(struct uroce_gsi *gsi)
{
	const struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = gsi->pd,
		.send_cq = gsi->cq,
		.recv_cq = gsi->cq,
		.cap = {
			.max_send_wr = NB_SEND,
			.max_recv_wr = NB_RECV,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = UROCE_MAD_LEN,
		},
	};

	return uroce_vqp_create(&gsi->context.verbs.context, &init,
				&(struct uroce_vqp_conf){ .is_gsi = true }, &gsi->qp);
}

static int
make_objects(struct uroce_gsi *gsi)
{
	struct ibv_context *const context = &gsi->context.verbs.context;
	void *const buffers = mmap(NULL, NB_RECV * BUFFER_STRIDE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buffers == MAP_FAILED)
		return -ENOMEM;
	gsi->buffers = buffers;
	gsi->pd = uroce_alloc_pd(context);
	if (gsi->pd == NULL)
		return -errno;
	gsi->mr = uroce_reg_mr(gsi->pd, buffers, NB_RECV * BUFFER_STRIDE, IBV_ACCESS_LOCAL_WRITE);
	if (gsi->mr == NULL)
		return -errno;
	/* each send and each receive may have a completion, so the queue never overflows */
	gsi->cq = uroce_create_cq(context, (int)(NB_RECV + NB_SEND), NULL, NULL, 0);
	if (gsi->cq == NULL)
		return -errno;
	uroce_vcq(gsi->cq)->notify.event_fd = gsi->event_fd;
	return make_qp(gsi);
}

static int
bring_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = UROCE_GSI_QKEY,
	};
	int ret = uroce_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	if (ret == 0)
		ret = uroce_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (ret == 0)
		ret = uroce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return -ret;
}

static void
post_buffers(struct uroce_gsi *gsi, const uint32_t *number, unsigned nb)
{
	struct ibv_recv_wr wr[UROCE_GSI_BATCH], *bad;
	struct ibv_sge sge[UROCE_GSI_BATCH];

	for (unsigned i = 0; i < nb; i++) {
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)gsi->buffers + (size_t)number[i] * BUFFER_STRIDE,
			.length = BUFFER_LEN,
			.lkey = gsi->mr->lkey,
		};
		wr[i] = (struct ibv_recv_wr){
			.wr_id = number[i],
			.next = i + 1 < nb ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
		};
	}
	/* the receive queue has room for all buffers, so uroce_post_recv() cannot fail */
	if (nb > 0)
		(void)uroce_post_recv(&gsi->qp->ibv, wr, &bad);
}

static void
post_all_buffers(struct uroce_gsi *gsi)
{
	uint32_t number[UROCE_GSI_BATCH];

	for (uint32_t first = 0; first < NB_RECV; first += UROCE_GSI_BATCH) {
		for (uint32_t i = 0; i < UROCE_GSI_BATCH; i++)
			number[i] = first + i;
		post_buffers(gsi, number, UROCE_GSI_BATCH);
	}
}

int
uroce_gsi_open(struct uroce_gsi *gsi, struct uroce_vdevice *device)
{
	int ret;

	memset(gsi, 0, sizeof(*gsi));
	gsi->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (gsi->event_fd < 0)
		return -errno;
	ret = open_internal_context(&gsi->context, device);
	if (ret == 0)
		ret = make_objects(gsi);
	if (ret == 0)
		ret = bring_to_rts(&gsi->qp->ibv);
	if (ret != 0) {
		uroce_gsi_close(gsi);
		return ret;
	}
	post_all_buffers(gsi);
	uroce_gsi_arm(gsi);
	return 0;
}

void
uroce_gsi_close(struct uroce_gsi *gsi)
{
	if (gsi->context.device == NULL)
		return;
	if (gsi->qp != NULL)
		(void)uroce_vqp_destroy(gsi->qp);
	if (gsi->cq != NULL)
		(void)uroce_destroy_cq(gsi->cq);
	if (gsi->mr != NULL)
		(void)uroce_dereg_mr(gsi->mr);
	if (gsi->pd != NULL)
		(void)uroce_dealloc_pd(gsi->pd);
	if (gsi->buffers != NULL)
		(void)munmap(gsi->buffers, NB_RECV * BUFFER_STRIDE);
	pthread_mutex_destroy(&gsi->context.verbs.context.mutex);
	close(gsi->event_fd);
	memset(gsi, 0, sizeof(*gsi));
}

void
uroce_gsi_drain(struct uroce_gsi *gsi)
{
	const struct timespec pause = { .tv_nsec = DRAIN_PAUSE_NS };
	const struct uroce_ring *const ring = &gsi->qp->sq.ring;

	for (unsigned i = 0; i < DRAIN_PAUSES && !gsi->is_dead; i++) {
		if (uroce_ring_tail(ring) == uroce_ring_head(ring))
			return;
		(void)nanosleep(&pause, NULL);
	}
}

void
uroce_gsi_arm(struct uroce_gsi *gsi)
{
	eventfd_t count;

	(void)eventfd_read(gsi->event_fd, &count);
	uroce_cq_arm(&uroce_vcq(gsi->cq)->queue, false);
}

/*
 * Whether a completion of the receive queue belongs to a datagram with an IP header and the length
 * of a MAD.
 */
static bool
is_mad(const struct ibv_wc *wc)
{
	return wc->byte_len == BUFFER_LEN && (wc->wc_flags & IBV_WC_GRH);
}

static struct uroce_gsi_rx
make_rx(const struct uroce_gsi *gsi, const struct ibv_wc *wc)
{
	uint8_t *const buffer = gsi->buffers + wc->wr_id * BUFFER_STRIDE;

	return (struct uroce_gsi_rx){
		.buffer = (uint32_t)wc->wr_id,
		.grh = (struct ibv_grh *)buffer,
		.mad = buffer + GRH_LEN,
		.wc = *wc,
	};
}

/*
 * Record that QP 1 has failed, and log the failure once. A failed QP flushes its receive requests,
 * so the buffers are not posted again.
 */
static void
note_failure(struct uroce_gsi *gsi, const struct ibv_wc *wc)
{
	if (!gsi->is_dead)
		UROCE_LOG(ERR, dev, "%s: QP 1 has failed (%s): no connections can be made",
			  gsi->context.device->ibv.name, uroce_wc_status_str(wc->status));
	gsi->is_dead = true;
}

unsigned
uroce_gsi_recv(struct uroce_gsi *gsi, struct uroce_gsi_rx *rx, unsigned max, bool *has_more)
{
	struct ibv_wc wc[UROCE_GSI_BATCH];
	uint32_t unused[UROCE_GSI_BATCH];
	const int room = (int)RTE_MIN(max, UROCE_GSI_BATCH);
	const int nb_wc = uroce_cq_poll(&uroce_vcq(gsi->cq)->queue, room, wc);
	unsigned nb = 0, nb_unused = 0;

	for (int i = 0; i < nb_wc; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			note_failure(gsi, &wc[i]);
		else if (wc[i].opcode == IBV_WC_RECV && is_mad(&wc[i]))
			rx[nb++] = make_rx(gsi, &wc[i]);
		else if (wc[i].opcode == IBV_WC_RECV)
			unused[nb_unused++] = (uint32_t)wc[i].wr_id;
	}
	gsi->nb_no_mad += nb_unused;
	post_buffers(gsi, unused, nb_unused);
	*has_more = nb_wc == room;
	return nb;
}

void
uroce_gsi_give_back(struct uroce_gsi *gsi, const struct uroce_gsi_rx *rx, unsigned nb)
{
	uint32_t number[UROCE_GSI_BATCH];

	for (unsigned i = 0; i < nb; i++)
		number[i] = rx[i].buffer;
	post_buffers(gsi, number, nb);
}

unsigned
uroce_gsi_room(struct uroce_gsi *gsi)
{
	return gsi->is_dead ? 0 : uroce_ring_room(&gsi->qp->sq.ring);
}

void
uroce_gsi_send(struct uroce_gsi *gsi, const struct uroce_path *path,
	       const uint8_t mad[UROCE_MAD_LEN])
{
	struct uroce_vah ah = { .ibv.pd = gsi->pd, .path = *path };
	struct ibv_sge sge = { .addr = (uintptr_t)mad, .length = UROCE_MAD_LEN };
	struct ibv_send_wr *bad, wr = {
		.wr_id = UINT64_MAX,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = {
			.ah = &ah.ibv,
			.remote_qpn = UROCE_QPN_GSI,
			/*
			 * the highest bit of this Q_Key is set, so the packet carries the Q_Key of
			 * the sending QP, which is QP 1
			 */
			.remote_qkey = UROCE_GSI_QKEY,
		},
	};

	if (uroce_gsi_room(gsi) == 1)
		wr.send_flags |= IBV_SEND_SIGNALED;
	(void)uroce_post_send(&gsi->qp->ibv, &wr, &bad);
}
