/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the lines before and after the rows of the results, and writes the JSON file.
 * report_rows.c prints the rows. Scripts split the columns by white space and read the JSON keys,
 * so both are those of perftest 4.5, the release in Debian 12. A run of one size has an object as
 * `results`; a run of several sizes has a list of objects.
 */

#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_LEN        87
#define ADDRESSES_SHOWN 32u

static const char *
op_name(const struct options *opt)
{
	static const char *const names[] = {
		[PERF_SEND] = "Send",
		[PERF_WRITE] = "RDMA_Write",
		[PERF_READ] = "RDMA_Read",
		[PERF_ATOMIC] = "Atomic",
	};

	return opt->op == PERF_ATOMIC && opt->atomic == PERF_CMP_AND_SWAP
		       ? "Atomic_Compare_And_Swap"
	       : opt->op == PERF_ATOMIC ? "Atomic_Fetch_And_Add"
					: names[opt->op];
}

void
report_rule(void)
{
	for (int i = 0; i < LINE_LEN; i++)
		putchar('-');
	putchar('\n');
}

int
report_begin(struct report *report, const struct options *opt, const struct measures *measures,
	     bool is_quiet)
{
	*report = (struct report){ .opt = opt, .measures = measures, .is_quiet = is_quiet };
	if (plot_begin(&report->plot, is_quiet ? NULL : opt->plot_file) != 0)
		return -1;
	if (!opt->is_json || is_quiet)
		return 0;
	report->rows_file = open_memstream(&report->rows, &report->rows_len);
	if (report->rows_file == NULL) {
		fprintf(stderr, "uroce-perf: JSON report: %s\n", strerror(errno));
		return -1;
	}
	return 0;
}

static void
print_address(const char *whose, const struct address *address)
{
	printf(" %s address: LID 0000 QPN 0x%04x PSN 0x%06x RKey 0x%06x VAddr 0x%016" PRIx64
	       "\n GID: ",
	       whose, address->qpn, address->psn, address->rkey, address->vaddr);
	for (int i = 0; i < 16; i++)
		printf("%02u%s", address->gid.raw[i], i < 15 ? ":" : "\n");
}

static void
print_addresses(const char *whose, const struct address *addresses, unsigned nb)
{
	for (unsigned i = 0; i < nb && i < ADDRESSES_SHOWN; i++)
		print_address(whose, &addresses[i]);
	if (nb > ADDRESSES_SHOWN)
		printf(" and %u more %s addresses\n", nb - ADDRESSES_SHOWN, whose);
}

/* Compute how many queue pairs per second were created and connected, until they could send. */
static double
connect_rate(const struct endpoint *endpoint)
{
	const struct setup *setup = &endpoint->setup;
	double seconds = setup->create_s + setup->swap_s + setup->connect_s;

	return seconds > 0 ? endpoint->nb_qp / seconds : 0;
}

static void
print_setup(const struct endpoint *endpoint)
{
	const struct setup *setup = &endpoint->setup;

	printf(" Connect rate    : %.0f/s (create %.3f s, addresses %.3f s, connect %.3f s)\n",
	       connect_rate(endpoint), setup->create_s, setup->swap_s, setup->connect_s);
	printf(" Memory per QP   : %zu[B], queues included\n", setup->heap_bytes / endpoint->nb_qp);
}

void
report_columns(const struct options *opt)
{
	const char *unit = opt->is_gbits ? "Gb" : "MB";
	const char *time = opt->is_cycles ? "cycles" : "usec";

	if (!opt->is_lat)
		printf(" #bytes     #iterations    BW peak[%s/sec]    BW average[%s/sec]   "
		       "MsgRate[Mpps]",
		       unit, unit);
	else if (opt->duration_s != 0)
		printf(" #bytes        #iterations       t_avg[%s]    tps average", time);
	else
		printf(" #bytes #iterations    t_min[%s]    t_max[%s]  t_typical[%s]    "
		       "t_avg[%s]    t_stdev[%s]   99%% percentile[%s]   99.9%% "
		       "percentile[%s] ",
		       time, time, time, time, time, time, time);
	printf("%s\n", opt->is_cpu_util ? "    CPU_Util[%]" : "");
}

