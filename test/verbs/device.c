/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices: creation, list, opening, queries, destruction. [RDMA Aware] is the RDMA Aware
 * Programming User Manual.
 */

#include "net.h"

#include <stdlib.h>
#include <arpa/inet.h>

static void
list__is_empty_and_not_null_without_devices(void **state)
{
	int nb = -1;
	struct ibv_device **list = uroce_get_device_list(&nb);

	(void)state;
	assert_non_null(list);
	assert_int_equal(nb, 0);
	assert_null(list[0]);
	uroce_free_device_list(list);
	uroce_free_device_list(NULL);
}

static void
create__refuses_a_bad_specification(void **state)
{
	(void)state;
	assert_errno(EINVAL, uroce_create_device(NULL));
	assert_errno(EINVAL, uroce_create_device(""));
	assert_errno(EINVAL, net_device(0, "mtu=999"));
	assert_errno(EINVAL, net_device(0, "colour=blue"));
	assert_errno(ENODEV, uroce_create_device("no_such_port"));
}

static void
create__refuses_a_second_device_on_a_port(void **state)
{
	struct ibv_device *device = net_device(0, NULL);

	(void)state;
	assert_non_null(device);
	assert_errno(EBUSY, net_device(0, NULL));
	assert_int_equal(uroce_destroy_device(device), 0);
}

static void
create_on_port__refuses_what_is_not_there_or_not_its_own(void **state)
{
	(void)state;
	net_plug(0);
	assert_errno(ENODEV, uroce_create_device_on_port(31, NULL));
	assert_errno(EINVAL, uroce_create_device_on_port(net_port[0], "drive=lcore"));
	assert_errno(EINVAL, uroce_create_device_on_port(net_port[0], "mtu=1"));
}

static void
list__names_devices_and_reuses_numbers(void **state)
{
	struct ibv_device *first = net_device(0, NULL);
	struct ibv_device *second = net_device(1, NULL);
	struct ibv_device **list;
	int nb;

	(void)state;
	list = uroce_get_device_list(&nb);
	assert_int_equal(nb, 2);
	assert_ptr_equal(list[0], first);
	assert_ptr_equal(list[1], second);
	assert_null(list[2]);
	uroce_free_device_list(list);
	assert_string_equal(uroce_get_device_name(first), "uroce0");
	assert_string_equal(uroce_get_device_name(second), "uroce1");
	assert_int_equal(first->node_type, IBV_NODE_CA);
	assert_int_equal(first->transport_type, IBV_TRANSPORT_IB);

	/* a new device gets the lowest free number, and its place in the list */
	assert_int_equal(uroce_destroy_device(first), 0);
	first = net_device(0, NULL);
	assert_string_equal(uroce_get_device_name(first), "uroce0");
	list = uroce_get_device_list(NULL);
	assert_ptr_equal(list[0], first);
	uroce_free_device_list(list);
	assert_int_equal(uroce_destroy_device(first), 0);
	assert_int_equal(uroce_destroy_device(second), 0);
}

static void
destroy__refuses_strangers(void **state)
{
	struct ibv_device unknown = { 0 };

	(void)state;
	assert_int_equal(uroce_destroy_device(NULL), EINVAL);
	assert_int_equal(uroce_destroy_device(&unknown), EINVAL);
}

/* --- calls on one device ------------------------------------------------------------------------- */

static int
open_one(void **state)
{
	struct host *host = calloc(1, sizeof(*host));

	host->device = net_device(0, "mtu=2048,qps=64,mrs=32");
	host->context = host->device ? uroce_open_device(host->device) : NULL;
	*state = host;
	return host->context ? 0 : -1;
}

static int
close_one(void **state)
{
	struct host *host = *state;
	const int ret = uroce_close_device(host->context) || uroce_destroy_device(host->device);

	free(host);
	return ret;
}

static void
open__refuses_null(void **state)
{
	(void)state;
	assert_errno(EINVAL, uroce_open_device(NULL));
}

static void
destroy__is_refused_while_a_context_is_open(void **state)
{
	struct host *host = *state;

	assert_int_equal(uroce_destroy_device(host->device), EBUSY);
}

static void
close__is_refused_while_objects_are_left(void **state)
{
	struct host *host = *state;
	struct ibv_pd *pd = uroce_alloc_pd(host->context);
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;

	errno = 0;
	assert_int_equal(uroce_close_device(host->context), -1);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	cq = uroce_create_cq(host->context, 1, NULL, NULL, 0);
	assert_int_equal(uroce_close_device(host->context), -1);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	channel = uroce_create_comp_channel(host->context);
	assert_int_equal(uroce_close_device(host->context), -1);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
}

static void
open__gives_independent_contexts(void **state)
{
	struct host *host = *state;
	struct ibv_context *other = uroce_open_device(host->device);

	assert_non_null(other);
	assert_ptr_not_equal(other, host->context);
	assert_ptr_equal(other->device, host->device);
	assert_int_equal(uroce_close_device(other), 0);
}

