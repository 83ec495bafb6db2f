/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_ORDER_H
#define PERF_ORDER_H

/**
 * @file
 * Selects the QP that posts next, at random. Some QPs are drawn ahead, so that the data that this
 * program has about a QP can be prefetched before the post. A program that serves many peers, in
 * the order of their requests, could prefetch in this way.
 */

#include <stdint.h>

struct requests;

#define ORDER_AHEAD 16u /* number of QPs that are drawn ahead and wait in a queue; a power of two */

struct order {
	const struct requests *requests;
	uint64_t state; /* state of the random number generator */
	uint32_t nb_qp;
	uint32_t at; /* number of QPs that order_next() has returned so far */
	uint32_t drawn[ORDER_AHEAD];
};

/** Begin a random sequence of QPs. The sequence is the same at each call. */
void order_begin(struct order *order, const struct requests *requests, unsigned nb_qp);

/** Get the index of the QP that posts next. */
unsigned order_next(struct order *order);

#endif /* PERF_ORDER_H */
