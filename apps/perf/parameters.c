/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of a test on which both sides must agree. A side sends them in its first line,
 * the hello, as "key=value" words.
 */

#include "parameters.h"
#include "layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct parameter {
	/* name of the parameter: the option as the user writes it on the command line */
	const char *key;
	char value[32];
};

#define PARAMETERS_MAX 24u

static void
add_text(struct parameter *parameters, unsigned *nb, const char *key, const char *value)
{
	struct parameter *parameter = &parameters[(*nb)++];

	parameter->key = key;
	snprintf(parameter->value, sizeof(parameter->value), "%s", value);
}

static void
add_number(struct parameter *parameters, unsigned *nb, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	add_text(parameters, nb, key, text);
}

/* List the parameters that must be the same on both sides. */
static unsigned
list_parameters(const struct options *opt, struct parameter *parameters)
{
	unsigned nb = 0;

	add_text(parameters, &nb, "TEST", opt->test);
	add_text(parameters, &nb, "--connection", options_conn_name(opt));
	add_number(parameters, &nb, "--all", opt->is_all);
	add_number(parameters, &nb, "--size", opt->size);
	add_number(parameters, &nb, "--iters", opt->duration_s != 0 ? 0 : opt->iters);
	add_number(parameters, &nb, "--duration", opt->is_infinite ? 0 : opt->duration_s);
	add_number(parameters, &nb, "--qp", opt->nb_qp);
	add_number(parameters, &nb, "--qp-order", (uint64_t)opt->order);
	add_number(parameters, &nb, "--bidirectional", opt->is_bidir);
	add_number(parameters, &nb, "--verify", opt->is_verify);
	add_number(parameters, &nb, "--verify-selftest", opt->is_selftest);
	add_number(parameters, &nb, "--atomic_type", (uint64_t)opt->atomic);
	add_number(parameters, &nb, "--reversed", opt->is_reversed);
	add_number(parameters, &nb, "--perform_warm_up", opt->is_warmed_up);
	add_number(parameters, &nb, "--run_infinitely", opt->is_infinite);
	add_number(parameters, &nb, "--mcg", opt->is_multicast);
	if (opt->working_set != 0)
		add_number(parameters, &nb, "--working-set", opt->working_set);
	/* the following parameters determine the layout of the buffers */
	if (opt->is_verify || layout_is_compact(opt)) {
		add_number(parameters, &nb, "--tx-depth", opt->tx_depth);
		add_number(parameters, &nb, "--rx-depth", opt->rx_depth);
	}
	return nb;
}

void
parameters_format(const struct options *opt, char *text, size_t len)
{
	struct parameter parameters[PARAMETERS_MAX];
	unsigned nb = list_parameters(opt, parameters);
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < nb; i++)
		used += (size_t)snprintf(text + used, len - used, " %s=%s", parameters[i].key,
					 parameters[i].value);
}

/*
 * Get the value of a key in the first line of the other side (hello). The value is empty if the
 * line does not have the key.
 */
static void
value_of(const char *hello, const char *key, char *value, size_t len)
{
	size_t key_len = strlen(key);

	value[0] = '\0';
	for (const char *at = hello; (at = strchr(at, ' ')) != NULL;) {
		at++;
		if (strncmp(at, key, key_len) != 0 || at[key_len] != '=')
			continue;
		at += key_len + 1;
		snprintf(value, len, "%.*s", (int)strcspn(at, " "), at);
		return;
	}
}

int
parameters_compare(const struct options *opt, const char *hello)
{
	struct parameter parameters[PARAMETERS_MAX];
	unsigned nb = list_parameters(opt, parameters);

	for (unsigned i = 0; i < nb; i++) {
		char theirs[32];

		value_of(hello, parameters[i].key, theirs, sizeof(theirs));
		if (strcmp(theirs, parameters[i].value) == 0)
			continue;
		fprintf(stderr,
			"uroce-perf: the sides differ in %s: %s here, %s there; allowed: the same "
			"on both\n",
			parameters[i].key, parameters[i].value, theirs[0] ? theirs : "none");
		return -1;
	}
	return 0;
}

unsigned
parameters_smaller(const char *hello, const char *key, unsigned mine)
{
	char text[32];
	unsigned theirs;

	value_of(hello, key, text, sizeof(text));
	if (sscanf(text, "%u", &theirs) != 1 || theirs == 0 || theirs > mine)
		return mine;
	return theirs;
}
