/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_DAEMON_H
#define TEST_UROCED_DAEMON_H

/**
 * @file
 * Starts and ends a uroced in a folder that the test creates, and reads its telemetry and /proc.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../isolation.h"

/** The port of most tests: it has a fixed MAC, and no peer. */
#define DAEMON_PORT "net_memif0,addr=192.0.2.1/24"

/** The program that is tested: argv[1] of each test. */
extern const char *daemon_program;

struct daemon {
	char folder[64];
	char socket[96];        /* the path of uroced's socket */
	pid_t pid;              /* process ID of uroced; 0 if uroced does not run */
	uid_t uid;              /* the user that runs uroced; 0 for the user of the test */
	const char *options[4]; /* arguments of this test, in addition to those of all tests */
	bool has_cm;            /* uroced starts a connection manager */
	bool has_log;           /* uroced writes its standard error to the file `log` */
	char log[96];
};

/** Create a folder for uroced, and initialise the struct. */
void daemon_make(struct daemon *daemon);

/** End uroced if it runs, and remove its folder. */
void daemon_remove(struct daemon *daemon);

/** Start uroced on DAEMON_PORT, and wait until it listens. */
void daemon_start(struct daemon *daemon);

/** Start uroced on DAEMON_PORT with its sandbox, as it starts by default. */
void daemon_start_confined(struct daemon *daemon);

/**
 * Start uroced on another port.
 * @param vdev  an argument of EAL; NULL for that of DAEMON_PORT
 */
void daemon_start_on(struct daemon *daemon, const char *vdev, const char *spec);

/** Wait until the log has `nb` lines that contain `text`. Needs `has_log`. */
void daemon_await_log(const struct daemon *daemon, const char *text, unsigned nb);

/** End uroced by SIGTERM, and expect exit status 0. */
void daemon_end(struct daemon *daemon);

/** End uroced by SIGKILL. */
void daemon_kill(struct daemon *daemon);

/**
 * Run uroced to its end. @param argv  the arguments; the last one is NULL
 * @param[out] said  what uroced wrote to standard output and standard error
 * @return its exit status
 */
int daemon_run(char *const argv[], char *said, size_t room);

/** Send a request to telemetry. @return the reply, which is valid until the next request */
const char *daemon_query(const struct daemon *daemon, const char *command);

/** Read a number from telemetry, such as "clients" of "/uroced/host". */
uint64_t daemon_ask(const struct daemon *daemon, const char *command, const char *name);

/** Read the numbers of all clients. @return how many clients there are */
unsigned daemon_clients(const struct daemon *daemon, unsigned *slots, unsigned room);

/** Read a value of a client from telemetry. */
uint64_t daemon_ask_client(const struct daemon *daemon, unsigned slot, const char *name);

/**
 * daemon_nb_fds() counts the descriptors that uroced has open. daemon_kib() gets a size in KiB from
 * /proc/PID/status.
 */
unsigned daemon_nb_fds(const struct daemon *daemon);
unsigned daemon_kib(const struct daemon *daemon, const char *field);

/**
 * Get the number of page faults without I/O (minflt) of those threads of uroced that have this
 * name.
 */
uint64_t daemon_nb_faults(const struct daemon *daemon, const char *thread);

/** The number of descriptors that uroced's epolls watch. */
unsigned daemon_nb_watched(const struct daemon *daemon);

/** The CPU time of all threads of uroced, in ns. */
uint64_t daemon_cpu_ns(const struct daemon *daemon);

/**
 * Expect that uroced, which has nothing to do, sleeps: no thread spins, and all threads together
 * wake up fewer than 1000 times a second. Neither of these conditions depends on the speed of the
 * machine.
 */
void daemon_expect_idle(const struct daemon *daemon);

#endif /* TEST_UROCED_DAEMON_H */
