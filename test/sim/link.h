/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_LINK_H
#define TEST_SIM_LINK_H

/**
 * @file
 * The cable between a host and the switch, with one rate and one delay for both directions. The
 * switch has a queue for frames to the host, with a limit and an ECN threshold.
 *
 * A fault of a frame is chosen when the host transmits the frame, at random or by a script.
 */

#include <stdbool.h>
#include <stdint.h>

struct frame;
struct world;

enum fault {
	FAULT_NONE,
	FAULT_LOSE,
	FAULT_REPEAT,   /* the frame arrives twice */
	FAULT_LATE,     /* the frame arrives after frames that were sent later */
	FAULT_SPOIL,    /* bits of the frame are flipped */
	FAULT_BLACKOUT, /* the cable is cut for a while */
	FAULT_OVERFLOW, /* the queue of the switch or the receive ring of the host is full */
	FAULT_MARK,     /* the switch sets the mark "congestion experienced" */
	FAULT_NB
};

#define BLACKOUTS_MAX 4
#define SCRIPT_MAX    32

struct link {
	uint64_t rate_bps;  /* rate of the cable; 0: unlimited */
	uint32_t delay_ns;  /* delay of the cable, the same in each direction */
	uint32_t queue_len; /* bytes that the switch can queue for the host; 0: unlimited */
	/*
	 * ECN marks. From `mark_min` bytes in the queue on, the probability of a mark grows to
	 * `mark_ppm` at `mark_max`. Above that all frames are marked. mark_max 0: no marks.
	 */
	uint32_t mark_min;
	uint32_t mark_max;
	uint32_t mark_ppm;
	/* probabilities of faults, per million frames */
	uint32_t lose_ppm;
	/*
	 * mean number of further frames that are lost directly after a lost frame; 0: no further
	 * frame
	 */
	uint32_t burst_len;
	uint32_t repeat_ppm;
	uint32_t late_ppm;
	uint32_t late_ns; /* maximum additional delay of a late frame */
	uint32_t spoil_ppm;
	struct {
		uint64_t begin_ns;
		uint64_t end_ns;
	} blackouts[BLACKOUTS_MAX];
	uint32_t nb_blackouts;
	/*
	 * scripted faults: `fault` happens to frame `nth`, counted from the first frame of the host
	 */
	struct {
		uint32_t nth;
		enum fault fault;
		uint32_t late_ns;
	} script[SCRIPT_MAX];
	uint32_t nb_script;
	/* state of the cable */
	uint32_t nb_sent;
	uint32_t burst_left;
	uint64_t up_free_ns;   /* time at which the host's transmitter will be free */
	uint64_t down_free_ns; /* time at which the switch's port to the host will be free */
	/* the most bytes that the switch has queued for the host since peak_bytes was set to 0 */
	uint64_t peak_bytes;
};

/** Transmit a frame of host `frame->from`. Takes ownership of the frame. */
void link_send(struct world *world, struct frame *frame);

/** Handle a frame that arrives at the switch. Takes ownership of the frame. */
void link_forward(struct world *world, struct frame *frame);

/** Bytes that the switch has queued for a host now. */
uint64_t link_backlog(const struct world *world, const struct link *link);

/**
 * Script a fault of a frame.
 * @param nth  number of the frame; 0: the next frame that the host sends
 */
void link_script(struct link *link, uint32_t nth, enum fault fault, uint32_t late_ns);

const char *fault_name(enum fault fault);

#endif /* TEST_SIM_LINK_H */
