/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the options, with a row for each option. The table has all options of perftest:
 * those that uroce-perf has, and those that it refuses, with the reason.
 */

#include "option_table.h"

#include <string.h>

#define NB(array) (sizeof(array) / sizeof((array)[0]))

#define BW        OPTION_BW
#define LAT       OPTION_LAT
#define SEND      OPTION_SEND
#define WRITE     OPTION_WRITE
#define READ      OPTION_READ
#define ATOMIC    OPTION_ATOMIC
#define ANY_OP    (SEND | WRITE | READ | ATOMIC)
#define ANYWHERE  (BW | LAT | ANY_OP)

static const struct option_choice conn_choices[] = { { "RC", IBV_QPT_RC },
						     { "UC", IBV_QPT_UC },
						     { "UD", IBV_QPT_UD },
						     { "XRC", IBV_QPT_XRC_SEND },
						     { "DC", PERF_QPT_DC },
						     { "SRD", PERF_QPT_SRD },
						     { NULL, 0 } };

static const struct option_choice output_choices[] = { { "bandwidth", PERF_OUTPUT_BANDWIDTH },
						       { "message_rate", PERF_OUTPUT_MESSAGE_RATE },
						       { "latency", PERF_OUTPUT_LATENCY },
						       { NULL, 0 } };

static const struct option_choice rate_unit_choices[] = {
	{ "g", PERF_RATE_GBIT }, { "M", PERF_RATE_MIB }, { "p", PERF_RATE_MESSAGES }, { NULL, 0 }
};

static const struct option_choice rate_type_choices[] = { { "SW", PERF_RATE_SOFTWARE },
							  { "HW", PERF_RATE_HARDWARE },
							  { "PP", PERF_RATE_PACING },
							  { NULL, 0 } };

static const struct option_choice link_choices[] = { { "Ethernet", PERF_LINK_ETHERNET },
						     { "IB", PERF_LINK_IB },
						     { NULL, 0 } };

static const struct option_choice atomic_choices[] = { { "CMP_AND_SWAP", PERF_CMP_AND_SWAP },
						       { "FETCH_AND_ADD", PERF_FETCH_AND_ADD },
						       { NULL, 0 } };

static const struct option_choice order_choices[] = { { "turn", PERF_IN_TURN },
						      { "random", PERF_RANDOM },
						      { NULL, 0 } };

#define AT(field) offsetof(struct options, field)

#define REFUSED(name, letter, arg, why)                                                            \
	{                                                                                          \
		name, letter, OPTION_REFUSED, 0, 0, 0, NULL, ANYWHERE, arg, why                    \
	}
#define NOT_DC                                                                                     \
	"DC is a transport of one vendor's NICs, and is not specified; allowed: RC, UC, UD, XRC"
#define NOT_CRYPTO "encryption of payload is an offload of one vendor's NICs"
#define NOT_GPU    "the CPU copies the payload, and cannot access the memory of a GPU"

