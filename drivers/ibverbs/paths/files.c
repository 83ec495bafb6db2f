/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the files of the private tree, which replace the kernel's files of RDMA devices. Their
 * names and formats are those of Linux' Documentation/ABI/stable/sysfs-class-infiniband. A file
 * that exists in the kernel, but cannot be read there, does not exist in the tree. Each counter has
 * an empty file, so that directories list it (counters.h).
 */

#include "files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>

#include "counters.h"
#include "tree.h"

#undef ibv_query_port

/*
 * Version of the kernel's verbs interface, and of the interface of the device's kernel driver.
 * uroce has no kernel driver.
 */
#define ABI_VERSION        6
#define DEVICE_ABI_VERSION 1

/*
 * Path and device number of the file that the private tree (tree.h) has in place of the device node
 * of an RDMA device.
 */
#define NULL_DEVICE "/dev/null"
#define NULL_NUMBER "1:3"

/* The calls of libibverbs that this file uses. */
#define CALLS(X)                                                                                   \
	X(ibv_get_device_list)                                                                     \
	X(ibv_free_device_list)                                                                    \
	X(ibv_open_device)                                                                         \
	X(ibv_close_device)                                                                        \
	X(ibv_query_device)                                                                        \
	X(ibv_query_port)                                                                          \
	X(ibv_query_gid)                                                                           \
	X(_ibv_query_gid_ex)                                                                       \
	X(ibv_query_pkey)

struct calls {
#define X(name) __typeof__(&name) name;
	CALLS(X)
#undef X
};

/* The properties of an RDMA device, from which its files in the private tree are written. */
struct facts {
	const struct calls *calls;
	struct ibv_context *context;
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	/* name of the kernel interface to which the device belongs; empty if there is none */
	char ifname[IF_NAMESIZE];
};

/* A directory of the private tree of files, into which files are written. */
struct dir {
	char path[PATH_MAX];
};

/* --- queries -------------------------------------------------------------------------------------- */

static bool
query_gid_ex(const struct facts *facts, unsigned idx, struct ibv_gid_entry *entry)
{
	return facts->calls->_ibv_query_gid_ex(facts->context, 1, idx, entry, 0, sizeof(*entry)) ==
	       0;
}

/*
 * Query the properties of an RDMA device. libibverbs fills only the first fields of struct
 * ibv_port_attr, and this file uses no others.
 */
static bool
ask(struct facts *facts)
{
	const struct calls *const calls = facts->calls;
	struct ibv_gid_entry entry;

	if (calls->ibv_query_device(facts->context, &facts->device) != 0 ||
	    calls->ibv_query_port(facts->context, 1,
				  (struct _compat_ibv_port_attr *)&facts->port) != 0)
		return false;
	for (int i = 0; i < facts->port.gid_tbl_len && facts->ifname[0] == '\0'; i++)
		if (query_gid_ex(facts, (unsigned)i, &entry) && entry.ndev_ifindex != 0)
			(void)if_indextoname(entry.ndev_ifindex, facts->ifname);
	return true;
}

/* --- writing -------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static bool
enter(struct dir *dir, const struct dir *in, const char *format, ...)
{
	size_t len = strlen(in->path);
	va_list args;
	int nb;

	memcpy(dir->path, in->path, len);
	dir->path[len++] = '/';
	va_start(args, format);
	nb = vsnprintf(dir->path + len, sizeof(dir->path) - len, format, args);
	va_end(args);
	return nb < (int)(sizeof(dir->path) - len) &&
	       (mkdir(dir->path, 0755) == 0 || errno == EEXIST);
}

static bool
make_link(const struct dir *dir, const char *name, const char *to)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", dir->path, name) < (int)sizeof(path) &&
	       symlink(to, path) == 0;
}

/* Write a file of one line into a directory of the private tree. */
__attribute__((format(printf, 3, 4))) static bool
put(const struct dir *dir, const char *name, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	FILE *file;
	bool is_put;

	if (snprintf(path, sizeof(path), "%s/%s", dir->path, name) >= (int)sizeof(path))
		return false;
	file = fopen(path, "we");
	if (file == NULL)
		return false;
	va_start(args, format);
	is_put = vfprintf(file, format, args) >= 0 && fputc('\n', file) != EOF &&
		 fchmod(fileno(file), 0444) == 0;
	va_end(args);
	return fclose(file) == 0 && is_put;
}

