/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_CM_ENDS_H
#define TEST_UNIT_CM_ENDS_H

/**
 * @file
 * Two CM engines, A and B, and the wire between them in virtual time. Each message on the wire is
 * written to a log as "time from>to message", with the time in milliseconds. A test compares the
 * log with the ladder diagram of the standard.
 */

#include <stdint.h>

#include "cm/cm.h"
#include "cm/reason.h"
#include "cm/service_id.h"
#include "cm/state.h"

#define MSEC UINT64_C(1000000)

#define PORT 7471

struct end {
	char name;
	struct uroce_cm *cm;
	void *mem;
	struct uroce_cm_conf conf;
	struct uroce_cm_addr ip;
	uint8_t gid[16];
};

struct ends {
	struct end a;
	struct end b;
	uint64_t now_ns;
	size_t log_len;
	char log[16384];
	/* the last message that end_take() has returned, for tests that repeat it */
	struct uroce_cm_msg last;
	struct uroce_cm_av last_av;
};

/** Setup function for cmocka: create two engines; `*state` points to the struct ends. */
int ends_setup(void **state);
int ends_teardown(void **state);

/** Restart the engine of an end: it forgets all ids and connections. */
void end_restart(struct end *end);

/** Get the peer of an end: B for A, and A for B. */
struct end *ends_peer(struct ends *ends, const struct end *end);

/**
 * Take the next message that an end sends, and write the message to the log.
 * @return false: the end has no message to send
 */
bool end_take(struct ends *ends, struct end *from, struct uroce_cm_msg *msg);

/** Deliver a message to an end. */
void end_give(struct ends *ends, struct end *to, const struct uroce_cm_msg *msg);

/** Deliver the next message of an end, which must have this attribute. */
void ends_move(struct ends *ends, struct end *from, enum uroce_cm_attr attr);

/** Lose the next message of an end, which must have this attribute. */
void ends_lose(struct ends *ends, struct end *from, enum uroce_cm_attr attr);

/** Deliver the messages of both ends until neither end has a message to send. */
void ends_settle(struct ends *ends);

/** Advance the time by `ns`. Timers expire, and all messages are delivered at once. */
void ends_pass(struct ends *ends, uint64_t ns);

/** Like ends_pass(), but the messages that `from` sends are lost. */
void ends_pass_deaf(struct ends *ends, uint64_t ns, const struct end *from);

/** Compare the log with `expected`, and clear the log. */
void expect_log(struct ends *ends, const char *expected);

/**
 * Take the next event of an end, which must have this kind and this id (UROCE_CM_NO_ID: any id).
 */
struct uroce_cm_event expect_event(struct end *end, enum uroce_cm_event_kind kind, uint32_t id);

void expect_no_event(struct end *end);

void expect_state(struct end *end, uint32_t id, enum uroce_cm_state state);

/** Listen at the address of the end. @return the listener */
uint32_t end_listen(struct end *end, uint16_t port);

/**
 * Connect from an end to port PORT of its peer, with the QP `qpn` and four bytes of private data.
 * @return the new id
 */
uint32_t end_connect(struct ends *ends, struct end *from, uint32_t qpn);

/** Accept the request of an id, with the QP `qpn` and four bytes of private data. */
void end_accept(struct ends *ends, struct end *end, uint32_t id, uint32_t qpn);

/**
 * Listen at B, connect from A, and accept at B. All messages up to the REP are delivered, but A has
 * not established the connection.
 */
void ends_accept(struct ends *ends, uint32_t *a, uint32_t *b);

/** A connection between id `a` of A, the active side, and id `b` of B. The log is empty. */
struct connected {
	uint32_t listener; /* the listener of B */
	uint32_t a;
	uint32_t b;
};
struct connected ends_connect(struct ends *ends, uint32_t qpn_a, uint32_t qpn_b);

#endif /* TEST_UNIT_CM_ENDS_H */
