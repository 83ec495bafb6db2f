/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

/**
 * @file
 * The options of the command line. They are those of perftest, so that users and scripts need no
 * other options. Options that perftest does not have are --uroce, --loopback, --workers,
 * --qp-order, --verify, --verify-selftest, --working-set, --capture, --impair, --histogram and
 * --plot.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

/* the largest message size of verbs: 2^31 bytes */
#define PERF_SIZE_MAX (2u << 30)
/* option -a tests the sizes 2, 4, .. PERF_ALL_SIZE_MAX */
#define PERF_ALL_SIZE_MAX (8u << 20)
/* length of the area (GRH) before a UD message in a receive buffer [IBA 11.4.1.2] */
#define PERF_GRH_LEN    40u
#define PERF_ATOMIC_LEN 8u
#define PERF_QPS_MAX    131072u
/* the largest number of QPs of a device whose specification has no key "qps" */
#define PERF_QPS_DEFAULT_MAX 16384u
#define PERF_WORKERS_MAX     16u
#define PERF_DEPTH_MAX       8192u
/* limit of messages in flight over all QPs together, if QPs post in random order */
#define PERF_IN_FLIGHT       512u
#define PERF_WORKING_SET_MAX (1u << 30)
#define PERF_PEAK_ITERS      20000u /* number of messages above which no peak rate is computed */
#define PERF_EXIT_OK         0
#define PERF_EXIT_FAILED     1
/* exit status after a wrong command line, EXIT_USAGE as in all programs */
#define PERF_EXIT_USAGE 2
/* exit status of --verify-selftest if the check found the flipped bit, as expected */
#define PERF_EXIT_FLIP_FOUND  3
#define PERF_EXIT_FLIP_MISSED 4

/* results of options_parse() if the program has to end without a test */
#define PERF_HELP_GIVEN    1
#define PERF_VERSION_ASKED 2

/* choices of --connection that are refused: verbs has no such QP types */
#define PERF_QPT_DC  (-1)
#define PERF_QPT_SRD (-2)

enum perf_op {
	PERF_SEND,
	PERF_WRITE,
	PERF_READ,
	PERF_ATOMIC,
};

enum perf_atomic {
	PERF_FETCH_AND_ADD,
	PERF_CMP_AND_SWAP,
};

enum perf_link {
	PERF_LINK_ETHERNET,
	PERF_LINK_IB = -1, /* the value IB, which perftest has, is refused */
};

/** The unit of the option --rate_limit. */
enum perf_rate_unit {
	PERF_RATE_GBIT,     /* 10^9 bits of payload per second */
	PERF_RATE_MIB,      /* 2^20 bytes of payload per second */
	PERF_RATE_MESSAGES, /* messages per second */
};

enum perf_rate_type {
	PERF_RATE_SOFTWARE,
	PERF_RATE_HARDWARE = -1, /* the value HW, a limit in the NIC, is refused */
	PERF_RATE_PACING = -2,
};

/** What the program prints: the table of results, or one number for each message size. */
enum perf_output {
	PERF_OUTPUT_TABLE,
	PERF_OUTPUT_BANDWIDTH,
	PERF_OUTPUT_MESSAGE_RATE,
	PERF_OUTPUT_LATENCY,
};

/** The order in which QPs post requests. */
enum perf_order {
	PERF_IN_TURN, /* each QP in turn posts requests until its send queue is full */
	PERF_RANDOM,  /* each list of requests is posted on a random QP */
};

/**
 * The parsed options. All numbers are uint64_t and all choices are int, so that the code that reads
 * the table of options needs one type for each.
 */
