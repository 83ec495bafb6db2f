/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APPS_EXAMPLES_SIDE_H
#define APPS_EXAMPLES_SIDE_H

/**
 * @file
 * What the examples have in common, so that each shows one thing: two processes with a device each,
 * which find each other by TCP, tell each other numbers, and connect queue pairs. apps/pingpong has
 * the same in one file, step by step.
 *
 *	EXAMPLE [EAL options] -- --uroce=PORT,addr=192.0.2.1/24 [--port TCP-PORT]           the server
 *	EXAMPLE [EAL options] -- --uroce=PORT,addr=192.0.2.2/24 [--port TCP-PORT] SERVER    the client
 *
 * Whatever is not as it must be ends the program with one line and status 1; so does a minute in which
 * the two have nothing to say to each other. A program that fails leaves its device up.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uroce.h>

/** The two sides grant each other everything but what a region refuses. */
#define SIDE_ACCESS                                                                                \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/** One of the two processes. */
struct side {
	bool is_client; /* it was given a SERVER */
	int tcp;        /* to the other side */
	struct ibv_device *device;
	struct ibv_context *context;
	struct ibv_pd *pd;
};

/** By what each side knows a QP, and the peer of it. */
struct side_link {
	struct side_address {
		uint32_t qpn;      /* queue pair number */
		uint32_t psn;      /* sequence number of the first packet */
		union ibv_gid gid; /* IP address */
	} ours, theirs;
};

/** End the program with this line, unless all is well. */
void check(bool is_ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** EAL, a device, the other side, and a link between the ports. Fields are written once, here. */
void side_open(struct side *side, int argc, char **argv);

/** Take it all down, when both have come here; what the example made itself must be gone. */
void side_close(struct side *side);

/** Tell the other side a number, and be told one. */
uint64_t side_swap(const struct side *side, uint64_t ours);

/** Wait until the other side is here, too. */
void side_sync(const struct side *side);

/** Tell the other side the number of a QP, and be told its peer's. */
struct side_link side_meet(const struct side *side, uint32_t qpn);

/**
 * What takes a QP of this type to INIT, RTR or RTS.
 * @param[out] attr  its state being `state`
 * @return the mask for uroce_modify_qp()
 */
int side_attr(const struct side_link *link, enum ibv_qp_type type, enum ibv_qp_state state,
	      struct ibv_qp_attr *attr);

/** Take a QP from RESET to RTS. */
void side_raise(const struct side_link *link, struct ibv_qp *qp);

/** Connect a QP with the one that the other side connects meanwhile. On return both may send. */
void side_connect(const struct side *side, struct ibv_qp *qp);

/** Poll until there is a completion, which must have this status. */
struct ibv_wc side_wait(const struct side *side, struct ibv_cq *cq, enum ibv_wc_status status);

/** In a loop that polls, when there was nothing: has the other side gone? */
void side_idle(const struct side *side);

/** Wait until a descriptor can be read. */
void side_wait_fd(const struct side *side, int fd);

/**
 * Take an asynchronous event that is not the port's, which is to be acknowledged: there is one when the link
 * comes. `async_fd` does not block, and may wake its reader for nothing, or for what is another context's.
 * @param[out] event  written on success
 * @return whether there is one
 */
bool side_event(const struct side *side, struct ibv_async_event *event);

/** Bytes by which a message is recognised: by its number, and by their place in it. */
void fill(void *buf, size_t len, unsigned number);
bool is_filled(const void *buf, size_t len, unsigned number);

#endif /* APPS_EXAMPLES_SIDE_H */
