/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Posting of work requests: which flags and lengths each opcode allows, the content of the slot
 * afterwards, and every refusal.
 */

#include "queue/wq.h"
#include "base/newer_verbs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MAX_WR     3
#define MAX_SGE    4
#define MAX_INLINE 100

static struct uroce_path path;

static void
make_sq(struct uroce_wq *sq, bool has_path)
{
	const uint32_t stride = uroce_send_wqe_stride(MAX_SGE, MAX_INLINE, has_path);
	void *mem = NULL;

	assert_int_equal(posix_memalign(&mem, 64, uroce_ring_memsize(MAX_WR, stride)), 0);
	memset(mem, 0xa5, uroce_ring_memsize(MAX_WR, stride));
	uroce_sq_init(sq, mem, MAX_WR, MAX_SGE, MAX_INLINE, has_path);
}

static int
setup_connected(void **state)
{
	struct uroce_wq *sq = NULL;

	assert_int_equal(posix_memalign((void **)&sq, 64, sizeof(*sq)), 0);
	make_sq(sq, false);
	*state = sq;
	return 0;
}

static int
setup_ud(void **state)
{
	struct uroce_wq *sq = NULL;

	assert_int_equal(posix_memalign((void **)&sq, 64, sizeof(*sq)), 0);
	make_sq(sq, true);
	*state = sq;
	return 0;
}

static int
setup_rq(void **state)
{
	struct uroce_wq *rq = NULL;
	void *mem = NULL;

	assert_int_equal(posix_memalign((void **)&rq, 64, sizeof(*rq)), 0);
	assert_int_equal(posix_memalign(&mem, 64,
					uroce_ring_memsize(MAX_WR, uroce_recv_wqe_stride(MAX_SGE))),
			 0);
	uroce_rq_init(rq, mem, MAX_WR, MAX_SGE);
	*state = rq;
	return 0;
}

static int
teardown(void **state)
{
	struct uroce_wq *wq = *state;

	free(wq->ring.slots);
	free(wq);
	return 0;
}

/* Fill the first free slot of a send queue. */
static int
fill(struct uroce_wq *sq, const struct ibv_send_wr *wr)
{
	return uroce_sq_fill(sq, 0, wr, sq->has_path ? &path : NULL, false);
}

static struct uroce_send_wqe *
filled(struct uroce_wq *sq)
{
	return uroce_ring_free_slot(&sq->ring, 0);
}

static void
send_wqe_stride__fits_path_and_the_larger_of_list_and_inline(void **state)
{
	(void)state;
	assert_int_equal(uroce_send_wqe_stride(0, 0, false), 64);
	assert_int_equal(uroce_send_wqe_stride(1, 0, false), 128);
	assert_int_equal(uroce_send_wqe_stride(4, 0, false), 128);
	assert_int_equal(uroce_send_wqe_stride(5, 0, false), 192);
	assert_int_equal(uroce_send_wqe_stride(4, 64, false), 128);
	assert_int_equal(uroce_send_wqe_stride(4, 65, false), 192);
	assert_int_equal(uroce_send_wqe_stride(32, 64, false), 64 + 512);
	assert_int_equal(uroce_send_wqe_stride(0, 0, true), 64 + 128);
	assert_int_equal(uroce_send_wqe_stride(1, 900, true), 64 + 128 + 960);
}

static void
recv_wqe_stride__fits_the_list(void **state)
{
	(void)state;
	assert_int_equal(uroce_recv_wqe_stride(0), 16);
	assert_int_equal(uroce_recv_wqe_stride(1), 32);
	assert_int_equal(uroce_recv_wqe_stride(32), 16 + 512);
}

static void
wq_begin__takes_the_lock_unless_its_poster_is_alone(void **state)
{
	struct uroce_wq *sq = *state;

	uroce_wq_begin(sq);
	assert_false(uroce_lock_try(&sq->lock));
	uroce_wq_end(sq);
	assert_true(uroce_lock_try(&sq->lock));
	/* the test owns the lock, so uroce_wq_begin() would wait forever if it took the lock */
	sq->is_single_threaded = true;
	uroce_wq_begin(sq);
	uroce_wq_end(sq);
	assert_false(uroce_lock_try(&sq->lock));
}

