/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the configuration of devices and of EAL, so that programs which use only libibverbs get
 * devices of uroce.
 */

#include "conf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_cfgfile.h>

/* prefix of the names of the sections of the configuration file that describe devices */
#define DEVICES "device"

static int
add(char **list, unsigned *nb, unsigned max, char *text, const char *what)
{
	if (*nb == max) {
		fprintf(stderr, "uroce: '%.64s%s' is one %s too many: allowed are %u\n", text,
			strlen(text) > 64 ? "..." : "", what, max);
		return E2BIG;
	}
	list[(*nb)++] = text;
	return 0;
}

static int
add_specs(struct conf *conf, const char *text)
{
	char *rest = strdup(text), *state = NULL;
	int ret = rest != NULL ? 0 : ENOMEM;

	for (char *at = ret == 0 ? strtok_r(rest, "; \t\n", &state) : NULL; at != NULL && ret == 0;
	     at = strtok_r(NULL, "; \t\n", &state))
		ret = add(conf->spec, &conf->nb_specs, CONF_DEVICES_MAX, at, "device");
	return ret;
}

static int
add_options(struct conf *conf, const char *text)
{
	char *rest = strdup(text), *state = NULL;
	int ret = rest != NULL ? 0 : ENOMEM;

	for (char *at = ret == 0 ? strtok_r(rest, " \t\n", &state) : NULL; at != NULL && ret == 0;
	     at = strtok_r(NULL, " \t\n", &state))
		ret = add(conf->option, &conf->nb_options, CONF_OPTIONS_MAX, at, "option of EAL");
	return ret;
}

static int
read_sections(struct rte_cfgfile *file, const char *path, struct conf *conf)
{
	const int nb = rte_cfgfile_num_sections(file, NULL, 0);
	char names[CONF_DEVICES_MAX + 1][CFG_NAME_LEN];
	char *sections[CONF_DEVICES_MAX + 1];
	int ret = 0;

	if (nb > (int)(sizeof(names) / sizeof(names[0]))) {
		fprintf(stderr, "uroce: %s has %d sections: allowed are %u devices and [eal]\n",
			path, nb, CONF_DEVICES_MAX);
		return E2BIG;
	}
	for (int i = 0; i < nb; i++)
		sections[i] = names[i];
	(void)rte_cfgfile_sections(file, sections, nb);
	for (int i = 0; i < nb && ret == 0; i++) {
		const bool is_eal = strcmp(names[i], "eal") == 0;
		const bool is_device = strncmp(names[i], DEVICES, strlen(DEVICES)) == 0;
		const char *const key = is_eal ? "options" : "spec";
		const char *const value =
			is_eal || is_device ? rte_cfgfile_get_entry(file, names[i], key) : NULL;

		if (value == NULL) {
			fprintf(stderr,
				"uroce: %s: section [%s] is not understood: allowed are [eal] with "
				"options=..., [" DEVICES "...] with spec=...\n",
				path, names[i]);
			return EINVAL;
		}
		ret = is_eal ? add_options(conf, value) : add_specs(conf, value);
	}
	return ret;
}

/*
 * Read a configuration file of the engine. If `needs_device` is true, the environment names no
 * device, so the file must name one.
 */
static int
read_file(const char *path, bool needs_device, struct conf *conf)
{
	struct rte_cfgfile *const file = rte_cfgfile_load(path, 0);
	int ret;

	if (file == NULL) {
		fprintf(stderr,
			"uroce: UROCE_CONFIG: %s cannot be read: allowed is a file of sections, "
			"[device] with spec=PORT[,key=value...] and [eal] with options=...\n",
			path);
		return EINVAL;
	}
	ret = read_sections(file, path, conf);
	rte_cfgfile_close(file);
	if (ret == 0 && needs_device && conf->nb_specs == 0) {
		fprintf(stderr,
			"uroce: UROCE_CONFIG: %s names no device: allowed is a section [device] "
			"with "
			"spec=PORT[,key=value...]\n",
			path);
		return EINVAL;
	}
	return ret;
}

int
conf_read(struct conf *conf)
{
	const char *const specs = secure_getenv("UROCE");
	const char *const options = secure_getenv("UROCE_EAL");
	const char *const path = secure_getenv("UROCE_CONFIG");
	struct conf file = { .nb_specs = 0 };
	int ret = 0;

	*conf = (struct conf){ .nb_specs = 0 };
	if (path != NULL && path[0] != '\0')
		ret = read_file(path, specs == NULL, &file);
	if (ret == 0)
		ret = specs != NULL ? add_specs(conf, specs) : 0;
	if (ret == 0)
		ret = options != NULL ? add_options(conf, options) : 0;
	if (ret != 0)
		return ret;
	if (specs == NULL) {
		memcpy(conf->spec, file.spec, sizeof(conf->spec));
		conf->nb_specs = file.nb_specs;
	}
	if (options == NULL) {
		memcpy(conf->option, file.option, sizeof(conf->option));
		conf->nb_options = file.nb_options;
	}
	return 0;
}

/*
 * Get the value of EAL's option at index `*i` if this option is --vdev. The value is the text after
 * '=', or the next option; then `*i` becomes the index of that option.
 * @return NULL if the option is not --vdev, or has no value
 */
static const char *
vdev_at(const struct conf *conf, unsigned *i)
{
	static const char name[] = "--vdev";
	const char *const option = conf->option[*i];

	if (strncmp(option, name, strlen(name)) != 0)
		return NULL;
	if (option[strlen(name)] == '=')
		return option + strlen(name) + 1;
	return option[strlen(name)] == '\0' && *i + 1 < conf->nb_options ? conf->option[++*i]
									 : NULL;
}

const char *
conf_vdev(const struct conf *conf, const char *spec)
{
	/* names of ports that are no ports of EAL */
	static const char *const others[] = { "uroced", "udp" };
	const size_t len = strcspn(spec, ",");

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (len == strlen(others[i]) && strncmp(spec, others[i], len) == 0)
			return others[i];
	}
	for (unsigned i = 0; i < conf->nb_options; i++) {
		const char *const vdev = vdev_at(conf, &i);

		if (vdev != NULL && strcspn(vdev, ",") == len && strncmp(vdev, spec, len) == 0)
			return vdev;
	}
	return NULL;
}
