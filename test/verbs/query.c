/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries of a device: limits, clock, tables of GIDs and P_Keys, names of constants. If an inline
 * call of verbs.h calls a function of the context, the test calls that function. [RDMA Aware] is
 * the RDMA Aware Programming User Manual.
 */

#include "net.h"

#include <arpa/inet.h>
#include <unistd.h>
#include <uroce_version.h>

static struct host host;

static int
setup(void **state)
{
	(void)state;
	host.device = net_device(0, NULL);
	host.context = host.device ? uroce_open_device(host.device) : NULL;
	return host.context ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	return uroce_close_device(host.context) || uroce_destroy_device(host.device);
}

static void
get_device_index__is_the_number_of_the_name(void **state)
{
	struct ibv_device *other = net_device(1, NULL);

	(void)state;
	assert_int_equal(uroce_get_device_index(host.device), 0);
	assert_int_equal(uroce_get_device_index(other), 1);
	assert_string_equal(uroce_get_device_name(other), "uroce1");
	assert_string_equal(other->dev_path, "/sys/class/infiniband_verbs/uverbs1");
	assert_string_equal(other->ibdev_path, "/sys/class/infiniband/uroce1");
	assert_int_equal(uroce_get_device_index(NULL), -1);
	assert_true(uroce_get_device_guid(NULL) == 0);
	assert_null(uroce_get_device_name(NULL));
	assert_int_equal(uroce_destroy_device(other), 0);
}

/*
 * The GUID of a device is in network byte order, and is the interface ID of GID 0
 * [ibv_get_device_guid(3), RDMA Aware 3.2.4].
 */
static void
get_device_guid__is_the_mac_and_each_devices_own(void **state)
{
	struct ibv_device *other = net_device(1, NULL);
	const __be64 guid = uroce_get_device_guid(host.device);
	const uint8_t *const bytes = (const uint8_t *)&guid;
	union ibv_gid gid;

	(void)state;
	assert_int_equal(uroce_query_gid(host.context, 1, 0, &gid), 0);
	assert_memory_equal(bytes, gid.raw + 8, 8);
	assert_int_equal(bytes[3], 0xff);
	assert_int_equal(bytes[4], 0xfe);
	assert_true(guid != uroce_get_device_guid(other));
	assert_int_equal(uroce_destroy_device(other), 0);
	assert_true(guid == uroce_get_device_guid(host.device));
}

/*
 * Query a device by the function of the context, as ibv_query_device_ex() of verbs.h does. For a
 * context without that function ibv_query_device_ex() falls back to an older call, but here the
 * test fails.
 */
static int
query_device_ex_inline(struct ibv_device_attr_ex *attr)
{
	struct verbs_context *const verbs = verbs_get_ctx_op(host.context, query_device_ex);

	assert_non_null(verbs);
	return verbs->query_device_ex(host.context, NULL, attr, sizeof(*attr));
}

/* ibv_query_device_ex(3) also returns the attributes of ibv_query_device(3). */
static void
query_device_ex__adds_to_query_device(void **state)
{
	struct ibv_query_device_ex_input input = { 0 };
	struct ibv_device_attr_ex attr, again;
	struct ibv_device_attr plain;

	(void)state;
	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(uroce_query_device(host.context, &plain), 0);
	assert_int_equal(uroce_query_device_ex(host.context, &input, &attr), 0);
	assert_string_equal(attr.orig_attr.fw_ver, plain.fw_ver);
	assert_string_equal(plain.fw_ver, UROCE_VERSION_STRING);
	assert_int_equal(attr.orig_attr.max_qp, plain.max_qp);
	assert_int_equal(attr.phys_port_cnt_ex, plain.phys_port_cnt);
	assert_int_equal(attr.device_cap_flags_ex, plain.device_cap_flags);
	assert_int_equal(attr.hca_core_clock, 1000000);
	assert_int_equal(attr.completion_timestamp_mask, UINT64_MAX);
	assert_int_equal(attr.comp_mask, 0);
	assert_int_equal(query_device_ex_inline(&again), 0);
	assert_int_equal(again.orig_attr.max_qp, plain.max_qp);
	assert_int_equal(again.hca_core_clock, 1000000);
}

