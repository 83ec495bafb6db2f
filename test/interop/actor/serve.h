/* SPDX-License-Identifier: BSD-3-Clause */

/* Executes the requests of standard input until its end, or until the request `quit`. */

#ifndef ACTOR_SERVE_H_
#define ACTOR_SERVE_H_

#include "words.h"

struct operation {
	const char *name; /* name of the operation in requests; NULL ends a table */
	void (*run)(const struct words *words);
};

/*
 * Execute requests with the operations of ends, and with those of the table `more`, which may be
 * empty.
 */
void serve(const struct operation *more);

#endif
