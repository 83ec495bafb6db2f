/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains: parent domains with thread domains, and objects that one context imports from
 * another. Other tests call fork(). [RDMA Aware] is the RDMA Aware Programming User Manual.
 */

#include "net.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct pair net;

static int
setup(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_RC });
	return 0;
}

static int
setup_ud(void **state)
{
	(void)state;
	pair_open(&net, &(struct pair_conf){ .type = IBV_QPT_UD });
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	pair_close(&net);
	return 0;
}

static struct ibv_td *
alloc_td(void)
{
	struct ibv_td *td = ibv_alloc_td(net.a.context, &(struct ibv_td_init_attr){ 0 });

	assert_non_null(td);
	assert_ptr_equal(td->context, net.a.context);
	return td;
}

static struct ibv_pd *
alloc_parent(struct ibv_pd *base, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = { .pd = base, .td = td };
	struct ibv_pd *pd = ibv_alloc_parent_domain(net.a.context, &attr);

	assert_non_null(pd);
	assert_ptr_equal(pd->context, net.a.context);
	return pd;
}

/* Replace the QP of a host by a new QP in the PD `pd`. */
static void
move_qp(struct host *host, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = {
		.qp_type = net.conf.type,
		.send_cq = host->scq,
		.recv_cq = host->rcq,
		.sq_sig_all = 1,
		.cap = { NB_WR, NB_WR, 1, 1, 0 },
	};

	assert_int_equal(uroce_destroy_qp(host->qp), 0);
	assert_non_null(host->qp = uroce_create_qp(pd, &init));
}

static void
remove_qp(struct host *host)
{
	assert_int_equal(uroce_destroy_qp(host->qp), 0);
	host->qp = NULL;
}

/* Wrong arguments of ibv_alloc_td(3) are refused. */
static void
td__checks_its_arguments(void **state)
{
	struct ibv_td_init_attr attr = { .comp_mask = 1 };

	(void)state;
	assert_errno(EINVAL, uroce_alloc_td(NULL, &(struct ibv_td_init_attr){ 0 }));
	assert_errno(EINVAL, uroce_alloc_td(net.a.context, NULL));
	assert_errno(EINVAL, uroce_alloc_td(net.a.context, &attr));
	assert_int_equal(uroce_dealloc_td(NULL), EINVAL);
}

static void
td__cannot_go_before_its_parent_domain(void **state)
{
	struct ibv_td *td = alloc_td();
	struct ibv_pd *pd = alloc_parent(net.a.pd, td);

	(void)state;
	assert_int_equal(ibv_dealloc_td(td), EBUSY);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
}

static void
td__keeps_its_context_open(void **state)
{
	struct ibv_context *context = uroce_open_device(net.a.device);
	struct ibv_td *td = ibv_alloc_td(context, &(struct ibv_td_init_attr){ 0 });

	(void)state;
	assert_int_equal(uroce_close_device(context), -1);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(uroce_dealloc_td(td), 0);
	assert_int_equal(uroce_close_device(context), 0);
}

/* Wrong arguments of ibv_alloc_parent_domain(3) are refused. */
static void
parent__checks_its_arguments(void **state)
{
	struct ibv_context *other = uroce_open_device(net.a.device);
	struct ibv_td *td = uroce_alloc_td(other, &(struct ibv_td_init_attr){ 0 });
	struct ibv_parent_domain_init_attr attr = { .td = td };

	(void)state;
	assert_errno(EINVAL, uroce_alloc_parent_domain(net.a.context, NULL));
	/* attr.pd is NULL, but a parent domain needs a PD */
	assert_errno(EINVAL, uroce_alloc_parent_domain(net.a.context, &attr));
	attr.pd = net.a.pd;
	assert_errno(EINVAL, uroce_alloc_parent_domain(NULL, &attr));
	/* attr.td belongs to another context */
	assert_errno(EINVAL, uroce_alloc_parent_domain(net.a.context, &attr));
	attr.td = NULL;
	/* attr.pd belongs to another context */
	assert_errno(EINVAL, uroce_alloc_parent_domain(other, &attr));
	attr.comp_mask = 1u << 2;
	assert_errno(EINVAL, uroce_alloc_parent_domain(net.a.context, &attr));
	attr.comp_mask =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	struct ibv_pd *pd = uroce_alloc_parent_domain(net.a.context, &attr);

	assert_non_null(pd);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_dealloc_td(td), 0);
	assert_int_equal(uroce_close_device(other), 0);
}

static void
parent__keeps_its_pd(void **state)
{
	struct ibv_pd *base = uroce_alloc_pd(net.a.context);
	struct ibv_pd *pd = alloc_parent(base, NULL), *above = alloc_parent(pd, NULL);

	(void)state;
	assert_int_equal(uroce_dealloc_pd(base), EBUSY);
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);
	assert_int_equal(uroce_dealloc_pd(above), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_dealloc_pd(base), 0);
}

/*
 * A parent domain and its PD are "completely interchangeable": a QP of the parent domain uses
 * regions of the PD, and the reverse.
 */
