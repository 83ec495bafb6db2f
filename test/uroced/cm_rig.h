/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_CM_RIG_H
#define TEST_UROCED_CM_RIG_H

/**
 * @file
 * The server of the connection manager over an engine without a device, and programs that are
 * clients of the server. If a call inside a function fails and the function does not return the
 * result, the test fails. All functions run in the thread of the test, and run the server
 * themselves while they wait for it.
 */

#include <sys/types.h>

#include "cm_engine.h"

#define PORT 7471
#define SEC  UINT64_C(1000000000)
/** A user other than the one of the test. Only root can connect as this user. */
#define OTHER_UID 4711
/**
 * The QP number of the last connection of a program. Each connection of a program has a QP number
 * of its own.
 */
#define PROGRAM_QPN(program) ((program)->block * UROCE_MUX_BLOCK + (program)->nb_qps)

/** A client of the server. */
struct program {
	/* socket of the connection; -1 if the connection has ended */
	int socket;
	uint32_t block;                  /* leased block of QP numbers */
	uint64_t token;                  /* token of the lease */
	uint64_t number;                 /* number of the last request */
	unsigned nb_notices;             /* number of received messages of the type EVENTS */
	uint32_t nb_qps;                 /* number of QPs that requests have named */
	struct uroce_mux_cm_reply reply; /* the last reply */
};

extern struct cm_engine engine;
/** The socket pair between uroced's telemetry (the first socket) and the server. */
extern int reports[2];
extern struct cm_server server;
/** Two clients of the server, of the user who runs the test. */
extern struct program ann, bob;

/* --- the server ---------------------------------------------------------------------------------- */

/**
 * Start the reader, the process that closes descriptors which clients send. Call this once, before
 * the tests.
 * @return 0 or -1
 */
int rig_start(void);

/** Start the server, and connect `ann` and `bob`. For cmocka. */
int rig_set_up(void **state);

/** End both programs and the server, and check that nothing of any program is left. For cmocka. */
int rig_tear_down(void **state);

/**
 * Start the server again over a new engine, as after a SIGKILL. All programs lose their
 * connections.
 * @param ports  shared memory of both servers
 */
void rig_restart(struct cm_ports_file *ports);

/** Run rounds of the server of the connection manager until it has nothing left to do. */
void rig_settle(void);

/** Connect `ann` to a listener of `bob` at PORT. The ids of both ends are returned. */
void rig_establish(uint32_t *anns, uint32_t *bobs);

/* --- connections to the server ------------------------------------------------------------------- */

/** Connect to the server as a user, and send no message. */
void program_connect_as(struct program *client, uid_t uid);

/** Connect to the server as a user that has the lease of a block, and send HELLO. */
void program_open_as(struct program *client, uid_t uid, uint32_t block);

/** Send HELLO. @return the result in the reply */
int program_say_hello(struct program *client);

/** End the connection to the server, if there is one. */
void program_hang_up(struct program *client);

/* --- messages ------------------------------------------------------------------------------------ */

void program_send_bytes(const struct program *client, const void *bytes, size_t len);

/** Send a request, which gets the next number. */
void program_send_request(struct program *client, struct uroce_mux_cm_request *request);

/**
 * Run the server until the program has a message other than EVENTS, which is written to `reply`.
 * @return its length; 0 if the server has closed the connection
 */
ssize_t program_receive(struct program *client);

/** Send a request, and receive its reply. @return the result in the reply */
int program_ask(struct program *client, struct uroce_mux_cm_request *request);

/** Receive REFUSED with a reason that has this text, and the end of the connection. */
void program_expect_refusal(struct program *client, const char *why);

/* --- requests; those with a result return it ----------------------------------------------------- */

/** The address 192.0.2.`last`, with a port. */
struct uroce_mux_cm_addr program_addr(uint8_t last, uint16_t port);

int program_create(struct program *client, uint32_t *id);
int program_bind_to(struct program *client, uint32_t id, uint8_t last, uint16_t port);
int program_accept_id(struct program *client, uint32_t id);

/** Send a request of a type that names an id and nothing else. @return the result in the reply */
int program_request_id(struct program *client, enum uroce_mux_cm_type type, uint32_t id);

/** Create a listener. @return its id */
uint32_t program_listen_at(struct program *client, uint16_t port);

/** Fill a request CONNECT for an id, to PORT, with values that the server accepts. */
void program_fill_connect(const struct program *client, struct uroce_mux_cm_request *request,
			  uint32_t id);

/** Create an id, and connect it to a port with a new QP. @return the id */
uint32_t program_connect_to(struct program *client, uint16_t port);

/** Create an id, and connect it to PORT with a new QP. @return the id */
uint32_t program_connect_id(struct program *client);

/** Receive the next event, which must be of the given kind. @return the id in the event */
uint32_t program_expect_event(struct program *client, enum uroce_cm_event_kind kind);

void program_expect_no_event(struct program *client);

#endif /* TEST_UROCED_CM_RIG_H */
