/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory by the calls of verbs.h [alloc_dm(3)], dma-bufs [reg_mr(3)], and imported regions
 * [import_mr(3)].
 */

#include "net.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/udmabuf.h>

#define LEN    8192u
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE)
#define ZERO   IBV_ACCESS_ZERO_BASED

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	pair_connect(&net);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static void
reconnect(void)
{
	struct ibv_wc wc;

	assert_int_equal(to_state(&net.a, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(&net.b, IBV_QPS_RESET), 0);
	while (ibv_poll_cq(net.a.scq, 1, &wc) > 0)
		;
	pair_connect(&net);
}

static struct ibv_dm *
alloc(size_t len)
{
	struct ibv_alloc_dm_attr attr = { .length = len };
	struct ibv_dm *dm = ibv_alloc_dm(net.b.context, &attr);

	assert_non_null(dm);
	return dm;
}

/* Post an RDMA request at host a, and check the status of its completion. */
static void
rdma(enum ibv_wr_opcode opcode, uint32_t len, uint64_t addr, uint32_t rkey,
     enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&net.a, 0, len);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 9,
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = addr, .rkey = rkey },
	};

	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 9, status);
	if (status != IBV_WC_SUCCESS)
		reconnect();
}

/* --- device memory ----------------------------------------------------------------------------------- */

static void
dm__copies_in_and_out(void **state)
{
	struct ibv_dm *dm = alloc(LEN);
	uint8_t in[LEN], out[LEN] = { 1 };

	(void)state;
	fill(in, LEN, 3);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, 0, LEN), 0);
	for (unsigned i = 0; i < LEN; i++)
		assert_int_equal(out[i], 0);
	assert_int_equal(ibv_memcpy_to_dm(dm, 0, in, LEN), 0);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, 100, LEN - 100), 0);
	assert_memory_equal(out, in + 100, LEN - 100);
	assert_int_equal(ibv_memcpy_to_dm(dm, LEN - 4, in, 4), 0);
	assert_int_equal(ibv_memcpy_to_dm(dm, LEN, in, 0), 0);
	assert_int_equal(ibv_memcpy_to_dm(dm, LEN, in, 4), EFAULT);
	assert_int_equal(ibv_memcpy_to_dm(dm, 4, in, LEN), EFAULT);
	assert_int_equal(ibv_memcpy_to_dm(dm, UINT64_MAX - 3, in, 8), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, LEN, 4), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, 4, SIZE_MAX - 3), EFAULT);
	/* offsets and lengths that are not multiples of 4 are refused */
	assert_int_equal(ibv_memcpy_to_dm(dm, 2, in, 4), EINVAL);
	assert_int_equal(ibv_memcpy_to_dm(dm, 0, in, 6), EINVAL);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, 1, 4), EINVAL);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, 0, 1), EINVAL);
	assert_int_equal(uroce_memcpy_to_dm(NULL, 0, in, 1), EINVAL);
	assert_int_equal(uroce_memcpy_to_dm(dm, 0, NULL, 1), EINVAL);
	assert_int_equal(uroce_memcpy_from_dm(NULL, dm, 0, 1), EINVAL);
	assert_int_equal(uroce_memcpy_from_dm(out, NULL, 0, 1), EINVAL);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void
dm__arguments(void **state)
{
	struct ibv_alloc_dm_attr attr = { .length = 0 };

	(void)state;
	assert_errno(EINVAL, uroce_alloc_dm(net.b.context, NULL));
	assert_errno(EINVAL, ibv_alloc_dm(net.b.context, &attr));
	attr.length = 8;
	assert_errno(EINVAL, uroce_alloc_dm(NULL, &attr));
	attr.comp_mask = 1;
	assert_errno(EINVAL, ibv_alloc_dm(net.b.context, &attr));
	attr = (struct ibv_alloc_dm_attr){ .length = 8, .log_align_req = 31 };
	assert_errno(EINVAL, ibv_alloc_dm(net.b.context, &attr));
	for (uint32_t log = 0; log <= 16; log++) {
		attr.log_align_req = log;
		struct ibv_dm *dm = ibv_alloc_dm(net.b.context, &attr);

		assert_non_null(dm);
		assert_int_equal(uroce_close_device(net.b.context), -1);
		assert_int_equal(ibv_free_dm(dm), 0);
	}
	attr.log_align_req = 30;
	assert_errno(ENOMEM, ibv_alloc_dm(net.b.context, &attr));
	assert_int_equal(uroce_free_dm(NULL), EINVAL);
}