const struct option_row option_rows[] = {
	{ "uroce", 0, OPTION_TEXT, AT(device), 0, 0, NULL, ANYWHERE, "DEV[,key=value...]",
	  "the device to create: an ethdev port and its addresses" },
	{ "ib-dev", 'd', OPTION_TEXT, AT(device), 0, 0, NULL, ANYWHERE, "DEV[,key=value...]",
	  "the same as --uroce" },
	{ "ib-port", 'i', OPTION_NUMBER, AT(ib_port), 1, 1, NULL, ANYWHERE, "PORT",
	  "port of the device: 1, because a device has one port" },
	{ "force-link", 0, OPTION_CHOICE, AT(link), 0, 0, link_choices, ANYWHERE, "TYPE",
	  "link layer of the device: Ethernet" },
	{ "loopback", 0, OPTION_FLAG, AT(is_loopback), 0, 0, NULL, ANYWHERE, NULL,
	  "both sides in this process, over a pair of ring ports" },
	{ "all", 'a', OPTION_FLAG, AT(is_all), 0, 0, NULL, ANYWHERE, NULL,
	  "sizes from 2 to 8388608 (UD: to the path MTU)" },
	{ "atomic_type", 'A', OPTION_CHOICE, AT(atomic), 0, 0, atomic_choices, BW | LAT | ATOMIC,
	  "TYPE", "kind of atomic (default FETCH_AND_ADD)" },
	{ "bidirectional", 'b', OPTION_FLAG, AT(is_bidir), 0, 0, NULL, BW | ANY_OP, NULL,
	  "both sides send requests at the same time" },
	{ "connection", 'c', OPTION_CHOICE, AT(qp_type), 0, 0, conn_choices, ANYWHERE, "TYPE",
	  "transport service: RC (default), UC, UD or XRC" },
	{ "duration", 'D', OPTION_NUMBER, AT(duration_s), 1, 1000000, NULL, ANYWHERE, "SECONDS",
	  "run for this time instead of -n messages" },
	{ "CPU-freq", 'F', OPTION_FLAG, AT(is_cpu_freq), 0, 0, NULL, ANYWHERE, NULL,
	  "accepted for compatibility with perftest; has no effect" },
	{ "help", 'h', OPTION_HELP, 0, 0, 0, NULL, ANYWHERE, NULL, "print this text and exit" },
	{ "inline_size", 'I', OPTION_NUMBER, AT(inline_len), 0, 4096, NULL, BW | LAT | SEND | WRITE,
	  "BYTES", "messages up to this size are posted inline (default 0, lat 220)" },
	{ "post_list", 'l', OPTION_NUMBER, AT(post_list), 1, 1024, NULL, BW | ANY_OP, "COUNT",
	  "work requests in one post (default 1)" },
	{ "mtu", 'm', OPTION_NUMBER, AT(mtu), 256, 4096, NULL, ANYWHERE, "BYTES",
	  "path MTU: 256, 512, 1024, 2048 or 4096 (default: the largest that both ports support)" },
	{ "iters", 'n', OPTION_NUMBER, AT(iters), 5, UINT32_MAX, NULL, ANYWHERE, "COUNT",
	  "messages for each QP (default 1000, write_bw 5000; large sizes fewer)" },
	{ "noPeak", 'N', OPTION_FLAG, AT(is_no_peak), 0, 0, NULL, BW | ANY_OP, NULL,
	  "do not measure the peak bandwidth" },
	{ "outs", 'o', OPTION_NUMBER, AT(outs), 1, 255, NULL, BW | LAT | READ | ATOMIC, "COUNT",
	  "outstanding READs or atomics (default: the limit of the device)" },
	{ "port", 'p', OPTION_NUMBER, AT(port), 1, 65535, NULL, ANYWHERE, "PORT",
	  "TCP port of the connection between client and server, with -R their RDMA port (default "
	  "18515)" },
	{ "qp", 'q', OPTION_NUMBER, AT(nb_qp), 1, PERF_QPS_MAX, NULL, BW | ANY_OP, "COUNT",
	  "number of queue pairs (default 1)" },
	{ "qp-order", 0, OPTION_CHOICE, AT(order), 0, 0, order_choices, BW | ANY_OP, "ORDER",
	  "which QP posts next: turn, or random for each list (default turn)" },
	{ "cq-mod", 'Q', OPTION_NUMBER, AT(cq_mod), 1, PERF_DEPTH_MAX, NULL, BW | ANY_OP, "COUNT",
	  "number of requests for each completion (default 100)" },
	{ "rx-depth", 'r', OPTION_NUMBER, AT(rx_depth), 1, PERF_DEPTH_MAX, NULL, BW | LAT | SEND,
	  "COUNT", "length of the receive queue (default 512)" },
	{ "rdma_cm", 'R', OPTION_FLAG, AT(is_rdma_cm), 0, 0, NULL, ANYWHERE, NULL,
	  "connect by rdma_cm: SERVER is the address of its device, no TCP connection is made" },
	{ "size", 's', OPTION_BYTES, AT(size), 1, PERF_SIZE_MAX, NULL, ANYWHERE, "BYTES",
	  "message size, to 2147483648, also with K or M (default 65536, lat 2; UD at most the "
	  "path "
	  "MTU)" },
	{ "tx-depth", 't', OPTION_NUMBER, AT(tx_depth), 1, PERF_DEPTH_MAX, NULL, ANYWHERE, "COUNT",
	  "length of the send queue (default 128); lat: 1 waits for the completion of each "
	  "message" },
	{ "qp-timeout", 'u', OPTION_NUMBER, AT(timeout_code), 0, 31, NULL, ANYWHERE, "CODE",
	  "ACK timeout: 4.096 us * 2^CODE (default 14, loopback 18)" },
	{ "retry_count", 0, OPTION_NUMBER, AT(retry_cnt), 0, 7, NULL, ANYWHERE, "COUNT",
	  "retries after an ACK timeout (default 7)" },
	{ "gid-index", 'x', OPTION_NUMBER, AT(gid_index), 0, 255, NULL, ANYWHERE, "INDEX",
	  "source GID (default: the first IPv4 one, with --ipv6 the first global IPv6 one)" },
	{ "ipv6", 0, OPTION_FLAG, AT(is_ipv6), 0, 0, NULL, ANYWHERE, NULL, "use an IPv6 GID" },
	{ "report_gbits", 0, OPTION_FLAG, AT(is_gbits), 0, 0, NULL, BW | ANY_OP, NULL,
	  "report Gb/sec (10^9 bits) instead of MB/sec (2^20 bytes)" },
	{ "out_json", 0, OPTION_FLAG, AT(is_json), 0, 0, NULL, ANYWHERE, NULL,
	  "write a JSON report as well" },
	{ "out_json_file", 0, OPTION_TEXT, AT(json_file), 0, 0, NULL, ANYWHERE, "FILE",
	  "file of the JSON report (default perftest_out.json)" },
	{ "tclass", 0, OPTION_NUMBER, AT(traffic_class), 0, 255, NULL, ANYWHERE, "VALUE",
	  "traffic class of the packets: DSCP and ECN (default 0)" },
	{ "tos", 'T', OPTION_NUMBER, AT(tos), 0, 255, NULL, ANYWHERE, "VALUE",
	  "with -R: the traffic class" },
	{ "pkey_index", 0, OPTION_NUMBER, AT(pkey_index), 0, 65535, NULL, ANYWHERE, "INDEX",
	  "index of the P_Key (default 0)" },
	{ "source_ip", 0, OPTION_TEXT, AT(source_ip), 0, 0, NULL, ANYWHERE, "ADDRESS",
	  "local address of the TCP connection, with -R that of the device" },
	{ "mr_per_qp", 0, OPTION_FLAG, AT(is_mr_per_qp), 0, 0, NULL, BW | ANY_OP, NULL,
	  "a memory region for each QP" },
	{ "odp", 0, OPTION_FLAG, AT(is_odp), 0, 0, NULL, ANYWHERE, NULL,
	  "register the memory for paging on demand" },
	{ "use_hugepages", 0, OPTION_FLAG, AT(is_hugepages), 0, 0, NULL, ANYWHERE, NULL,
	  "put the messages into reserved huge pages" },
	{ "mmap", 0, OPTION_TEXT, AT(mmap_file), 0, 0, NULL, ANYWHERE, "FILE",
	  "put the messages into a file, or into the memory of a device that it maps" },
	{ "mmap-offset", 0, OPTION_BYTES, AT(mmap_offset), 0, UINT64_C(1) << 47, NULL, ANYWHERE,
	  "BYTES", "offset in that file, a multiple of the page size" },
	{ "recv_post_list", 0, OPTION_NUMBER, AT(recv_post_list), 1, 1024, NULL, BW | SEND, "COUNT",
	  "receive requests in one post (default: up to 16)" },
	{ "reversed", 0, OPTION_FLAG, AT(is_reversed), 0, 0, NULL, BW | ANY_OP, NULL,
	  "the server sends requests to the client" },
	{ "run_infinitely", 0, OPTION_FLAG, AT(is_infinite), 0, 0, NULL, BW | ANY_OP, NULL,
	  "run until a signal; report each -D seconds (default 5)" },
	{ "margin", 'f', OPTION_NUMBER, AT(margin_s), 0, 1000000, NULL, ANYWHERE, "SECONDS",
	  "with -D: do not measure this time at the start and at the end (default 0)" },
	{ "perform_warm_up", 0, OPTION_FLAG, AT(is_warmed_up), 0, 0, NULL, BW | ANY_OP, NULL,
	  "fill the send queue once before the measurement" },
	{ "wait_destroy", 0, OPTION_NUMBER, AT(destroy_wait_s), 0, 1000000, NULL, BW | ANY_OP,
	  "SECONDS", "wait before the objects are destroyed" },
	{ "latency_gap", 0, OPTION_NUMBER, AT(gap_us), 0, 10000000, NULL, LAT | ANY_OP,
	  "MICROSECONDS", "wait before each message" },
	{ "rate_limit", 0, OPTION_DECIMAL, AT(rate_limit), 0, 0, NULL, BW | ANY_OP, "RATE",
	  "limit the rate of this side, over all QPs" },
	{ "rate_units", 0, OPTION_CHOICE, AT(rate_unit), 0, 0, rate_unit_choices, BW | ANY_OP,
	  "UNIT", "unit of --rate_limit: g Gb/s (default), M MiB/s, p messages/s" },
	{ "rate_limit_type", 0, OPTION_CHOICE, AT(rate_type), 0, 0, rate_type_choices, BW | ANY_OP,
	  "TYPE", "who limits the rate: SW, uroce-perf itself (default)" },
	{ "burst_size", 0, OPTION_NUMBER, AT(burst_size), 1, PERF_DEPTH_MAX, NULL, BW | ANY_OP,
	  "COUNT", "messages in a burst of --rate_limit (default: --tx-depth)" },
	{ "events", 'e', OPTION_FLAG, AT(is_events), 0, 0, NULL, BW | LAT | SEND | READ | ATOMIC,
	  NULL, "sleep until there is a completion, instead of polling" },
	{ "vector", 'X', OPTION_NUMBER, AT(vector), 0, 2048, NULL, BW | LAT | SEND | READ | ATOMIC,
	  "VECTOR", "with -e: completion vector (default 0)" },
	{ "com_rdma_cm", 'z', OPTION_FLAG, AT(is_com_rdma_cm), 0, 0, NULL, ANYWHERE, NULL,
	  "connect by rdma_cm for the exchange of addresses only; the QPs are regular ones" },
	{ "use-srq", 0, OPTION_FLAG, AT(is_srq), 0, 0, NULL, BW | LAT | SEND, NULL,
	  "a shared receive queue of --rx-depth requests" },
	{ "mcg", 'g', OPTION_FLAG, AT(is_multicast), 0, 0, NULL, BW | LAT | SEND, NULL,
	  "send to a multicast group, with one QP of type UD at each side" },
	{ "MGID", 'M', OPTION_TEXT, AT(mgid), 0, 0, NULL, BW | LAT | SEND, "GROUP",
	  "with -g: the group (default 239.255.85.82, with --ipv6 ff15::5552)" },
	{ "output", 0, OPTION_CHOICE, AT(output), 0, 0, output_choices, ANYWHERE, "WHAT",
	  "print one number only: bandwidth or message_rate, lat: latency (the average)" },
	{ "report-both", 0, OPTION_FLAG, AT(is_report_both), 0, 0, NULL, BW | ANY_OP, NULL,
	  "with -b: report both directions, too" },
	{ "limit_bw", 'w', OPTION_DECIMAL, AT(limit_bw), 0, 0, NULL, BW | ANY_OP, "RATE",
	  "fail if the average bandwidth of no size is so high" },
	{ "limit_msgrate", 'y', OPTION_DECIMAL, AT(limit_msgrate), 0, 0, NULL, BW | ANY_OP, "MPPS",
	  "fail if the message rate of no size is so high" },
	{ "cpu_util", 0, OPTION_FLAG, AT(is_cpu_util), 0, 0, NULL, ANYWHERE, NULL,
	  "with -D: report the CPU time of the machine, user / (user + idle)" },
	{ "report-counters", 'W', OPTION_TEXT, AT(counters), 0, 0, NULL, ANYWHERE, "NAME,...",
	  "report how much counters of the device change; the names are those of uroce-stat(1)" },
	{ "report-cycles", 'C', OPTION_FLAG, AT(is_cycles), 0, 0, NULL, LAT | ANY_OP, NULL,
	  "report latencies in cycles of the time stamp counter" },
	{ "report-histogram", 'H', OPTION_FLAG, AT(is_sorted_list), 0, 0, NULL, LAT | ANY_OP, NULL,
	  "print all latencies, sorted" },
	{ "report-unsorted", 'U', OPTION_FLAG, AT(is_time_list), 0, 0, NULL, LAT | ANY_OP, NULL,
	  "print all latencies, in the order of the messages" },
	{ "histogram", 0, OPTION_FLAG, AT(is_histogram), 0, 0, NULL, LAT | ANY_OP, NULL,
	  "print a histogram of the latencies" },
	{ "plot", 0, OPTION_TEXT, AT(plot_file), 0, 0, NULL, LAT | ANY_OP, "FILE",
	  "write a plot of the latencies as SVG" },
	{ "version", 'V', OPTION_VERSION, 0, 0, 0, NULL, ANYWHERE, NULL,
	  "print the versions of uroce, DPDK and rdma-core, and exit" },
	{ "verify", 0, OPTION_FLAG, AT(is_verify), 0, 0, NULL, ANYWHERE, NULL,
	  "check every byte of every message, in batches" },
	{ "verify-selftest", 0, OPTION_FLAG, AT(is_selftest), 0, 0, NULL, ANYWHERE, NULL, NULL },
	{ "working-set", 0, OPTION_NUMBER, AT(working_set), PERF_ATOMIC_LEN, PERF_WORKING_SET_MAX,
	  NULL, BW | SEND | WRITE | READ, "BYTES",
	  "memory that the messages use in turn at each side (default: a page for each QP)" },
	{ "workers", 0, OPTION_NUMBER, AT(nb_workers), 1, PERF_WORKERS_MAX, NULL,
	  BW | WRITE | READ | ATOMIC, "COUNT",
	  "with --loopback: number of threads, each with both sides of a pair of ports" },
	{ "capture", 0, OPTION_TEXT, AT(capture_file), 0, 0, NULL, ANYWHERE, "FILE",
	  "write the frames that this side receives to a pcap file" },
	{ "impair", 0, OPTION_TEXT, AT(impair), 0, 0, NULL, ANYWHERE, "loss=P,...",
	  "impair the network: loss, dup, reorder, corrupt (probabilities), span, seed" },
	{ "sl", 'S', OPTION_NUMBER, AT(sl), 0, 0, NULL, ANYWHERE, "SL",
	  "service level: 0, because no field of the frames depends on it" },
	{ "use_old_post_send", 0, OPTION_FLAG, AT(is_old_post_send), 0, 0, NULL, ANYWHERE, NULL,
	  "post by ibv_post_send(), which is always so" },
	{ "disable_pcie_relaxed", 0, OPTION_FLAG, AT(is_pcie_strict), 0, 0, NULL, BW | ANY_OP, NULL,
	  "no relaxed ordering on PCIe, which is always so: the CPU writes the payload" },

	/* options of perftest that are refused */
	REFUSED("dualport", 'O', NULL,
		"a device of uroce has one port; allowed: a run for each port"),
	REFUSED("report-per-port", 0, NULL, "a device of uroce has one port"),
	REFUSED("dlid", 0, "LID", "RoCE has no LIDs; allowed: --gid-index, --uroce=...,addr="),
	REFUSED("hop_limit", 'L', "LIMIT",
		"perftest has it for raw Ethernet QPs only, which are no RDMA; packets have 64"),
	REFUSED("inline_recv", 0, "BYTES",
		"verbs has no inline receive; it is a feature of older NICs of one vendor"),
	REFUSED("dont_xchg_versions", 0, NULL,
		"the sides always exchange their parameters, the path MTU among them"),
	REFUSED("typical_pkt_size", 0, "BYTES",
		"it is for packet pacing of raw Ethernet QPs only, which are no RDMA"),
	REFUSED("log_dci_streams", 0, "COUNT", NOT_DC),
	REFUSED("log_active_dci_streams", 0, "COUNT", NOT_DC),
	REFUSED("aes_xts", 0, NULL, NOT_CRYPTO),
	REFUSED("encrypt_on_tx", 0, NULL, NOT_CRYPTO),
	REFUSED("sig_before", 0, NULL, NOT_CRYPTO),
	REFUSED("aes_block_size", 0, "BYTES", NOT_CRYPTO),
	REFUSED("data_enc_keys_number", 0, "COUNT", NOT_CRYPTO),
	REFUSED("kek_path", 0, "FILE", NOT_CRYPTO),
	REFUSED("credentials_path", 0, "FILE", NOT_CRYPTO),
	REFUSED("data_enc_key_app_path", 0, "FILE", NOT_CRYPTO),
	REFUSED("use_cuda", 0, "DEVICE", NOT_GPU),
	REFUSED("use_cuda_bus_id", 0, "ID", NOT_GPU),
	REFUSED("use_cuda_dmabuf", 0, NULL, NOT_GPU),
	REFUSED("use_rocm", 0, "DEVICE", NOT_GPU),
	REFUSED("use_neuron", 0, "CORE", NOT_GPU),
	REFUSED("use_hl", 0, "DEVICE", NOT_GPU),
};

const size_t option_nb_rows = NB(option_rows);

_Static_assert(NB(option_rows) <= OPTION_ROWS_MAX, "arrays have an element for each row");

const char *
option_choice_name(const char *option, int value)
{
	for (size_t i = 0; i < option_nb_rows; i++) {
		if (strcmp(option_rows[i].name, option) != 0)
			continue;
		for (const struct option_choice *choice = option_rows[i].choices;
		     choice != NULL && choice->name != NULL; choice++)
			if (choice->value == value)
				return choice->name;
	}
	return NULL;
}
