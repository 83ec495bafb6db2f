/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_UCMA_H
#define UCMA_UCMA_H

/**
 * @file
 * Objects of the emulation of /dev/infiniband/rdma_cm, by which librdmacm uses connection
 * management. The names are those of the kernel: ucma is the module that serves this file, and ABI
 * version 4 of <rdma/rdma_user_cm.h> is its interface.
 *
 * A program opens the file, and each open file is an event channel. A write() to it is a command.
 * Commands create ids and make calls for them; each id belongs to one file. The command GET_EVENT
 * takes the oldest event of the ids of the file.
 *
 * Each open file has an event channel of <uroce_cm.h>, and each id of the program has an id of
 * <uroce_cm.h>. The QP of an id is the program's own. Events wait in the channel, and the files of
 * this folder store no events.
 *
 * One lock, ucma_lock, protects all fields except where a comment says otherwise. No thread holds
 * ucma_lock during a call of <uroce_cm.h>, because that library calls functions of this folder that
 * take ucma_lock (uroce_cm_dv_watch_channel()). The mutex of an id serializes the commands for this
 * id.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uroce_cm.h>
#include <uroce_cm_dv.h>

#include "ready_pipe.h"
#include "uapi.h"

extern pthread_mutex_t ucma_lock;

LIST_HEAD(ucma_ctxs, ucma_ctx);
LIST_HEAD(ucma_mcasts, ucma_mcast);

/** An open file of /dev/infiniband/rdma_cm. */
struct ucma_file {
	LIST_ENTRY(ucma_file) link; /* link in the list of open files with the same hash */
	struct ready_pipe pipe;     /* pipe that polls readable while `channel` has an event */
	/*
	 * event channel of <uroce_cm.h> for the file, whose `fd` is non-blocking; the pointer is
	 * set once
	 */
	struct rdma_event_channel *channel;
	struct ucma_ctxs ctxs;
	/*
	 * number of commands and closes that use the open file; the last of them frees the file if
	 * the file is closed
	 */
	unsigned nb_refs;
	/* no descriptor of the open file is left */
	bool is_closed;
};

/** An id of connection management that the program has created by a command of librdmacm. */
struct ucma_ctx {
	LIST_ENTRY(ucma_ctx) link; /* link in the list of ids of `file` */
	uint32_t id;
	/* open file to which the id belongs; NULL: commands of librdmacm do not find the id yet */
	struct ucma_file *file;
	/*
	 * id of <uroce_cm.h>; the pointer is set once, before commands of librdmacm find the struct
	 */
	struct rdma_cm_id *cm_id;
	/* mutex that serializes the commands for the id; ucma_lock does not protect this field */
	pthread_mutex_t mutex;
	/*
	 * The program's cookie, which each event of the id carries. 0: the id was made for a
	 * CONNECT_REQUEST, and the program has not accepted it. Events of such an id are dropped,
	 * because without a cookie the program could not find out to which id they belong.
	 */
	uint64_t uid;
	/*
	 * number of events of the id that GET_EVENT has returned: librdmacm frees an id only when
	 * the program has acknowledged this number of events
	 */
	uint32_t nb_events_reported;
	unsigned nb_refs; /* number of commands for the id that are in progress */
	struct ucma_mcasts mcasts;
};

/** Membership of an id in a multicast group. */
struct ucma_mcast {
	/* link in the list of multicast memberships of the id `ctx` */
	LIST_ENTRY(ucma_mcast) link;
	uint32_t id;
	struct ucma_ctx *ctx;
	uint64_t uid; /* the program's cookie, which events of the group carry */
	uint32_t nb_events_reported;
	/* address of the group; it is written once, so no lock protects it */
	struct sockaddr_storage addr;
};

#endif /* UCMA_UCMA_H */