/*
 * max_dm_size limits the length of a block, and the sum of the lengths of all blocks [alloc_dm(3),
 * notes].
 */
static void
dm__max_dm_size_and_one_more(void **state)
{
	struct ibv_device_attr_ex limits;
	struct ibv_alloc_dm_attr attr = { 0 };
	struct ibv_dm *dm, *other;

	(void)state;
	assert_int_equal(uroce_query_device_ex(net.b.context, NULL, &limits), 0);
	assert_true(limits.max_dm_size >= 1 << 20);
	attr.length = limits.max_dm_size + 1;
	assert_errno(ENOMEM, ibv_alloc_dm(net.b.context, &attr));
	dm = alloc(limits.max_dm_size);
	attr.length = 1;
	assert_errno(ENOMEM, ibv_alloc_dm(net.b.context, &attr));
	assert_int_equal(ibv_free_dm(dm), 0);
	dm = alloc(limits.max_dm_size - 1);
	other = alloc(1);
	assert_errno(ENOMEM, ibv_alloc_dm(net.b.context, &attr));
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_free_dm(other), 0);
	/*
	 * padding for the alignment of a block counts, so there is no room for a second block that
	 * is aligned to half of the memory
	 */
	attr.log_align_req = (uint32_t)__builtin_ctzll(limits.max_dm_size / 2);
	dm = ibv_alloc_dm(net.b.context, &attr);
	assert_non_null(dm);
	assert_errno(ENOMEM, ibv_alloc_dm(net.b.context, &attr));
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void
dm__peers_use_it_from_offset_0(void **state)
{
	struct ibv_dm *dm = alloc(LEN);
	struct ibv_mr *mr = ibv_reg_dm_mr(net.b.pd, dm, 4096, 4096, RIGHTS | ZERO);
	uint8_t out[4096];

	(void)state;
	assert_non_null(mr);
	assert_null(mr->addr);
	assert_int_equal(mr->length, 4096);
	fill(net.a.buf, 4096, 8);
	rdma(IBV_WR_RDMA_WRITE, 4096, 0, mr->rkey, IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(out, dm, 4096, 4096), 0);
	assert_memory_equal(out, net.a.buf, 4096);
	memset(net.a.buf, 0, 4096);
	rdma(IBV_WR_RDMA_READ, 4000, 96, mr->rkey, IBV_WC_SUCCESS);
	assert_memory_equal(net.a.buf, out + 96, 4000);
	rdma(IBV_WR_RDMA_READ, 4001, 96, mr->rkey, IBV_WC_REM_ACCESS_ERR);

	/* addresses in SGEs are offsets in the device memory as well */
	const struct ibv_sge sge = { .addr = 96, .length = 4000, .lkey = mr->lkey };

	post_recv(&net.a, 1, sge_of(&net.a, 8192, 4096));
	post_send(&net.b, IBV_WR_SEND, 2, sge);
	expect_wc(&net, net.b.scq, 2, IBV_WC_SUCCESS);
	expect_wc(&net, net.a.rcq, 1, IBV_WC_SUCCESS);
	assert_memory_equal(net.a.buf + 8192, out + 96, 4000);

	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void
dm__registration_is_checked(void **state)
{
	static const struct {
		uint64_t offset;
		size_t len;
		unsigned access;
		int err;
	} rows[] = {
		{ 0, LEN, ZERO, 0 },
		{ LEN - 1, 1, ZERO | RIGHTS | IBV_ACCESS_MW_BIND, 0 },
		{ 0, LEN, ZERO | IBV_ACCESS_RELAXED_ORDERING, 0 },
		{ 0, LEN, 0, EINVAL },
		{ 0, LEN, RIGHTS, EINVAL },
		{ 0, LEN, ZERO | IBV_ACCESS_REMOTE_WRITE, EINVAL },
		{ 0, LEN, ZERO | IBV_ACCESS_ON_DEMAND, EINVAL },
		{ 0, LEN + 1, ZERO, EINVAL },
		{ 1, LEN, ZERO, EINVAL },
		{ LEN, 1, ZERO, EINVAL },
		{ 0, 0, ZERO, 0 },
		{ UINT64_MAX, 2, ZERO, EINVAL },
	};
	struct ibv_dm *dm = alloc(LEN);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errno = 0;
		struct ibv_mr *mr =
			ibv_reg_dm_mr(net.b.pd, dm, rows[i].offset, rows[i].len, rows[i].access);

		assert_int_equal(mr != NULL ? 0 : errno, rows[i].err);
		if (mr != NULL) {
			assert_int_equal(
				uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ZERO),
				IBV_REREG_MR_ERR_INPUT);
			assert_int_equal(uroce_dereg_mr(mr), 0);
		}
	}
	assert_errno(EINVAL, uroce_reg_dm_mr(net.a.pd, dm, 0, LEN, ZERO));
	assert_errno(EINVAL, uroce_reg_dm_mr(NULL, dm, 0, LEN, ZERO));
	assert_errno(EINVAL, uroce_reg_dm_mr(net.b.pd, NULL, 0, LEN, ZERO));
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* --- regions of dma-bufs ----------------------------------------------------------------------------- */

