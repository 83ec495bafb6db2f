/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Executes the requests of the interop runner with libibverbs. A request is a line on standard
 * input, `OPERATION key=value...`. Its response is a line of JSON on standard output. If a request
 * fails, its response has "error", and nothing is changed. doc/guides/interop.md describes the
 * operations and their arguments.
 */

#include <stddef.h>

#include "end.h"
#include "serve.h"

int
main(void)
{
	static const struct operation none[] = { { NULL, NULL } };

	serve(none);
	ends_close();
	return 0;
}