static void
sq_fill__each_opcode_on_the_queues_that_have_it(void **state)
{
	static const struct {
		unsigned opcode;
		bool is_connected;
		bool is_ud;
	} rows[] = {
		{ IBV_WR_RDMA_WRITE, true, false },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, true, false },
		{ IBV_WR_SEND, true, true },
		{ IBV_WR_SEND_WITH_IMM, true, true },
		{ IBV_WR_SEND_WITH_INV, true, false },
		{ IBV_WR_RDMA_READ, true, false },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, true, false },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, true, false },
		{ IBV_WR_LOCAL_INV, true, false },
		{ IBV_WR_BIND_MW, true, false },
		{ IBV_WR_TSO, false, false },
		{ IBV_WR_DRIVER1, false, false },
		{ 12, false, false },
		{ 13, false, false },
		{ UROCE_WR_FLUSH, true, false },
		{ UROCE_WR_ATOMIC_WRITE, true, false },
		{ 16, false, false },
		{ 256, false, false },
		{ UINT32_MAX, false, false },
	};
	struct uroce_wq connected, ud;
	struct ibv_sge sge = { 0x1000, 8, 1 };
	struct ibv_mw mw = { 0 };

	(void)state;
	make_sq(&connected, false);
	make_sq(&ud, true);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ibv_send_wr wr = { .sg_list = &sge,
						.num_sge = 1,
						.opcode = (enum ibv_wr_opcode)rows[i].opcode,
						.wr.atomic = { .swap = UROCE_FLUSH_GLOBAL },
						.bind_mw = { .mw = &mw } };

		assert_int_equal(fill(&connected, &wr), rows[i].is_connected ? 0 : -EINVAL);
		if (rows[i].is_connected)
			assert_int_equal(filled(&connected)->opcode, rows[i].opcode);
		assert_int_equal(fill(&ud, &wr), rows[i].is_ud ? 0 : -EINVAL);
	}
	free(connected.ring.slots);
	free(ud.ring.slots);
}

static void
sq_fill__send_with_scatter_list(void **state)
{
	struct uroce_wq *sq = *state;
	struct ibv_sge list[] = { { 0x1000, 10, 1 }, { 0, 0, 99 }, { 0x2000, 20, 2 } };
	const struct ibv_send_wr wr = {
		.wr_id = 77,
		.sg_list = list,
		.num_sge = 3,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = 0x11223344,
	};

	assert_int_equal(fill(sq, &wr), 0);
	struct uroce_send_wqe *wqe = filled(sq);

	assert_int_equal(wqe->wr_id, 77);
	assert_int_equal(wqe->len, 30);
	assert_int_equal(wqe->imm, 0x11223344);
	assert_int_equal(wqe->nb_sge, 3);
	assert_int_equal(wqe->flags, UROCE_WQE_SEND);
	assert_int_equal(wqe->first_psn, 0);
	assert_int_equal(wqe->nb_psn, 0);
	assert_ptr_equal(uroce_send_wqe_data(wqe), &wqe->sge);
	assert_memory_equal(uroce_send_wqe_data(wqe), list, sizeof(list));
	/* the SGE lists and inline data of two adjacent slots do not overlap */
	assert_ptr_equal(uroce_ring_free_slot(&sq->ring, 1),
			 (uint8_t *)wqe + uroce_send_wqe_stride(MAX_SGE, MAX_INLINE, false));
}

static void
sq_fill__is_not_seen_before_the_push(void **state)
{
	struct uroce_wq *sq = *state;
	const struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	assert_int_equal(fill(sq, &wr), 0);
	assert_int_equal(uroce_ring_head(&sq->ring), uroce_ring_tail(&sq->ring));
}

