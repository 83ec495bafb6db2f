/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mkeys and signature pipelining by the calls of <uroce_dv.h>, between two devices: a configures
 * mkeys and transfers data, b is its peer. References [wr_mkey_configure], [sig_block],
 * [mkey_check], [create_mkey] and [cancel] are to the man pages of mlx5dv.
 */

#include "net.h"

#include <uroce_dv.h>

#define LEN    512u
#define OPS    (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_LOCAL_INV)
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static struct pair net;
static struct uroce_dv_mkey *mkey[2]; /* mkey[0] belongs to host a, mkey[1] to host b */

static struct host *
host_of(unsigned side)
{
	return side == 0 ? &net.a : &net.b;
}

static struct ibv_qp *
make_qp(const struct host *host, enum ibv_qp_type type, uint32_t flags, uint64_t dv_ops,
	uint32_t max_inline)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type,
		.sq_sig_all = 1,
		.send_cq = host->scq,
		.recv_cq = host->rcq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = host->pd,
		.send_ops_flags = type == IBV_QPT_UD ? IBV_QP_EX_WITH_SEND : OPS,
		.cap = { NB_WR, NB_WR, NB_SGE, NB_SGE, max_inline },
	};
	struct uroce_dv_qp_init_attr dv = {
		.comp_mask = UROCE_DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS |
			     UROCE_DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.create_flags = flags,
		.send_ops_flags = dv_ops,
	};

	return uroce_dv_create_qp(host->context, &init, &dv);
}

static struct uroce_dv_mkey *
make_mkey(const struct host *host, uint32_t flags, uint16_t max_entries)
{
	struct uroce_dv_mkey_init_attr init = {
		.pd = host->pd,
		.create_flags = UROCE_DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
		.max_entries = max_entries,
	};

	return uroce_dv_create_mkey(&init);
}

static void
open_net(uint32_t qp_flags)
{
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	for (unsigned side = 0; side < 2; side++) {
		struct host *host = host_of(side);

		assert_int_equal(uroce_destroy_qp(host->qp), 0);
		host->qp = make_qp(host, IBV_QPT_RC, qp_flags, UROCE_DV_QP_EX_WITH_MKEY_CONFIGURE,
				   512);
		assert_non_null(host->qp);
		mkey[side] = make_mkey(host,
				       UROCE_DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE |
					       UROCE_DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE,
				       3);
		assert_non_null(mkey[side]);
	}
	pair_connect(&net);
}

static int
setup(void **state)
{
	(void)state;
	open_net(0);
	return 0;
}

static int
setup_pipelined(void **state)
{
	(void)state;
	open_net(UROCE_DV_QP_CREATE_SIG_PIPELINING);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	for (unsigned side = 0; side < 2; side++)
		assert_int_equal(uroce_dv_destroy_mkey(mkey[side]), 0);
	pair_close(&net);
	return 0;
}

/* --- configuring mkeys and sending through them ---------------------------------------------------- */

static struct ibv_qp_ex *
ex_of(unsigned side)
{
	return uroce_qp_to_qp_ex(host_of(side)->qp);
}

static struct uroce_dv_qp_ex *
dv_of(unsigned side)
{
	return uroce_dv_qp_ex_from_ibv_qp_ex(ex_of(side));
}

static void
start(unsigned side)
{
	ex_of(side)->wr_id = 100;
	ex_of(side)->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	ibv_wr_start(ex_of(side));
}

static void
begin(unsigned side, uint8_t num_setters)
{
	struct uroce_dv_mkey_conf_attr attr = { 0 };

	start(side);
	uroce_dv_wr_mkey_configure(dv_of(side), mkey[side], num_setters, &attr);
}

/*
 * Complete the configuration of an mkey that begin() or start() has begun, and wait for its
 * completion.
 */
static void
end(unsigned side)
{
	struct host *host = host_of(side);

	assert_int_equal(ibv_wr_complete(ex_of(side)), 0);
	assert_int_equal(expect_wc(&net, host->scq, 100, IBV_WC_SUCCESS).opcode, IBV_WC_DRIVER1);
}

