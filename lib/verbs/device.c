/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of devices in this process. A device is created from a specification, or on a port that
 * the embedder (the DPDK application that links this library) has started, or it is announced and
 * started later. Programs find a device by its name in the list that uroce_get_device_list()
 * returns.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <rte_ethdev.h>

#include "datapath/log.h"
#include "datapath/device/telemetry.h"
#include "verbs/device_list.h"
#include "verbs/errno_ret.h"
#include "verbs/event.h"
#include "verbs/fork.h"
#include "verbs/object.h"
#include "verbs/uroce.h"

pthread_mutex_t uroce_vdevice_list_lock = PTHREAD_MUTEX_INITIALIZER;
struct uroce_vdevice *uroce_vdevice_list;

/*
 * Find the lowest number that no device has.
 * @return the number; `*link` is the place in the list where a device with this number belongs
 */
static unsigned
free_idx(struct uroce_vdevice ***link)
{
	struct uroce_vdevice **at = &uroce_vdevice_list;
	unsigned idx = 0;

	for (; *at != NULL && (*at)->idx == idx; idx++)
		at = &(*at)->next;
	*link = at;
	return idx;
}

static void
name_device(struct uroce_vdevice *device, unsigned idx)
{
	struct ibv_device *const ibv = &device->ibv;

	ibv->node_type = IBV_NODE_CA;
	ibv->transport_type = IBV_TRANSPORT_IB;
	snprintf(ibv->name, sizeof(ibv->name), "uroce%u", idx);
	snprintf(ibv->dev_name, sizeof(ibv->dev_name), "uverbs%u", idx);
	snprintf(ibv->dev_path, sizeof(ibv->dev_path), "/sys/class/infiniband_verbs/%s",
		 ibv->dev_name);
	snprintf(ibv->ibdev_path, sizeof(ibv->ibdev_path), "/sys/class/infiniband/%s", ibv->name);
	device->idx = idx;
	device->provider = &device->provider;
}

/*
 * Add a device to the list. The caller holds `uroce_vdevice_list_lock`. If `vdev` gives the
 * arguments of a virtual port, the device is only announced; if `vdev` is NULL, the device is
 * started.
 */
static int
add_device(const struct uroce_dev_conf *conf, const char *vdev, struct uroce_vdevice **out)
{
	struct uroce_vdevice **link;
	struct uroce_vdevice *device;
	int ret;

	device = calloc(1, sizeof(*device));
	if (device == NULL)
		return -ENOMEM;
	ret = vdev != NULL ? uroce_dev_plan(conf, vdev, &device->dev)
			   : uroce_dev_create(conf, &device->dev);
	if (ret != 0) {
		free(device);
		return ret;
	}
	atomic_init(&device->is_up, vdev == NULL);
	pthread_mutex_init(&device->start_lock, NULL);
	pthread_mutex_init(&device->agent_lock, NULL);
	pthread_mutex_init(&device->lock, NULL);
	name_device(device, free_idx(&link));
	device->next = *link;
	*link = device;
	*out = device;
	if (vdev == NULL)
		uroce_telemetry_add(device->dev, device->ibv.name);
	return 0;
}

/* --- fork -------------------------------------------------------------------------------------- */

static pthread_once_t fork_handler_once = PTHREAD_ONCE_INIT;

/*
 * This function runs in the child after fork(). A device that is up stays with the parent, so the
 * child must not use it (verbs/fork.h). A port can have only one owner, but an announced device has
 * no port yet. So the child can use the announced device, too, with event descriptors of its own.
 * No lock is taken, because the thread that held the lock may not exist in the child.
 */
static void
become_child(void)
{
	for (struct uroce_vdevice *device = uroce_vdevice_list; device != NULL;
	     device = device->next) {
		if (atomic_load(&device->is_up))
			uroce_fork_child = true;
		else
			uroce_vevent_renew(device);
	}
}

static void
register_fork_handler(void)
{
	(void)pthread_atfork(NULL, NULL, become_child);
}

/* ----------------------------------------------------------------------------------------------- */