static void
query_device_ex__nobody_has_what_is_zero(void **state)
{
	static const struct ibv_tso_caps no_tso;
	static const struct ibv_packet_pacing_caps no_pacing;
	static const struct ibv_tm_caps no_tm;
	static const struct ibv_pci_atomic_caps no_pci_atomics;
	struct ibv_device_attr_ex attr;

	(void)state;
	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(uroce_query_device_ex(host.context, NULL, &attr), 0);
	assert_memory_equal(&attr.tso_caps, &no_tso, sizeof(no_tso));
	assert_memory_equal(&attr.packet_pacing_caps, &no_pacing, sizeof(no_pacing));
	assert_memory_equal(&attr.tm_caps, &no_tm, sizeof(no_tm));
	assert_memory_equal(&attr.pci_atomic_caps, &no_pci_atomics, sizeof(no_pci_atomics));
	assert_int_equal(attr.rss_caps.supported_qpts, 0);
	assert_int_equal(attr.rss_caps.max_rwq_indirection_tables, 0);
	assert_int_equal(attr.max_wq_type_rq, 0);
	assert_int_equal(attr.raw_packet_caps, 0);
	assert_int_equal(attr.cq_mod_caps.max_cq_count, 0);
}

static void
query_device_ex__checks_its_arguments(void **state)
{
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex attr = { .hca_core_clock = 7 };

	(void)state;
	assert_int_equal(uroce_query_device_ex(NULL, NULL, &attr), EINVAL);
	assert_int_equal(uroce_query_device_ex(host.context, NULL, NULL), EINVAL);
	assert_int_equal(uroce_query_device_ex(host.context, &input, &attr), EINVAL);
	assert_int_equal(attr.hca_core_clock, 7);
}

/*
 * If a program was built with a shorter struct, only the members that this struct has are written.
 */
static void
query_device_ex__writes_no_more_than_an_older_header_has(void **state)
{
	struct ibv_device_attr_ex attr;
	const size_t len = offsetof(struct ibv_device_attr_ex, max_dm_size);
	struct verbs_context *const verbs = verbs_get_ctx_op(host.context, query_device_ex);

	(void)state;
	memset(&attr, 0xa5, sizeof(attr));
	assert_int_equal(verbs->query_device_ex(host.context, NULL, &attr, len), 0);
	assert_int_equal(attr.hca_core_clock, 1000000);
	assert_int_equal(attr.max_dm_size, 0xa5a5a5a5a5a5a5a5);
}

/*
 * The raw clock is in nanoseconds. Values that are unknown are not marked in comp_mask of the
 * result [ibv_query_rt_values_ex(3)].
 */
static void
query_rt_values_ex__is_the_raw_clock_in_nanoseconds(void **state)
{
	struct ibv_values_ex first = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK | 1u << 30 };
	struct ibv_values_ex second = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	(void)state;
	assert_int_equal(ibv_query_rt_values_ex(host.context, &first), 0);
	assert_int_equal(first.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	assert_int_equal(first.raw_clock.tv_sec, 0);
	assert_true(first.raw_clock.tv_nsec > 0);
	usleep(2000);
	assert_int_equal(uroce_query_rt_values_ex(host.context, &second), 0);
	assert_true(second.raw_clock.tv_nsec - first.raw_clock.tv_nsec >= 1900000);
}

static void
query_rt_values_ex__answers_what_is_asked(void **state)
{
	struct ibv_values_ex values = { .raw_clock = { .tv_nsec = 7 } };

	(void)state;
	assert_int_equal(uroce_query_rt_values_ex(host.context, &values), 0);
	assert_int_equal(values.comp_mask, 0);
	assert_int_equal(values.raw_clock.tv_nsec, 7);
	assert_int_equal(uroce_query_rt_values_ex(NULL, &values), EINVAL);
	assert_int_equal(uroce_query_rt_values_ex(host.context, NULL), EINVAL);
}

/* The query returns the type and the index of an entry of the GID table [ibv_query_gid_ex(3)]. */
static void
query_gid_ex__says_type_and_place(void **state)
{
	struct ibv_gid_entry entry;
	union ibv_gid gid;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		memset(&entry, 0xff, sizeof(entry));
		assert_int_equal(uroce_query_gid(host.context, 1, (int)i, &gid), 0);
		assert_int_equal(uroce_query_gid_ex(host.context, 1, i, &entry, 0), 0);
		assert_memory_equal(&entry.gid, &gid, sizeof(gid));
		assert_int_equal(entry.gid_index, i);
		assert_int_equal(entry.port_num, 1);
		assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
		/* ndev_ifindex is 0, because a ring port has no network interface */
		assert_int_equal(entry.ndev_ifindex, 0);
	}
}