static void
set_list(unsigned side, uint32_t len)
{
	const struct ibv_sge sge = sge_of(host_of(side), 0, len);

	uroce_dv_wr_set_mkey_access_flags(dv_of(side), RIGHTS);
	uroce_dv_wr_set_mkey_layout_list(dv_of(side), 1, &sge);
}

static const struct uroce_dv_sig_crc crc32_ones = { .type = UROCE_DV_SIG_CRC_TYPE_CRC32,
						    .seed = UINT32_MAX };
static const struct uroce_dv_sig_block_domain crc32 = { .sig_type = UROCE_DV_SIG_TYPE_CRC,
							.sig.crc = &crc32_ones,
							.block_size = UROCE_DV_BLOCK_SIZE_512 };

/*
 * Configure an mkey as a list of one piece of `len` bytes. A signature domain of NULL means that
 * there are no signatures in memory or on the wire.
 */
static void
configure(unsigned side, uint32_t len, const struct uroce_dv_sig_block_domain *mem,
	  const struct uroce_dv_sig_block_domain *wire)
{
	const struct uroce_dv_sig_block_attr sig = { .mem = mem, .wire = wire, .check_mask = 0xff };

	begin(side, 3);
	set_list(side, len);
	uroce_dv_wr_set_mkey_sig_block(dv_of(side), &sig);
	end(side);
}

static struct uroce_dv_mkey_err
check(unsigned side)
{
	struct uroce_dv_mkey_err err;

	assert_int_equal(uroce_dv_mkey_check(mkey[side], &err), 0);
	return err;
}

/*
 * Send a message from a to b. The data is gathered through a's mkey, and scattered through b's
 * mkey.
 */
static void
run_send(uint32_t len)
{
	post_recv(&net.b, 2, (struct ibv_sge){ .length = len, .lkey = mkey[1]->lkey });
	post_send(&net.a, IBV_WR_SEND, 1, (struct ibv_sge){ .length = len, .lkey = mkey[0]->lkey });
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(&net, net.b.rcq, 2, IBV_WC_SUCCESS).byte_len, len);
}

/* --- layouts of memory ----------------------------------------------------------------------------- */

static void
list__scatters_and_gathers(void **state)
{
	(void)state;
	for (unsigned side = 0; side < 2; side++) {
		const struct ibv_sge sge[] = { sge_of(host_of(side), 0, 8),
					       sge_of(host_of(side), 64, 8) };

		begin(side, 2);
		uroce_dv_wr_set_mkey_access_flags(dv_of(side), IBV_ACCESS_LOCAL_WRITE);
		uroce_dv_wr_set_mkey_layout_list(dv_of(side), 2, sge);
		end(side);
	}
	fill(net.a.buf, 128, 1);
	run_send(16);
	assert_memory_equal(net.b.buf, net.a.buf, 8);
	assert_memory_equal(net.b.buf + 64, net.a.buf + 64, 8);
	assert_int_equal(net.b.buf[8], 0);
	assert_int_equal(net.b.buf[63], 0);
	assert_int_equal(net.b.buf[72], 0);
}

static void
list__in_one_call(void **state)
{
	(void)state;
	for (unsigned side = 0; side < 2; side++) {
		struct ibv_sge sge[] = { sge_of(host_of(side), 0, 8),
					 sge_of(host_of(side), 64, 8) };

		start(side);
		uroce_dv_wr_mr_list(dv_of(side), mkey[side], IBV_ACCESS_LOCAL_WRITE, 2, sge);
		end(side);
	}
	fill(net.a.buf, 128, 2);
	run_send(16);
	assert_memory_equal(net.b.buf + 64, net.a.buf + 64, 8);
}

/* An mkey with an interleaved layout repeats its pieces [wr_mkey_configure]. */
static void
interleaved__repeats(void **state)
{
	(void)state;
	for (unsigned side = 0; side < 2; side++) {
		struct host *const host = host_of(side);
		struct uroce_dv_mr_interleaved data[] = {
			{ (uintptr_t)host->buf, 8, 2, host->mr->lkey },
			{ (uintptr_t)host->buf + 64, 8, 2, host->mr->lkey },
		};

		start(side);
		uroce_dv_wr_mr_interleaved(dv_of(side), mkey[side], IBV_ACCESS_LOCAL_WRITE, 3, 2,
					   data);
		end(side);
	}
	fill(net.a.buf, 128, 3);
	run_send(48);
	for (unsigned i = 0; i < 3; i++) {
		assert_memory_equal(net.b.buf + 10 * i, net.a.buf + 10 * i, 8);
		assert_memory_equal(net.b.buf + 64 + 10 * i, net.a.buf + 64 + 10 * i, 8);
		assert_int_equal(net.b.buf[10 * i + 8], 0);
	}
}

