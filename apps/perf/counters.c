/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the counters of the device before and after a test. */

#include "counters.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <uroce.h>
#include <uroce_dv.h>

/*
 * Read all counters of the device, which the caller frees.
 * @return NULL if there is no memory
 */
static struct uroce_dv_counter *
read_all(const struct counters *counters)
{
	struct uroce_dv_counter *all = calloc(counters->nb_all, sizeof(*all));

	if (all != NULL)
		(void)uroce_query_counters(counters->context, all, counters->nb_all);
	return all;
}

/*
 * Find a counter by its name `name`, which has `len` characters.
 * @return the index of the counter, or -1
 */
static int
find(const struct uroce_dv_counter *all, unsigned nb_all, const char *name, size_t len)
{
	for (unsigned i = 0; i < nb_all; i++)
		if (strlen(all[i].name) == len && memcmp(all[i].name, name, len) == 0)
			return (int)i;
	return -1;
}

static int
add_name(struct counters *counters, const struct uroce_dv_counter *all, const char *name,
	 size_t len)
{
	const char *slash = memchr(name, '/', len);
	const size_t skipped = slash != NULL ? (size_t)(slash - name) + 1 : 0;
	const int idx = find(all, counters->nb_all, name + skipped, len - skipped);

	if (idx < 0) {
		fprintf(stderr,
			"uroce-perf: --report-counters %.*s: no such counter; allowed: the names "
			"of uroce-stat(1)\n",
			(int)len, name);
		return -1;
	}
	if (counters->nb == COUNTERS_MAX) {
		fprintf(stderr, "uroce-perf: --report-counters: too many; allowed: %u names\n",
			COUNTERS_MAX);
		return -1;
	}
	counters->idx[counters->nb++] = (unsigned)idx;
	return 0;
}

int
counters_open(struct counters *counters, struct ibv_context *context, const char *names)
{
	int result = 0;

	*counters = (struct counters){ .context = context };
	if (names == NULL)
		return 0;
	counters->nb_all = uroce_query_counters(context, NULL, 0);
	struct uroce_dv_counter *all = read_all(counters);
	if (all == NULL)
		return -1;
	while (result == 0 && *names != '\0') {
		const size_t len = strcspn(names, ",");

		result = add_name(counters, all, names, len);
		names += len + (names[len] == ',');
	}
	free(all);
	return result;
}

void
counters_begin(struct counters *counters)
{
	struct uroce_dv_counter *all;

	if (counters->nb == 0 || (all = read_all(counters)) == NULL)
		return;
	for (unsigned i = 0; i < counters->nb; i++)
		counters->begin[i] = all[counters->idx[i]].value;
	free(all);
}

/*
 * Print how much each counter has changed, as `open` NAME `equals` NUMBER. The text `between`
 * separates the counters.
 */
static void
print_changes(const struct counters *counters, FILE *file, const char *open, const char *equals,
	      const char *between)
{
	struct uroce_dv_counter *all = read_all(counters);

	for (unsigned i = 0; all != NULL && i < counters->nb; i++) {
		const struct uroce_dv_counter *counter = &all[counters->idx[i]];

		fprintf(file, "%s%s%s%s%" PRIu64, i > 0 ? between : "", open, counter->name, equals,
			counter->value - counters->begin[i]);
	}
	free(all);
}

void
counters_print(const struct counters *counters)
{
	if (counters->nb == 0)
		return;
	print_changes(counters, stdout, "\t", "=", "\n");
	printf("\n\n");
}

void
counters_print_json(const struct counters *counters, FILE *file)
{
	fputc('{', file);
	print_changes(counters, file, "\"", "\": ", ", ");
	fputc('}', file);
}
