/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_IMPAIR_H
#define PERF_IMPAIR_H

/**
 * @file
 * A bad network on any port: of the RoCE frames that a port receives, or sends, some are lost, doubled,
 * held back behind later ones, or have a bit flipped. Other frames (ARP, neighbour discovery) come
 * through. By default each side impairs what it receives, so both directions are; beside a peer that
 * cannot do that, one side can do both.
 */

/**
 * Take "loss=P,dup=P,reorder=P,corrupt=P,span=N,seed=N,side=rx|tx|both": P are probabilities for each
 * frame; a frame that is held back lets up to `span` others pass (default 16), or goes on when the
 * port is idle. What is sent is held back within its burst, and not doubled.
 * @return 0, or -1 after one line on stderr
 */
int impair_open(const char *spec);

/** Impair what a started port receives or sends from now on; no impair_open(): nothing. */
int impair_add_port(const char *port_name);

/** Say on stderr what was done. Ports must have stopped being polled. */
void impair_close(void);

#endif /* PERF_IMPAIR_H */