static void
list__beyond_its_end_is_refused(void **state)
{
	(void)state;
	configure(0, 16, NULL, NULL);
	post_send(&net.a, IBV_WR_SEND, 1, (struct ibv_sge){ .length = 17, .lkey = mkey[0]->lkey });
	expect_wc(&net, net.a.scq, 1, IBV_WC_LOC_PROT_ERR);
}

/* --- signatures in memory and on the wire ---------------------------------------------------------- */

/*
 * b has signatures in memory, and there are none on the wire: they are generated when b receives,
 * and checked when b sends [sig_block, examples 1 and 1.1].
 */
static void
sig__in_memory_is_made_and_checked(void **state)
{
	(void)state;
	configure(1, 2 * (LEN + 4), &crc32, NULL);
	configure(0, 2 * LEN, NULL, NULL);
	fill(net.a.buf, 2 * LEN, 4);
	run_send(2 * LEN);
	assert_memory_equal(net.b.buf, net.a.buf, LEN);
	assert_memory_equal(net.b.buf + LEN + 4, net.a.buf + LEN, LEN);
	assert_int_equal(check(1).err_type, UROCE_DV_MKEY_NO_ERR);
	/*
	 * b sends the data back with a wrong signature. b's mkey checks the signatures, and does
	 * not send them.
	 */
	net.b.buf[LEN + 4] ^= 1;
	post_recv(&net.a, 4, (struct ibv_sge){ .length = 2 * LEN, .lkey = mkey[0]->lkey });
	post_send(&net.b, IBV_WR_SEND, 3,
		  (struct ibv_sge){ .length = 2 * LEN, .lkey = mkey[1]->lkey });
	expect_wc(&net, net.b.scq, 3, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.rcq, 4, IBV_WC_SUCCESS);
	const struct uroce_dv_mkey_err err = check(1);

	assert_int_equal(err.err_type, UROCE_DV_MKEY_SIG_BLOCK_BAD_GUARD);
	assert_int_equal(err.err.sig.offset, LEN + 4);
	assert_int_not_equal(err.err.sig.actual_value, err.err.sig.expected_value);
	assert_int_equal(check(1).err_type, UROCE_DV_MKEY_NO_ERR);
	assert_int_equal(check(0).err_type, UROCE_DV_MKEY_NO_ERR);
}

/* There are signatures on the wire, and none in memory [sig_block, examples 2 and 2.1]. */
static void
sig__on_the_wire(void **state)
{
	static const struct uroce_dv_sig_t10dif dif = {
		.bg_type = UROCE_DV_SIG_T10DIF_CRC,
		.bg = 0xffff,
		.app_tag = 0xabcd,
		.ref_tag = 0x01234567,
		.flags = UROCE_DV_SIG_T10DIF_FLAG_REF_REMAP,
	};
	static const struct uroce_dv_sig_block_domain t10dif = { .sig_type =
									 UROCE_DV_SIG_TYPE_T10DIF,
								 .sig.dif = &dif,
								 .block_size =
									 UROCE_DV_BLOCK_SIZE_512 };

	(void)state;
	configure(0, 4 * LEN, NULL, &t10dif);
	configure(1, 4 * LEN, NULL, &t10dif);
	for (unsigned turn = 0; turn < 10; turn++) {
		fill(net.a.buf, 4 * LEN, turn);
		run_send(4 * (LEN + 8));
		assert_memory_equal(net.b.buf, net.a.buf, 4 * LEN);
	}
	assert_int_equal(check(0).err_type, UROCE_DV_MKEY_NO_ERR);
	assert_int_equal(check(1).err_type, UROCE_DV_MKEY_NO_ERR);
	/* remove the signature attributes of b's mkey */
	begin(1, 1);
	uroce_dv_wr_set_mkey_sig_block(dv_of(1), &(struct uroce_dv_sig_block_attr){ 0 });
	end(1);
	/* b now receives the bytes of the wire: each block is followed by its signature */
	run_send(2 * (LEN + 8));
	assert_memory_equal(net.b.buf, net.a.buf, LEN);
	assert_memory_equal(net.b.buf + LEN + 8, net.a.buf + LEN, LEN);
}

