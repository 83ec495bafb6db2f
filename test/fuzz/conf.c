/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The parsers of user input:
 *
 * - the specification of a device
 * - the devices and EAL options of a program with the drop-in library, in the environment or a file
 * - the arguments of EAL and of uroced
 *
 * If the parser accepts the input, the values must be those of the text and within their limits. If
 * the parser refuses the input, it must change nothing.
 */

#include "bytes.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sanitizer/lsan_interface.h>
#include <rte_common.h>
#include <rte_log.h>

#include "datapath/device/conf.h"
#include "eal/args.h"
#include "eal/pages.h"
#include "ibverbs/engine/conf.h"
#include "options.h"
#include "log_line.h"
#include "wire/build.h"

#define TEXT_MAX 2048
#define ARGC_MAX 24

int LLVMFuzzerInitialize(int *argc, char ***argv);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_access(const char *path, int how);

static char text[TEXT_MAX + 1];

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	rte_log_set_global_level(RTE_LOG_EMERG);
	return 0;
}

/* Replaces the log of uroced, so that the test prints nothing. */
void
log_line(const char *format, ...)
{
	(void)format;
}

void
pages_allow(size_t len)
{
	(void)len;
}

/* Replaces mkdir(), which creates the directory of EAL. The replacement checks the path only. */
int
__wrap_mkdir(const char *path, mode_t mode)
{
	expect(strlen(path) < 108 && mode == 0700);
	return 0;
}

int
__wrap_access(const char *path, int how)
{
	(void)path;
	(void)how;
	return 0;
}

/* --- words in configurations and arguments ------------------------------------------------------- */

/*
 * Words to which the parsers give a meaning. The texts of this test consist of these words and of
 * random bytes, so that the fuzzer need not find the words by mutation.
 */
static const char *const words[] = {
	"net_memif0",
	"uroced",
	"net_af_packet0",
	",",
	"=",
	",addr=",
	"192.0.2.1/24",
	"2001:db8::1/64",
	"::ffff:192.0.2.1/32",
	"fe80::1",
	",gw=",
	"192.0.2.254",
	",mtu=",
	"1024",
	"4096",
	",vlan=",
	"7",
	"4095",
	",workers=",
	"32",
	",drive=",
	"lcore",
	"app",
	"none",
	",qps=",
	"4194304",
	",mrs=",
	",cc=",
	"dcqcn",
	",cc_ai_mbps=",
	"40",
	",cc_",
	",socket=",
	"/run/x.sock",
	",icrc=",
	"off",
	"[",
	"]",
	"eal",
	"device",
	"options",
	"spec",
	"\n",
	";",
	" ",
	"\t",
	"--vdev",
	"--vdev=",
	"--no-huge",
	"--in-memory",
	"--file-prefix",
	"--file-prefix=",
	"-m",
	"-l",
	"-c",
	"--lcores",
	"--no-pci",
	"--telemetry",
	"--no-telemetry",
	"--no-shconf",
	"--socket-mem",
	"--huge-unlink",
	"--iova-mode=va",
	"--socket=",
	"--mode=",
	"--group=",
	"--leases=",
	"--help",
	"--no-sandbox",
	"--cm",
	"--mode",
	"0660",
	"root",
	"--",
	"-",
	"/",
	"../",
	"0",
	"-1",
	"18446744073709551616",
	"[::]",
	"255.255.255.255/33",
	"%s%n",
	"--no-cm",
};

static char *
draw_text(struct bytes *in, char *to, size_t room)
{
	size_t len = 0;

	for (unsigned nb = bytes_u8(in) % 48; nb > 0 && in->left > 0; nb--) {
		const uint8_t which = bytes_u8(in);
		const char one[2] = { (char)bytes_u8(in), '\0' };
		const char *word = which < RTE_DIM(words) ? words[which] : one;
		const size_t word_len = strlen(word);
		const unsigned times = which == 0xff ? 200 : 1;

		for (unsigned i = 0; i < times && len + word_len < room; i++) {
			memcpy(to + len, word, word_len);
			len += word_len;
		}
	}
	to[len] = '\0';
	return to;
}

/* --- specification of a device ------------------------------------------------------------------- */

static bool
is_host(const uint8_t ip[16])
{
	if (uroce_ip_is_v4(ip))
		return ip[12] != 0 && ip[12] != 127 && ip[12] < 224;
	return ip[0] != 0xff;
}

static void
expect_in_bounds(const struct uroce_dev_conf *conf)
{
	const uint16_t mtu = conf->path_mtu;

	expect(conf->port[0] && memchr(conf->port, 0, sizeof(conf->port)));
	expect(conf->socket[0] && memchr(conf->socket, 0, sizeof(conf->socket)));
	expect(conf->nb_addr <= UROCE_ADDRS_MAX);
	for (unsigned i = 0; i < conf->nb_addr; i++) {
		const struct uroce_addr *addr = &conf->addr[i];

		expect(is_host(addr->ip) && addr->prefix_len <= 128);
		expect(addr->prefix_len > (uroce_ip_is_v4(addr->ip) ? 96 : 0));
	}
	expect(mtu == 0 || (mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0));
	expect(!conf->has_vlan || (conf->vlan_tci >= 1 && conf->vlan_tci <= 4094));
	expect(conf->nb_workers >= 1 && conf->nb_workers <= UROCE_WORKERS_MAX);
	expect(conf->drive <= UROCE_DRIVE_NONE && conf->max_qp >= 1 && conf->max_mr >= 1);
	expect(!conf->is_icrc_off && !conf->is_handed_over);
	expect(!uroce_cc_conf_check(&conf->cc));
	if (conf->is_attached)
		expect(conf->nb_addr == 0 && !conf->has_vlan &&
		       conf->max_qp <= UROCE_ATTACHED_QPS_MAX);
}

