/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_LINK_H
#define TEST_SIM_LINK_H

/**
 * @file
 * The cable between a host and the switch, with a rate and a delay in both directions. At the
 * switch there is a queue towards the host with a limit and an ECN threshold. Faults of a frame are
 * decided when its host transmits it, at random or by a script.
 */

#include <stdbool.h>
#include <stdint.h>

struct frame;
struct world;

enum fault {
	FAULT_NONE,
	FAULT_LOSE,
	FAULT_REPEAT,   /* the frame arrives twice */
	FAULT_LATE,     /* the frame arrives after some that were sent later */
	FAULT_SPOIL,    /* bits of the frame are flipped */
	FAULT_BLACKOUT, /* the cable is cut for a while */
	FAULT_OVERFLOW, /* no room in the switch, or in the host */
	FAULT_MARK,     /* the switch sets the mark "congestion experienced" */
	FAULT_NB
};

#define BLACKOUTS_MAX 4
#define SCRIPT_MAX    32

struct link {
	uint64_t rate_bps;  /* rate of the cable; 0: unlimited */
	uint32_t delay_ns;  /* from the host to the switch, and from the switch to the host */
	uint32_t queue_len; /* bytes that the switch can queue for the host; 0: unlimited */
	/*
	 * ECN marks. From `mark_min` bytes in the queue on, the probability of a mark grows to
	 * `mark_ppm` at `mark_max`. Above that all frames are marked. mark_max 0: no marks.
	 */
	uint32_t mark_min;
	uint32_t mark_max;
	uint32_t mark_ppm;
	/* probabilities of faults, in a million */
	uint32_t lose_ppm;
	uint32_t burst_len; /* after a lost frame about this many more are lost; 0: none */
	uint32_t repeat_ppm;
	uint32_t late_ppm;
	uint32_t late_ns; /* maximum delay of a late frame */
	uint32_t spoil_ppm;
	struct {
		uint64_t begin_ns;
		uint64_t end_ns;
	} blackouts[BLACKOUTS_MAX];
	uint32_t nb_blackouts;
	/* scripted faults: the fault of the nth frame that the host sends from now on */
	struct {
		uint32_t nth;
		enum fault fault;
		uint32_t late_ns;
	} script[SCRIPT_MAX];
	uint32_t nb_script;
	/* state of the cable */
	uint32_t nb_sent;
	uint32_t burst_left;
	uint64_t up_free_ns;   /* when the host's transmitter is free */
	uint64_t down_free_ns; /* when the switch's transmitter towards the host is free */
	uint64_t peak_bytes;   /* the most bytes that the switch has ever queued for the host */
};

/** The host transmits a frame. Takes ownership of the frame. */
void link_send(struct world *world, struct frame *frame);

/** A frame arrives at the switch. Takes ownership of the frame. */
void link_forward(struct world *world, struct frame *frame);

/** Bytes that the switch has queued for a host now. */
uint64_t link_backlog(const struct world *world, const struct link *link);

/** Script the fault of the nth frame, counted from now. */
void link_script(struct link *link, uint32_t nth, enum fault fault, uint32_t late_ns);

const char *fault_name(enum fault fault);

#endif /* TEST_SIM_LINK_H */