static void
sig__of_every_kind(void **state)
{
	static const struct {
		enum uroce_dv_sig_crc_type crc;
		uint64_t seed;
	} crcs[] = {
		{ UROCE_DV_SIG_CRC_TYPE_CRC32, 0 },
		{ UROCE_DV_SIG_CRC_TYPE_CRC32C, UINT32_MAX },
		{ UROCE_DV_SIG_CRC_TYPE_CRC64_XP10, 0 },
		{ UROCE_DV_SIG_CRC_TYPE_CRC64_XP10, UINT64_MAX },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(crcs) / sizeof(crcs[0]); i++)
		for (int size = UROCE_DV_BLOCK_SIZE_512; size <= UROCE_DV_BLOCK_SIZE_4160; size++) {
			const struct uroce_dv_sig_crc crc = { crcs[i].crc, crcs[i].seed };
			const struct uroce_dv_sig_block_domain domain = {
				.sig_type = UROCE_DV_SIG_TYPE_CRC,
				.sig.crc = &crc,
				.block_size = (enum uroce_dv_block_size)size,
			};

			/* b checks the signatures that a generates on the wire */
			configure(0, 16640, NULL, &domain);
			configure(1, 16640, NULL, &domain);
			fill(net.a.buf, 16640, i);
			run_send(16640);
			assert_int_equal(check(0).err_type, UROCE_DV_MKEY_NO_ERR);
			assert_int_equal(check(1).err_type, UROCE_DV_MKEY_NO_ERR);
		}
}

/*
 * a sends data without signatures, and b's mkey checks signatures on the wire. The data is
 * delivered, and the check reports an error.
 */
static void
sig__missing_on_the_wire(void **state)
{
	(void)state;
	configure(0, LEN + 4, NULL, NULL);
	configure(1, LEN, NULL, &crc32);
	fill(net.a.buf, LEN + 4, 9);
	run_send(LEN + 4);
	assert_memory_equal(net.b.buf, net.a.buf, LEN);
	assert_int_equal(check(1).err_type, UROCE_DV_MKEY_SIG_BLOCK_BAD_GUARD);
	/*
	 * a configuration keeps the signature attributes of an mkey, unless it resets them
	 * [wr_mkey_configure]
	 */
	begin(1, 0);
	end(1);
	run_send(LEN + 4);
	assert_int_equal(check(1).err_type, UROCE_DV_MKEY_SIG_BLOCK_BAD_GUARD);
	struct uroce_dv_mkey_conf_attr attr = { UROCE_DV_MKEY_CONF_FLAG_RESET_SIG_ATTR, 0 };

	start(1);
	uroce_dv_wr_mkey_configure(dv_of(1), mkey[1], 0, &attr);
	end(1);
	run_send(LEN);
	assert_int_equal(check(1).err_type, UROCE_DV_MKEY_NO_ERR);
}

/* --- invalidation of mkeys ------------------------------------------------------------------------- */

static void
invalidate__by_the_peer(void **state)
{
	struct ibv_send_wr *bad, wr = { .wr_id = 1, .opcode = IBV_WR_SEND_WITH_INV };

	(void)state;
	configure(1, 16, NULL, NULL);
	wr.invalidate_rkey = mkey[1]->rkey;
	post_recv(&net.b, 2, (struct ibv_sge){ 0 });
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	const struct ibv_wc wc = expect_wc(&net, net.b.rcq, 2, IBV_WC_SUCCESS);

	assert_int_equal(wc.wc_flags & IBV_WC_WITH_INV, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, mkey[1]->rkey);
	post_recv(&net.b, 2, (struct ibv_sge){ .length = 16, .lkey = mkey[1]->lkey });
	post_send(&net.a, IBV_WR_SEND, 3, sge_of(&net.a, 0, 16));
	expect_wc(&net, net.b.rcq, 2, IBV_WC_LOC_PROT_ERR);
}

