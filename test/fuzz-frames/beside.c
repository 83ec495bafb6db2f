/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The honest traffic that runs beside the attack. Each connection executes one operation at a time.
 * Before an operation, the source buffer is filled with a pattern, and the destination and the
 * memory around it with a constant byte, so that missing data and writes outside of the destination
 * are seen.
 */

#include "beside.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <uroce.h>

#include "verbs/object.h"

#define LEN_MAX  6000
#define MARGIN   64 /* bytes before and after the destination that must not change */
#define BUF_LEN  (LEN_MAX + 2 * MARGIN + 64)
#define ADDR_GID 1

/* The address of the buffers is the same in every run, because captured frames contain it. */
#define BUFS_AT  UINT64_C(0x420000000000)
#define BUF_ROOM ((BUF_LEN + 63) / 64 * 64)
#define BUFS_LEN ((size_t)2 * BESIDE_CONNS * BUF_ROOM)

static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };

static uint8_t
pattern(uint64_t seed, uint32_t i)
{
	return (uint8_t)((seed + i) * UINT64_C(0x9e3779b97f4a7c15) >> 37);
}

static bool
open_end(struct beside_end *end, struct fabric *fabric, enum host host)
{
	struct ibv_context *context = fabric->context[host];
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	end->pd = uroce_alloc_pd(context);
	if (!end->pd)
		return false;
	end->mr = uroce_reg_mr(end->pd, end->buf, BUF_LEN,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ);
	/*
	 * The CQ is on worker 0, which receives the honest peer's frames. So no frame waits for
	 * worker 1, which may not be driven.
	 */
	end->cq = uroce_create_cq(context, 16, NULL, NULL, 0);
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	end->qp = end->cq ? uroce_create_qp(end->pd, &init) : NULL;
	return end->mr && end->qp;
}

