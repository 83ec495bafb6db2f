/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The clock of the data path computes the factor from time stamp counts to nanoseconds. EAL
 * measures the frequency of the time stamp counter during its initialization. Therefore the factor
 * is computed when the first device comes up, and not earlier.
 */

#include "datapath/clock.h"

#include <pthread.h>

uint64_t uroce_clock_factor;
uint64_t uroce_clock_base;

static void
learn_tsc_rate(void)
{
	uroce_clock_factor =
		(uint64_t)(((unsigned __int128)UINT64_C(1000000000) << 32) / rte_get_tsc_hz());
}

void
uroce_clock_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, learn_tsc_rate);
}
