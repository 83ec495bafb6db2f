/* SPDX-License-Identifier: BSD-3-Clause */

/* Executes requests from standard input until its end, or until `quit`. */

#ifndef ACTOR_SERVE_H_
#define ACTOR_SERVE_H_

#include "words.h"

struct operation {
	const char *name; /* NULL ends a table */
	void (*run)(const struct words *words);
};

/* Serve the operations of ends, and those of a further table, which may be empty. */
void serve(const struct operation *more);

#endif
