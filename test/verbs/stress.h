/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_STRESS_H
#define UROCE_TEST_VERBS_STRESS_H

/**
 * @file
 * The random operations that the threads of the stress test execute, and their objects. stress.c
 * describes the test.
 */

#include "net.h"

#include <stdio.h>

#define PART    8192u      /* length in bytes of each part of a buffer (enum part) */
#define TIMEOUT (1u << 24) /* maximum number of polls, which only a hang reaches */
#define RIGHTS  (IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE | IBV_ACCESS_MW_BIND)

/**
 * The parts of a buffer. Each use of a link has a part of its own, so that no two uses write the
 * same bytes.
 */
enum part { SOURCE, RECEIVED, WRITTEN, FETCHED, NB_PARTS };

/** A thread that executes random operations. */
struct actor {
	pthread_t thread;
	uint64_t seed;
	uint8_t *buf; /* NB_PARTS * PART bytes that only this thread uses */
};

/**
 * A QP and the objects that it needs. It is an end of a link, or a QP of one thread, which has only
 * some of the objects.
 */
struct end {
	struct host *host;
	uint8_t *buf;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp;
	struct ibv_ah *ah; /* address handle to the other end, for UD */
};

extern struct pair net;
extern int xrc_fd; /* descriptor of the file of an XRC domain that all threads share */
extern atomic_uint nb_bad;

/** Check a condition. The first failure is printed, and all are counted. */
#define check(is_good)                                                                             \
	do {                                                                                       \
		if (!(is_good) && atomic_fetch_add(&nb_bad, 1) == 0)                               \
			print_error("%s:%d: %s, errno %d\n", __FILE__, __LINE__, #is_good, errno); \
	} while (0)

uint32_t draw(struct actor *self, uint32_t below);
struct host *any_host(struct actor *self);

/** Whether the result of a call is 0, `one` or `other`. */
bool is_one_of(int ret, int one, int other);

/* --- objects: functions that create them, and operations of one thread --- */

struct ibv_cq *make_cq(struct actor *self, struct ibv_context *context,
		       struct ibv_comp_channel *channel, bool is_ex, uint32_t nb_cqe);
struct ibv_srq *make_srq(const struct end *end, uint32_t max_wr);
struct ibv_xrcd *open_xrcd(struct ibv_context *context, int fd);
struct ibv_qp *make_qp(const struct end *end, enum ibv_qp_type type, bool is_ex);

void make_domains(struct actor *self);
void make_regions(struct actor *self);
void make_regions_on_demand(struct actor *self);
void make_device_memory(struct actor *self);
void make_queues(struct actor *self);
void make_qps(struct actor *self);
void make_targets(struct actor *self);
void make_contexts(struct actor *self);
void make_mkeys(struct actor *self);
void take_events(struct actor *self);
void query_device(struct actor *self);

/* --- links: pairs of QPs that all threads share --- */

void open_links(struct actor *self);
void close_links(void);

void exchange(struct actor *self);
void wait_for_events(struct actor *self);
void change_state(struct actor *self);
void query_qps(struct actor *self);
void resize(struct actor *self);
void join_group(struct actor *self);
void make_windows(struct actor *self);
void rebuild(struct actor *self);

/* --- relays: QPs that one thread posts to, and another one destroys --- */

void give_and_take(struct actor *self);

/** Finish the relays that no thread has taken, when all threads have ended. */
void finish_relays(void);

#endif /* UROCE_TEST_VERBS_STRESS_H */
