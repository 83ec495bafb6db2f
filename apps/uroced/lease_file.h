/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LEASE_FILE_H
#define UROCED_LEASE_FILE_H

/**
 * @file
 * The file of leases: what uroced has to know after a restart. It has a record for each block of QP
 * numbers, and the seed of a MAC. The whole file is mapped. It belongs to one uroced at a time, and
 * to the user of uroced.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lease_record.h"
#include "mux/message.h"

struct lease_file_image;

struct lease_file {
	int fd; /* descriptor of the file, which is locked */
	struct lease_file_image *image;
	struct lease_record *record; /* UROCE_MUX_BLOCKS records, by block */
	uint64_t mac_seed;           /* a random number that was chosen when the file was made */
	bool is_new;                 /* the file was made now, so no client has a lease */
};

/**
 * Map the file; make it if there is none. All of its pages are allocated afterwards, so no store
 * can fail.
 * @return NULL; else why the file cannot be used
 */
const char *lease_file_open(struct lease_file *file, const char *path);

/** Unmap and close the file. It stays in the file system. */
void lease_file_close(struct lease_file *file);

#endif /* UROCED_LEASE_FILE_H */