static bool
put_at(const struct dir *dir, unsigned idx, const char *text)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", idx);
	return put(dir, name, "%s", text);
}

/* --- a port --------------------------------------------------------------------------------------- */

static const char *const state_names[] = {
	[IBV_PORT_NOP] = "NOP",       [IBV_PORT_DOWN] = "DOWN",
	[IBV_PORT_INIT] = "INIT",     [IBV_PORT_ARMED] = "ARMED",
	[IBV_PORT_ACTIVE] = "ACTIVE", [IBV_PORT_ACTIVE_DEFER] = "ACTIVE_DEFER",
};

static const char *const phys_state_names[] = {
	"<unknown>",
	"Sleep",
	"Polling",
	"Disabled",
	"PortConfigurationTraining",
	"LinkUp",
	"LinkErrorRecovery",
	"Phy Test",
};

/*
 * The speed of a lane of a link for each code of active_speed in struct ibv_port_attr. The last row
 * is for all other codes.
 */
static const struct {
	uint8_t code;
	const char *name;
	unsigned dgbps; /* speed of a lane in units of 0.1 Gb/s */
} speeds[] = {
	{ 2, " DDR", 50 },   { 4, " QDR", 100 },  { 8, " FDR10", 100 }, { 16, " FDR", 140 },
	{ 32, " EDR", 250 }, { 64, " HDR", 500 }, { 1, "", 25 },
};

/*
 * The number of lanes of a link for each bit of active_width in struct ibv_port_attr; the number of
 * the bit is the index.
 */
static const unsigned widths[] = { 1, 4, 8, 12, 2 };

static bool
put_rate(const struct dir *port, const struct ibv_port_attr *attr)
{
	const size_t nb_speeds = sizeof(speeds) / sizeof(speeds[0]);
	const size_t nb_widths = sizeof(widths) / sizeof(widths[0]);
	size_t speed = 0, width = 0;

	while (speed + 1 < nb_speeds && speeds[speed].code != attr->active_speed)
		speed++;
	while (width + 1 < nb_widths && 1u << width != attr->active_width)
		width++;

	const unsigned dgbps = speeds[speed].dgbps * widths[width];

	return put(port, "rate", "%u%s Gb/sec (%uX%s)", dgbps / 10, dgbps % 10 != 0 ? ".5" : "",
		   widths[width], speeds[speed].name);
}

static const char *
name_of(const char *const *names, size_t nb, unsigned code, const char *none)
{
	return code < nb ? names[code] : none;
}

#define NAME_OF(names, code, none) name_of(names, sizeof(names) / sizeof(names[0]), code, none)

