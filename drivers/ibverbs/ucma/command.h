/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_COMMAND_H
#define UCMA_COMMAND_H

/**
 * @file
 * The commands of <rdma/rdma_user_cm.h>, which a program writes to an open file of
 * /dev/infiniband/rdma_cm, and the functions that execute them.
 */

#include <stddef.h>
#include <sys/types.h>

#include "ucma.h"

/** A command of librdmacm that is being executed. */
struct ucma_call {
	struct ucma_file *file;
	/* descriptor of /dev/infiniband/rdma_cm to which the program has written the command */
	int fd;
	/*
	 * number of bytes that the program has for the response, according to the header of the
	 * command
	 */
	size_t out_len;
	/*
	 * whether the thread that executes the command may be cancelled while it waits: a state for
	 * pthread_setcancelstate(3)
	 */
	int cancel_state;
};

/**
 * Execute a command of librdmacm.
 *
 * @param in  the struct of the command, with zeros behind what the program gave
 * @return 0, or -errno
 */
typedef int ucma_handler(struct ucma_call *call, const void *in);

/**
 * Execute the command that a program has written to an open file of /dev/infiniband/rdma_cm.
 *
 * @param call  the caller has set all fields but `out_len`
 * @param buf   memory of the program, which need not be mapped
 * @mt Safe; the caller does not hold ucma_lock. Cancellation is disabled, except while GET_EVENT
 *         waits. GET_EVENT waits only on a blocking descriptor.
 * @return `len`, or -errno. EINVAL: there is no such command, or the command is too short; ENOSYS:
 *         a command that the kernel does not have either; EFAULT: a pointer to memory that is not
 *         mapped; ENOSPC: no room for the response. The other errors are those of the commands:
 *         ENOENT (no such id), EINVAL (the id is of another file, is not bound, or is in another
 *         state), and those of the calls of <uroce_cm.h>.
 */
ssize_t ucma_command(struct ucma_call *call, const void *buf, size_t len);

/**
 * Write the response of a command to the program, or the first part of it for which the program has
 * room.
 * @return 0, or -EFAULT
 */
int ucma_respond(const struct ucma_call *call, uint64_t response, const void *from, size_t len);

/* handlers in cmd_id.c of the commands for ids and their options */
ucma_handler ucma_create_id, ucma_destroy_id, ucma_migrate_id, ucma_set_option;
/* handlers in cmd_addr.c of the commands for addresses and routes */
ucma_handler ucma_bind_ip, ucma_bind, ucma_resolve_ip, ucma_resolve_addr, ucma_resolve_route;
/* handlers in cmd_query.c of the commands that query an id */
ucma_handler ucma_query_route, ucma_query;
/* handlers in cmd_conn.c of the commands for connections and their QPs */
ucma_handler ucma_connect, ucma_listen, ucma_accept, ucma_reject, ucma_disconnect, ucma_notify,
	ucma_init_qp_attr;
/* handler in cmd_event.c of the command GET_EVENT */
ucma_handler ucma_get_event;
/* handlers in cmd_mcast.c of the commands for multicast groups */
ucma_handler ucma_join_ip_mcast, ucma_join_mcast, ucma_leave_mcast;

#endif /* UCMA_COMMAND_H */
