/* SPDX-License-Identifier: BSD-3-Clause */

/* Reads the configuration file of uroced with DPDK's parser of INI files. */

#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rte_cfgfile.h>

#include "log_line.h"

#define SECTION "uroced"

static int
refuse(const char *path, const char *why)
{
	log_line("--config=%s: %s: allowed is a file that uroced may read, with a section "
		 "[" SECTION "] of lines NAME = VALUE, where NAME is an option without --",
		 path, why);
	return -1;
}

static int
set_entries(struct rte_cfgfile *file, int (*set)(void *arg, const char *name, const char *value),
	    void *arg)
{
	const int nb = rte_cfgfile_section_num_entries(file, SECTION);
	struct rte_cfgfile_entry *entries;
	int ret = 0;

	if (nb <= 0)
		return 0;
	entries = calloc((size_t)nb, sizeof(*entries));
	if (!entries) {
		log_line("no memory for the configuration");
		return -1;
	}
	(void)rte_cfgfile_section_entries(file, SECTION, entries, nb);
	for (int i = 0; i < nb && ret == 0; i++)
		ret = set(arg, entries[i].name, entries[i].value);
	free(entries);
	return ret;
}

int
config_read(const char *path, int (*set)(void *arg, const char *name, const char *value), void *arg)
{
	struct rte_cfgfile *file;
	int ret;

	errno = 0;
	file = rte_cfgfile_load(path, CFG_FLAG_EMPTY_VALUES);
	if (!file)
		return refuse(path, errno != 0 ? strerror(errno) : "it is not understood");
	if (rte_cfgfile_num_sections(file, NULL, 0) == 1 && rte_cfgfile_has_section(file, SECTION))
		ret = set_entries(file, set, arg);
	else
		ret = refuse(path, "it has not the one section");
	(void)rte_cfgfile_close(file);
	return ret;
}