static void
sq_fill__without_data(void **state)
{
	struct uroce_wq *sq = *state;
	const struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = NULL, .num_sge = 0 };

	assert_int_equal(fill(sq, &wr), 0);
	assert_int_equal(filled(sq)->len, 0);
	assert_int_equal(filled(sq)->nb_sge, 0);
}

static void
sq_fill__rdma_names_remote_memory(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
						      IBV_WR_RDMA_READ };
	struct uroce_wq *sq = *state;
	struct ibv_sge sge = { 0x1000, 10, 1 };

	for (unsigned i = 0; i < 3; i++) {
		const struct ibv_send_wr wr = {
			.opcode = opcodes[i],
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = { .remote_addr = 0x123456789abcdef0, .rkey = 0xcafe },
		};

		assert_int_equal(fill(sq, &wr), 0);
		assert_int_equal(filled(sq)->remote_addr, 0x123456789abcdef0);
		assert_int_equal(filled(sq)->rkey, 0xcafe);
	}
}

static void
sq_fill__send_names_no_remote_memory(void **state)
{
	struct uroce_wq *sq = *state;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = 0xbeef };

	/*
	 * the fields of the union `wr`, which the opcode does not use, are not copied to the slot
	 */
	memset(&wr.wr, 0xee, sizeof(wr.wr));
	assert_int_equal(fill(sq, &wr), 0);
	assert_int_equal(filled(sq)->remote_addr, 0);
	assert_int_equal(filled(sq)->rkey, 0);
	assert_int_equal(filled(sq)->imm, 0xbeef);
}

static void
sq_fill__atomics_take_operands_and_exactly_8_bytes(void **state)
{
	static const struct {
		uint32_t len[2];
		int nb_sge;
		int ret;
	} rows[] = {
		{ { 8, 0 }, 1, 0 },        { { 4, 4 }, 2, 0 },       { { 7, 0 }, 1, -EINVAL },
		{ { 9, 0 }, 1, -EINVAL },  { { 8, 8 }, 2, -EINVAL }, { { 0, 0 }, 0, -EINVAL },
		{ { 16, 0 }, 1, -EINVAL }, { { 0, 0 }, 1, -EINVAL },
	};
	struct uroce_wq *sq = *state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_sge list[] = { { 0x1000, rows[i].len[0], 1 },
					  { 0x2000, rows[i].len[1], 1 } };
		const struct ibv_send_wr wr = {
			.opcode = i % 2 == 0 ? IBV_WR_ATOMIC_CMP_AND_SWP
					     : IBV_WR_ATOMIC_FETCH_AND_ADD,
			.sg_list = list,
			.num_sge = rows[i].nb_sge,
			.wr.atomic = { .remote_addr = 0x8000,
				       .compare_add = 5,
				       .swap = 6,
				       .rkey = 7 },
		};

		assert_int_equal(fill(sq, &wr), rows[i].ret);
		if (rows[i].ret != 0)
			continue;
		assert_int_equal(filled(sq)->len, 8);
		assert_int_equal(filled(sq)->remote_addr, 0x8000);
		assert_int_equal(filled(sq)->rkey, 7);
		assert_ptr_equal(uroce_send_wqe_data(filled(sq)), filled(sq) + 1);
		assert_int_equal(filled(sq)->atomic.compare_add, 5);
		assert_int_equal(filled(sq)->atomic.swap, 6);
	}
}

