/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_HANDLE_TABLE_H
#define UCMA_HANDLE_TABLE_H

/**
 * @file
 * Tables that give numbers to objects, from 0 on. A program names an object in its commands by this
 * number. The caller's lock protects a table.
 */

#include <stdint.h>

/** Value of a handle that means "no object". */
#define HANDLE_NONE UINT32_MAX

/* A table that gives numbers to objects. A table whose bytes are all zero is empty. */
struct handle_table {
	/* array of the objects, indexed by their numbers; NULL: the number is free or reserved */
	void **objects;
	uint32_t *next_free;
	uint32_t nb; /* number of entries of `objects` and of `next_free` */
	/* first number in the list of free numbers, plus 1; 0: the list is empty */
	uint32_t first_free;
};

/**
 * Reserve a number for an object. handle_table_find() returns NULL for the number until
 * handle_table_set() sets an object.
 * @return the number; HANDLE_NONE: there is no memory
 */
uint32_t handle_table_reserve(struct handle_table *table);

/**
 * Set the object of a number that is reserved. If `object` is NULL, the number stays reserved, and
 * handle_table_find() finds no object.
 */
void handle_table_set(struct handle_table *table, uint32_t handle, void *object);

/** Free the number of an object. Another object may get the number. */
void handle_table_free(struct handle_table *table, uint32_t handle);

/**
 * Find the object that has a number.
 * @return NULL: no object has the number; `handle` may have any value
 */
void *handle_table_find(const struct handle_table *table, uint32_t handle);

#endif /* UCMA_HANDLE_TABLE_H */
