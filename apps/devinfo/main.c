/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uroce-devinfo: prints for devices of uroce what ibv_devinfo prints for RDMA devices.
 *
 *	uroce-devinfo [EAL options] -- --uroce=PORT[,key=value...]... [-d DEVICE] [-i PORT] [-l] [-v]
 *
 * A device of uroce exists only in the process that created it. So this program creates the devices
 * of its command line, in the same way as the program that will use them. Then this program prints
 * their attributes, and destroys them.
 */

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_eal.h>
#include <uroce.h>

#include "devinfo.h"
#include "eal/command_line.h"
#include "eal/eal.h"

#define DEVICES_MAX    16
#define MIB_PER_DEVICE 512u

struct options {
	const char *specs[DEVICES_MAX]; /* specifications of the devices to create */
	unsigned nb_specs;
	const char *device; /* name of the only device to print; NULL to print all devices */
	uint8_t port;       /* number of the only port to print; 0 to print all ports */
	bool is_list;
	bool is_verbose;
};

static const struct option long_options[] = {
	{ "uroce", required_argument, NULL, 'u' },   { "ib-dev", required_argument, NULL, 'd' },
	{ "ib-port", required_argument, NULL, 'i' }, { "list", no_argument, NULL, 'l' },
	{ "verbose", no_argument, NULL, 'v' },       { NULL, 0, NULL, 0 },
};

static const char usage[] =
	"uroce-devinfo [EAL options] -- --uroce=PORT[,key=value...] [options]\n\n"
	"  --uroce=PORT[,key=value...]  a device to show; may be given more than once\n"
	"  -d, --ib-dev=DEVICE          show only this device (default: all)\n"
	"  -i, --ib-port=PORT           show only this port of the device (default: all)\n"
	"  -l, --list                   show only the names of the devices\n"
	"  -v, --verbose                show all attributes\n"
	"  -h, --help                   print this text and exit\n"
	"      --version                print the versions of uroce, DPDK and rdma-core, and "
	"exit\n";

__attribute__((format(printf, 1, 2))) static int
refuse(const char *format, ...)
{
	va_list args;

	fputs("uroce-devinfo: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -1;
}

static int
add_spec(struct options *opt, const char *spec)
{
	if (opt->nb_specs == DEVICES_MAX)
		return refuse("--uroce=%s: too many devices: allowed: %d", spec, DEVICES_MAX);
	opt->specs[opt->nb_specs++] = spec;
	return 0;
}

static int
set_port(struct options *opt, const char *text)
{
	char *end;
	const unsigned long port = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || port < 1 || port > UINT8_MAX)
		return refuse("--ib-port=%s: not a port: allowed: 1 to %d", text, UINT8_MAX);
	opt->port = (uint8_t)port;
	return 0;
}

static int
set_option(struct options *opt, int letter, char **argv)
{
	switch (letter) {
	case 'u':
		return add_spec(opt, optarg);
	case 'd':
		opt->device = optarg;
		return 0;
	case 'i':
		return set_port(opt, optarg);
	case 'l':
		opt->is_list = true;
		return 0;
	case 'v':
		opt->is_verbose = true;
		return 0;
	case ':':
		return refuse("%s: needs a value; uroce-devinfo --help shows which",
			      argv[optind - 1]);
	}
	return refuse("%s: unknown option; uroce-devinfo --help lists the allowed ones",
		      argv[optind - 1]);
}

static int
parse(struct options *opt, int argc, char **argv)
{
	int letter, ret = 0;

	*opt = (struct options){ 0 };
	optind = 0;
	while (ret == 0 && (letter = getopt_long(argc, argv, ":d:i:lv", long_options, NULL)) != -1)
		ret = set_option(opt, letter, argv);
	if (ret != 0)
		return ret;
	if (optind < argc)
		return refuse("%s: not an option: allowed are options alone", argv[optind]);
	if (opt->nb_specs == 0)
		return refuse("no device: give --uroce=PORT[,key=value...]");
	return 0;
}

static int
print_device(struct ibv_device *device, const struct options *opt)
{
	struct ibv_context *const context = uroce_open_device(device);
	struct ibv_device_attr_ex attr;
	int ret;

	if (context == NULL)
		return refuse("%s: cannot be opened: %s", device->name, strerror(errno));
	ret = uroce_query_device_ex(context, NULL, &attr);
	if (ret == 0 && opt->port > attr.orig_attr.phys_port_cnt)
		ret = ERANGE;
	if (ret == 0)
		device_print(context, &attr, opt->is_verbose);
	for (uint8_t port = 1; ret == 0 && port <= attr.orig_attr.phys_port_cnt; port++)
		if (opt->port == 0 || opt->port == port)
			ret = port_print(context, port, opt->is_verbose);
	if (ret == 0)
		putchar('\n');
	(void)uroce_close_device(context);
	if (ret == ERANGE)
		return refuse("--ib-port=%u: %s has no such port: allowed: 1", opt->port,
			      device->name);
	return ret == 0 ? 0 : refuse("%s: %s", device->name, strerror(ret));
}

static void
print_list(struct ibv_device **list, int nb)
{
	printf("%d HCA%s found:\n", nb, nb == 1 ? "" : "s");
	for (int i = 0; i < nb; i++)
		printf("\t%s\n", uroce_get_device_name(list[i]));
	putchar('\n');
}

static int
print_devices(struct ibv_device **list, const struct options *opt)
{
	bool is_found = false;

	for (; *list != NULL; list++) {
		if (opt->device != NULL && strcmp(opt->device, (*list)->name) != 0)
			continue;
		is_found = true;
		if (print_device(*list, opt) != 0)
			return -1;
	}
	return is_found ? 0
			: refuse("--ib-dev=%s: no such device: allowed: uroce0 to uroce%u",
				 opt->device, opt->nb_specs - 1);
}

static int
print_all(const struct options *opt)
{
	int nb, ret = 0;
	struct ibv_device **const list = uroce_get_device_list(&nb);

	if (list == NULL)
		return refuse("no list of devices: %s", strerror(errno));
	if (opt->is_list)
		print_list(list, nb);
	else
		ret = print_devices(list, opt);
	uroce_free_device_list(list);
	return ret;
}

/*
 * Create the devices of the command line, print their attributes, and destroy them. The library
 * prints why a device cannot be created.
 */
static int
run(const struct options *opt)
{
	struct ibv_device *devices[DEVICES_MAX];
	unsigned nb = 0;
	int ret = 0;

	while (nb < opt->nb_specs && (devices[nb] = uroce_create_device(opt->specs[nb])) != NULL)
		nb++;
	if (nb < opt->nb_specs)
		ret = -1;
	else
		ret = print_all(opt);
	while (nb > 0)
		(void)uroce_destroy_device(devices[--nb]);
	return ret;
}

int
main(int argc, char **argv)
{
	const int own = command_line_split(argc, argv);
	struct options opt;
	int ret;

	switch (command_line_question(argc, argv)) {
	case COMMAND_LINE_HELP:
		fputs(usage, stdout);
		return EXIT_SUCCESS;
	case COMMAND_LINE_VERSION:
		command_line_print_versions();
		return EXIT_SUCCESS;
	case COMMAND_LINE_NONE:
		break;
	}
	argv[own] = argv[0];
	if (parse(&opt, argc - own, argv + own) != 0)
		return EXIT_USAGE;
	eal_allow_restart();
	ret = eal_start(argv[0], own > 0 ? own : 1, argv, false, opt.nb_specs * MIB_PER_DEVICE);
	if (ret != 0)
		return ret;
	ret = run(&opt);
	eal_cleanup();
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
