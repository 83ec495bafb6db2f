/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_LINK_H
#define TEST_SIM_LINK_H

/**
 * @file
 * The cable between a host and the switch: a rate and a delay in both directions; at the switch, a
 * queue towards the host with a limit and an ECN threshold. What goes wrong with a frame is decided
 * when its host puts it on the cable, by chance or by a script.
 */

#include <stdbool.h>
#include <stdint.h>

struct frame;
struct world;

enum fault {
	FAULT_NONE,
	FAULT_LOSE,
	FAULT_REPEAT,   /* arrives twice */
	FAULT_LATE,     /* arrives behind some of those sent after it */
	FAULT_SPOIL,    /* bits are flipped */
	FAULT_BLACKOUT, /* the cable is cut for a while */
	FAULT_OVERFLOW, /* no room in the switch, or in the host */
	FAULT_MARK,     /* the switch says that it is congested */
	FAULT_NB
};

#define BLACKOUTS_MAX 4
#define SCRIPT_MAX    32

struct link {
	uint64_t rate_bps;  /* 0: without limit */
	uint32_t delay_ns;  /* host to switch, and switch to host */
	uint32_t queue_len; /* bytes that the switch holds for the host; 0: without limit */
	/* ECN: from `mark_min` bytes on with a probability that grows to `mark_ppm` at `mark_max`,
	 * above that always; mark_max 0: never */
	uint32_t mark_min;
	uint32_t mark_max;
	uint32_t mark_ppm;
	/* chance, in a million */
	uint32_t lose_ppm;
	uint32_t burst_len; /* once one is lost, so are about so many that follow; 0: none */
	uint32_t repeat_ppm;
	uint32_t late_ppm;
	uint32_t late_ns; /* at most */
	uint32_t spoil_ppm;
	struct {
		uint64_t begin_ns;
		uint64_t end_ns;
	} blackouts[BLACKOUTS_MAX];
	uint32_t nb_blackouts;
	/* what becomes of the nth frame that the host sends from now on */
	struct {
		uint32_t nth;
		enum fault fault;
		uint32_t late_ns;
	} script[SCRIPT_MAX];
	uint32_t nb_script;
	/* state */
	uint32_t nb_sent;
	uint32_t burst_left;
	uint64_t up_free_ns;   /* when the host's transmitter is free */
	uint64_t down_free_ns; /* when the switch's is */
	uint64_t peak_bytes;   /* most that the switch ever held for the host */
};

/** The host puts a frame on its cable. Takes the frame. */
void link_send(struct world *world, struct frame *frame);

/** A frame is at the switch. Takes the frame. */
void link_forward(struct world *world, struct frame *frame);

/** Bytes that the switch holds for a host now. */
uint64_t link_backlog(const struct world *world, const struct link *link);

/** Decide the fate of the nth frame, counted from now. */
void link_script(struct link *link, uint32_t nth, enum fault fault, uint32_t late_ns);

const char *fault_name(enum fault fault);

#endif /* TEST_SIM_LINK_H */
