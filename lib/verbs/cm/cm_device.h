/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_VERBS_CM_CM_DEVICE_H
#define UROCE_VERBS_CM_CM_DEVICE_H

/**
 * @file
 * The devices of the process as connection management sees them. All ids of a device share one
 * struct uroce_vcm_device.
 *
 * The caller holds uroce_vcm_lock, except where a comment says otherwise.
 */

#include "datapath/net/gid_table.h"
#include "verbs/cm/id.h"

struct uroce_vcm_device {
	struct uroce_vcm_device *next;
	/*
	 * context that the ids of the device have as `verbs`; its asynchronous events go to the
	 * program
	 */
	struct ibv_context *context;
	/*
	 * second context of the device, which the library itself uses for the connection manager
	 * and for the events of the port
	 */
	struct ibv_context *own;
	/* connection manager of the device; NULL: no id has been bound to the device yet */
	struct uroce_cm_manager *manager;
	/* default PD of the device; NULL: no id has been bound to the device yet */
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd; /* default XRC domain of the device; NULL: no id has used it yet */
	struct uroce_vcm_end *ends;
	/* number of resolutions of addresses by this device that have not ended */
	unsigned nb_resolutions;
	/* the program does the work of the device's agent, see uroce_cm_set_drive() */
	bool drives_agent;
	bool is_gone; /* the connection manager or the port of the device is lost */
};

/**
 * Open the devices that exist now and are not open.
 * @param[out] first  list of the open devices; NULL: no device is open
 * @return 0, or -errno of uroce_open_device(): some devices may be missing in the list
 */
int uroce_vcm_device_open_all(struct uroce_vcm_device **first);

/**
 * Whether the program does all work of connection management, see uroce_cm_set_drive(). The value
 * changes only while no id exists.
 */
extern bool uroce_vcm_drive_is_none;

/**
 * Do the work of all agents (verbs/cm/agent.h) whose threads were ended because the program does
 * their work, see uroce_cm_set_drive().
 */
void uroce_vcm_device_drive_agents(void);

/** Get the first device in the list of open devices. */
struct uroce_vcm_device *uroce_vcm_device_first(void);

/**
 * Close the contexts of a device, if neither an id nor an object of the program uses the device.
 * The caller must not hold uroce_vcm_lock.
 */
void uroce_vcm_device_release(const struct ibv_device *ibv);

/**
 * Get the default XRC domain of a device. The caller must not hold uroce_vcm_lock.
 * @return the domain, or NULL with errno
 */
struct ibv_xrcd *uroce_vcm_device_xrcd(struct uroce_vcm_device *device);

/** Copy the GID table of a device. */
void uroce_vcm_device_gids(const struct uroce_vcm_device *device, struct uroce_gid_table *gids);

/** Get the index of a GID in the GID table of a device; -1: the device does not have the GID. */
int uroce_vcm_device_find_gid(const struct uroce_vcm_device *device, const union ibv_gid *gid);

/**
 * Get the index of the kernel interface of the device's port; 0: the port has no kernel interface.
 */
unsigned uroce_vcm_device_if_index(const struct uroce_vcm_device *device);

/**
 * Make an end of an id: create an id at the connection manager of a device. The end becomes the
 * first one in the list of the id's ends.
 * @return 0, or -errno of uroce_cm_manager_open() or of create()
 */
int uroce_vcm_end_open(struct uroce_vcm_id *id, struct uroce_vcm_device *device);

/**
 * Make the end of a new id, which is its id at the device's connection manager. A CONNECT_REQUEST
 * has created that id.
 * @param number  number of the new id at the connection manager
 * @return 0, or -errno: the caller destroys the new id
 */
int uroce_vcm_end_adopt(struct uroce_vcm_id *id, struct uroce_vcm_device *device, uint32_t number);

/**
 * Destroy all ends of an id, which are its ids at the connection managers of devices, except for
 * the end `kept`, which may be NULL.
 */
void uroce_vcm_end_close_all(struct uroce_vcm_id *id, const struct uroce_vcm_end *kept);

/**
 * Query the state of an id at its connection manager.
 * @return 0; -EINVAL: the id is not bound to a device; -EIO: the connection manager is lost
 */
int uroce_vcm_end_query(const struct uroce_vcm_id *id, struct uroce_cm_info *info);

#endif /* UROCE_VERBS_CM_CM_DEVICE_H */