static void
parse_device(const char *spec)
{
	struct uroce_dev_conf conf, untouched;
	int ret;

	memset(&conf, 0xee, sizeof(conf));
	untouched = conf;
	ret = uroce_dev_conf_parse(spec, &conf);
	expect(ret == 0 || ret == -EINVAL);
	if (ret == 0)
		expect_in_bounds(&conf);
	else
		expect(memcmp(&conf, &untouched, sizeof(conf)) == 0);
}

/* --- configuration of the drop-in library -------------------------------------------------------- */

static void
read_engine_conf(struct bytes *in)
{
	const uint8_t bits = bytes_u8(in);
	char path[32];
	struct conf conf;
	int file = -1;

	(void)(bits & 1 ? setenv("UROCE", draw_text(in, text, TEXT_MAX), 1) : unsetenv("UROCE"));
	(void)(bits & 2 ? setenv("UROCE_EAL", draw_text(in, text, TEXT_MAX), 1)
			: unsetenv("UROCE_EAL"));
	(void)unsetenv("UROCE_CONFIG");
	if (bits & 4) {
		file = memfd_create("conf", MFD_CLOEXEC);
		draw_text(in, text, TEXT_MAX);
		expect(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
		(void)setenv("UROCE_CONFIG", path, 1);
	}
	/* The strings of the configuration are never freed, so leaks are not checked here. */
	__lsan_disable();
	const int ret = conf_read(&conf);

	__lsan_enable();
	if (ret == 0) {
		expect(conf.nb_specs <= CONF_DEVICES_MAX && conf.nb_options <= CONF_OPTIONS_MAX);
		for (unsigned i = 0; i < conf.nb_options; i++)
			expect(conf.option[i][0] && !strpbrk(conf.option[i], " \t\n"));
		for (unsigned i = 0; i < conf.nb_specs; i++) {
			const char *spec = conf.spec[i], *vdev = conf_vdev(&conf, spec);
			const size_t len = strcspn(spec, ",");

			expect(spec[0] && !strpbrk(spec, "; \t\n"));
			expect(!vdev ||
			       (strcspn(vdev, ",") == len && strncmp(vdev, spec, len) == 0));
		}
	}
	if (file >= 0)
		(void)close(file);
}

/* --- arguments of programs ----------------------------------------------------------------------- */

/*
 * Draw the arguments of a command line.
 * @return number of arguments
 */
static int
draw_argv(struct bytes *in, char *argv[ARGC_MAX + 1])
{
	char *rest = draw_text(in, text, TEXT_MAX), *state = NULL;
	int argc = 1;

	argv[0] = (char *)"program";
	for (char *at = strtok_r(rest, " ", &state); at && argc < ARGC_MAX;
	     at = strtok_r(NULL, " ", &state))
		argv[argc++] = at;
	argv[argc] = NULL;
	return argc;
}

/*
 * Make the arguments of EAL from the options of a user. Check that the defaults are added, that no
 * default occurs twice, and that the options of the user are unchanged.
 */
static void
make_args(struct bytes *in)
{
	static const char *const folders[] = { NULL, "/run", "/run/user/1000" };
	const uint8_t bits = bytes_u8(in);
	char *argv[ARGC_MAX + 1];
	const int argc = draw_argv(in, argv);
	struct args args;

	args_begin(&args, argv[0]);
	args_add_lcores(&args, argc, argv, 1 + (bits & 1));
	args_add_memory(&args, argc, argv, bits, 1u << 20);
	args_add_telemetry(&args, argc, argv, folders[bits % RTE_DIM(folders)]);
	for (int i = 1; i < argc; i++)
		args_add(&args, argv[i]);
	expect(args.argc <= ARGS_MAX && !args.argv[args.argc]);
	for (int i = 0; i < args.argc; i++)
		expect(args.argv[i]);
	expect(args_has(args.argc, args.argv, "telemetry", 0) ||
	       args_has(args.argc, args.argv, "no-telemetry", 0));
	if (args_has(argc, argv, "lcores", 0))
		expect(!args_has(args.argc - argc + 1, args.argv, "lcores", 0));
}

static void
parse_options(struct bytes *in)
{
	char *argv[ARGC_MAX + 1];
	const int argc = draw_argv(in, argv);
	struct options opt;

	if (options_parse(&opt, argc, argv) != 0)
		return;
	expect(opt.socket[0] && strlen(opt.socket) < (opt.has_cm ? 105 : 108));
	expect(opt.mode <= 0777);
	expect(opt.spec && opt.leases[0] && memchr(opt.leases, 0, sizeof(opt.leases)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes in = { data, len };

	switch (bytes_u8(&in) % 4) {
	case 0:
		parse_device(draw_text(&in, text, TEXT_MAX));
		break;
	case 1:
		read_engine_conf(&in);
		break;
	case 2:
		make_args(&in);
		break;
	case 3:
		parse_options(&in);
		break;
	}
	return 0;
}