static void
alloc_pd__needs_a_context(void **state)
{
	(void)state;
	assert_errno(EINVAL, uroce_alloc_pd(NULL));
	assert_int_equal(uroce_dealloc_pd(NULL), EINVAL);
}

static void
query_device__says_what_create_calls_hold_to(void **state)
{
	struct host *host = *state;
	struct ibv_device_attr attr;

	assert_int_equal(uroce_query_device(host->context, &attr), 0);
	assert_int_equal(attr.max_qp, 64);
	assert_int_equal(attr.max_mr, 32);
	assert_true(attr.max_cqe >= 262144);
	assert_true(attr.max_qp_wr > 0 && attr.max_sge > 0);
	assert_true(attr.max_qp_rd_atom > 0 && attr.max_qp_init_rd_atom > 0);
	assert_int_equal(attr.atomic_cap, IBV_ATOMIC_GLOB);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.max_pkeys, 1);
	assert_true(attr.max_srq > 0 && attr.max_srq_wr > 0 && attr.max_srq_sge > 0);
	assert_int_equal(attr.max_mw, attr.max_mr);
	assert_int_not_equal(attr.vendor_id, 0);
	assert_int_not_equal(attr.node_guid, 0);
	assert_true(attr.node_guid == uroce_get_device_guid(host->device));
	assert_true(attr.fw_ver[0] != '\0');
	assert_int_equal(uroce_query_device(NULL, &attr), EINVAL);
	assert_int_equal(uroce_query_device(host->context, NULL), EINVAL);
}

/*
 * The device attributes have the expected values, field by field and flag by flag [RDMA Aware
 * 3.3.1].
 */
static void
query_device__describes_the_device(void **state)
{
	struct host *host = *state;
	struct ibv_device_attr attr;

	assert_int_equal(uroce_query_device(host->context, &attr), 0);
	assert_true(attr.sys_image_guid == attr.node_guid);
	/* page_size_cap has a bit for each page size from 4 KiB on */
	assert_int_equal(attr.page_size_cap, 0xfffff000);
	assert_int_equal(attr.vendor_part_id, 1);
	assert_int_equal(attr.hw_ver, 1);
	assert_int_equal(attr.device_cap_flags,
			 IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
				 IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
				 IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				 IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC);
}

static void
query_device_ex__inline_call_gives_the_same(void **state)
{
	struct host *host = *state;
	struct ibv_device_attr_ex *attr = malloc(sizeof(*attr));
	struct ibv_device_attr plain;

	memset(attr, 0xff, sizeof(*attr));
	assert_int_equal(verbs_get_ctx_op(host->context, query_device_ex)
				 ->query_device_ex(host->context, NULL, attr, sizeof(*attr)),
			 0);
	assert_int_equal(uroce_query_device(host->context, &plain), 0);
	assert_memory_equal(&attr->orig_attr, &plain, sizeof(plain));
	assert_int_equal(attr->tso_caps.max_tso, 0);
	free(attr);
}

/*
 * Query a port by the function of the context, as ibv_query_port() of verbs.h does. For a context
 * without that function ibv_query_port() falls back to an older call, but here the test fails.
 */
static int
query_port_inline(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		  size_t len)
{
	struct verbs_context *verbs = verbs_get_ctx_op(context, query_port);

	assert_non_null(verbs);
	return verbs->query_port(context, port_num, attr, len);
}

static void
query_port__describes_port_1_alone(void **state)
{
	struct host *host = *state;
	struct ibv_port_attr attr, again;

	assert_int_equal(uroce_query_port(host->context, 1, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_ACTIVE);
	assert_int_equal(attr.max_mtu, IBV_MTU_4096);
	assert_int_equal(attr.active_mtu, IBV_MTU_2048);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(attr.pkey_tbl_len, 1);
	assert_true(attr.gid_tbl_len >= 3);
	assert_true(attr.max_msg_sz == 1u << 31);
	assert_int_equal(attr.phys_state, 5);
	assert_int_equal(attr.port_cap_flags, IBV_PORT_IP_BASED_GIDS);
	assert_int_equal(attr.max_vl_num, 1);
	assert_true(attr.active_width > 0 && attr.active_speed > 0);
	assert_int_equal(query_port_inline(host->context, 1, &again, sizeof(again)), 0);
	/* compare all but the padding behind the last field */
	assert_memory_equal(&attr, &again,
			    offsetof(struct ibv_port_attr, port_cap_flags2) +
				    sizeof(attr.port_cap_flags2));
	assert_int_equal(uroce_query_port(host->context, 0, &attr), EINVAL);
	assert_int_equal(uroce_query_port(host->context, 2, &attr), EINVAL);
	assert_int_equal(uroce_query_port(host->context, 1, NULL), EINVAL);
	assert_int_equal(query_port_inline(host->context, 2, &attr, sizeof(attr)), EINVAL);
}

static void
query_port__writes_no_more_than_an_older_header_has(void **state)
{
	struct host *host = *state;
	struct ibv_port_attr attr;
	const size_t len = offsetof(struct ibv_port_attr, flags);

	memset(&attr, 0xa5, sizeof(attr));
	assert_int_equal(query_port_inline(host->context, 1, &attr, len), 0);
	assert_int_equal(attr.state, IBV_PORT_ACTIVE);
	assert_int_equal(attr.flags, 0xa5);
}

static int
query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	errno = 0;
	return uroce_query_gid(context, port_num, index, gid);
}

