/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCED_LEASE_FILE_H
#define UROCED_LEASE_FILE_H

/**
 * @file
 * The file in which uroced keeps what its next life has to know: a record for each block of QP numbers, and the number
 * that a drawn MAC is made of. It is mapped as a whole, is of one uroced at a time, and of its user alone.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lease_record.h"
#include "mux/message.h"

struct lease_file_image;

struct lease_file {
	int fd; /* holds the lock */
	struct lease_file_image *image;
	struct lease_record *record; /* UROCE_MUX_BLOCKS of them, by block */
	uint64_t mac_seed;           /* random, drawn with the file */
	bool is_new;                 /* it was made: no lease can be out */
};

/**
 * Map the file; make it when there is none. All of its pages are there afterwards, so that no store can fail.
 * @return NULL; else what is wrong
 */
const char *lease_file_open(struct lease_file *file, const char *path);

/** Unmap it; it stays where it is. */
void lease_file_close(struct lease_file *file);

#endif /* UROCED_LEASE_FILE_H */