static void
query_gid_ex__tells_empty_from_outside(void **state)
{
	struct ibv_gid_entry entry = { .gid_index = 77 };
	struct ibv_port_attr port;

	(void)state;
	assert_int_equal(uroce_query_port(host.context, 1, &port), 0);
	assert_int_equal(uroce_query_gid_ex(host.context, 1, 3, &entry, 0), ENODATA);
	assert_int_equal(
		uroce_query_gid_ex(host.context, 1, (uint32_t)port.gid_tbl_len - 1, &entry, 0),
		ENODATA);
	assert_int_equal(uroce_query_gid_ex(host.context, 1, (uint32_t)port.gid_tbl_len, &entry, 0),
			 EINVAL);
	assert_int_equal(uroce_query_gid_ex(host.context, 1, UINT32_MAX, &entry, 0), EINVAL);
	assert_int_equal(uroce_query_gid_ex(host.context, 0, 0, &entry, 0), EINVAL);
	assert_int_equal(uroce_query_gid_ex(host.context, 2, 0, &entry, 0), EINVAL);
	assert_int_equal(uroce_query_gid_ex(host.context, 257, 0, &entry, 0), EINVAL);
	assert_int_equal(uroce_query_gid_ex(host.context, 1, 0, &entry, 1), EINVAL);
	assert_int_equal(uroce_query_gid_ex(host.context, 1, 0, NULL, 0), EINVAL);
	assert_int_equal(uroce_query_gid_ex(NULL, 1, 0, &entry, 0), EINVAL);
	assert_int_equal(entry.gid_index, 77);
}

/* ibv_query_gid_table(3) returns the valid entries of the GID table only. */
static void
query_gid_table__has_the_valid_entries_alone(void **state)
{
	struct ibv_gid_entry table[4], entry;

	(void)state;
	memset(table, 0xff, sizeof(table));
	assert_int_equal(uroce_query_gid_table(host.context, table, 4, 0), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(uroce_query_gid_ex(host.context, 1, i, &entry, 0), 0);
		assert_memory_equal(&table[i], &entry, sizeof(entry));
	}
	assert_int_equal(table[3].gid_index, UINT32_MAX);
	assert_int_equal(uroce_query_gid_table(host.context, table, 3, 0), 3);
}

static void
query_gid_table__fails_where_it_does_not_fit(void **state)
{
	struct ibv_gid_entry table[4] = { { .gid_index = 77 } };

	(void)state;
	assert_int_equal(uroce_query_gid_table(host.context, table, 2, 0), -EINVAL);
	assert_int_equal(uroce_query_gid_table(host.context, table, 0, 0), -EINVAL);
	assert_int_equal(uroce_query_gid_table(host.context, table, 4, 1), -EINVAL);
	assert_int_equal(uroce_query_gid_table(host.context, NULL, 4, 0), -EINVAL);
	assert_int_equal(uroce_query_gid_table(NULL, table, 4, 0), -EINVAL);
	assert_int_equal(table[0].gid_index, 77);
}