static void
parent__is_the_same_domain(void **state)
{
	struct ibv_td *td = alloc_td();
	struct ibv_pd *pd = alloc_parent(net.a.pd, td);
	char text[8] = "parents";
	struct ibv_mr *mr = uroce_reg_mr(pd, text, sizeof(text), IBV_ACCESS_LOCAL_WRITE);

	(void)state;
	move_qp(&net.a, pd);
	assert_int_equal(uroce_dealloc_pd(pd), EBUSY);
	pair_connect(&net);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1,
		  (struct ibv_sge){ (uintptr_t)text, sizeof(text), mr->lkey }, 64);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_READ, 2, sge_of(&net.a, 0, sizeof(text)), 64);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	assert_string_equal((char *)net.a.buf, "parents");
	remove_qp(&net.a);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	assert_int_equal(uroce_dealloc_td(td), 0);
}

static void
parent__lends_its_address_handles(void **state)
{
	struct ibv_pd *pd = alloc_parent(net.a.pd, NULL),
		      *unrelated = uroce_alloc_pd(net.a.context);
	struct ibv_ah_attr attr = ah_attr_to(&net.b, ADDR_GID);
	struct ibv_ah *ah = uroce_create_ah(pd, &attr), *other = uroce_create_ah(unrelated, &attr);
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { other, net.b.qp->qp_num, QKEY },
	};

	(void)state;
	pair_connect(&net);
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), EINVAL);
	wr.wr.ud.ah = ah;
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(uroce_destroy_ah(ah), 0);
	assert_int_equal(uroce_destroy_ah(other), 0);
	assert_int_equal(uroce_dealloc_pd(unrelated), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

/* ibv_import_device(3) takes a duplicate of cmd_fd, which the imported context then owns. */
static void
import_device__takes_a_duplicate_of_cmd_fd(void **state)
{
	const int fd = dup(net.a.context->cmd_fd);
	struct ibv_context *context = uroce_import_device(fd);
	struct ibv_port_attr port;

	(void)state;
	assert_non_null(context);
	assert_ptr_not_equal(context, net.a.context);
	assert_ptr_equal(context->device, net.a.device);
	assert_int_equal(context->cmd_fd, fd);
	assert_int_equal(uroce_query_port(context, 1, &port), 0);
	assert_int_equal(uroce_close_device(context), 0);
	/* uroce_close_device() has closed the descriptor, because the context owned it */
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void
import_device__refuses_what_is_no_context(void **state)
{
	const int fd = memfd_create("stranger", MFD_CLOEXEC);

	(void)state;
	assert_errno(EBADF, uroce_import_device(-1));
	assert_errno(EINVAL, uroce_import_device(fd));
	assert_int_equal(close(fd), 0); /* after a failed import the caller owns the descriptor */
}

static void
import_device__is_known_by_any_of_its_contexts(void **state)
{
	struct ibv_context *first = uroce_open_device(net.a.device);
	struct ibv_context *second = uroce_import_device(dup(first->cmd_fd));
	struct ibv_context *third;

	(void)state;
	assert_int_equal(uroce_close_device(first), 0);
	assert_non_null(third = uroce_import_device(dup(second->cmd_fd)));
	assert_int_equal(uroce_close_device(third), 0);
	const int fd = dup(second->cmd_fd);

	assert_int_equal(uroce_close_device(second), 0);
	assert_errno(EINVAL, uroce_import_device(fd));
	close(fd);
}

/* A PD that is imported can be used in all calls that take a PD [ibv_import_pd(3)]. */
static void
import_pd__is_the_same_domain(void **state)
{
	struct ibv_context *context = uroce_import_device(dup(net.a.context->cmd_fd));
	struct ibv_pd *pd = uroce_import_pd(context, net.a.pd->handle);
	char text[8] = "import";
	struct ibv_mr *mr;

	(void)state;
	assert_non_null(pd);
	assert_ptr_equal(pd->context, context);
	assert_int_equal(pd->handle, net.a.pd->handle);
	assert_non_null(mr = uroce_reg_mr(pd, text, sizeof(text), 0));
	pair_connect(&net);
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1,
		  (struct ibv_sge){ (uintptr_t)text, sizeof(text), mr->lkey }, 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_string_equal((char *)net.b.buf, "import");
	uroce_unimport_pd(pd); /* the call has no effect, because the PD has a region */
	assert_int_equal(uroce_close_device(context), -1);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	uroce_unimport_pd(pd);
	assert_int_equal(uroce_close_device(context), 0);
}

static void
import_pd__outlives_the_first(void **state)
{
	struct ibv_pd *first = uroce_alloc_pd(net.a.context);
	struct ibv_pd *second = uroce_import_pd(net.a.context, first->handle), *third;
	const uint32_t handle = first->handle;

	(void)state;
	assert_non_null(second);
	assert_int_equal(uroce_dealloc_pd(first), 0);
	assert_non_null(third = uroce_import_pd(net.a.context, handle));
	assert_int_equal(uroce_dealloc_pd(second), 0);
	uroce_unimport_pd(third);
	assert_errno(EINVAL, uroce_import_pd(net.a.context, handle));
}

static void
import_pd__refuses_domains_of_other_contexts(void **state)
{
	struct ibv_context *other = uroce_open_device(net.a.device);

	(void)state;
	assert_errno(EINVAL, uroce_import_pd(other, net.a.pd->handle));
	assert_errno(EINVAL, uroce_import_pd(net.a.context, 0));
	assert_errno(EINVAL, uroce_import_pd(net.a.context, UINT32_MAX));
	assert_errno(EINVAL, uroce_import_pd(NULL, net.a.pd->handle));
	uroce_unimport_pd(NULL);
	assert_int_equal(uroce_close_device(other), 0);
}

/*
 * In a child process, wait until the parent writes to a pipe. Then read a byte of the child's copy
 * of the buffer.
 * @return the byte
 */
static int
child(const uint8_t *buf, int go)
{
	char byte;

	return read(go, &byte, 1) == 1 ? buf[0] : 0xff;
}

/*
 * After fork(), requests use the parent's memory, and the child has a copy of the memory from the
 * time of the fork. The regions are registered before ibv_fork_init(3).
 */
static void
fork__leaves_the_parents_regions_to_the_parent(void **state)
{
	int go[2], status;

	(void)state;
	assert_int_equal(uroce_is_fork_initialized(), IBV_FORK_UNNEEDED);
	assert_int_equal(uroce_fork_init(), 0);
	assert_int_equal(uroce_is_fork_initialized(), IBV_FORK_UNNEEDED);
	pair_connect(&net);
	assert_int_equal(pipe(go), 0);
	net.b.buf[0] = 1;
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child(net.b.buf, go[0]));
	/*
	 * the worker writes a page that parent and child share: the parent gets a copy of the page
	 */
	net.a.buf[0] = 2;
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_WRITE, 1, sge_of(&net.a, 0, 1), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_int_equal(net.b.buf[0], 2);
	/* the program writes a shared page, and the worker must read the parent's copy */
	net.b.buf[8192] = 3;
	post_rdma(&net.a, &net.b, IBV_WR_RDMA_READ, 2, sge_of(&net.a, 4096, 1), 8192);
	expect_wc(&net, net.a.scq, 2, IBV_WC_SUCCESS);
	assert_int_equal(net.a.buf[4096], 3);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	close(go[0]);
	close(go[1]);
}

#define HUGE ((size_t)2 << 20)

/*
 * Map memory of the length and alignment of a huge page: a reserved huge page, or memory that the
 * kernel may back with one.
 * @param[out] map the mapping, for munmap()
 */
static uint8_t *
map_huge(void **map)
{
	uint8_t *at = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	*map = at;
	if (at != MAP_FAILED)
		return at;
	*map = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(*map, MAP_FAILED);
	at = (uint8_t *)(((uintptr_t)*map + HUGE - 1) & ~(HUGE - 1));
	(void)madvise(at, HUGE, MADV_HUGEPAGE);
	return at;
}

/*
 * fork() with a region on a huge page works without the environment variable RDMAV_HUGEPAGES_SAFE
 * [RDMA Aware 3.1.1].
 */
static void
fork__of_huge_pages(void **state)
{
	struct ibv_sge sge = sge_of(&net.a, 0, 8);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
	};
	int go[2], status;
	void *map;
	uint8_t *const huge = map_huge(&map);

	(void)state;
	memset(huge, 1, HUGE);
	struct ibv_mr *mr = uroce_reg_mr(net.b.pd, huge, HUGE, IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE);

	assert_non_null(mr);
	pair_connect(&net);
	assert_int_equal(pipe(go), 0);
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child(huge, go[0]));
	memset(net.a.buf, 2, 8);
	wr.wr.rdma.remote_addr = (uintptr_t)huge;
	wr.wr.rdma.rkey = mr->rkey;
	assert_int_equal(ibv_post_send(net.a.qp, &wr, &bad), 0);
	expect_wc(&net, net.a.scq, 1, IBV_WC_SUCCESS);
	assert_memory_equal(huge, net.a.buf, 8);
	assert_int_equal(huge[8], 1);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	close(go[0]);
	close(go[1]);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	munmap(map, map == huge ? HUGE : 2 * HUGE);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(td__checks_its_arguments),
		TEST(td__cannot_go_before_its_parent_domain),
		TEST(td__keeps_its_context_open),
		TEST(parent__checks_its_arguments),
		TEST(parent__keeps_its_pd),
		TEST(parent__is_the_same_domain),
		cmocka_unit_test_setup_teardown(parent__lends_its_address_handles, setup_ud,
						teardown),
		TEST(import_device__takes_a_duplicate_of_cmd_fd),
		TEST(import_device__refuses_what_is_no_context),
		TEST(import_device__is_known_by_any_of_its_contexts),
		TEST(import_pd__is_the_same_domain),
		TEST(import_pd__outlives_the_first),
		TEST(import_pd__refuses_domains_of_other_contexts),
		TEST(fork__leaves_the_parents_regions_to_the_parent),
		TEST(fork__of_huge_pages),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
