/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LEASE_FILE_H
#define UROCED_LEASE_FILE_H

/**
 * @file
 * The file of leases: the data that uroced needs after a restart. The file has a record for each
 * block of QP numbers, and the seed of a MAC address. uroced maps the whole file. Only one uroced
 * process uses a file at a time. The file belongs to the user of uroced.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lease_record.h"
#include "mux/message.h"

struct lease_file_image;

struct lease_file {
	int fd; /* descriptor of the file of leases, which is locked */
	struct lease_file_image *image;
	/* array of UROCE_MUX_BLOCKS records, one for each block of QP numbers */
	struct lease_record *record;
	/*
	 * random number from which the MAC address of the port is computed; it was chosen when the
	 * file was made
	 */
	uint64_t mac_seed;
	bool is_new; /* the call of lease_file_open() made the file, so no client has a lease */
};

/**
 * Map the file of leases, and make it if there is none. All pages of the file are allocated, so
 * later stores to the mapping cannot fail.
 * @return NULL if the file is mapped, else the reason why it cannot be used
 */
const char *lease_file_open(struct lease_file *file, const char *path);

/**
 * Map the records of a file of leases, for reading only. The uroced process that uses the file may
 * change the records at any time.
 * @param fd  the file, which the caller may close afterwards
 * @return an array of UROCE_MUX_BLOCKS records; NULL after an error, with errno
 */
const struct lease_record *lease_file_map(int fd);

/** The end of error messages about a file of leases: it tells which files are allowed. */
#define LEASE_FILE_ALLOWED                                                                         \
	"allowed is a path where uroced may write, without a file, or with a file of leases of "   \
	"its user, mode 0600, that no other uroced uses"

/**
 * Check whether a file of leases could be opened. The function changes neither the file nor its
 * lock.
 * @param[out] user  the PID of the uroced that uses the file; 0 if none uses it
 * @param[out] is_new  true if there is no file yet
 * @return NULL, or the reason why the file cannot be used; a file that another uroced uses is not
 *         refused
 */
const char *lease_file_check(const char *path, pid_t *user, bool *is_new);

/** Unmap and close the file of leases, which stays in the file system. */
void lease_file_close(struct lease_file *file);

#endif /* UROCED_LEASE_FILE_H */