static void
query_gid__has_link_local_then_addresses_then_zeros(void **state)
{
	static const uint8_t v4[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };
	static const union ibv_gid none;
	struct host *host = *state;
	struct ibv_port_attr attr;
	union ibv_gid gid;

	assert_int_equal(uroce_query_port(host->context, 1, &attr), 0);
	assert_int_equal(query_gid(host->context, 1, 0, &gid), 0);
	assert_int_equal(gid.raw[0], 0xfe);
	assert_int_equal(gid.raw[1], 0x80);
	assert_int_equal(query_gid(host->context, 1, 1, &gid), 0);
	assert_memory_equal(gid.raw, v4, 16);
	assert_int_equal(query_gid(host->context, 1, 2, &gid), 0);
	assert_int_equal(gid.raw[0], 0x20);
	assert_int_equal(query_gid(host->context, 1, attr.gid_tbl_len - 1, &gid), 0);
	assert_memory_equal(&gid, &none, 16);
	assert_int_equal(query_gid(host->context, 1, attr.gid_tbl_len, &gid), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(query_gid(host->context, 1, -1, &gid), -1);
	assert_int_equal(query_gid(host->context, 2, 0, &gid), -1);
	assert_int_equal(query_gid(host->context, 1, 0, NULL), -1);
	assert_int_equal(errno, EINVAL);
}

static void
query_pkey__has_the_default_alone(void **state)
{
	struct host *host = *state;
	__be16 pkey = 0;

	assert_int_equal(uroce_query_pkey(host->context, 1, 0, &pkey), 0);
	assert_int_equal(ntohs(pkey), 0xffff);
	errno = 0;
	assert_int_equal(uroce_query_pkey(host->context, 1, 1, &pkey), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(uroce_query_pkey(host->context, 1, -1, &pkey), -1);
	assert_int_equal(uroce_query_pkey(host->context, 3, 0, &pkey), -1);
	assert_int_equal(uroce_query_pkey(host->context, 1, 0, NULL), -1);
}

static void
get_worker__knows_its_bounds(void **state)
{
	struct host *host = *state;

	assert_int_equal(uroce_get_worker_count(host->context), 1);
	assert_int_equal(host->context->num_comp_vectors, 1);
	assert_non_null(uroce_get_worker(host->context, 0));
	assert_errno(EINVAL, uroce_get_worker(host->context, 1));
	assert_errno(EINVAL, uroce_get_worker(host->context, -1));
}

static void
context__refuses_what_the_device_has_not(void **state)
{
	struct host *host = *state;
	struct ibv_pd *pd = uroce_alloc_pd(host->context);

	assert_null(verbs_get_ctx_op(host->context, create_flow_action_esp));
	assert_int_equal(uroce_dealloc_pd(pd), 0);
}

static void
wc_status_str__has_a_word_for_everything(void **state)
{
	(void)state;
	assert_string_equal(uroce_wc_status_str(IBV_WC_SUCCESS), "success");
	for (int status = 0; status <= IBV_WC_TM_RNDV_INCOMPLETE; status++)
		assert_string_not_equal(uroce_wc_status_str(status), "unknown status");
	assert_string_equal(uroce_wc_status_str(IBV_WC_TM_RNDV_INCOMPLETE + 1), "unknown status");
	assert_string_equal(uroce_wc_status_str(-1), "unknown status");
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_one, close_one)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list__is_empty_and_not_null_without_devices),
		cmocka_unit_test(create__refuses_a_bad_specification),
		cmocka_unit_test(create__refuses_a_second_device_on_a_port),
		cmocka_unit_test(create_on_port__refuses_what_is_not_there_or_not_its_own),
		cmocka_unit_test(list__names_devices_and_reuses_numbers),
		cmocka_unit_test(destroy__refuses_strangers),
		WITH_DEVICE(open__refuses_null),
		WITH_DEVICE(destroy__is_refused_while_a_context_is_open),
		WITH_DEVICE(close__is_refused_while_objects_are_left),
		WITH_DEVICE(open__gives_independent_contexts),
		WITH_DEVICE(alloc_pd__needs_a_context),
		WITH_DEVICE(query_device__says_what_create_calls_hold_to),
		WITH_DEVICE(query_device__describes_the_device),
		WITH_DEVICE(query_device_ex__inline_call_gives_the_same),
		WITH_DEVICE(query_port__describes_port_1_alone),
		WITH_DEVICE(query_port__writes_no_more_than_an_older_header_has),
		WITH_DEVICE(query_gid__has_link_local_then_addresses_then_zeros),
		WITH_DEVICE(query_pkey__has_the_default_alone),
		WITH_DEVICE(get_worker__knows_its_bounds),
		WITH_DEVICE(context__refuses_what_the_device_has_not),
		cmocka_unit_test(wc_status_str__has_a_word_for_everything),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