void
report_head(struct report *report, const struct endpoint *endpoint)
{
	const struct options *opt = report->opt;

	if (!report_is_table(report))
		return;
	report_rule();
	printf("%20s%s%s %s%s Test\n", "", opt->is_bidir ? "Bidirectional " : "", op_name(opt),
	       opt->is_lat ? "Latency" : "BW", opt->is_multicast ? " Multicast" : "");
	printf(" Device          : %s\n", uroce_get_device_name(endpoint->device));
	printf(" Number of qps   : %" PRIu64 "\t\tConnection type : %s\n", opt->nb_qp,
	       options_conn_name(opt));
	if (options_has_srq(opt))
		printf(" Using SRQ       : ON\n");
	if (opt->is_events)
		printf(" Test with events. Using comp%" PRIu64 "\n", opt->vector);
	if (opt->recv_post_list > 1)
		printf(" Recv Post List  : %" PRIu64 "\n", opt->recv_post_list);
	if (options_uses_cm(opt))
		printf(" Data ex. method : rdma_cm\n");
	if (opt->is_rdma_cm)
		printf(" rdma_cm QPs     : ON\n");
	if (!opt->is_lat)
		printf(" TX depth        : %" PRIu64 "\t\tCQ Moderation   : %" PRIu64 "\n",
		       opt->tx_depth, opt->cq_mod);
	if (opt->post_list > 1)
		printf(" Post List       : %" PRIu64 "\n", opt->post_list);
	if (opt->op == PERF_READ || opt->op == PERF_ATOMIC)
		printf(" Outstand reads  : %u\n", endpoint->outs);
	printf(" Mtu             : %u[B]\t\tGID index       : %u\n", endpoint->mtu,
	       endpoint->gid_index);
	printf(" Max inline data : %" PRIu64 "[B]\n", opt->inline_len);
	if (opt->order == PERF_RANDOM)
		printf(" QP order        : random\n");
	if (endpoint->nb_qp > 1)
		print_setup(endpoint);
	report_rule();
	print_addresses("local", endpoint->local, endpoint->nb_qp);
	print_addresses("remote", endpoint->peer, endpoint->nb_qp);
	report_rule();
	report_columns(opt);
	fflush(stdout);
}

static const char *
on_off(bool is_on)
{
	return is_on ? "ON" : "OFF";
}

/* Write the options that perftest also has in its report. */
static void
write_json_options(const struct options *opt, FILE *file)
{
	fprintf(file, "\t\t\"Dual_port\": \"OFF\",\n\t\t\"Transport_type\": \"IB\",\n");
	fprintf(file, "\t\t\"Link_type\": \"Ethernet\",\n\t\t\"ibv_wr_API\": \"OFF\",\n");
	fprintf(file, "\t\t\"Using_SRQ\": \"%s\",\n", on_off(options_has_srq(opt)));
	fprintf(file, "\t\t\"Data_ex_method\": \"%s\",\n",
		options_uses_cm(opt) ? "rdma_cm" : "Ethernet");
	if (opt->is_multicast)
		fprintf(file, "\t\t\"MultiCast_runs\": \"on_UD\",\n");
	if (opt->is_events)
		fprintf(file, "\t\t\"Test with events\": \"comp%u\",\n", (unsigned)opt->vector);
	if (opt->post_list > 1)
		fprintf(file, "\t\t\"Post_List\": %" PRIu64 ",\n", opt->post_list);
	if (opt->recv_post_list > 1)
		fprintf(file, "\t\t\"Recv_Post_List\": %" PRIu64 ",\n", opt->recv_post_list);
	if (opt->op == PERF_SEND)
		fprintf(file, "\t\t\"RX_depth\": %" PRIu64 ",\n", opt->rx_depth);
	if (opt->tos != 0)
		fprintf(file, "\t\t\"TOS\": %" PRIu64 ",\n", opt->tos);
}

