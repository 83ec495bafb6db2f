/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_GOLDEN_LADDER_H
#define TEST_SIM_GOLDEN_LADDER_H

/**
 * @file
 * Ladder diagrams as text: a file of cases. Each case has a name, the rule that it tests, and a
 * transcript of commands and their results. A case passes if its commands produce exactly this
 * transcript.
 *
 *	== write__lost_middle
 *	# [IBA 9.7.5.2.4] the NAK names the first packet that is missing
 *	> post A WRITE 3000
 *	> lose A 1
 *	> run
 *	0us A>B WRITE_FIRST psn 0
 *	...
 *
 * There are two hosts, A and B, with one QP on each. A frame takes one microsecond from host to
 * host, and a round of a host takes no time. play.c has the table of commands.
 */

#include <stdbool.h>
#include <stddef.h>

struct world;

struct ladder_case {
	char *name;       /* name of the case, such as "write__lost_middle" */
	char *head;       /* the lines before the first command, name included */
	char *transcript; /* the rest of the case, without empty lines at its end */
};

struct ladder {
	const char *path;
	struct ladder_case *cases;
	unsigned nb;
};

/** Read a file; ends the program with a line on stderr if it cannot be read. */
void ladder_read(struct ladder *ladder, const char *path);

/** Write the file again, with the transcripts that the code produces. */
void ladder_write(struct ladder *ladder, struct world *world);

void ladder_free(struct ladder *ladder);

/**
 * Execute the commands of a case.
 * @return the transcript that they give; the caller frees it
 */
char *ladder_play(const struct ladder_case *c, struct world *world);

#endif /* TEST_SIM_GOLDEN_LADDER_H */