static void
dmabuf__arguments(void **state)
{
	const int fd = memfd_create("plain", 0);

	(void)state;
	assert_int_equal(ftruncate(fd, LEN), 0);
	assert_errno(EINVAL, uroce_reg_dmabuf_mr(NULL, 0, LEN, 0, fd, 0));
	/* `fd` is the descriptor of a file that is no dma-buf */
	assert_errno(EINVAL, uroce_reg_dmabuf_mr(net.b.pd, 0, LEN, 0, fd, 0));
	assert_errno(EBADF, uroce_reg_dmabuf_mr(net.b.pd, 0, LEN, 0, -1, 0));
	assert_errno(EINVAL, uroce_reg_dmabuf_mr(net.b.pd, 0, LEN, 0, fd, IBV_ACCESS_MW_BIND));
	assert_errno(EINVAL, uroce_reg_dmabuf_mr(net.b.pd, 0, LEN, 0, fd, IBV_ACCESS_ON_DEMAND));
	assert_errno(EINVAL, uroce_reg_dmabuf_mr(net.b.pd, 0, LEN, 0, fd, IBV_ACCESS_REMOTE_WRITE));
	close(fd);
}

/*
 * Create a dma-buf from a memfd of LEN bytes.
 * @param[out] mem where the memfd is mapped
 * @return descriptor of the dma-buf; -1: this kernel cannot create one
 */