static struct ibv_device *
create_device(const struct uroce_dev_conf *conf, const char *vdev, int (*start)(void *arg),
	      void *arg)
{
	struct uroce_vdevice *device = NULL;

	(void)pthread_once(&fork_handler_once, register_fork_handler);
	pthread_mutex_lock(&uroce_vdevice_list_lock);
	const int ret = add_device(conf, vdev, &device);

	/*
	 * The device's callback `start` is set while `uroce_vdevice_list_lock` is held, so that no
	 * other thread finds the device without its callback.
	 */
	if (ret == 0) {
		device->start = start;
		device->start_arg = arg;
	}
	pthread_mutex_unlock(&uroce_vdevice_list_lock);
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	return &device->ibv;
}

struct ibv_device *
uroce_create_device(const char *spec)
{
	struct uroce_dev_conf conf;
	const int ret = spec != NULL ? uroce_dev_conf_parse(spec, &conf) : -EINVAL;

	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	return create_device(&conf, NULL, NULL, NULL);
}

struct ibv_device *
uroce_announce_device(const char *spec, const char *vdev, int (*start)(void *arg), void *arg)
{
	struct uroce_dev_conf conf;
	const int ret = spec != NULL && vdev != NULL && start != NULL
				? uroce_dev_conf_parse(spec, &conf)
				: -EINVAL;

	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	return create_device(&conf, vdev, start, arg);
}

/*
 * Parse the specification of a device on a port that the embedder (a DPDK application) hands over:
 * the port's name, followed by the `keys` of the embedder.
 */
static int
parse_on_port(uint16_t port_id, const char *keys, struct uroce_dev_conf *conf)
{
	char port[RTE_ETH_NAME_MAX_LEN];
	char *spec;
	int ret = uroce_dev_check_eal("the port that was handed over");

	if (ret != 0)
		return ret;
	if (rte_eth_dev_get_name_by_port(port_id, port) != 0) {
		UROCE_LOG(ERR, dev, "port %u does not exist: there are %u", port_id,
			  rte_eth_dev_count_avail());
		return -ENODEV;
	}
	if (asprintf(&spec, "%s%s%s", port, keys[0] != '\0' ? "," : "", keys) < 0)
		return -ENOMEM;
	ret = uroce_dev_conf_parse(spec, conf);
	free(spec);
	if (ret != 0)
		return ret;
	conf->is_handed_over = true;
	/*
	 * drive=app is the default only for ports that uroce starts. This port belongs to a DPDK
	 * application, which also drives the workers.
	 */
	if (conf->drive == UROCE_DRIVE_APP)
		conf->drive = UROCE_DRIVE_NONE;
	return 0;
}

struct ibv_device *
uroce_create_device_on_port(uint16_t port_id, const char *spec)
{
	struct uroce_dev_conf conf;
	const int ret = parse_on_port(port_id, spec != NULL ? spec : "", &conf);

	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	return create_device(&conf, NULL, NULL, NULL);
}

static unsigned
count_devices(void)
{
	unsigned nb = 0;

	for (const struct uroce_vdevice *device = uroce_vdevice_list; device != NULL;
	     device = device->next)
		nb++;
	return nb;
}

struct ibv_device **
uroce_get_device_list(int *num_devices)
{
	struct ibv_device **list;
	int nb = 0;

	pthread_mutex_lock(&uroce_vdevice_list_lock);
	list = calloc(count_devices() + 1, sizeof(*list));
	if (list != NULL)
		for (struct uroce_vdevice *device = uroce_vdevice_list; device != NULL;
		     device = device->next)
			list[nb++] = &device->ibv;
	pthread_mutex_unlock(&uroce_vdevice_list_lock);

	if (list == NULL)
		errno = ENOMEM;
	if (num_devices != NULL)
		*num_devices = nb;
	return list;
}

void
uroce_free_device_list(struct ibv_device **list)
{
	free(list);
}

static bool
has_command(struct uroce_vdevice *device, const struct stat *command)
{
	const struct uroce_vcontext *context;

	pthread_mutex_lock(&device->lock);
	context = device->contexts;
	while (context != NULL &&
	       (context->command_dev != command->st_dev || context->command_ino != command->st_ino))
		context = context->next;
	pthread_mutex_unlock(&device->lock);
	return context != NULL;
}

struct uroce_vdevice *
uroce_vdevice_of_command(const struct stat *command)
{
	struct uroce_vdevice *device;

	pthread_mutex_lock(&uroce_vdevice_list_lock);
	device = uroce_vdevice_list;
	while (device != NULL && !has_command(device, command))
		device = device->next;
	pthread_mutex_unlock(&uroce_vdevice_list_lock);
	return device;
}