static void
sq_fill__flags(void **state)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		unsigned send_flags;
		bool all_signaled;
		uint8_t flags;
	} rows[] = {
		{ IBV_WR_SEND, 0, false, UROCE_WQE_SEND },
		{ IBV_WR_SEND, 0, true, UROCE_WQE_SEND | UROCE_WQE_SIGNALED },
		{ IBV_WR_SEND, IBV_SEND_SIGNALED, false, UROCE_WQE_SEND | UROCE_WQE_SIGNALED },
		{ IBV_WR_SEND, IBV_SEND_SIGNALED, true, UROCE_WQE_SEND | UROCE_WQE_SIGNALED },
		{ IBV_WR_SEND, IBV_SEND_SOLICITED, false, UROCE_WQE_SEND | UROCE_WQE_SOLICITED },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SOLICITED, false, UROCE_WQE_SOLICITED },
		/*
		 * WRITE and READ complete no receive request at the peer, so IBV_SEND_SOLICITED has
		 * no effect [IBA 9.2.3]
		 */
		{ IBV_WR_RDMA_WRITE, IBV_SEND_SOLICITED, false, 0 },
		{ IBV_WR_RDMA_READ, IBV_SEND_SOLICITED | IBV_SEND_FENCE, false, UROCE_WQE_FENCE },
		{ IBV_WR_SEND_WITH_IMM, 0, false, UROCE_WQE_SEND },
		{ IBV_WR_SEND_WITH_INV, 0, false, UROCE_WQE_SEND },
		{ IBV_WR_SEND, IBV_SEND_INLINE, false, UROCE_WQE_SEND | UROCE_WQE_INLINE },
		{ IBV_WR_SEND,
		  IBV_SEND_INLINE | IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED, false,
		  UROCE_WQE_SEND | UROCE_WQE_INLINE | UROCE_WQE_FENCE | UROCE_WQE_SIGNALED |
			  UROCE_WQE_SOLICITED },
	};
	struct uroce_wq *sq = *state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ibv_send_wr wr = { .opcode = rows[i].opcode,
						.send_flags = rows[i].send_flags };

		assert_int_equal(uroce_sq_fill(sq, 0, &wr, NULL, rows[i].all_signaled), 0);
		assert_int_equal(filled(sq)->flags, rows[i].flags);
	}
}

static void
sq_fill__unknown_flags_are_einval(void **state)
{
	struct uroce_wq *sq = *state;
	const struct ibv_send_wr csum = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM };
	const struct ibv_send_wr high = { .opcode = IBV_WR_SEND, .send_flags = 1u << 31 };

	assert_int_equal(fill(sq, &csum), -EINVAL);
	assert_int_equal(fill(sq, &high), -EINVAL);
}

static void
sq_fill__inline_data_is_copied(void **state)
{
	struct uroce_wq *sq = *state;
	char first[] = "Hello, ";
	char second[] = "world";
	struct ibv_sge list[] = { { (uintptr_t)first, 7, 0xbad },
				  { 1, 0, 0xbad },
				  { (uintptr_t)second, 5, 0xbad } };
	const struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = list,
		.num_sge = 3,
	};

	assert_int_equal(fill(sq, &wr), 0);
	memset(first, 0, sizeof(first));
	memset(second, 0, sizeof(second));
	assert_int_equal(filled(sq)->len, 12);
	assert_int_equal(filled(sq)->nb_sge, 0);
	assert_int_equal(filled(sq)->flags, UROCE_WQE_INLINE);
	assert_memory_equal(uroce_send_wqe_data(filled(sq)), "Hello, world", 12);
}

static void
sq_fill__inline_limit_is_exact(void **state)
{
	struct uroce_wq *sq = *state;
	uint8_t data[MAX_INLINE + 1];
	struct ibv_sge list[] = { { (uintptr_t)data, MAX_INLINE, 0 }, { (uintptr_t)data, 1, 0 } };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = list,
		.num_sge = 1,
	};

	memset(data, 0x5a, sizeof(data));
	assert_int_equal(fill(sq, &wr), 0);
	assert_memory_equal(uroce_send_wqe_data(filled(sq)), data, MAX_INLINE);
	wr.num_sge = 2;
	assert_int_equal(fill(sq, &wr), -EINVAL);
	list[0].length = MAX_INLINE + 1;
	wr.num_sge = 1;
	assert_int_equal(fill(sq, &wr), -EINVAL);
	/* the sum of the lengths exceeds 32 bits */
	list[0].length = UINT32_MAX;
	list[1].length = 2;
	wr.num_sge = 2;
	assert_int_equal(fill(sq, &wr), -EINVAL);
}