/* ibv_get_pkey_index(3) is the inverse of ibv_query_pkey(3). */
static void
get_pkey_index__is_the_opposite_of_query_pkey(void **state)
{
	__be16 pkey;

	(void)state;
	assert_int_equal(uroce_query_pkey(host.context, 1, 0, &pkey), 0);
	assert_int_equal(uroce_get_pkey_index(host.context, 1, pkey), 0);
	errno = 0;
	assert_int_equal(uroce_get_pkey_index(host.context, 1, htons(0x7fff)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(uroce_get_pkey_index(host.context, 2, pkey), -1);
	assert_int_equal(uroce_get_pkey_index(NULL, 1, pkey), -1);
}

/* The device has no counters of ibv_create_counters(3), so these calls return EOPNOTSUPP. */
static void
counters__are_not_there(void **state)
{
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr attach = { 0 };
	struct ibv_counters counters = { .context = host.context };
	uint64_t values[1];

	(void)state;
	assert_errno(EOPNOTSUPP, ibv_create_counters(host.context, &init));
	assert_int_equal(ibv_attach_counters_point_flow(&counters, &attach, NULL), EOPNOTSUPP);
	assert_int_equal(ibv_read_counters(&counters, values, 1, 0), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_counters(&counters), EOPNOTSUPP);
}

/*
 * Extended calls of verbs.h that the library does not support fail as with a driver that lacks
 * them.
 */
static void
what_is_not_offered__is_not_supported(void **state)
{
	struct ibv_cq cq = { .context = host.context };
	struct ibv_qp qp = { .context = host.context };
	struct ibv_srq srq = { .context = host.context };
	struct ibv_modify_cq_attr cq_attr = { 0 };
	struct ibv_qp_rate_limit_attr rate = { 0 };
	struct ibv_wq_init_attr wq = { 0 };
	struct ibv_rwq_ind_table_init_attr table = { 0 };
	struct ibv_flow_attr flow = { 0 };
	struct ibv_flow_action_esp_attr esp = { 0 };
	struct ibv_ops_wr op = { 0 }, *bad_op;

	(void)state;
	assert_int_equal(ibv_modify_cq(&cq, &cq_attr), EOPNOTSUPP);
	assert_int_equal(ibv_modify_qp_rate_limit(&qp, &rate), EOPNOTSUPP);
	assert_int_equal(ibv_post_srq_ops(&srq, &op, &bad_op), EOPNOTSUPP);
	assert_errno(EOPNOTSUPP, ibv_create_wq(host.context, &wq));
	assert_errno(EOPNOTSUPP, ibv_create_rwq_ind_table(host.context, &table));
	assert_errno(EOPNOTSUPP, ibv_create_flow(&qp, &flow));
	assert_errno(EOPNOTSUPP, ibv_create_flow_action_esp(host.context, &esp));
}

static void
ece__is_not_there(void **state)
{
	struct ibv_ece ece = { .vendor_id = 7 };
	struct ibv_qp qp = { .context = host.context };

	(void)state;
	assert_int_equal(uroce_query_ece(&qp, &ece), EOPNOTSUPP);
	assert_int_equal(uroce_set_ece(&qp, &ece), EOPNOTSUPP);
	assert_int_equal(ece.vendor_id, 7);
	assert_int_equal(uroce_query_ece(NULL, &ece), EINVAL);
	assert_int_equal(uroce_set_ece(&qp, NULL), EINVAL);
}

static void
query_qp_data_in_order__promises_nothing(void **state)
{
	struct ibv_qp qp = { .context = host.context };

	(void)state;
	assert_int_equal(uroce_query_qp_data_in_order(&qp, IBV_WR_RDMA_WRITE, 0), 0);
	assert_int_equal(uroce_query_qp_data_in_order(&qp, IBV_WR_RDMA_READ, 0), 0);
	assert_int_equal(uroce_query_qp_data_in_order(&qp, IBV_WR_SEND, 0), 0);
}

/* Every value of the enums has a text [RDMA Aware 3.2.7, 3.2.8, 3.7.3]. */
static void
words__there_is_one_for_each_number(void **state)
{
	(void)state;
	for (int type = IBV_NODE_CA; type <= IBV_NODE_UNSPECIFIED; type++)
		assert_string_not_equal(uroce_node_type_str(type), "unknown");
	assert_string_equal(uroce_node_type_str(IBV_NODE_UNKNOWN), "unknown");
	assert_string_equal(uroce_node_type_str(0), "unknown");
	assert_string_equal(uroce_node_type_str(IBV_NODE_UNSPECIFIED + 1), "unknown");
	for (int port = IBV_PORT_NOP; port <= IBV_PORT_ACTIVE_DEFER; port++)
		assert_string_not_equal(uroce_port_state_str(port), "unknown state");
	assert_string_equal(uroce_port_state_str(IBV_PORT_ACTIVE), "active");
	assert_string_equal(uroce_port_state_str(IBV_PORT_ACTIVE_DEFER + 1), "unknown state");
	assert_string_equal(uroce_port_state_str(-1), "unknown state");
	for (int event = IBV_EVENT_CQ_ERR; event <= IBV_EVENT_WQ_FATAL; event++)
		assert_string_not_equal(uroce_event_type_str(event), "unknown event");
	assert_string_equal(uroce_event_type_str(IBV_EVENT_SQ_DRAINED), "send queue drained");
	assert_string_equal(uroce_event_type_str(IBV_EVENT_WQ_FATAL + 1), "unknown event");
	assert_string_equal(uroce_event_type_str(-1), "unknown event");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(get_device_index__is_the_number_of_the_name),
		TEST(get_device_guid__is_the_mac_and_each_devices_own),
		TEST(query_device_ex__adds_to_query_device),
		TEST(query_device_ex__nobody_has_what_is_zero),
		TEST(query_device_ex__checks_its_arguments),
		TEST(query_device_ex__writes_no_more_than_an_older_header_has),
		TEST(query_rt_values_ex__is_the_raw_clock_in_nanoseconds),
		TEST(query_rt_values_ex__answers_what_is_asked),
		TEST(query_gid_ex__says_type_and_place),
		TEST(query_gid_ex__tells_empty_from_outside),
		TEST(query_gid_table__has_the_valid_entries_alone),
		TEST(query_gid_table__fails_where_it_does_not_fit),
		TEST(get_pkey_index__is_the_opposite_of_query_pkey),
		TEST(counters__are_not_there),
		TEST(what_is_not_offered__is_not_supported),
		TEST(ece__is_not_there),
		TEST(query_qp_data_in_order__promises_nothing),
		cmocka_unit_test(words__there_is_one_for_each_number),
	};

	net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
