/* SPDX-License-Identifier: BSD-3-Clause */

/* An end of a connection: a QP, its CQs, and the memory that it works on. Named by a number of the runner's. */

#ifndef ACTOR_END_H_
#define ACTOR_END_H_

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "words.h"

#define ENDS_MAX 1024

struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	int gid_idx; /* of the address that the runner asked for */
	union ibv_gid gid;
	struct ibv_device_attr attr;
};

struct end {
	struct ibv_qp *qp; /* NULL: there is none of this number */
	struct ibv_srq *srq;
	struct end *srq_owner; /* who made the SRQ */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[2]; /* of sends, of receives */
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_ah *ah; /* of the datagrams' last destination */
	union ibv_gid ah_gid;
	enum ibv_qp_type type;
	uint8_t *memory;
	uint64_t size;
	uint32_t inline_max;
};

enum { ON_SEND, ON_RECV };

extern struct device device;

/* The end that id= names; fail() where there is none. */
struct end *end_of(const struct words *words);

/* fail() unless offset and length are in its memory. */
uint8_t *end_memory(const struct end *end, uint64_t offset, uint64_t length);

union ibv_gid gid_of(const char *text);

/* Operations: each prints its answer, or fail()s and has changed nothing. */
void op_open(const struct words *words);
void op_create(const struct words *words);
void op_connect(const struct words *words);
void op_modify(const struct words *words);
void op_state(const struct words *words);
void op_attach(const struct words *words);
void op_destroy(const struct words *words);
void ends_close(void);

extern const struct word_bit rights[];
extern const struct word_bit states[];

#endif