static void
invalidate__by_its_owner(void **state)
{
	struct ibv_send_wr *bad, wr = { .wr_id = 1, .opcode = IBV_WR_LOCAL_INV };

	(void)state;
	configure(0, 16, NULL, NULL);
	wr.invalidate_rkey = mkey[0]->lkey;
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	post_send(&net.a, IBV_WR_SEND, 2, (struct ibv_sge){ .length = 8, .lkey = mkey[0]->lkey });
	expect_wc(&net, net.a.scq, 2, IBV_WC_LOC_PROT_ERR);
}

/* --- refused calls and requests -------------------------------------------------------------------- */

static void
create__refuses(void **state)
{
	struct uroce_dv_mkey_init_attr init = { .pd = net.a.pd, .max_entries = 1 };
	struct uroce_dv_context attrs = { .comp_mask = UROCE_DV_CONTEXT_MASK_SIGNATURE_OFFLOAD };
	struct uroce_dv_mkey *most;
	struct uroce_dv_mkey_err err;

	(void)state;
	assert_int_equal(uroce_dv_query_device(net.a.context, &attrs), 0);
	assert_int_equal(attrs.comp_mask, UROCE_DV_CONTEXT_MASK_SIGNATURE_OFFLOAD);
	assert_int_equal(attrs.sig_caps.block_size, 0x1f);
	assert_int_equal(attrs.sig_caps.block_prot, 0x3);
	assert_int_equal(attrs.sig_caps.t10dif_bg, 0x3);
	assert_int_equal(attrs.sig_caps.crc_type, 0x7);
	assert_int_equal(uroce_dv_query_device(NULL, &attrs), EINVAL);
	assert_int_equal(uroce_dv_query_device(net.a.context, NULL), EINVAL);
	assert_errno(EINVAL, uroce_dv_create_mkey(NULL));
	/* mkeys without the flag INDIRECT are not supported */
	assert_errno(EINVAL, uroce_dv_create_mkey(&init));
	assert_errno(EOPNOTSUPP, make_mkey(&net.a, 1 << 2, 1));
	assert_errno(EINVAL, make_mkey(&net.a, 0, 0));
	assert_errno(EINVAL, make_mkey(&net.a, 0, (uint16_t)(attrs.max_mkey_entries + 1)));
	assert_non_null(most = make_mkey(&net.a, 0, attrs.max_mkey_entries));
	assert_int_equal(most->lkey, most->rkey);
	assert_int_equal(uroce_dealloc_pd(net.a.pd), EBUSY);
	assert_int_equal(uroce_dv_mkey_check(most, &err), 0);
	assert_int_equal(uroce_dv_mkey_check(most, NULL), EINVAL);
	assert_int_equal(uroce_dv_mkey_check(NULL, &err), EINVAL);
	assert_int_equal(uroce_dv_destroy_mkey(most), 0);
	assert_int_equal(uroce_dv_destroy_mkey(NULL), EINVAL);
}

static void
create_qp__refuses(void **state)
{
	const uint32_t pipelining = UROCE_DV_QP_CREATE_SIG_PIPELINING;
	const uint64_t ops = UROCE_DV_QP_EX_WITH_MKEY_CONFIGURE;
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = net.a.scq,
		.recv_cq = net.a.rcq,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = net.a.pd,
	};
	struct uroce_dv_qp_init_attr dv = {
		.comp_mask = UROCE_DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = ops,
	};
	struct ibv_qp *qp;

	(void)state;
	assert_errno(EOPNOTSUPP, make_qp(&net.a, IBV_QPT_RC, 1, ops, 0));
	assert_errno(EOPNOTSUPP, make_qp(&net.a, IBV_QPT_RC, 0, 1 << 4, 0));
	assert_errno(EOPNOTSUPP, make_qp(&net.a, IBV_QPT_UD, pipelining, 0, 0));
	assert_errno(EOPNOTSUPP, make_qp(&net.a, IBV_QPT_UC, 0, ops, 0));
	/* init.comp_mask requests no send operations, which the wr functions need */
	assert_errno(EINVAL, uroce_dv_create_qp(net.a.context, &init, &dv));
	assert_errno(EINVAL, uroce_dv_create_qp(net.a.context, NULL, &dv));
	assert_errno(EINVAL, uroce_dv_create_qp(net.a.context, &init, NULL));
	dv.comp_mask = 1 << 1; /* the attributes request the type DC */
	assert_errno(EOPNOTSUPP, uroce_dv_create_qp(net.a.context, &init, &dv));
	dv.comp_mask = 0;
	assert_non_null(qp = uroce_dv_create_qp(net.a.context, &init, &dv));
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