static bool
connect_end(struct beside_end *end, const struct beside_end *peer, enum host host, bool is_ipv6)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = 0xfffff8,
		.sq_psn = 0xfffff8,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = (uint8_t)(ADDR_GID + is_ipv6),
				      .hop_limit = 64 } },
	};

	memcpy(attr.ah_attr.grh.dgid.raw, fabric_ip(host, is_ipv6), 16);
	if (uroce_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) !=
	    0)
		return false;
	attr.qp_state = IBV_QPS_RTR;
	if (uroce_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER) != 0)
		return false;
	attr.qp_state = IBV_QPS_RTS;
	return uroce_modify_qp(end->qp, &attr,
			       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

/* The host of end `i` of a connection. In half of the connections the target is the requester. */
static enum host
host_of(unsigned conn, unsigned i)
{
	return (conn + i) % 2 ? HOST_BESIDE : HOST_TARGET;
}

bool
beside_open(struct beside *beside, struct fabric *fabric, struct rng *rng)
{
	uint8_t *bufs = mmap((void *)(uintptr_t)BUFS_AT, BUFS_LEN, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (bufs == MAP_FAILED)
		return false;
	*beside = (struct beside){ .fabric = fabric, .rng = rng };
	for (unsigned i = 0; i < BESIDE_CONNS; i++) {
		struct beside_conn *conn = &beside->conn[i];

		conn->end[0].buf = bufs + 2 * i * BUF_ROOM;
		conn->end[1].buf = conn->end[0].buf + BUF_ROOM;
		if (!open_end(&conn->end[0], fabric, host_of(i, 0)) ||
		    !open_end(&conn->end[1], fabric, host_of(i, 1)) ||
		    !connect_end(&conn->end[0], &conn->end[1], host_of(i, 1), i / 2 % 2) ||
		    !connect_end(&conn->end[1], &conn->end[0], host_of(i, 0), i / 2 % 2))
			return false;
	}
	return true;
}

void
beside_close(struct beside *beside)
{
	for (unsigned i = 0; i < 2 * BESIDE_CONNS; i++) {
		struct beside_end *end = &beside->conn[i / 2].end[i % 2];

		(void)uroce_destroy_qp(end->qp);
		(void)uroce_destroy_cq(end->cq);
		(void)uroce_dereg_mr(end->mr);
		(void)uroce_dealloc_pd(end->pd);
	}
	(void)munmap((void *)(uintptr_t)BUFS_AT, BUFS_LEN);
}

static bool
complain(struct beside *beside, const struct beside_conn *conn, const char *what)
{
	static char text[160];

	snprintf(text, sizeof(text), "traffic beside, connection %u, opcode %u, %u bytes: %s",
		 (unsigned)(conn - beside->conn), conn->opcode, conn->len, what);
	beside->violation = text;
	return false;
}

static struct beside_end *
source_of(struct beside_conn *conn)
{
	return &conn->end[conn->opcode == IBV_WR_RDMA_READ];
}

static struct beside_end *
sink_of(struct beside_conn *conn)
{
	return &conn->end[conn->opcode != IBV_WR_RDMA_READ];
}

static bool
begin(struct beside *beside, struct beside_conn *conn)
{
	struct rng *rng = beside->rng;

	conn->opcode = opcodes[rng_below(rng, 3)];
	conn->len = 1 + rng_below(rng, LEN_MAX);
	conn->off = MARGIN + rng_below(rng, 64);
	conn->seed = rng_next(rng);
	for (uint32_t i = 0; i < conn->len; i++)
		source_of(conn)->buf[conn->off + i] = pattern(conn->seed, i);
	memset(sink_of(conn)->buf, (uint8_t)conn->seed, BUF_LEN);

	struct beside_end *from = &conn->end[0], *to = &conn->end[1];
	struct ibv_sge sge = { (uintptr_t)from->buf + conn->off, conn->len, from->mr->lkey };
	struct ibv_sge recv_sge = { (uintptr_t)to->buf + conn->off, conn->len, to->mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &recv_sge, .num_sge = 1 };
	struct ibv_send_wr *bad, wr = {
		.opcode = conn->opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { (uintptr_t)to->buf + conn->off, to->mr->rkey },
	};

	conn->is_busy = true;
	conn->is_sent = false;
	conn->is_received = conn->opcode != IBV_WR_SEND;
	if (!conn->is_received && uroce_post_recv(to->qp, &recv, &bad_recv) != 0)
		return complain(beside, conn, "the receive cannot be posted");
	return uroce_post_send(from->qp, &wr, &bad) == 0 ||
	       complain(beside, conn, "the request cannot be posted");
}

static bool
verify(struct beside *beside, struct beside_conn *conn)
{
	const uint8_t *buf = sink_of(conn)->buf;

	for (uint32_t i = 0; i < conn->len; i++) {
		if (buf[conn->off + i] != pattern(conn->seed, i))
			return complain(beside, conn, "wrong data");
	}
	for (uint32_t i = 0; i < BUF_LEN; i++) {
		if (i >= conn->off && i < conn->off + conn->len)
			continue;
		if (buf[i] != (uint8_t)conn->seed)
			return complain(beside, conn, "memory around the data was written to");
	}
	beside->nb_bytes += conn->len;
	for (unsigned i = 0; i < 3; i++)
		beside->nb_ops[i] += opcodes[i] == conn->opcode;
	conn->is_busy = false;
	return true;
}

/*
 * Poll the CQ of `end` for at most one completion.
 * @return false: an error, or a second completion of the same request
 */
static bool
take(struct beside_end *end, bool *is_done)
{
	struct ibv_wc wc;
	const int nb = uroce_poll_cq(end->cq, 1, &wc);

	if (nb == 0)
		return true;
	if (nb < 0 || wc.status != IBV_WC_SUCCESS || *is_done)
		return false;
	*is_done = true;
	return true;
}

static bool
step(struct beside *beside, struct beside_conn *conn)
{
	if (!conn->is_busy)
		return begin(beside, conn);
	if (!take(&conn->end[0], &conn->is_sent) || !take(&conn->end[1], &conn->is_received))
		return complain(beside, conn, "an error completion, or one too many");
	return !conn->is_sent || !conn->is_received || verify(beside, conn);
}

bool
beside_step(struct beside *beside)
{
	for (unsigned i = 0; i < BESIDE_CONNS; i++) {
		if (!step(beside, &beside->conn[i]))
			return false;
	}
	return true;
}

uint64_t
beside_retransmits(const struct beside *beside)
{
	uint64_t nb = 0;

	for (unsigned i = 0; i < 2 * BESIDE_CONNS; i++)
		nb += uroce_vqp(beside->conn[i / 2].end[i % 2].qp)->wqp.qpc.stats.retransmits;
	return nb;
}

bool
beside_is_ours(const struct beside *beside, uint32_t qpn)
{
	for (unsigned i = 0; i < BESIDE_CONNS; i++) {
		if (beside->conn[i].end[i % 2].qp->qp_num == qpn)
			return true;
	}
	return false;
}
