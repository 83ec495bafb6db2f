/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the results. Scripts split the columns by white space and read the JSON keys, so both are
 * those of perftest 4.5, the release in Debian 12. A run of one size has an object as `results`; a
 * run of several sizes has a list of objects.
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

static void
rule(void)
{
	for (int i = 0; i < LINE_LEN; i++)
		putchar('-');
	putchar('\n');
}

int
report_begin(struct report *report, const struct options *opt, const struct stages *stages,
	     bool is_quiet)
{
	*report = (struct report){ .opt = opt, .stages = stages, .is_quiet = is_quiet };
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

static void
print_columns(const struct options *opt)
{
	const char *unit = opt->is_gbits ? "Gb" : "MB";

	if (!opt->is_lat)
		printf(" #bytes     #iterations    BW peak[%s/sec]    BW average[%s/sec]   "
		       "MsgRate[Mpps]\n",
		       unit, unit);
	else if (opt->duration_s != 0)
		printf(" #bytes        #iterations       t_avg[usec]    tps average\n");
	else
		printf(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    "
		       "t_avg[usec]    t_stdev[usec]   99%% percentile[usec]   99.9%% "
		       "percentile[usec] \n");
}

void
report_head(struct report *report, const struct endpoint *endpoint)
{
	const struct options *opt = report->opt;

	if (report->is_quiet)
		return;
	rule();
	printf("%20s%s%s %s Test\n", "", opt->is_bidir ? "Bidirectional " : "", op_name(opt),
	       opt->is_lat ? "Latency" : "BW");
	printf(" Device          : %s\n", uroce_get_device_name(endpoint->device));
	printf(" Number of qps   : %" PRIu64 "\t\tConnection type : %s\n", opt->nb_qp,
	       options_conn_name(opt));
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
	rule();
	print_addresses("local", endpoint->local, endpoint->nb_qp);
	print_addresses("remote", endpoint->peer, endpoint->nb_qp);
	rule();
	print_columns(opt);
	fflush(stdout);
}

static void
print_verify(const struct report *report, const struct verify *verify)
{
	if (!report->opt->is_verify) {
		if (verify->lost > 0)
			printf("lost: %" PRIu64 " messages\n", verify->lost);
		return;
	}
	printf("verify: %" PRIu64 " messages, %" PRIu64 " bytes checked, %" PRIu64 " wrong",
	       verify->messages, verify->bytes, verify->wrong);
	if (!options_is_reliable(report->opt))
		printf(", %" PRIu64 " messages lost", verify->lost);
	printf("\n");
}

/* Begin the JSON object of a row. @return false if no JSON was requested */
static bool
json_open(struct report *report, uint64_t size, uint64_t messages)
{
	if (report->rows_file == NULL)
		return false;
	fprintf(report->rows_file, "%s\t\t{\n\t\t\t\"MsgSize\": %" PRIu64 ",\n",
		report->nb_rows ? ",\n" : "", size);
	fprintf(report->rows_file, "\t\t\t\"n_iterations\": %" PRIu64, messages);
	report->nb_rows++;
	return true;
}

static void
json_double(struct report *report, const char *key, double value, int digits)
{
	fprintf(report->rows_file, ",\n\t\t\t\"%s\": %.*f", key, digits, value);
}

static void
json_close(struct report *report, const struct verify *verify)
{
	if (report->opt->is_verify)
		fprintf(report->rows_file,
			",\n\t\t\t\"verified_messages\": %" PRIu64
			",\n\t\t\t\"verified_bytes\": %" PRIu64 ",\n\t\t\t\"wrong_bytes\": %" PRIu64
			",\n\t\t\t\"lost_messages\": %" PRIu64,
			verify->messages, verify->bytes, verify->wrong, verify->lost);
	if (report->stages->nb > 0) {
		fprintf(report->rows_file, ",\n\t\t\t\"stages\": ");
		stages_print_json(report->stages, report->rows_file);
	}
	fprintf(report->rows_file, "\n\t\t}");
}

void
report_bandwidth(struct report *report, const struct bandwidth *row, const struct verify *verify)
{
	double unit = report->opt->is_gbits ? 1e9 / 8 : 1 << 20;

	if (report->is_quiet)
		return;
	printf(" %-7" PRIu64 "    %-10" PRIu64 "       %-7.2f            %-7.2f\t\t   %-7.6f\n",
	       row->size, row->messages, row->peak_bps / unit, row->average_bps / unit,
	       row->messages_per_s / 1e6);
	print_verify(report, verify);
	stages_print(report->stages, row->messages);
	fflush(stdout);
	if (!json_open(report, row->size, row->messages))
		return;
	json_double(report, "BW_peak", row->peak_bps / unit, 2);
	json_double(report, "BW_average", row->average_bps / unit, 2);
	json_double(report, "MsgRate", row->messages_per_s / 1e6, 6);
	json_close(report, verify);
}

static void
print_latency(const struct report *report, const struct latency *row)
{
	if (report->opt->duration_s != 0)
		printf(" %-7" PRIu64 "       %" PRIu64 "            %-7.2f        %-7.2f\n",
		       row->size, row->messages, row->average, row->messages_per_s);
	else
		printf(" %-7" PRIu64 " %" PRIu64
		       "          %-7.2f        %-7.2f      %-7.2f  \t       "
		       "%-7.2f     \t%-7.2f\t\t%-7.2f \t\t%-7.2f\n",
		       row->size, row->messages, row->min, row->max, row->typical, row->average,
		       row->deviation, row->p99, row->p999);
}

void
report_latency(struct report *report, const struct latency *row, const struct verify *verify)
{
	if (report->is_quiet)
		return;
	print_latency(report, row);
	print_verify(report, verify);
	stages_print(report->stages, row->messages);
	fflush(stdout);
	if (!json_open(report, row->size, row->messages))
		return;
	json_double(report, "t_avg", row->average, 2);
	if (report->opt->duration_s != 0) {
		json_double(report, "tps_average", row->messages_per_s, 2);
	} else {
		json_double(report, "t_min", row->min, 2);
		json_double(report, "t_max", row->max, 2);
		json_double(report, "t_typical", row->typical, 2);
		json_double(report, "t_stdev", row->deviation, 2);
		json_double(report, "percentile_50", row->typical, 3);
		json_double(report, "percentile_90", row->p90, 3);
		json_double(report, "percentile_99", row->p99, 3);
		json_double(report, "percentile_99.9", row->p999, 3);
		json_double(report, "percentile_99.99", row->p9999, 3);
	}
	json_close(report, verify);
}

void
report_answered(struct report *report, uint64_t size, uint64_t messages,
		const struct verify *verify)
{
	if (report->is_quiet || (!report->opt->is_verify && report->stages->nb == 0))
		return;
	printf(" %-7" PRIu64 "\n", size);
	print_verify(report, verify);
	stages_print(report->stages, messages);
	fflush(stdout);
	if (report->stages->nb > 0 && json_open(report, size, messages))
		json_close(report, verify);
}

static void
write_json(struct report *report, const struct endpoint *endpoint, FILE *file)
{
	const struct options *opt = report->opt;
	const struct setup *setup = &endpoint->setup;

	fprintf(file, "{\n\t\"test_info\": {\n\t\t\"test\": \"%s_%s%s_Test\",\n", op_name(opt),
		opt->is_bidir ? "Bidirectional_" : "", opt->is_lat ? "Latency" : "BW");
	fprintf(file, "\t\t\"Device\": \"%s\",\n", uroce_get_device_name(endpoint->device));
	fprintf(file, "\t\t\"Number_of_qps\": %" PRIu64 ",\n", opt->nb_qp);
	fprintf(file, "\t\t\"QP_order\": \"%s\",\n", opt->order == PERF_RANDOM ? "random" : "turn");
	fprintf(file, "\t\t\"Connect_rate\": %.0f,\n", connect_rate(endpoint));
	fprintf(file, "\t\t\"Destroy_rate\": %.0f,\n",
		setup->destroy_s > 0 ? endpoint->nb_qp / setup->destroy_s : 0);
	fprintf(file, "\t\t\"Memory_per_qp\": %zu,\n", setup->heap_bytes / endpoint->nb_qp);
	fprintf(file, "\t\t\"Connection_type\": \"%s\",\n", options_conn_name(opt));
	fprintf(file, "\t\t\"rdma_cm_QPs\": \"%s\",\n", opt->is_rdma_cm ? "ON" : "OFF");
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

int
report_end(struct report *report, const struct endpoint *endpoint)
{
	int result = 0;

	if (!report->is_quiet) {
		if (endpoint->nb_qp > 1)
			printf(" Tear-down: %u queue pairs in %.3f s\n", endpoint->nb_qp,
			       endpoint->setup.destroy_s);
		rule();
		fflush(stdout);
	}
	if (report->rows_file != NULL)
		result = save_json(report, endpoint);
	free(report->rows);
	report->rows = NULL;
	return result;
}
