/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SIM_GOLDEN_LADDER_H
#define TEST_SIM_GOLDEN_LADDER_H

/**
 * @file
 * Ladder diagrams as text: a file of cases, each of them a name, the rule that it proves, and a
 * transcript of commands and of what they lead to. A case passes when playing its commands gives its
 * transcript, character by character.
 *
 *	== write__lost_middle
 *	# [IBA 9.7.5.2.4] the NAK names the first packet that is missing
 *	> post A WRITE 3000
 *	> lose A 1
 *	> run
 *	0us A>B WRITE_FIRST psn 0
 *	...
 *
 * Two hosts, A and B, a QP on each, a microsecond between them, hosts that take no time. The commands
 * are the table in play.c.
 */

#include <stdbool.h>
#include <stddef.h>

struct world;

struct ladder_case {
	char *name;       /* "write__lost_middle" */
	char *head;       /* the lines before the first command, name included */
	char *transcript; /* the rest, without empty lines at its end */
};

struct ladder {
	const char *path;
	struct ladder_case *cases;
	unsigned nb;
};

/** Read a file; ends the program with a line on stderr if it cannot be read. */
void ladder_read(struct ladder *ladder, const char *path);

/** Write it again, each case with a transcript of its own making. */
void ladder_write(struct ladder *ladder, struct world *world);

void ladder_free(struct ladder *ladder);

/** Play the commands of a case. @return the transcript that they give, to be freed */
char *ladder_play(const struct ladder_case *c, struct world *world);

#endif /* TEST_SIM_GOLDEN_LADDER_H */
