/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERF_IMPAIR_H
#define PERF_IMPAIR_H

/**
 * @file
 * Simulates a bad network on any port: of the RoCE frames that a port receives or sends, some are
 * lost, duplicated, reordered, or have a bit flipped. Other frames (ARP, neighbour discovery) are
 * not changed. By default each side impairs the frames that it receives, so both directions are
 * impaired. If the peer cannot impair frames, one side can impair both directions.
 */

/**
 * Parse "loss=P,dup=P,reorder=P,corrupt=P,span=N,seed=N,side=rx|tx|both". Each P is the probability
 * of the fault for a frame. Up to `span` later frames (default 16) overtake a reordered frame; it
 * is delivered earlier when the port is idle. A transmitted frame is reordered only within its
 * burst, and not duplicated.
 * @return 0, or -1 after one line on stderr
 */
int impair_open(const char *spec);

/**
 * Impair the frames that a started port receives or sends from now on. Without impair_open() the
 * function does nothing.
 */
int impair_add_port(const char *port_name);

/**
 * Print on stderr how many frames were impaired. All threads must have stopped polling the ports.
 */
void impair_close(void);

#endif /* PERF_IMPAIR_H */