static void
sq_fill__inline_is_for_data_that_is_sent(void **state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct uroce_wq *sq = *state;
	uint64_t data = 0;
	struct ibv_sge sge = { (uintptr_t)&data, 8, 0 };

	for (unsigned i = 0; i < 3; i++) {
		const struct ibv_send_wr wr = {
			.opcode = opcodes[i],
			.send_flags = IBV_SEND_INLINE,
			.sg_list = &sge,
			.num_sge = 1,
		};

		assert_int_equal(fill(sq, &wr), -EINVAL);
	}
}

static void
sq_fill__message_length_is_at_most_2_to_the_31(void **state)
{
	struct uroce_wq *sq = *state;
	struct ibv_sge list[] = { { 0, 1u << 31, 1 }, { 0, 0, 1 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = list, .num_sge = 2 };

	assert_int_equal(fill(sq, &wr), 0);
	assert_int_equal(filled(sq)->len, 1u << 31);
	list[1].length = 1;
	assert_int_equal(fill(sq, &wr), -EINVAL);
	/* the sum is 2^32 + 8, which must not be truncated to 8 */
	list[0].length = UINT32_MAX;
	list[1].length = 9;
	assert_int_equal(fill(sq, &wr), -EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(fill(sq, &wr), -EINVAL);
}

static void
sq_fill__too_many_elements_are_einval(void **state)
{
	struct uroce_wq *sq = *state;
	struct ibv_sge list[MAX_SGE + 1] = { { 0 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = list };

	wr.num_sge = MAX_SGE;
	assert_int_equal(fill(sq, &wr), 0);
	wr.num_sge = MAX_SGE + 1;
	assert_int_equal(fill(sq, &wr), -EINVAL);
	wr.num_sge = -1;
	assert_int_equal(fill(sq, &wr), -EINVAL);
	wr.num_sge = INT32_MIN;
	assert_int_equal(fill(sq, &wr), -EINVAL);
}

static void
sq_fill__local_requests_have_no_message(void **state)
{
	struct uroce_wq *sq = *state;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.invalidate_rkey = 0xbeef,
		.num_sge = 1000,
		.send_flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED,
	};

	assert_int_equal(fill(sq, &wr), 0);
	assert_int_equal(filled(sq)->flags, UROCE_WQE_LOCAL | UROCE_WQE_FENCE | UROCE_WQE_SIGNALED);
	assert_int_equal(filled(sq)->imm, 0xbeef);
	assert_int_equal(filled(sq)->len, 0);
	assert_int_equal(filled(sq)->nb_sge, 0);
	wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(fill(sq, &wr), -EINVAL);
}

static void
sq_fill__bind_of_a_window(void **state)
{
	struct uroce_wq *sq = *state;
	struct ibv_mw mw = { .rkey = 0x12345600 };
	struct ibv_mr mr = { .lkey = 0x77 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { &mw, 0x123456ff, { &mr, 0x1000, UINT64_C(1) << 40, 2 } },
	};

	assert_int_equal(fill(sq, &wr), 0);
	assert_int_equal(filled(sq)->rkey, 0x123456ff);
	assert_int_equal(filled(sq)->remote_addr, 0x1000);
	assert_int_equal(filled(sq)->bind.len, UINT64_C(1) << 40);
	assert_int_equal(filled(sq)->bind.mr_key, 0x77);
	assert_int_equal(filled(sq)->bind.access, 2);
	/* a program may change only the low 8 bits of the window's key */
	wr.bind_mw.rkey = 0x12345700;
	assert_int_equal(fill(sq, &wr), -EINVAL);
	wr.bind_mw.rkey = 0x12345601;
	wr.bind_mw.bind_info.mr = NULL;
	assert_int_equal(fill(sq, &wr), -EINVAL);
	wr.bind_mw.bind_info.length = 0;
	assert_int_equal(fill(sq, &wr), 0);
	assert_int_equal(filled(sq)->bind.mr_key, 0);
	wr.bind_mw.mw = NULL;
	assert_int_equal(fill(sq, &wr), -EINVAL);
}

static void
sq_fill__flush(void **state)
{
	struct uroce_wq *sq = *state;
	struct ibv_send_wr wr = {
		.opcode = (enum ibv_wr_opcode)UROCE_WR_FLUSH,
		.num_sge = 1000,
		.wr.atomic = { .remote_addr = 0x1000, .compare_add = UINT32_MAX, .rkey = 5 },
	};
	static const struct {
		uint64_t type_level;
		int ret;
	} rows[] = {
		{ 0x01, 0 },
		{ 0x02, 0 },
		{ 0x13, 0 },
		{ 0x00, -EINVAL },
		{ 0x04, -EINVAL },
		{ 0x21, -EINVAL },
		{ 1ull << 36, -EINVAL },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		wr.wr.atomic.swap = rows[i].type_level;
		assert_int_equal(fill(sq, &wr), rows[i].ret);
		if (rows[i].ret)
			continue;
		assert_int_equal(filled(sq)->atomic.swap, rows[i].type_level);
		assert_int_equal(filled(sq)->atomic.compare_add, UINT32_MAX);
		assert_int_equal(filled(sq)->remote_addr, 0x1000);
		assert_int_equal(filled(sq)->rkey, 5);
		assert_int_equal(filled(sq)->len, 0);
		assert_int_equal(filled(sq)->nb_sge, 0);
	}
	wr.wr.atomic.swap = UROCE_FLUSH_GLOBAL;
	wr.wr.atomic.compare_add = UINT64_C(1) << 32;
	assert_int_equal(fill(sq, &wr), -EINVAL);
}

static void
sq_fill__atomic_write_is_8_bytes(void **state)
{
	struct uroce_wq *sq = *state;
	uint8_t bytes[16] = { 1 };
	struct ibv_sge sge = { (uintptr_t)bytes, 8, 1 };
	struct ibv_send_wr wr = {
		.opcode = (enum ibv_wr_opcode)UROCE_WR_ATOMIC_WRITE,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
	};

	assert_int_equal(fill(sq, &wr), 0);
	sge.length = 7;
	assert_int_equal(fill(sq, &wr), -EINVAL);
	sge.length = 9;
	assert_int_equal(fill(sq, &wr), -EINVAL);
	wr.num_sge = 0;
	assert_int_equal(fill(sq, &wr), -EINVAL);
}

static void
sq_fill__refusal_leaves_the_slot_alone(void **state)
{
	struct uroce_wq *sq = *state;
	const struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_TSO };
	const uint32_t stride = uroce_send_wqe_stride(MAX_SGE, MAX_INLINE, false);

	assert_int_equal(fill(sq, &wr), -EINVAL);
	for (uint32_t i = 0; i < stride; i++)
		assert_int_equal(((uint8_t *)filled(sq))[i], 0xa5);
}

static void
sq_fill__a_chain_up_to_the_limit(void **state)
{
	struct uroce_wq *sq = *state;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	for (uint32_t i = 0; i < MAX_WR; i++) {
		wr.wr_id = i;
		assert_int_equal(uroce_sq_fill(sq, i, &wr, NULL, false), 0);
	}
	assert_int_equal(uroce_sq_fill(sq, MAX_WR, &wr, NULL, false), -ENOMEM);
	uroce_ring_push(&sq->ring, MAX_WR);
	for (uint32_t i = 0; i < MAX_WR; i++) {
		const struct uroce_send_wqe *wqe = uroce_ring_at(&sq->ring, i);

		assert_int_equal(wqe->wr_id, i);
	}
	assert_int_equal(fill(sq, &wr), -ENOMEM);
	/* a slot that was released can be filled again, also if another filled slot precedes it */
	uroce_ring_pop(&sq->ring, 2);
	assert_int_equal(uroce_sq_fill(sq, 0, &wr, NULL, false), 0);
	assert_int_equal(uroce_sq_fill(sq, 1, &wr, NULL, false), 0);
	assert_int_equal(uroce_sq_fill(sq, 2, &wr, NULL, false), -ENOMEM);
}

static void
sq_fill__ud_takes_path_and_destination(void **state)
{
	struct uroce_wq *sq = *state;
	struct ibv_sge sge = { 0x1000, 10, 1 };
	const struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .remote_qpn = 0x123456, .remote_qkey = 0x80010000 },
	};

	memset(&path, 0x3c, sizeof(path));
	assert_int_equal(fill(sq, &wr), 0);
	struct uroce_send_wqe *wqe = filled(sq);

	assert_int_equal(wqe->ud.dest_qpn, 0x123456);
	assert_int_equal(wqe->ud.qkey, 0x80010000);
	assert_int_equal(wqe->remote_addr, 0);
	assert_memory_equal(uroce_send_wqe_path(wqe), &path, sizeof(path));
	assert_ptr_equal(uroce_send_wqe_data(wqe), (uint8_t *)(wqe + 1) + UROCE_WQE_PATH_LEN);
	assert_memory_equal(uroce_send_wqe_data(wqe), &sge, sizeof(sge));
}

