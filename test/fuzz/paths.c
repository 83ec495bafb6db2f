/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The files that replace the kernel's files of RDMA devices, and the paths by which programs look
 * for them. An input may describe a device. The files of the device must have the formats of the
 * kernel and agree with the device. An input also has paths of a program. Paths of counters must
 * open files with the values of the counters. The library must not change other paths.
 */

#include "bytes.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "ibverbs/paths/counted.h"
#include "ibverbs/paths/counters.h"
#include "ibverbs/paths/files.h"
#include "ibverbs/paths/tree.h"
#include "ibverbs/sysfs.h"

#undef ibv_query_port

#define NB_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))
#define CLASS              "/sys/class/infiniband/"
#define GIDS_MAX           8
#define TEXT_MAX           1024
#define FOREIGN_IFINDEX    7

int LLVMFuzzerInitialize(int *argc, char ***argv);
void *__real_dlsym(void *library, const char *name);
void *__real_dlopen(const char *name, int how);
void *__wrap_dlopen(const char *name, int how);
void *__wrap_dlsym(void *library, const char *name);
char *__wrap_if_indextoname(unsigned idx, char *name);

static char top[64];   /* path of a folder of this process, with two trees of files */
static char root[80];  /* path of the tree of the device `uroce0` */
static char fresh[80]; /* path of a tree that is created for one input */
static int class_dir;  /* descriptor of a directory of the tree `root` */

/* --- a device whose attributes the input determines -------------------------------------------------- */

static struct ibv_device device;
static struct ibv_device *list[2];
static struct ibv_context context = { .device = &device };
static struct ibv_device_attr device_attr;
static struct ibv_port_attr port_attr;
static struct ibv_gid_entry gids[GIDS_MAX];
static __be16 pkeys[GIDS_MAX];
static bool has_gid_ex;
static char ifname[IF_NAMESIZE];

static struct ibv_device **
get_device_list(int *nb)
{
	*nb = list[0] != NULL;
	return list;
}

static void
free_device_list(struct ibv_device **freed)
{
	expect(freed == list);
}

static struct ibv_context *
open_device(struct ibv_device *which)
{
	expect(which == &device);
	return &context;
}

static int
close_device(struct ibv_context *which)
{
	expect(which == &context);
	return 0;
}

static int
query_device(struct ibv_context *which, struct ibv_device_attr *attr)
{
	expect(which == &context);
	*attr = device_attr;
	return 0;
}

static int
query_port(struct ibv_context *which, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	expect(which == &context && port == 1);
	memcpy(attr, &port_attr, sizeof(port_attr));
	return 0;
}

static int
query_gid(struct ibv_context *which, uint8_t port, int idx, union ibv_gid *gid)
{
	expect(which == &context && port == 1 && idx >= 0 && idx < port_attr.gid_tbl_len);
	*gid = gids[idx].gid;
	return 0;
}

static int
query_gid_ex(struct ibv_context *which, uint32_t port, uint32_t idx, struct ibv_gid_entry *entry,
	     uint32_t flags, size_t size)
{
	expect(which == &context && port == 1 && flags == 0 && size == sizeof(*entry));
	expect(idx < (uint32_t)port_attr.gid_tbl_len);
	*entry = gids[idx];
	return has_gid_ex ? 0 : EINVAL;
}

static int
query_pkey(struct ibv_context *which, uint8_t port, int idx, __be16 *pkey)
{
	expect(which == &context && port == 1 && idx >= 0 && idx < port_attr.pkey_tbl_len);
	*pkey = pkeys[idx];
	return 0;
}

void *
__wrap_dlopen(const char *name, int how)
{
	return name != NULL && strcmp(name, "libibverbs.so.1") == 0 ? &device
								    : __real_dlopen(name, how);
}

/*
 * The runtime of the sanitizers calls dlsym() before the runtime is initialized, so this function
 * must not be instrumented.
 */
__attribute__((no_sanitize("address", "undefined", "coverage"))) void *
__wrap_dlsym(void *library, const char *name)
{
	static const struct {
		const char *name;
		void *call;
	} calls[] = {
		{ "ibv_get_device_list", (void *)get_device_list },
		{ "ibv_free_device_list", (void *)free_device_list },
		{ "ibv_open_device", (void *)open_device },
		{ "ibv_close_device", (void *)close_device },
		{ "ibv_query_device", (void *)query_device },
		{ "ibv_query_port", (void *)query_port },
		{ "ibv_query_gid", (void *)query_gid },
		{ "_ibv_query_gid_ex", (void *)query_gid_ex },
		{ "ibv_query_pkey", (void *)query_pkey },
	};

	if (library != (void *)&device)
		return __real_dlsym(library, name);
	for (size_t i = 0; i < NB_ELEMENTS(calls); i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].call;
	return NULL;
}

