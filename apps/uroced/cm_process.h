/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_CM_PROCESS_H
#define UROCED_CM_PROCESS_H

/**
 * @file
 * The process of the connection manager, as uroced sees it: a child that uroced starts again when
 * it has ended.
 *
 * The connection manager interprets messages of other hosts, so it is not a part of uroced. To
 * uroced it is a client that has the first block of QP numbers. A process that was forked before
 * uroced entered its sandbox starts the connection manager by fork() and exec(). So the connection
 * manager has neither memory nor descriptors of uroced, except for those of enum cm_fd.
 */

#include <stdbool.h>
#include <stdint.h>

/**
 * First argument of uroced that makes the process a connection manager. Only uroced gives this
 * argument.
 */
#define CM_ARGUMENT "--connection-manager"

/** The numbers of the descriptors that a connection manager has from its start. */
enum cm_fd {
	CM_FD_UROCED = 3, /* connection of the connection manager to uroced */
	CM_FD_LISTENER,   /* the socket to which clients of the connection manager connect */
	CM_FD_REPORTS,    /* the socket for requests of uroced's telemetry (cm_report.h) */
	CM_FD_LEASES,     /* the file of leases of QP numbers, for reading */
	/*
	 * the socket that reader_start() returned, by which the connection manager requests readers
	 */
	CM_FD_READERS,
	/* the shared memory of cm_ports_create(), which all connection managers use */
	CM_FD_PORTS,
	CM_FD_END
};

/**
 * The shortest and the longest time in nanoseconds between the end of a connection manager and the
 * start of the next one.
 */
#define CM_DELAY_MIN_NS UINT64_C(100000000)
#define CM_DELAY_MAX_NS UINT64_C(10000000000)

struct cm_process {
	/* socket to the process that starts connection managers; -1 if there is no such process */
	int starter;
	bool is_running;
	/* time of the last start of a connection manager; if none runs, time of the next start */
	uint64_t start_ns;
	/*
	 * time in nanoseconds between the next end of a connection manager and the start after it
	 */
	uint64_t delay_ns;
};

/**
 * Fork the process that starts connection managers. The calling process must have only one thread.
 * The new process and its children end when the calling thread ends.
 * @param leases  descriptor of the file of leases
 * @param readers  socket of reader_start()
 * @param is_unconfined  the connection managers have no sandbox
 * @return 0, or -errno
 */
int cm_process_fork(struct cm_process *process, int leases, int readers, bool is_unconfined);

/** Whether a connection manager is to be started at the time `now_ns`. */
bool cm_process_is_due(const struct cm_process *process, uint64_t now_ns);

/**
 * Start a connection manager. After an error, the next start is due after a delay.
 * @param listener  socket to which clients of the connection manager connect
 * @param[out] reports  socket for cm_report_ask(); -1 after an error
 * @return the socket of the connection to the connection manager, or -errno
 */
int cm_process_start(struct cm_process *process, int listener, int *reports, uint64_t now_ns);

/**
 * Note that the connection manager has ended. The next connection manager is started after a delay.
 */
void cm_process_ended(struct cm_process *process, uint64_t now_ns);

#endif /* UROCED_CM_PROCESS_H */