static void
sq_fill__ud_inline_goes_behind_the_path(void **state)
{
	struct uroce_wq *sq = *state;
	uint8_t data[MAX_INLINE];
	struct ibv_sge sge = { (uintptr_t)data, MAX_INLINE, 1 };
	const struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
	};

	memset(&path, 0x3c, sizeof(path));
	memset(data, 0x77, sizeof(data));
	assert_int_equal(fill(sq, &wr), 0);
	assert_memory_equal(uroce_send_wqe_path(filled(sq)), &path, sizeof(path));
	assert_memory_equal(uroce_send_wqe_data(filled(sq)), data, MAX_INLINE);
	/* inline data of the maximum length ends inside the slot */
	assert_in_range((uint8_t *)uroce_send_wqe_data(filled(sq)) + MAX_INLINE -
				(uint8_t *)filled(sq),
			0, uroce_send_wqe_stride(MAX_SGE, MAX_INLINE, true));
}

static void
rq_fill__copies_the_list(void **state)
{
	struct uroce_wq *rq = *state;
	struct ibv_sge list[] = { { 0x1000, 10, 1 }, { 0x2000, 0, 2 }, { 0x3000, 30, 3 } };
	const struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = list, .num_sge = 3 };

	assert_int_equal(uroce_rq_fill(rq, 0, &wr), 0);
	struct uroce_recv_wqe *wqe = uroce_ring_free_slot(&rq->ring, 0);

	assert_int_equal(wqe->wr_id, 5);
	assert_int_equal(wqe->len, 40);
	assert_int_equal(wqe->nb_sge, 3);
	assert_memory_equal(uroce_recv_wqe_sge(wqe), list, sizeof(list));
	assert_int_equal(uroce_ring_head(&rq->ring), uroce_ring_tail(&rq->ring));
}