static bool
put_port_attr(const struct dir *port, const struct ibv_port_attr *attr)
{
	return put(port, "state", "%d: %s", attr->state,
		   NAME_OF(state_names, attr->state, "UNKNOWN")) &&
	       put(port, "phys_state", "%d: %s", attr->phys_state,
		   NAME_OF(phys_state_names, attr->phys_state, "<unknown>")) &&
	       put_rate(port, attr) && put(port, "lid", "0x%x", attr->lid) &&
	       put(port, "lid_mask_count", "%d", attr->lmc) &&
	       put(port, "sm_lid", "0x%x", attr->sm_lid) && put(port, "sm_sl", "%d", attr->sm_sl) &&
	       put(port, "cap_mask", "0x%08x", attr->port_cap_flags) &&
	       put(port, "link_layer", "%s",
		   attr->link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
}

/*
 * Write the file of a GID of an RDMA device. Unless the GID is empty, also write the files of its
 * type and its interface.
 */
static bool
put_gid(const struct facts *facts, const struct dir dirs[3], unsigned idx)
{
	struct ibv_gid_entry entry;
	union ibv_gid gid;
	char text[40];
	size_t len = 0;

	if (facts->calls->ibv_query_gid(facts->context, 1, (int)idx, &gid) != 0)
		return false;
	for (unsigned i = 0; i < sizeof(gid.raw); i += 2)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%02x%02x",
					i == 0 ? "" : ":", gid.raw[i], gid.raw[i + 1]);
	if (!put_at(&dirs[0], idx, text))
		return false;
	if (!query_gid_ex(facts, idx, &entry))
		return true;
	return put_at(&dirs[1], idx,
		      entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1") &&
	       (facts->ifname[0] == '\0' || put_at(&dirs[2], idx, facts->ifname));
}

static bool
put_tables(const struct facts *facts, const struct dir *port)
{
	struct dir attrs, gids[3], pkeys;
	char text[8];
	__be16 pkey;

	if (!enter(&gids[0], port, "gids") || !enter(&attrs, port, "gid_attrs") ||
	    !enter(&gids[1], &attrs, "types") || !enter(&gids[2], &attrs, "ndevs") ||
	    !enter(&pkeys, port, "pkeys"))
		return false;
	for (int i = 0; i < facts->port.gid_tbl_len; i++)
		if (!put_gid(facts, gids, (unsigned)i))
			return false;
	for (int i = 0; i < facts->port.pkey_tbl_len; i++) {
		if (facts->calls->ibv_query_pkey(facts->context, 1, i, &pkey) != 0)
			return false;
		snprintf(text, sizeof(text), "0x%04x", be16toh(pkey));
		if (!put_at(&pkeys, (unsigned)i, text))
			return false;
	}
	return true;
}

static bool
put_counters(const struct dir *port, bool is_hw)
{
	char path[PATH_MAX];
	struct dir dir;
	const char *name;
	int fd = 0;

	if (!enter(&dir, port, is_hw ? "hw_counters" : "counters"))
		return false;
	for (unsigned i = 0; fd >= 0 && (name = counters_name(is_hw, i)) != NULL; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", dir.path, name) >= (int)sizeof(path))
			return false;
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
		if (fd >= 0)
			close(fd);
	}
	return fd >= 0;
}

static bool
put_port(const struct facts *facts, const struct dir *device)
{
	struct dir ports, port;

	return enter(&ports, device, "ports") && enter(&port, &ports, "1") &&
	       put_port_attr(&port, &facts->port) && put_tables(facts, &port) &&
	       put_counters(&port, false) && put_counters(&port, true);
}

/* --- the device of the kernel interface ------------------------------------------------------------- */

/*
 * In a directory of the private tree, make `name` a link to the file of that name that the kernel
 * has for the hardware of an interface. If the kernel has no such file, write a file with the text
 * `without`.
 */
static bool
put_locality(const struct dir *device, const char *ifname, const char *name, const char *without)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/%s", ifname, name);
	if (ifname[0] != '\0' && access(path, R_OK) == 0)
		return make_link(device, name, path);
	return put(device, name, "%s", without);
}

/* Format a mask of all CPUs as the kernel does: in words of 32 bits, the highest word first. */
static void
format_cpus(char *text, size_t len)
{
	const long nb = sysconf(_SC_NPROCESSORS_CONF);
	const long nb_words = nb > 0 ? (nb + 31) / 32 : 1;
	size_t at = 0;

	for (long word = nb_words; word-- > 0 && at < len;) {
		const long nb_bits = nb - word * 32;
		const uint32_t mask = nb_bits >= 32 ? UINT32_MAX : (1u << nb_bits) - 1;

		at += (size_t)snprintf(text + at, len - at, word == nb_words - 1 ? "%x" : ",%08x",
				       mask);
	}
}

static bool
put_net(const struct dir *device, const char *ifname)
{
	char path[PATH_MAX];
	struct dir net;

	snprintf(path, sizeof(path), "/sys/class/net/%s", ifname);
	return enter(&net, device, "net") && make_link(&net, ifname, path);
}