static int
make_dmabuf(uint8_t **mem)
{
	const int dev = open("/dev/udmabuf", O_RDWR);

	if (dev < 0)
		return -1;
	const int memfd = memfd_create("dmabuf", MFD_ALLOW_SEALING);
	struct udmabuf_create create = { .memfd = (uint32_t)memfd, .size = LEN };

	assert_int_equal(ftruncate(memfd, LEN), 0);
	assert_int_equal(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	const int fd = ioctl(dev, UDMABUF_CREATE, &create);

	assert_true(fd >= 0);
	*mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	assert_ptr_not_equal(*mem, MAP_FAILED);
	close(memfd);
	close(dev);
	return fd;
}

static void
dmabuf__is_read_and_written(void **state)
{
	uint8_t *mem = NULL;
	const int fd = make_dmabuf(&mem);
	struct ibv_mr *mr;

	(void)state;
	if (fd < 0) {
		print_message("# skipped: /dev/udmabuf: %s\n", strerror(errno));
		return; /* cmocka's TAP output would report skip() as a failure */
	}
	assert_errno(EINVAL, uroce_reg_dmabuf_mr(net.b.pd, 1, LEN, 1, fd, 0));
	assert_errno(EINVAL, uroce_reg_dmabuf_mr(net.b.pd, 0, 0, 0, fd, 0));
	assert_errno(EINVAL, uroce_reg_dmabuf_mr(net.b.pd, 100, 200, 0, fd, 0));
	mr = uroce_reg_dmabuf_mr(net.b.pd, 100, 4096, 0x700064, fd, RIGHTS);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, 100);
	close(fd);
	fill(net.a.buf, 4096, 4);
	rdma(IBV_WR_RDMA_WRITE, 4096, 0x700064, mr->rkey, IBV_WC_SUCCESS);
	assert_memory_equal(mem + 100, net.a.buf, 4096);
	rdma(IBV_WR_RDMA_READ, 4097, 0x700064, mr->rkey, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	munmap(mem, LEN);
}

/* --- imported regions -------------------------------------------------------------------------------- */

static void
import__is_the_same_region(void **state)
{
	struct ibv_mr *mr = uroce_reg_mr(net.b.pd, net.b.buf, LEN, RIGHTS);
	struct ibv_mr *twin = uroce_import_mr(net.b.pd, mr->handle);

	(void)state;
	assert_non_null(twin);
	assert_ptr_not_equal(twin, mr);
	assert_ptr_equal(twin->context, net.b.context);
	assert_ptr_equal(twin->pd, net.b.pd);
	assert_null(twin->addr); /* an imported region has no address [import_mr(3), notes] */
	assert_int_equal(twin->length, LEN);
	assert_int_equal(twin->lkey, mr->lkey);
	assert_int_equal(twin->rkey, mr->rkey);
	/* the region remains when a handle of it is released */
	uroce_unimport_mr(twin);
	rdma(IBV_WR_RDMA_WRITE, 8, (uintptr_t)net.b.buf, mr->rkey, IBV_WC_SUCCESS);
	assert_int_equal(uroce_dereg_mr(mr), 0);
}

/*
 * Deregistering a region by one of its handles ends the region. The other handle can only be
 * released then [import_mr(3)].
 */
static void
import__deregisters_for_all(void **state)
{
	struct ibv_dm *dm = alloc(LEN);
	struct ibv_mr *mr = ibv_reg_dm_mr(net.b.pd, dm, 0, LEN, ZERO | RIGHTS);
	struct ibv_mr *twin = uroce_import_mr(net.b.pd, mr->handle);
	const uint32_t key = mr->handle;

	(void)state;
	assert_int_equal(uroce_dereg_mr(twin), 0);
	rdma(IBV_WR_RDMA_WRITE, 8, 0, key, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(uroce_dereg_mr(mr), EINVAL);
	assert_errno(ENOENT, uroce_import_mr(net.b.pd, key));
	uroce_unimport_mr(mr);
}

static void
import__the_last_one_takes_the_region(void **state)
{
	struct ibv_mr *mr = uroce_reg_mr(net.b.pd, net.b.buf, LEN, RIGHTS);
	const uint32_t key = mr->rkey;

	(void)state;
	uroce_unimport_mr(mr);
	uroce_unimport_mr(NULL);
	rdma(IBV_WR_RDMA_WRITE, 8, (uintptr_t)net.b.buf, key, IBV_WC_REM_ACCESS_ERR);
}

static void
import__of_another_domain_or_nothing(void **state)
{
	struct ibv_mr *mr = uroce_reg_mr(net.b.pd, net.b.buf, LEN, RIGHTS);
	struct ibv_pd *pd = uroce_alloc_pd(net.b.context), *same;
	struct ibv_mr *twin;

	(void)state;
	assert_errno(EINVAL, uroce_import_mr(NULL, mr->handle));
	assert_errno(ENOENT, uroce_import_mr(pd, mr->handle));
	assert_errno(ENOENT, uroce_import_mr(net.a.pd, mr->handle));
	assert_errno(ENOENT, uroce_import_mr(net.b.pd, mr->handle ^ 1));
	/* an imported PD is the same domain, so the region can be imported through it */
	same = uroce_import_pd(net.b.context, net.b.pd->handle);
	assert_non_null(same);
	twin = uroce_import_mr(same, mr->handle);
	assert_non_null(twin);
	assert_int_equal(uroce_dealloc_pd(same), EBUSY);
	uroce_unimport_mr(twin);
	uroce_unimport_pd(same);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dm__copies_in_and_out),
		TEST(dm__arguments),
		TEST(dm__max_dm_size_and_one_more),
		TEST(dm__peers_use_it_from_offset_0),
		TEST(dm__registration_is_checked),
		TEST(dmabuf__arguments),
		TEST(dmabuf__is_read_and_written),
		TEST(import__is_the_same_region),
		TEST(import__deregisters_for_all),
		TEST(import__the_last_one_takes_the_region),
		TEST(import__of_another_domain_or_nothing),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