static void
write_json(struct report *report, const struct endpoint *endpoint, FILE *file)
{
	const struct options *opt = report->opt;
	const struct setup *setup = &endpoint->setup;

	fprintf(file, "{\n\t\"test_info\": {\n\t\t\"test\": \"%s_%s%s%s%s_Test\",\n", op_name(opt),
		opt->is_bidir ? "Bidirectional_" : "", opt->post_list > 1 ? "Post_List_" : "",
		opt->is_lat ? "Latency" : "BW", opt->is_multicast ? "_Multicast" : "");
	fprintf(file, "\t\t\"Device\": \"%s\",\n", uroce_get_device_name(endpoint->device));
	fprintf(file, "\t\t\"Number_of_qps\": %" PRIu64 ",\n", opt->nb_qp);
	fprintf(file, "\t\t\"QP_order\": \"%s\",\n", opt->order == PERF_RANDOM ? "random" : "turn");
	fprintf(file, "\t\t\"Connect_rate\": %.0f,\n", connect_rate(endpoint));
	fprintf(file, "\t\t\"Destroy_rate\": %.0f,\n",
		setup->destroy_s > 0 ? endpoint->nb_qp / setup->destroy_s : 0);
	fprintf(file, "\t\t\"Memory_per_qp\": %zu,\n", setup->heap_bytes / endpoint->nb_qp);
	fprintf(file, "\t\t\"Connection_type\": \"%s\",\n", options_conn_name(opt));
	fprintf(file, "\t\t\"rdma_cm_QPs\": \"%s\",\n", on_off(opt->is_rdma_cm));
	write_json_options(opt, file);
	fprintf(file, "\t\t\"TX_depth\": %" PRIu64 ",\n", opt->tx_depth);
	fprintf(file, "\t\t\"CQ_Moderation\": %" PRIu64 ",\n", opt->cq_mod);
	fprintf(file, "\t\t\"Mtu\": %u,\n", endpoint->mtu);
	fprintf(file, "\t\t\"GID_index\": %u,\n", endpoint->gid_index);
	fprintf(file, "\t\t\"Max_inline_data\": %" PRIu64 ",\n", opt->inline_len);
	fprintf(file, "\t\t\"Outstand_reads\": %u,\n", endpoint->outs);
	fprintf(file, "\t\t\"BW_unit\": \"%s/sec\"\n\t},\n", opt->is_gbits ? "Gb" : "MB");
	if (report->nb_rows == 1)
		fprintf(file, "\t\"results\":\n%s\n}\n", report->rows);
	else
		fprintf(file, "\t\"results\": [\n%s\n\t]\n}\n", report->rows);
}

static int
save_json(struct report *report, const struct endpoint *endpoint)
{
	/* after fclose() `rows` has all that was written to the stream */
	fclose(report->rows_file);
	report->rows_file = NULL;
	FILE *file = fopen(report->opt->json_file, "w");
	if (file != NULL) {
		write_json(report, endpoint, file);
		if (fclose(file) == 0)
			return 0;
	}
	fprintf(stderr, "uroce-perf: --out_json_file %s: %s; allowed: a file that can be written\n",
		report->opt->json_file, strerror(errno));
	return -1;
}

/*
 * Check whether the best result of the run reaches a limit that the user has given. As in perftest
 * the run fails if no message size reaches the limit.
 */
static int
check_limit(const char *option, double limit, double best, const char *unit)
{
	if (limit == 0 || best >= limit)
		return 0;
	fprintf(stderr, "uroce-perf: --%s %g: the result is below it: %.2f %s\n", option, limit,
		best, unit);
	return -1;
}

/* Check the limits that the options give for the run, on a side that has reported rates. */
static int
check_limits(const struct report *report)
{
	const struct options *opt = report->opt;

	if (!report->has_rates)
		return 0;
	return check_limit("limit_bw", opt->limit_bw, report->best_bw,
			   opt->is_gbits ? "Gb/sec" : "MB/sec") |
	       check_limit("limit_msgrate", opt->limit_msgrate, report->best_msgrate, "Mpps");
}

int
report_end(struct report *report, const struct endpoint *endpoint)
{
	int result = 0;

	if (report_is_table(report)) {
		if (endpoint->nb_qp > 1)
			printf(" Tear-down: %u queue pairs in %.3f s\n", endpoint->nb_qp,
			       endpoint->setup.destroy_s);
		report_rule();
		fflush(stdout);
	}
	if (report->rows_file != NULL)
		result = save_json(report, endpoint);
	free(report->rows);
	report->rows = NULL;
	if (plot_end(&report->plot) != 0 || check_limits(report) != 0)
		result = -1;
	return result;
}