/* Check that the configuration request that was begun is refused with this error. */
static void
expect_refused(int err)
{
	assert_int_equal(ibv_wr_complete(ex_of(0)), err);
}

static void
configure__refuses(void **state)
{
	const struct ibv_sge sge[50] = { sge_of(&net.a, 0, 8) };
	const struct uroce_dv_sig_block_attr none = { 0 };
	struct uroce_dv_mkey_conf_attr attr = { 0 };

	(void)state;
	start(0);
	/* the flag for inline is missing, but a configuration must be inline */
	ex_of(0)->wr_flags = 0;
	uroce_dv_wr_mkey_configure(dv_of(0), mkey[0], 0, &attr);
	expect_refused(EOPNOTSUPP);
	start(0);
	attr.conf_flags = 2;
	uroce_dv_wr_mkey_configure(dv_of(0), mkey[0], 0, &attr);
	expect_refused(EINVAL);
	begin(0, 1); /* num_setters is 1, but no setter follows */
	expect_refused(EINVAL);
	begin(0, 0); /* num_setters is 0, but one setter follows */
	uroce_dv_wr_set_mkey_access_flags(dv_of(0), 0);
	expect_refused(EINVAL);
	begin(0, 2); /* num_setters is 2, but one setter is called twice */
	uroce_dv_wr_set_mkey_access_flags(dv_of(0), 0);
	uroce_dv_wr_set_mkey_access_flags(dv_of(0), 0);
	expect_refused(EINVAL);
	begin(0, 2);
	uroce_dv_wr_set_mkey_sig_block(dv_of(0), &none);
	uroce_dv_wr_set_mkey_sig_block(dv_of(0), &none);
	expect_refused(EINVAL);
	begin(0, 0); /* data is set, which a configuration request does not have */
	ibv_wr_set_sge(ex_of(0), net.a.mr->lkey, (uintptr_t)net.a.buf, 64);
	expect_refused(EINVAL);
	begin(0, 0);
	ibv_wr_set_inline_data(ex_of(0), net.a.buf, 64);
	expect_refused(EINVAL);
	begin(0, 1);
	ibv_wr_set_sge_list(ex_of(0), 2, sge);
	uroce_dv_wr_set_mkey_layout_list(dv_of(0), 1, sge);
	expect_refused(EINVAL);
	start(0);
	uroce_dv_wr_mkey_configure(dv_of(0), NULL, 0, &(struct uroce_dv_mkey_conf_attr){ 0 });
	expect_refused(EINVAL);
	start(0);
	uroce_dv_wr_mkey_configure(dv_of(0), mkey[0], 0, NULL);
	expect_refused(EINVAL);
	start(0); /* a setter is called without uroce_dv_wr_mkey_configure() */
	uroce_dv_wr_set_mkey_access_flags(dv_of(0), 0);
	expect_refused(EINVAL);
	begin(0, 1);
	uroce_dv_wr_set_mkey_access_flags(dv_of(0), IBV_ACCESS_REMOTE_ATOMIC);
	expect_refused(EINVAL);
	begin(0, 1);
	uroce_dv_wr_set_mkey_access_flags(dv_of(0), IBV_ACCESS_REMOTE_WRITE);
	expect_refused(EINVAL);
	begin(0, 1);
	uroce_dv_wr_set_mkey_layout_list(dv_of(0), 0, sge);
	expect_refused(EINVAL);
	begin(0, 1);
	uroce_dv_wr_set_mkey_layout_list(dv_of(0), 1, NULL);
	expect_refused(EINVAL);
	begin(0, 1);
	uroce_dv_wr_set_mkey_layout_interleaved(dv_of(0), 1, 1, NULL);
	expect_refused(EINVAL);
	begin(0, 1);
	uroce_dv_wr_set_mkey_sig_block(dv_of(0), NULL);
	expect_refused(EINVAL);
	begin(0, 1);
	uroce_dv_wr_set_mkey_layout_list(dv_of(0), 50, sge);
	expect_refused(EINVAL);
	begin(0, 1);
	/* this list needs more bytes than max_inline_data */
	uroce_dv_wr_set_mkey_layout_list(dv_of(0), 20, sge);
	expect_refused(EINVAL);
	begin(0, 1);
	uroce_dv_wr_set_mkey_layout_interleaved(dv_of(0), 0, 1,
						&(struct uroce_dv_mr_interleaved){ 0 });
	expect_refused(EINVAL);
	expect_none(&net);
	/*
	 * the list has more pieces than the mkey has room for: the request is accepted, and fails
	 * when it is executed
	 */
	begin(0, 1);
	uroce_dv_wr_set_mkey_layout_list(dv_of(0), 4, sge);
	assert_int_equal(ibv_wr_complete(ex_of(0)), 0);
	expect_wc(&net, net.a.scq, 100, IBV_WC_MW_BIND_ERR);
}

