/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_DAEMON_H
#define TEST_UROCED_DAEMON_H

/**
 * @file
 * A uroced of the test's own, in a folder of its own, and what it says of itself.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../isolation.h"

/** The port of most tests: a MAC that stays, and nobody at its other end. */
#define DAEMON_PORT "net_memif0,addr=192.0.2.1/24"

/** The program to test: argv[1] of each test. */
extern const char *daemon_program;

struct daemon {
	char folder[64];
	char socket[96];        /* where it listens */
	pid_t pid;              /* 0: it does not run */
	uid_t uid;              /* whose it is; 0: ours */
	const char *options[4]; /* of its command line, beside those of all tests */
};

/** Make the folder. */
void daemon_make(struct daemon *daemon);

/** Remove it, and whatever runs. */
void daemon_remove(struct daemon *daemon);

/** Start it on DAEMON_PORT, and wait until it listens. */
void daemon_start(struct daemon *daemon);

/** The same, and it gives up its privileges, as it does by default. */
void daemon_start_confined(struct daemon *daemon);

/** The same on another port. @param vdev  of EAL; NULL: that of DAEMON_PORT */
void daemon_start_on(struct daemon *daemon, const char *vdev, const char *spec);

/** SIGTERM: it ends well. */
void daemon_end(struct daemon *daemon);

/** SIGKILL. */
void daemon_kill(struct daemon *daemon);

/**
 * Run it to its end, with these arguments (the last is NULL).
 * @param[out] said  what it said, on one line or more
 * @return its exit status
 */
int daemon_run(char *const argv[], char *said, size_t room);

/** A number that its telemetry tells ("/uroced/host", "clients"). */
uint64_t daemon_ask(const struct daemon *daemon, const char *command, const char *name);

/** The numbers of its clients. @return how many */
unsigned daemon_clients(const struct daemon *daemon, unsigned *slots, unsigned room);

/** The number of the client that attached last, or only one. */
uint64_t daemon_ask_client(const struct daemon *daemon, unsigned slot, const char *name);

/** Descriptors that it has open, and KiB that it has for itself and from its clients. */
unsigned daemon_nb_fds(const struct daemon *daemon);
unsigned daemon_kib(const struct daemon *daemon, const char *field);

/** Pages that one of its threads has entered, by the thread's name. */
uint64_t daemon_nb_faults(const struct daemon *daemon, const char *thread);

/** Descriptors that its epolls watch. */
unsigned daemon_nb_watched(const struct daemon *daemon);

/** CPU time that it has used, in ns. */
uint64_t daemon_cpu_ns(const struct daemon *daemon);

#endif /* TEST_UROCED_DAEMON_H */
