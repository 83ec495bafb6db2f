/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UROCED_ATTACKER_H
#define TEST_UROCED_ATTACKER_H

/**
 * @file
 * The fixture of attacks: uroced, a pair of honest clients, and an attacker. After each attack the
 * pair has lost nothing, and uroced has no more descriptors and memory than before.
 */

#include "pair.h"

extern struct daemon daemon_;
extern struct pair pair; /* the honest clients */
extern struct peer eve;  /* the attacker */

/** Start uroced and the honest clients, for a group of tests. */
int attacker_set_up(void **state);
int attacker_tear_down(void **state);

/** Before a test: reset the attacker, which then has no connection. */
int attacker_begin(void **state);

/** After a test: end the attacker, and check the honest clients and uroced. */
int attacker_check(void **state);

/** Attach the attacker, and bind its QPs to the sender of the honest clients. */
void attacker_open(void);

#endif /* TEST_UROCED_ATTACKER_H */