static bool
put_behind(const struct facts *facts, const struct dir *dir)
{
	const char *const ifname = facts->ifname;
	char cpus[1024], list[32];
	struct dir device;

	format_cpus(cpus, sizeof(cpus));
	snprintf(list, sizeof(list), "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
	return enter(&device, dir, "device") &&
	       put(&device, "vendor", "0x%04x", facts->device.vendor_id) &&
	       put(&device, "device", "0x%04x", facts->device.vendor_part_id) &&
	       put_locality(&device, ifname, "numa_node", "-1") &&
	       put_locality(&device, ifname, "local_cpus", cpus) &&
	       put_locality(&device, ifname, "local_cpulist", list) &&
	       (ifname[0] == '\0' || put_net(&device, ifname));
}

/* --- a device ------------------------------------------------------------------------------------- */

static bool
put_guid(const struct dir *dir, const char *name, __be64 guid)
{
	const uint64_t id = be64toh(guid);

	return put(dir, name, "%04x:%04x:%04x:%04x", (unsigned)(id >> 48),
		   (unsigned)(id >> 32) & 0xffff, (unsigned)(id >> 16) & 0xffff,
		   (unsigned)id & 0xffff);
}

static bool
put_facts(const struct facts *facts, const struct dir *class)
{
	const char *const name = facts->context->device->name;
	struct dir device;

	return enter(&device, class, "%s", name) &&
	       put(&device, "node_type", "%d: CA", IBV_NODE_CA) &&
	       put_guid(&device, "node_guid", facts->device.node_guid) &&
	       put_guid(&device, "sys_image_guid", facts->device.sys_image_guid) &&
	       put(&device, "node_desc", "%s", name) &&
	       put(&device, "fw_ver", "%s", facts->device.fw_ver) && put_port(facts, &device) &&
	       put_behind(facts, &device);
}

static bool
put_device(const struct calls *calls, struct ibv_device *device, const struct dir *class)
{
	struct facts facts = { .calls = calls, .context = calls->ibv_open_device(device) };
	bool is_put;

	if (facts.context == NULL)
		return false;
	is_put = ask(&facts) && put_facts(&facts, class);
	(void)calls->ibv_close_device(facts.context);
	return is_put;
}

/*
 * Write a device's directory in sys/class/infiniband_verbs of the private tree, and make the
 * symbolic link that replaces its device node in dev/infiniband.
 */
static bool
put_verbs(const struct ibv_device *ibv, const struct dir *class, const struct dir *nodes)
{
	char device[PATH_MAX];
	struct dir verbs;

	snprintf(device, sizeof(device), "../../infiniband/%s/device", ibv->name);
	return enter(&verbs, class, "%s", ibv->dev_name) && put(&verbs, "ibdev", "%s", ibv->name) &&
	       put(&verbs, "abi_version", "%d", DEVICE_ABI_VERSION) &&
	       put(&verbs, "dev", NULL_NUMBER) && make_link(&verbs, "device", device) &&
	       make_link(nodes, ibv->dev_name, NULL_DEVICE);
}

static bool
put_all(const struct calls *calls, struct ibv_device **list, const char *root)
{
	struct dir dir, sys, dev, devices, verbs, nodes, channel;
	snprintf(dir.path, sizeof(dir.path), "%s", root);
	if (!enter(&sys, &dir, "sys") || !enter(&sys, &dir, "sys/class") ||
	    !enter(&devices, &sys, "infiniband") || !enter(&verbs, &sys, "infiniband_verbs") ||
	    !enter(&dev, &dir, "dev") || !enter(&nodes, &dev, "infiniband") ||
	    !put(&verbs, "abi_version", "%d", ABI_VERSION) || !enter(&channel, &sys, "misc") ||
	    !enter(&channel, &sys, "misc/rdma_cm") ||
	    !put(&channel, "abi_version", "%d", RDMA_USER_CM_ABI_VERSION) ||
	    !put(&channel, "dev", NULL_NUMBER))
		return false;
	for (unsigned i = 0; list[i] != NULL; i++)
		if (!put_device(calls, list[i], &devices) || !put_verbs(list[i], &verbs, &nodes))
			return false;
	return make_link(&nodes, "rdma_cm", NULL_DEVICE);
}

/* --- the interface -------------------------------------------------------------------------------- */

static bool
find_calls(struct calls *calls)
{
	void *const library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);

	if (library == NULL) {
		fprintf(stderr, "uroce: %s\n", dlerror());
		return false;
	}
#define X(name) calls->name = (__typeof__(calls->name))dlsym(library, #name);
	CALLS(X)
#undef X
	for (size_t i = 0; i < sizeof(*calls) / sizeof(void *); i++)
		if (((void **)calls)[i] == NULL)
			return false;
	return true;
}

bool
files_make(const char *root)
{
	struct ibv_device **list;
	struct calls calls;
	bool is_made;
	int nb = 0;

	if (!find_calls(&calls))
		return false;
	list = calls.ibv_get_device_list(&nb);
	if (list == NULL)
		return false;
	is_made = nb > 0 && put_all(&calls, list, root);
	if (nb > 0 && !is_made)
		fprintf(stderr, "uroce: %s: %s\n", root, strerror(errno));
	calls.ibv_free_device_list(list);
	return is_made;
}
