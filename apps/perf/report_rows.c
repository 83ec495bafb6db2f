/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the rows of the results, and writes them as JSON. */

#include "report.h"

#include <inttypes.h>

/* --- all tests ------------------------------------------------------------------------------- */

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
	measures_print_json(report->measures, report->rows_file);
	fprintf(report->rows_file, "\n\t\t}");
}

/*
 * Print the end of a row of the table, and below the row the result of --verify, the counters and
 * the stages.
 */
static void
end_row(const struct report *report, const struct verify *verify, uint64_t messages)
{
	if (report->opt->is_cpu_util)
		printf("\t    %-3.2f", cpu_use_percent(&report->measures->cpu_use));
	printf("\n");
	print_verify(report, verify);
	measures_print(report->measures, messages);
	fflush(stdout);
}

/* --- bandwidth ------------------------------------------------------------------------------- */

static double
unit_of(const struct report *report)
{
	return report->opt->is_gbits ? 1e9 / 8 : 1 << 20;
}

static void
print_bandwidth(const struct report *report, const struct bandwidth *row)
{
	const double unit = unit_of(report), average = row->average_bps / unit;
	/* as in perftest, rates below 0.1 Gb/s are printed with six decimals */
	const int digits = report->opt->is_gbits && average < 0.1 ? 6 : 2;

	printf(" %-7" PRIu64 "    %-10" PRIu64 "       %-7.*f            %-7.*f\t\t   %-7.6f",
	       row->size, row->messages, digits, row->peak_bps / unit, digits, average,
	       row->messages_per_s / 1e6);
}

static void
keep_best(struct report *report, const struct bandwidth *row)
{
	const double bw = row->average_bps / unit_of(report), rate = row->messages_per_s / 1e6;

	report->has_rates = true;
	if (bw > report->best_bw)
		report->best_bw = bw;
	if (rate > report->best_msgrate)
		report->best_msgrate = rate;
}

static void
show_bandwidth(const struct report *report, const struct bandwidth *row,
	       const struct verify *verify)
{
	if (report->opt->output == PERF_OUTPUT_BANDWIDTH) {
		printf("%f\n", row->average_bps / unit_of(report));
	} else if (report->opt->output == PERF_OUTPUT_MESSAGE_RATE) {
		printf("%f\n", row->messages_per_s / 1e6);
	} else {
		print_bandwidth(report, row);
		end_row(report, verify, row->messages);
	}
	fflush(stdout);
}

static void
print_direction(const struct report *report, const char *title, const struct bandwidth *row)
{
	report_rule();
	printf("\n %s results: \n", title);
	report_rule();
	report_columns(report->opt);
	print_bandwidth(report, row);
	printf("\n");
}

/* Report the rates of each direction of --bidirectional. The row printed before has their sum. */
static void
show_directions(struct report *report, const struct bandwidth *local,
		const struct bandwidth *remote)
{
	const double unit = unit_of(report);

	if (report_is_table(report)) {
		print_direction(report, "Local", local);
		print_direction(report, "Remote", remote);
	}
	if (report->rows_file == NULL)
		return;
	json_double(report, "BW_average_local", local->average_bps / unit, 2);
	json_double(report, "BW_average_remote", remote->average_bps / unit, 2);
	json_double(report, "MsgRate_local", local->messages_per_s / 1e6, 6);
	json_double(report, "MsgRate_remote", remote->messages_per_s / 1e6, 6);
}

void
report_bandwidth(struct report *report, const struct bandwidth *row, const struct verify *verify,
		 const struct bandwidth directions[2])
{
	const double unit = unit_of(report);

	keep_best(report, row);
	if (report->is_quiet)
		return;
	show_bandwidth(report, row, verify);
	const bool has_json = json_open(report, row->size, row->messages);
	if (has_json) {
		json_double(report, "BW_peak", row->peak_bps / unit, 2);
		json_double(report, "BW_average", row->average_bps / unit, 2);
		json_double(report, "MsgRate", row->messages_per_s / 1e6, 6);
		if (report->opt->output == PERF_OUTPUT_BANDWIDTH)
			json_double(report, "bw_avg", row->average_bps / unit, 6);
		if (report->opt->output == PERF_OUTPUT_MESSAGE_RATE)
			json_double(report, "msgRate_avg", row->messages_per_s / 1e6, 6);
	}
	if (report->opt->is_report_both && directions != NULL)
		show_directions(report, &directions[0], &directions[1]);
	if (has_json)
		json_close(report, verify);
}

/* --- latency --------------------------------------------------------------------------------- */

static const char *
time_unit(const struct report *report)
{
	return report->opt->is_cycles ? "cycles" : "usec";
}

void
report_times(const struct report *report, const double *times, uint64_t nb)
{
	if (report->is_quiet)
		return;
	printf("#, %s\n", time_unit(report));
	for (uint64_t i = 0; i < nb; i++)
		printf("%" PRIu64 ", %g\n", i + 1, times[i]);
}

static void
show_histogram(struct report *report, const struct latency *row)
{
	const struct options *opt = report->opt;

	if (row->histogram == NULL)
		return;
	if (opt->is_histogram)
		histogram_print(row->histogram, row->scale, time_unit(report));
	plot_add(&report->plot, opt->test, row->size, row->histogram, row->scale,
		 time_unit(report));
}

static void
print_latency(const struct report *report, const struct latency *row)
{
	if (report->opt->duration_s != 0)
		printf(" %-7" PRIu64 "       %" PRIu64 "            %-7.2f        %-7.2f",
		       row->size, row->messages, row->average, row->messages_per_s);
	else
		printf(" %-7" PRIu64 " %" PRIu64
		       "          %-7.2f        %-7.2f      %-7.2f  \t       "
		       "%-7.2f     \t%-7.2f\t\t%-7.2f \t\t%-7.2f",
		       row->size, row->messages, row->min, row->max, row->typical, row->average,
		       row->deviation, row->p99, row->p999);
}

/*
 * Print the row of a latency test. If a list of latencies was printed before the row, print the
 * names of the columns first.
 */
static void
show_latency(const struct report *report, const struct latency *row, const struct verify *verify)
{
	const struct options *opt = report->opt;

	if (opt->output == PERF_OUTPUT_LATENCY) {
		printf("%f\n", row->average);
		return;
	}
	if (opt->is_sorted_list || opt->is_time_list) {
		report_rule();
		report_columns(opt);
	}
	print_latency(report, row);
	end_row(report, verify, row->messages);
}

void
report_latency(struct report *report, const struct latency *row, const struct verify *verify)
{
	if (report->is_quiet)
		return;
	show_latency(report, row, verify);
	show_histogram(report, row);
	fflush(stdout);
	if (!json_open(report, row->size, row->messages))
		return;
	json_double(report, "t_avg", row->average, 2);
	if (report->opt->output == PERF_OUTPUT_LATENCY)
		json_double(report, "avg_lat", row->average, 6);
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
	if (row->histogram != NULL) {
		fprintf(report->rows_file, ",\n\t\t\t\"histogram\": ");
		histogram_print_json(row->histogram, row->scale, report->rows_file);
	}
	json_close(report, verify);
}

void
report_answered(struct report *report, uint64_t size, uint64_t messages,
		const struct verify *verify)
{
	if (report->is_quiet || !report_is_table(report) ||
	    (!report->opt->is_verify && !measures_has_rows(report->measures)))
		return;
	printf(" %-7" PRIu64, size);
	end_row(report, verify, messages);
	if (measures_has_rows(report->measures) && json_open(report, size, messages))
		json_close(report, verify);
}
