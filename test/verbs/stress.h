/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TEST_VERBS_STRESS_H
#define UROCE_TEST_VERBS_STRESS_H

/**
 * @file
 * The random operations of the threads, and their objects. See stress.c.
 */

#include "net.h"

#include <stdio.h>

#define PART    8192u      /* bytes of a part of a buffer, see enum part */
#define TIMEOUT (1u << 24) /* limit of polls that only a hang reaches */
#define RIGHTS  (IBV_ACCESS_LOCAL_WRITE | ALL_REMOTE | IBV_ACCESS_MW_BIND)

/** The parts of a link's buffer, so that no two uses write the same bytes. */
enum part { SOURCE, RECEIVED, WRITTEN, FETCHED, NB_PARTS };

/** A thread of the test. */
struct actor {
	pthread_t thread;
	uint64_t seed;
	uint8_t *buf; /* NB_PARTS * PART bytes of the thread's own */
};

/**
 * A QP and the objects that it needs: of a link, or of one thread. A thread's own QP does not need
 * all of them.
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
	struct ibv_ah *ah; /* address handle of the other end */
};

extern struct pair net;
extern int xrc_fd; /* the file of a domain that all threads share */
extern atomic_uint nb_bad;

/** Check a condition; the first failure is printed. */
#define check(is_good)                                                                             \
	do {                                                                                       \
		if (!(is_good) && atomic_fetch_add(&nb_bad, 1) == 0)                               \
			print_error("%s:%d: %s, errno %d\n", __FILE__, __LINE__, #is_good, errno); \
	} while (0)

uint32_t draw(struct actor *self, uint32_t below);
struct host *any_host(struct actor *self);

/** Whether the result of a call is success or one of two allowed errors. */
bool is_one_of(int ret, int one, int other);

/* --- objects: what makes one for the others, and acts --- */

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

/* --- links: acts --- */

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

/* --- relays: the act --- */

void give_and_take(struct actor *self);

/** Destroy the relays that no thread has taken. */
void finish_relays(void);

#endif /* UROCE_TEST_VERBS_STRESS_H */
