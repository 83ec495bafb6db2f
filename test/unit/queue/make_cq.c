/* SPDX-License-Identifier: BSD-3-Clause */

/* Creates completion queues for tests. If there is no memory, the test fails. */

#include "make_cq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct uroce_cq *
make_cq(uint32_t nb_cqe)
{
	struct uroce_cq *cq = NULL;
	void *mem = NULL;

	assert_int_equal(posix_memalign((void **)&cq, 64, sizeof(*cq)), 0);
	assert_int_equal(posix_memalign(&mem, 64, uroce_cq_memsize(nb_cqe)), 0);
	memset(mem, 0xa5, uroce_cq_memsize(nb_cqe));
	uroce_cq_init(cq, mem, nb_cqe);
	return cq;
}

void
free_cq(struct uroce_cq *cq)
{
	free(cq->ring.slots);
	free(cq);
}

void
start_at(struct uroce_cq *cq, uint32_t idx)
{
	atomic_store(&cq->ring.head, idx);
	atomic_store(&cq->ring.tail, idx);
	cq->ring.tail_seen = idx;
}
