/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EXAMPLES_SIDE_H
#define APPS_EXAMPLES_SIDE_H

/**
 * @file
 * Functions that the examples share, so that the code of each example shows one feature. Two
 * processes, each with a device, connect by TCP, exchange numbers, and connect queue pairs.
 * apps/pingpong shows these steps in one file.
 *
 *	EXAMPLE [EAL options] -- --uroce=PORT,addr=192.0.2.1/24 [--port TCP-PORT]           the server
 *	EXAMPLE [EAL options] -- --uroce=PORT,addr=192.0.2.2/24 [--port TCP-PORT] SERVER    the client
 *
 * A failed check ends the program with one line on stderr and status 1. The program ends in the
 * same way when the two processes have exchanged nothing for a minute. A program that fails does
 * not destroy its device.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uroce.h>

/** Access rights that each process grants to the other, unless a region grants less. */
#define SIDE_ACCESS                                                                                \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/**
 * The state of one of the two processes of an example: its device, and its connection to the other
 * process.
 */
struct side {
	/* true if the command line has a SERVER, so this process is the client */
	bool is_client;
	const char *server;   /* the SERVER of the command line; NULL in the server */
	const char *tcp_port; /* TCP port of the server */
	int tcp;              /* TCP connection to the other process */
	struct ibv_device *device;
	struct ibv_context *context;
	struct ibv_pd *pd;
};

/** The numbers that two processes exchange to connect a QP with its peer. */
struct side_link {
	struct side_address {
		uint32_t qpn;      /* number of the QP */
		uint32_t psn;      /* PSN of the first request of this QP */
		union ibv_gid gid; /* IP address of the device, as a GID */
	} ours, theirs;
	enum ibv_mtu mtu; /* path MTU: the smaller one of the active MTUs of the two devices */
};

/** If `is_ok` is false, print the text of `format` as a line on stderr and end the program. */
void check(bool is_ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * Start EAL, create the device, connect to the other process, and wait for the link of the port.
 * Only this function writes the fields of `side`.
 */
void side_open(struct side *side, int argc, char **argv);

/**
 * Wait for the other process, then destroy what side_open() created. The example must have
 * destroyed its own objects.
 */
void side_close(struct side *side);

/**
 * Start EAL and read the command line. This is the first step of side_open(), for an example that
 * creates its device itself. side_open_device() and side_join() are the other steps.
 * @return the value of --uroce
 */
const char *side_begin(struct side *side, int argc, char **argv);

/** Open a device. If `device` is NULL, end the program. */
void side_open_device(struct side *side, struct ibv_device *device);

/**
 * Connect to the server by TCP. A client calls this function, before side_join(), if the client's
 * port must be started after the server's port: the server accepts the connection when it calls
 * side_join().
 */
void side_call(struct side *side);

/**
 * Connect to the other process, unless side_call() has done this, and wait for the link of the
 * port.
 */
void side_join(struct side *side);

/** Close the device as side_close() does, but leave EAL running. */
void side_close_device(struct side *side);

/** Send a number to the other process, and return the number that the other process sent. */
uint64_t side_swap(const struct side *side, uint64_t ours);

/** Wait until the other process has called this function, too. */
void side_sync(const struct side *side);

/**
 * Exchange QP numbers with the other process: send the number of a QP, and receive that of its
 * peer.
 */
struct side_link side_meet(const struct side *side, uint32_t qpn);

/**
 * Get the attributes with which uroce_modify_qp() moves a QP of type `type` to `state`, which is
 * INIT, RTR or RTS.
 * @param[out] attr  the attributes, with qp_state = `state`
 * @return the mask for uroce_modify_qp()
 */
int side_attr(const struct side_link *link, enum ibv_qp_type type, enum ibv_qp_state state,
	      struct ibv_qp_attr *attr);

/** Move a QP from RESET over INIT and RTR to RTS. */
void side_raise(const struct side_link *link, struct ibv_qp *qp);

/**
 * Connect a QP with the QP for which the other process calls this function. On return both QPs may
 * send.
 */
void side_connect(const struct side *side, struct ibv_qp *qp);

/** Poll until a CQ has a completion, and check the status of the completion. */
struct ibv_wc side_wait(const struct side *side, struct ibv_cq *cq, enum ibv_wc_status status);

/**
 * End this program if the other process has ended. A polling loop calls this function when it has
 * found no completion.
 */
void side_idle(const struct side *side);

/** Wait until a descriptor is readable. */
void side_wait_fd(const struct side *side, int fd);

/**
 * Get an asynchronous event of the context of `side`. The caller must acknowledge the event. Port
 * events, such as the one when the link comes up, are skipped. The descriptor `async_fd` does not
 * block. Its reader may wake up without an event, or for an event of another context.
 * @param[out] event  written on success
 * @return whether there is an event
 */
bool side_event(const struct side *side, struct ibv_async_event *event);

/**
 * Fill memory with bytes that depend on the number of a message and on their offset. is_filled()
 * checks such bytes.
 */
void fill(void *buf, size_t len, unsigned number);
bool is_filled(const void *buf, size_t len, unsigned number);

#endif /* APPS_EXAMPLES_SIDE_H */
