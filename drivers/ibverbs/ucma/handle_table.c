/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables that give numbers to objects. The free numbers of a table form a list. The links of the
 * list are in an array beside the array of the objects.
 */

#include "handle_table.h"

#include <stdbool.h>
#include <stdlib.h>

#define FIRST_SIZE 64

static bool
grow(struct handle_table *table)
{
	const uint32_t nb = table->nb != 0 ? 2 * table->nb : FIRST_SIZE;
	void **const objects = realloc(table->objects, nb * sizeof(table->objects[0]));
	uint32_t *next_free;

	if (objects == NULL)
		return false;
	table->objects = objects;
	next_free = realloc(table->next_free, nb * sizeof(table->next_free[0]));
	if (next_free == NULL)
		return false;
	table->next_free = next_free;
	for (uint32_t at = nb; at-- > table->nb;)
		handle_table_free(table, at);
	table->nb = nb;
	return true;
}

uint32_t
handle_table_reserve(struct handle_table *table)
{
	uint32_t handle;

	if (table->first_free == 0 && (table->nb > UINT32_MAX / 4 || !grow(table)))
		return HANDLE_NONE;
	handle = table->first_free - 1;
	table->first_free = table->next_free[handle];
	return handle;
}

void
handle_table_set(struct handle_table *table, uint32_t handle, void *object)
{
	table->objects[handle] = object;
}

void
handle_table_free(struct handle_table *table, uint32_t handle)
{
	table->objects[handle] = NULL;
	table->next_free[handle] = table->first_free;
	table->first_free = handle + 1;
}

void *
handle_table_find(const struct handle_table *table, uint32_t handle)
{
	return handle < table->nb ? table->objects[handle] : NULL;
}