static void
sig__refuses(void **state)
{
	const struct uroce_dv_sig_crc bad_seed = { UROCE_DV_SIG_CRC_TYPE_CRC32, 5 };
	const struct uroce_dv_sig_crc bad_type = { (enum uroce_dv_sig_crc_type)3, 0 };
	const struct uroce_dv_sig_t10dif bad_bg = { .bg = 1 };
	const struct uroce_dv_sig_t10dif bad_flags = { .flags = 8 };
	const struct uroce_dv_sig_block_domain domains[] = {
		{ .sig_type = UROCE_DV_SIG_TYPE_CRC, .sig.crc = &bad_seed },
		{ .sig_type = UROCE_DV_SIG_TYPE_CRC, .sig.crc = &bad_type },
		{ .sig_type = UROCE_DV_SIG_TYPE_CRC, .sig.crc = NULL },
		{ .sig_type = UROCE_DV_SIG_TYPE_T10DIF, .sig.dif = &bad_bg },
		{ .sig_type = UROCE_DV_SIG_TYPE_T10DIF, .sig.dif = &bad_flags },
		{ .sig_type = (enum uroce_dv_sig_type)2, .sig.crc = &crc32_ones },
		{ .sig_type = UROCE_DV_SIG_TYPE_CRC,
		  .sig.crc = &crc32_ones,
		  .block_size = (enum uroce_dv_block_size)5 },
		{ .sig_type = UROCE_DV_SIG_TYPE_CRC, .sig.crc = &crc32_ones, .comp_mask = 1 },
	};
	struct uroce_dv_sig_block_attr attr = { 0 };

	(void)state;
	for (unsigned i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
		attr.mem = i & 1 ? &domains[i] : NULL;
		attr.wire = i & 1 ? NULL : &domains[i];
		begin(0, 1);
		uroce_dv_wr_set_mkey_sig_block(dv_of(0), &attr);
		expect_refused(EINVAL);
	}
	/*
	 * a copy mask requires domains of the same structure in memory and on the wire [sig_block,
	 * copy_mask]
	 */
	attr = (struct uroce_dv_sig_block_attr){
		.mem = &crc32,
		.flags = UROCE_DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK,
		.copy_mask = 0xf0,
	};
	begin(0, 1);
	uroce_dv_wr_set_mkey_sig_block(dv_of(0), &attr);
	expect_refused(EINVAL);
	attr.wire = &crc32;
	begin(0, 1);
	uroce_dv_wr_set_mkey_sig_block(dv_of(0), &attr);
	end(0);
}

/* ibv_post_send() refuses IBV_WR_DRIVER1: raw bytes do not configure an mkey. */
static void
post_send__of_a_configuration_is_refused(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 64);
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_DRIVER1,
		.send_flags = IBV_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
	};

	(void)state;
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
}

/* --- signature pipelining -------------------------------------------------------------------------- */

