/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_CPU_USE_H
#define PERF_CPU_USE_H

/**
 * @file
 * The share of the machine's CPU time that programs take during the measured intervals, for the
 * option --cpu_util. As in perftest the share is the time in user mode divided by the sum of this
 * time and the idle time, over all CPUs.
 */

#include <stdint.h>

struct cpu_use {
	/*
	 * CPU ticks in user mode, and idle CPU ticks, of all CPUs in all measured intervals
	 * together
	 */
	uint64_t user, idle;
	/*
	 * CPU ticks in user mode, and idle CPU ticks, that the kernel had counted at the start of
	 * the measured interval
	 */
	uint64_t begin_user, begin_idle;
};

/** Begin an interval in which the CPU time is measured. */
void cpu_use_begin(struct cpu_use *use);

/** End an interval in which the CPU time is measured. */
void cpu_use_end(struct cpu_use *use);

/** Get the share of the CPU time in percent; 0 if no interval was measured. */
double cpu_use_percent(const struct cpu_use *use);

#endif /* PERF_CPU_USE_H */
