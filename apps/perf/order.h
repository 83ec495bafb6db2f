/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_ORDER_H
#define PERF_ORDER_H

/**
 * @file
 * Which QP posts next, where that is drawn at random. A few are drawn ahead, so that what the program
 * itself keeps of a QP is on its way from memory by the time that it is used, as a program that serves
 * many peers in the order of their wishes would have it.
 */

#include <stdint.h>

struct requests;

#define ORDER_AHEAD 16u /* a power of two */

struct order {
	const struct requests *requests;
	uint64_t state; /* of the generator */
	uint32_t nb_qp;
	uint32_t at; /* counts draws */
	uint32_t drawn[ORDER_AHEAD];
};

/** Begin, with a draw that is the same each time. */
void order_begin(struct order *order, const struct requests *requests, unsigned nb_qp);

/** The QP that posts next. */
unsigned order_next(struct order *order);

#endif /* PERF_ORDER_H */