struct options {
	const char *test; /* name of the test, such as "write_bw" */
	enum perf_op op;
	bool is_lat;
	const char *device; /* argument of the option --uroce: the specification of the device */
	const char *server; /* name of the server; NULL if this process is the server */
	int qp_type;        /* type of the QPs, an enum ibv_qp_type */
	int atomic;         /* kind of atomic, an enum perf_atomic */
	int order;          /* order in which QPs post requests, an enum perf_order */
	int link;           /* link layer, an enum perf_link */
	int rate_unit;      /* unit of rate_limit, an enum perf_rate_unit */
	int rate_type;      /* who limits the rate of messages, an enum perf_rate_type */
	int output;         /* what the program prints, an enum perf_output */
	uint64_t size;
	uint64_t iters; /* number of messages for each QP */
	/* duration of the test in seconds; 0 if the number of messages ends the test */
	uint64_t duration_s;
	uint64_t tx_depth;
	uint64_t rx_depth;
	uint64_t nb_qp;
	/*
	 * number of workers with --loopback, each of which runs both ends of its own connections; 0
	 * if the two ends run on two threads
	 */
	uint64_t nb_workers;
	uint64_t cq_mod;
	uint64_t post_list;
	uint64_t inline_len;
	/* maximum number of outstanding READs and atomics; 0 for the limit of the device */
	uint64_t outs;
	uint64_t mtu; /* path MTU in bytes; 0 for that of the port */
	/*
	 * number of bytes of the buffer over which messages are spread on each side; 0 for one page
	 * for each QP
	 */
	uint64_t working_set;
	uint64_t gid_index;
	uint64_t timeout_code; /* code of the local ACK timeout [IBA 11.6.2] */
	uint64_t retry_cnt;
	uint64_t ib_port; /* port number of the device */
	uint64_t sl;      /* service level of the QPs */
	uint64_t pkey_index;
	uint64_t recv_post_list; /* number of receive requests in one post */
	/* number of messages in a burst of --rate_limit; 0 for the length of the send queue */
	uint64_t burst_size;
	uint64_t vector; /* completion vector of the CQ with --events */
	/* seconds at the start of the transfer, and as many at its end, that are not measured */
	uint64_t margin_s;
	/* microseconds that the client waits before each message of a latency test */
	uint64_t gap_us;
	uint64_t destroy_wait_s; /* seconds that a side waits before it destroys its objects */
	uint64_t traffic_class;  /* traffic class of the packets: DSCP and ECN */
	uint64_t tos;            /* type of service of the packets, with --rdma_cm */
	uint64_t mmap_offset;    /* offset in mmap_file of the memory of the messages */
	uint64_t port;           /* TCP port of the server, or its RDMA port with --rdma_cm */
	bool has_gid_index;
	bool has_size;
	bool has_iters;
	bool is_all;
	bool is_bidir;
	bool is_gbits;
	bool is_no_peak;
	bool is_loopback;
	/*
	 * use a GID that is an IPv6 address; the TCP connection between the sides may still use
	 * IPv4
	 */
	bool is_ipv6;
	/*
	 * rdma_cm connects the QPs of the test, and one more QP over which the two sides exchange
	 * lines
	 */
	bool is_rdma_cm;
	/* rdma_cm connects only the QP over which the two sides exchange lines */
	bool is_com_rdma_cm;
	bool is_srq;       /* all QPs share one receive queue */
	bool is_multicast; /* messages go to a multicast group */
	bool is_verify;
	bool is_selftest;
	bool is_json;
	bool is_mr_per_qp; /* each QP has a memory region of its own */
	bool is_odp;       /* the memory regions are paged on demand */
	bool is_hugepages; /* the memory of the messages is in reserved huge pages */
	bool is_cpu_util;  /* report the CPU time of the machine */
	/* report the directions of --bidirectional one by one, and not only their sum */
	bool is_report_both;
	bool is_cycles;      /* report latencies in cycles of the TSC instead of microseconds */
	bool is_sorted_list; /* print all latencies in ascending order */
	bool is_time_list;   /* print all latencies in the order of the messages */
	bool is_histogram;
	bool is_events;    /* sleep until there is a completion, instead of polling */
	bool is_reversed;  /* the server sends requests, and the client responds */
	bool is_infinite;  /* run until a signal ends the run */
	bool is_warmed_up; /* send messages before the measurement begins */
	/* limit of the rate in the unit `rate_unit`; 0 if the rate is not limited */
	double rate_limit;
	/*
	 * lowest bandwidth with which the run succeeds, in the unit of the report; 0 if there is no
	 * limit
	 */
	double limit_bw;
	/*
	 * lowest message rate with which the run succeeds, in millions per second; 0 if there is no
	 * limit
	 */
	double limit_msgrate;
	/*
	 * options of perftest that are accepted without effect, because uroce-perf always does what
	 * they request
	 */
	bool is_cpu_freq;
	bool is_old_post_send;
	bool is_pcie_strict;
	const char *mgid;      /* multicast group as text; NULL for the default group */
	const char *source_ip; /* local address of the connection to the other side */
	const char *mmap_file; /* file of which the memory of the messages is a part */
	const char *json_file;
	const char *plot_file; /* name of the file for the plot; NULL if no plot is written */
	const char *counters;  /* names of the counters to report, for counters_open() */
	const char *capture_file;
	/* faults of the network, for impair_open(); NULL if the network is not impaired */
	const char *impair;
};

/**
 * Parse the arguments after `--` into `opt`; argv[0] is skipped.
 * @return 0; PERF_HELP_GIVEN after the help was printed; PERF_VERSION_ASKED if the caller is to
 *         print the versions; -1 after one line on stderr
 */
int options_parse(struct options *opt, int argc, char **argv);

/** Print the usage and the table of options on stdout. */
void options_help(void);

/** Get the name of the connection type: "RC", "UC", "UD" or "XRC". */
const char *options_conn_name(const struct options *opt);

/** Check whether the transport of the test retransmits lost messages. */
static inline bool
options_is_reliable(const struct options *opt)
{
	return opt->qp_type == IBV_QPT_RC || opt->qp_type == IBV_QPT_XRC_SEND;
}

/** Check whether receive requests are in a shared receive queue. */
static inline bool
options_has_srq(const struct options *opt)
{
	return opt->is_srq || opt->qp_type == IBV_QPT_XRC_SEND;
}

/**
 * Check whether rdma_cm makes connections: at least the connection over which the two sides
 * exchange lines.
 */
static inline bool
options_uses_cm(const struct options *opt)
{
	return opt->is_rdma_cm || opt->is_com_rdma_cm;
}

#endif /* PERF_OPTIONS_H */