static void
rq_fill__length_is_capped(void **state)
{
	struct uroce_wq *rq = *state;
	struct ibv_sge list[] = { { 0, UINT32_MAX, 1 }, { 0, 0, 1 } };
	const struct ibv_recv_wr wr = { .sg_list = list, .num_sge = 2 };
	const struct uroce_recv_wqe *wqe = uroce_ring_free_slot(&rq->ring, 0);

	list[0].length = UINT32_MAX - 1;
	assert_int_equal(uroce_rq_fill(rq, 0, &wr), 0);
	assert_int_equal(wqe->len, UINT32_MAX - 1);
	list[1].length = 1;
	assert_int_equal(uroce_rq_fill(rq, 0, &wr), 0);
	assert_int_equal(wqe->len, UINT32_MAX);
	list[1].length = 100;
	assert_int_equal(uroce_rq_fill(rq, 0, &wr), 0);
	assert_int_equal(wqe->len, UINT32_MAX);
}

static void
rq_fill__refusals(void **state)
{
	struct uroce_wq *rq = *state;
	struct ibv_sge list[MAX_SGE + 1] = { { 0 } };
	struct ibv_recv_wr wr = { .sg_list = list, .num_sge = MAX_SGE + 1 };

	assert_int_equal(uroce_rq_fill(rq, 0, &wr), -EINVAL);
	wr.num_sge = -1;
	assert_int_equal(uroce_rq_fill(rq, 0, &wr), -EINVAL);
	wr.num_sge = MAX_SGE;
	for (uint32_t i = 0; i < MAX_WR; i++)
		assert_int_equal(uroce_rq_fill(rq, i, &wr), 0);
	assert_int_equal(uroce_rq_fill(rq, MAX_WR, &wr), -ENOMEM);
}

