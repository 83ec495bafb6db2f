/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

/**
 * @file
 * The options of the command line. Flags are those of perftest, so that users and scripts can keep
 * theirs. Flags of uroce-perf alone are --uroce, --loopback, --workers, --qp-order, --verify,
 * --verify-selftest, --working-set, --capture and --impair.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#define PERF_SIZE_MAX         (8u << 20) /* -a: sizes 2, 4, .. PERF_SIZE_MAX */
#define PERF_GRH_LEN          40u /* area before a UD message in a receive buffer [IBA 11.4.1.2] */
#define PERF_ATOMIC_LEN       8u
#define PERF_QPS_MAX          131072u
#define PERF_QPS_DEFAULT_MAX  16384u /* the most QPs of a device without key qps */
#define PERF_WORKERS_MAX      16u
#define PERF_DEPTH_MAX        8192u
#define PERF_IN_FLIGHT        512u /* limit of messages in flight over all QPs, in random order */
#define PERF_WORKING_SET_MAX  (1u << 30)
#define PERF_PEAK_ITERS       20000u /* with more messages than this no peak is computed */
#define PERF_EXIT_OK          0
#define PERF_EXIT_FAILED      1
#define PERF_EXIT_USAGE       2
#define PERF_EXIT_FLIP_FOUND  3 /* --verify-selftest: the flipped bit was found, as expected */
#define PERF_EXIT_FLIP_MISSED 4

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

/** Which QP posts next. */
enum perf_order {
	PERF_IN_TURN, /* each QP in turn, as long as it has room */
	PERF_RANDOM,  /* a random QP for each list of requests */
};

/**
 * The parsed options. Numbers are uint64_t and choices are int, so that one table can set them all.
 */
struct options {
	const char *test; /* name of the test, such as "write_bw" */
	enum perf_op op;
	bool is_lat;
	const char *device; /* argument of --uroce */
	const char *server; /* name of the server; NULL: this process is the server */
	int qp_type;        /* enum ibv_qp_type */
	int atomic;         /* enum perf_atomic */
	int order;          /* enum perf_order */
	uint64_t size;
	uint64_t iters;      /* number of messages for each QP */
	uint64_t duration_s; /* duration of the test; 0: the number of iterations ends the test */
	uint64_t tx_depth;
	uint64_t rx_depth;
	uint64_t nb_qp;
	/*
	 * --loopback: workers that each run both ends of their own connections; 0: two ends on two
	 * threads
	 */
	uint64_t nb_workers;
	uint64_t cq_mod;
	uint64_t post_list;
	uint64_t inline_len;
	uint64_t outs; /* number of outstanding READs and atomics; 0: the device's limit */
	uint64_t mtu;  /* path MTU in bytes; 0: the port's */
	/* bytes over which messages are spread on either side; 0: one page for each QP */
	uint64_t working_set;
	uint64_t gid_index;
	uint64_t timeout_code; /* local ACK timeout [IBA 11.6.2] */
	uint64_t retry_cnt;
	uint64_t port; /* TCP port */
	bool has_gid_index;
	bool has_size;
	bool has_iters;
	bool is_all;
	bool is_bidir;
	bool is_gbits;
	bool is_no_peak;
	bool is_loopback;
	/* an IPv6 GID; the exchange uses any family that the server's name resolves to */
	bool is_ipv6;
	bool is_verify;
	bool is_selftest;
	bool is_json;
	bool is_cpu_freq; /* accepted without effect, because scripts for perftest pass it */
	const char *json_file;
	const char *capture_file;
	const char *impair; /* argument of impair_open(); NULL: none */
};

/**
 * Fill `opt` from the arguments after `--`; argv[0] is skipped.
 * @return 0; 1: help was requested and printed; -1 after one line on stderr
 */
int options_parse(struct options *opt, int argc, char **argv);

/** The name of the connection type: "RC", "UC" or "UD". */
const char *options_conn_name(const struct options *opt);

/** Whether the transport retransmits lost messages. */
static inline bool
options_is_reliable(const struct options *opt)
{
	return opt->qp_type == IBV_QPT_RC;
}

#endif /* PERF_OPTIONS_H */