/* Post a WRITE through a's mkey and, with a fence, the SEND that reports the WRITE as good. */
static void
post_transaction(void)
{
	struct ibv_sge data = { .length = LEN, .lkey = mkey[0]->lkey };
	struct ibv_sge reply = sge_of(&net.a, 4096, 16);
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr[] = {
		{ .wr_id = 1,
		  .next = &wr[1],
		  .opcode = IBV_WR_RDMA_WRITE,
		  .sg_list = &data,
		  .num_sge = 1,
		  .wr.rdma = { (uintptr_t)net.b.buf, net.b.mr->rkey } },
		{ .wr_id = 1,
		  .opcode = IBV_WR_SEND,
		  .send_flags = IBV_SEND_FENCE,
		  .sg_list = &reply,
		  .num_sge = 1 },
	};

	assert_int_equal(ibv_post_send(net.a.qp, wr, &bad), 0);
}

static void
pipeline__good(void **state)
{
	(void)state;
	/* write data of b to a's mkey, which adds signatures in a's memory */
	configure(0, LEN + 4, &crc32, NULL);
	fill(net.b.buf, LEN, 1);
	post_rdma(&net.b, &net.a, IBV_WR_RDMA_WRITE, 7, sge_of(&net.b, 0, 1), 8192);
	expect_wc(&net, net.b.scq, 7, IBV_WC_SUCCESS);
	struct ibv_sge from_b = sge_of(&net.b, 0, LEN);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 8,
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &from_b,
		.num_sge = 1,
		.wr.rdma = { 0, mkey[0]->rkey },
	};

	assert_int_equal(ibv_post_send(net.b.qp, &wr, &bad), 0);
	expect_wc(&net, net.b.scq, 8, IBV_WC_SUCCESS);
	post_recv(&net.b, 2, sge_of(&net.b, 8192, 16));
	post_transaction();
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.rcq, 2, IBV_WC_SUCCESS);
	assert_int_equal(check(0).err_type, UROCE_DV_MKEY_NO_ERR);
	assert_int_equal(state_of(&net.a), IBV_QPS_RTS);
}

static void
pipeline__bad(void **state)
{
	struct ibv_async_event event;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQD };

	(void)state;
	configure(0, LEN + 4, &crc32, NULL);
	fill(net.a.buf, LEN + 4, 1);
	post_recv(&net.b, 2, sge_of(&net.b, 8192, 16));
	post_transaction();
	assert_int_equal(expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_RDMA_WRITE);
	expect_none(&net);
	assert_int_equal(uroce_get_async_event(net.a.context, &event), 0);
	while (event.event_type == IBV_EVENT_COMM_EST) {
		uroce_ack_async_event(&event);
		assert_int_equal(uroce_get_async_event(net.a.context, &event), 0);
	}
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	assert_ptr_equal(event.element.qp, net.a.qp);
	uroce_ack_async_event(&event);
	assert_int_equal(state_of(&net.a), IBV_QPS_SQD);
	assert_int_equal(check(0).err_type, UROCE_DV_MKEY_SIG_BLOCK_BAD_GUARD);
	assert_int_equal(uroce_dv_qp_cancel_posted_send_wrs(dv_of(0), 1), 1);
	post_send(&net.a, IBV_WR_SEND, 5, sge_of(&net.a, 4096, 16));
	assert_int_equal(uroce_modify_qp(net.a.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
	/* the cancelled SEND completes with success */
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.scq, 5, IBV_WC_SUCCESS);
	expect_wc(&net, net.b.rcq, 2, IBV_WC_SUCCESS);
	expect_none(&net);
}

#define TEST(test)           cmocka_unit_test_setup_teardown(test, setup, teardown)
#define TEST_PIPELINED(test) cmocka_unit_test_setup_teardown(test, setup_pipelined, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(list__scatters_and_gathers),
		TEST(list__in_one_call),
		TEST(interleaved__repeats),
		TEST(list__beyond_its_end_is_refused),
		TEST(sig__in_memory_is_made_and_checked),
		TEST(sig__on_the_wire),
		TEST(sig__of_every_kind),
		TEST(sig__missing_on_the_wire),
		TEST(invalidate__by_the_peer),
		TEST(invalidate__by_its_owner),
		TEST(create__refuses),
		TEST(create_qp__refuses),
		TEST(configure__refuses),
		TEST(sig__refuses),
		TEST(post_send__of_a_configuration_is_refused),
		TEST_PIPELINED(pipeline__good),
		TEST_PIPELINED(pipeline__bad),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