static void
rq_fill__without_elements(void **state)
{
	struct uroce_wq *rq = *state;
	const struct ibv_recv_wr wr = { .wr_id = 9 };
	const struct uroce_recv_wqe *wqe = uroce_ring_free_slot(&rq->ring, 0);

	assert_int_equal(uroce_rq_fill(rq, 0, &wr), 0);
	assert_int_equal(wqe->wr_id, 9);
	assert_int_equal(wqe->len, 0);
	assert_int_equal(wqe->nb_sge, 0);
}

int
main(void)
{
#define CONNECTED_TEST(f) cmocka_unit_test_setup_teardown(f, setup_connected, teardown)
#define UD_TEST(f)        cmocka_unit_test_setup_teardown(f, setup_ud, teardown)
#define RQ_TEST(f)        cmocka_unit_test_setup_teardown(f, setup_rq, teardown)
	const struct CMUnitTest tests[] = {
		CONNECTED_TEST(wq_begin__takes_the_lock_unless_its_poster_is_alone),
		cmocka_unit_test(send_wqe_stride__fits_path_and_the_larger_of_list_and_inline),
		cmocka_unit_test(recv_wqe_stride__fits_the_list),
		cmocka_unit_test(sq_fill__each_opcode_on_the_queues_that_have_it),
		CONNECTED_TEST(sq_fill__send_with_scatter_list),
		CONNECTED_TEST(sq_fill__is_not_seen_before_the_push),
		CONNECTED_TEST(sq_fill__without_data),
		CONNECTED_TEST(sq_fill__rdma_names_remote_memory),
		CONNECTED_TEST(sq_fill__send_names_no_remote_memory),
		CONNECTED_TEST(sq_fill__atomics_take_operands_and_exactly_8_bytes),
		CONNECTED_TEST(sq_fill__flags),
		CONNECTED_TEST(sq_fill__unknown_flags_are_einval),
		CONNECTED_TEST(sq_fill__inline_data_is_copied),
		CONNECTED_TEST(sq_fill__inline_limit_is_exact),
		CONNECTED_TEST(sq_fill__inline_is_for_data_that_is_sent),
		CONNECTED_TEST(sq_fill__message_length_is_at_most_2_to_the_31),
		CONNECTED_TEST(sq_fill__too_many_elements_are_einval),
		CONNECTED_TEST(sq_fill__refusal_leaves_the_slot_alone),
		CONNECTED_TEST(sq_fill__local_requests_have_no_message),
		CONNECTED_TEST(sq_fill__bind_of_a_window),
		CONNECTED_TEST(sq_fill__flush),
		CONNECTED_TEST(sq_fill__atomic_write_is_8_bytes),
		CONNECTED_TEST(sq_fill__a_chain_up_to_the_limit),
		UD_TEST(sq_fill__ud_takes_path_and_destination),
		UD_TEST(sq_fill__ud_inline_goes_behind_the_path),
		RQ_TEST(rq_fill__copies_the_list),
		RQ_TEST(rq_fill__length_is_capped),
		RQ_TEST(rq_fill__refusals),
		RQ_TEST(rq_fill__without_elements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