char *
__wrap_if_indextoname(unsigned idx, char *name)
{
	return idx == FOREIGN_IFINDEX && ifname[0] != '\0' ? memcpy(name, ifname, sizeof(ifname))
							   : NULL;
}

/*
 * Replaces the function that reads a counter. Each counter of each device gets a different value,
 * so that a file with the value of a wrong counter is noticed.
 */
uint64_t
counted(const char *name, const char *counter)
{
	uint64_t number = 1469598103934665603u;

	for (const char *text = name; *text != '\0'; text++)
		number = (number ^ (uint8_t)*text) * 1099511628211u;
	for (const char *text = counter; *text != '\0'; text++)
		number = (number ^ (uint8_t)*text) * 1099511628211u;
	return number;
}

/* --- files of the device -------------------------------------------------------------------------- */

static int
remove_one(const char *path, const struct stat *stat, int type, struct FTW *at)
{
	(void)stat;
	(void)type;
	(void)at;
	return remove(path);
}

static void
remove_top(void)
{
	(void)nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/*
 * Read the line of a file of the device in `fresh`.
 * @return length of the line, or -1 if the file does not exist
 */
__attribute__((format(printf, 2, 3))) static int
read_line(char line[TEXT_MAX], const char *format, ...)
{
	char dir[PATH_MAX], name[128];
	va_list args;
	int len;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	snprintf(dir, sizeof(dir), "%s%s%s", fresh, CLASS, device.name);
	len = ibv_read_sysfs_file(dir, name, line, TEXT_MAX);
	expect(len < TEXT_MAX);
	if (len >= 0)
		expect(strlen(line) == (size_t)len && strchr(line, '\n') == NULL);
	return len;
}

static void
expect_number(const char *name, int base, unsigned long long value)
{
	char line[TEXT_MAX], *end;

	expect(read_line(line, "%s", name) > 0);
	expect(strtoull(line, &end, base) == value && (*end == '\0' || *end == ':'));
}

static void
expect_gid(unsigned idx)
{
	char line[TEXT_MAX];
	union ibv_gid gid;

	expect(read_line(line, "ports/1/gids/%u", idx) == 39);
	for (unsigned i = 0; i < 8; i++) {
		unsigned word;

		expect(sscanf(line + 5 * i, "%4x", &word) == 1 && strchr(":", line[5 * i + 4]));
		gid.raw[2 * i] = (uint8_t)(word >> 8);
		gid.raw[2 * i + 1] = (uint8_t)word;
	}
	expect(memcmp(&gid, &gids[idx].gid, sizeof(gid)) == 0);
	expect((read_line(line, "ports/1/gid_attrs/types/%u", idx) > 0) == has_gid_ex);
	if (has_gid_ex)
		expect(strcmp(line, gids[idx].gid_type == IBV_GID_TYPE_ROCE_V2
					    ? "RoCE v2"
					    : "IB/RoCE v1") == 0);
}

static void
expect_files(void)
{
	char line[TEXT_MAX];
	unsigned words[4];

	expect_number("ports/1/state", 10, (unsigned)port_attr.state);
	expect_number("ports/1/phys_state", 10, port_attr.phys_state);
	expect_number("ports/1/lid", 16, port_attr.lid);
	expect_number("ports/1/lid_mask_count", 10, port_attr.lmc);
	expect_number("ports/1/sm_lid", 16, port_attr.sm_lid);
	expect_number("ports/1/sm_sl", 10, port_attr.sm_sl);
	expect_number("ports/1/cap_mask", 16, port_attr.port_cap_flags);
	expect_number("device/vendor", 16, device_attr.vendor_id);
	expect_number("device/device", 16, device_attr.vendor_part_id);
	expect_number("node_type", 10, IBV_NODE_CA);
	expect(read_line(line, "node_guid") == 19);
	expect(sscanf(line, "%4x:%4x:%4x:%4x", &words[0], &words[1], &words[2], &words[3]) == 4);
	expect(((uint64_t)words[0] << 48 | (uint64_t)words[1] << 32 | words[2] << 16 | words[3]) ==
	       be64toh(device_attr.node_guid));
	expect(read_line(line, "fw_ver") == (int)strlen(device_attr.fw_ver));
	expect(read_line(line, "ports/1/rate") > 0 && strstr(line, " Gb/sec (") != NULL);
	expect(read_line(line, "device/local_cpus") > 0 &&
	       strspn(line, "0123456789abcdef,") == strlen(line));
	for (unsigned i = 0; i < (unsigned)port_attr.gid_tbl_len; i++)
		expect_gid(i);
	expect(read_line(line, "ports/1/gids/%d", port_attr.gid_tbl_len) < 0);
	for (int i = 0; i < port_attr.pkey_tbl_len; i++) {
		expect(read_line(line, "ports/1/pkeys/%d", i) == 6);
		expect(strtoul(line, NULL, 16) == be16toh(pkeys[i]));
	}
	for (int is_hw = 0; is_hw < 2; is_hw++)
		for (unsigned i = 0; counters_name(is_hw, i) != NULL; i++)
			expect(read_line(line, "ports/1/%scounters/%s", is_hw ? "hw_" : "",
					 counters_name(is_hw, i)) == 0);
}

/*
 * Draw a name of printable characters without blanks and slashes, so that the name is one line and
 * not a path with several elements.
 */
static void
draw_name(struct bytes *in, char *name, size_t room)
{
	const size_t len = 1 + bytes_u8(in) % (room - 1);

	for (size_t i = 0; i < len; i++)
		name[i] = (char)('!' + bytes_u8(in) % ('~' - '!' + 1));
	name[len] = '\0';
	for (char *at = name; (at = strchr(at, '/')) != NULL;)
		*at = '_';
	if (strspn(name, ".") == len)
		name[0] = '_';
}

static void
draw_device(struct bytes *in)
{
	draw_name(in, device.name, sizeof(device.name));
	draw_name(in, device.dev_name, sizeof(device.dev_name));
	bytes_take(in, &device_attr, sizeof(device_attr));
	draw_name(in, device_attr.fw_ver, sizeof(device_attr.fw_ver));
	bytes_take(in, &port_attr, sizeof(port_attr));
	port_attr.state = (enum ibv_port_state)(bytes_u8(in) % 10);
	port_attr.gid_tbl_len = bytes_u8(in) % (GIDS_MAX + 1);
	port_attr.pkey_tbl_len = bytes_u8(in) % (GIDS_MAX + 1);
	bytes_take(in, pkeys, sizeof(pkeys));
	has_gid_ex = bytes_u8(in) % 2 == 0;
	ifname[0] = '\0';
	if (bytes_u8(in) % 2 == 0)
		draw_name(in, ifname, sizeof(ifname));
	for (unsigned i = 0; i < GIDS_MAX; i++) {
		bytes_take(in, &gids[i].gid, sizeof(gids[i].gid));
		gids[i].gid_type = bytes_u8(in) % 3;
		gids[i].ndev_ifindex = bytes_u8(in) % 2 == 0 ? FOREIGN_IFINDEX : 0;
	}
}

static void
make_files(struct bytes *in)
{
	draw_device(in);
	expect(mkdir(fresh, 0700) == 0);
	expect(files_make(fresh));
	expect_files();
	expect(nftw(fresh, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

/* --- paths of programs ---------------------------------------------------------------------------- */

static const char *const words[] = {
	CLASS,
	"/sys/class/infiniband",
	"/sys/class/infiniband_verbs",
	"/dev/infiniband",
	"/dev/infiniband/rdma_cm",
	"uroce0",
	"/ports/1/",
	"ports/1/counters/",
	"ports/1/hw_counters/",
	"counters",
	"hw_counters",
	"port_xmit_data",
	"port_rcv_packets",
	"link_downed",
	"rcvd_pkts",
	"rx_icrc_encapsulated",
	"/",
	"//",
	"./",
	"../",
	"..",
	"2",
	" (deleted)",
	"%s",
	"uroce1",
	"/abi_version",
	"/proc/self/fd/0",
};

static void
draw_path(struct bytes *in, char path[TEXT_MAX])
{
	size_t len = 0;

	for (unsigned nb = bytes_u8(in) % 12; nb > 0 && in->left > 0; nb--) {
		const uint8_t which = bytes_u8(in);
		const char one[2] = { (char)bytes_u8(in), '\0' };
		const char *word = which < NB_ELEMENTS(words) ? words[which] : one;
		const unsigned times = which == 0xff ? 100 : 1;

		for (unsigned i = 0; i < times && len + strlen(word) < TEXT_MAX; i++) {
			memcpy(path + len, word, strlen(word));
			len += strlen(word);
		}
	}
	path[len] = '\0';
}

/*
 * Open the file of a counter. Check that two reads both return the value of the counter that the
 * path names.
 */
static void
expect_counter(const char *where, int flags)
{
	const int fd = counters_open(where, flags);
	const char *name = strrchr(where, '/');
	char text[64], number[64];
	ssize_t len;

	expect(strncmp(where, CLASS "uroce0/", strlen(CLASS "uroce0/")) == 0);
	if (fd < 0) {
		expect((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_DIRECTORY)) != 0);
		return;
	}
	expect(counters_may_be(fd) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
	expect(((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0) == ((flags & O_CLOEXEC) != 0));
	snprintf(number, sizeof(number), "%" PRIu64 "\n", counted("uroce0", name + 1));
	for (unsigned i = 0; i < 2; i++) {
		len = pread(fd, text, sizeof(text), 0);
		expect(len == (ssize_t)strlen(number) && memcmp(text, number, (size_t)len) == 0);
		counters_renew(fd, 0);
	}
	expect(close(fd) == 0);
}

static void
look_for(struct bytes *in)
{
	static const int flags[] = {
		O_RDONLY, O_RDONLY | O_CLOEXEC,   O_WRONLY | O_TRUNC,
		O_RDWR,   O_RDONLY | O_DIRECTORY, O_RDONLY | O_CREAT | O_EXCL
	};
	const uint8_t how = bytes_u8(in);
	const int dir = how % 3 == 0 ? AT_FDCWD : how % 3 == 1 ? class_dir : 0;
	char path[TEXT_MAX], where[TREE_PATH_MAX], there[TREE_PATH_MAX], hidden[TREE_PATH_MAX];
	const char *to;

	draw_path(in, path);
	to = tree_redirect(path, there);
	if (to != path) {
		expect(to == there && strncmp(there, root, strlen(root)) == 0);
		expect(strcmp(there + strlen(root), path) == 0);
		memcpy(hidden, there, sizeof(hidden));
		expect(tree_hide(hidden) == hidden && strcmp(hidden, path) == 0);
	}
	errno = EBADE;
	if (counters_find(dir, path, where)) {
		expect(path[0] == '/' ? strcmp(where, path) == 0 : dir == class_dir);
		expect_counter(where, flags[how / 3 % NB_ELEMENTS(flags)]);
	}
}

/*
 * Find a counter by its absolute path, or by its path relative to an open directory, and read it.
 */
static void
find_counter(struct bytes *in)
{
	const bool is_hw = bytes_u8(in) % 2 == 0, is_whole = bytes_u8(in) % 2 == 0;
	unsigned idx = bytes_u8(in) % 64;
	char path[TREE_PATH_MAX], where[TREE_PATH_MAX];
	const char *const start = is_whole ? CLASS : "";

	while (counters_name(is_hw, idx) == NULL)
		idx /= 2;
	snprintf(path, sizeof(path), "%suroce0/ports/1/%s/%s", start,
		 is_hw ? "hw_counters" : "counters", counters_name(is_hw, idx));
	expect(counters_find(is_whole ? AT_FDCWD : class_dir, path, where));
	expect(strcmp(where + strlen(CLASS), path + strlen(start)) == 0);
	expect_counter(where, O_RDONLY);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[PATH_MAX];

	(void)argc;
	(void)argv;
	snprintf(top, sizeof(top), "%s/uroce-fuzz-paths-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	expect(mkdtemp(top) != NULL && atexit(remove_top) == 0);
	snprintf(fresh, sizeof(fresh), "%s/fresh", top);
	snprintf(root, sizeof(root), "%s/root", top);
	list[0] = &device;
	snprintf(device.name, sizeof(device.name), "uroce0");
	snprintf(device.dev_name, sizeof(device.dev_name), "uverbs0");
	expect(mkdir(root, 0700) == 0 && files_make(root) && setenv("UROCE_TREE", root, 1) == 0);
	snprintf(path, sizeof(path), "%s" CLASS, root);
	class_dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect(class_dir >= 0);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes in = { data, len };

	if (bytes_u8(&in) % 8 == 0)
		make_files(&in);
	find_counter(&in);
	while (in.left > 0)
		look_for(&in);
	return 0;
}
