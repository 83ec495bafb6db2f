/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_CC_H
#define UROCE_TRANSPORT_CC_H

/**
 * @file
 * Congestion control: limits the rate of a QP, and notifies its peer of congestion.
 *
 * An algorithm is a table of functions. There are two algorithms: `none`, and `dcqcn` [Zhu et al.,
 * "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015; IBA A17.9]. A switch marks
 * packets (CE) when its queue grows. The QP that receives marked packets is the notification point:
 * it sends a CNP, at most one in `cnp_us`. The QP that sent the packets is the reaction point: it
 * lowers its rate. The reduction depends on alpha, the reaction point's estimate of how congested
 * the path is. The rules of the reaction point are:
 *
 * - At a CNP: target = rate; rate -= rate * alpha / 2; alpha += (1 - alpha) / gain.
 * - After each `alpha_us` without a CNP: alpha -= alpha / gain.
 * - Every `timer_us`, and every `byte_kb` sent, there is an event, which sets the rate to (target +
 *   rate) / 2. The first `stages` - 1 events of either kind after a CNP do only this (fast
 *   recovery).
 * - A later event first raises the target by ai_mbps (additive increase).
 * - Let i be the smaller of the two numbers of events, minus `stages`. If i > 0, an event first
 *   raises the target by i * hai_mbps instead (hyper increase).
 *
 * A CNP is not authenticated: any host that knows the addresses and the QPN can forge a CNP. So the
 * rate is lowered at most once in `reduce_us`. The default is half of the default interval of
 * notification points (`cnp_us`), because two CNPs may arrive closer together than they were sent.
 * A limited QP reacts only if it has sent something since the last CNP. So forged CNPs lower a rate
 * no faster than a congested path does, and no faster than packets leave.
 *
 * A QP at its full rate is not limited: no timer runs for it, and no byte is counted. Periods of
 * timers that have passed are processed when the QP sends or receives a CNP, so an idle QP costs
 * nothing. All computations are integer, so that results are equal on every machine.
 *
 * The pacer advances `next_ns` with each packet by the time that the packet takes at the present
 * rate. Nothing is sent before `next_ns`. `next_ns` lags behind the clock by no more than the time
 * that `burst_kb` takes. So packets that could not be sent in time may follow at once, up to
 * `burst_kb`.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Configuration of congestion control, which the QPs of a device share. */
struct uroce_cc_conf {
	/* the functions of the congestion control algorithm; NULL: no congestion control */
	const struct uroce_cc_ops *ops;
	/*
	 * full rate of a QP, which is the rate of the port; 0: the rate is not known, and 100 Gb/s
	 * is assumed
	 */
	uint32_t rate_mbps;
	uint32_t min_mbps; /* lowest rate to which CNPs reduce a QP */
	uint32_t ai_mbps;  /* additive increase of the target rate at each event */
	/*
	 * hyper increase: an event raises the target rate by i * hai_mbps, where i is the smaller
	 * of the numbers of timer events and byte counter events since the last CNP, minus `stages`
	 */
	uint32_t hai_mbps;
	uint32_t gain;     /* 1 / g, where g is the weight of a change of alpha [Zhu et al.] */
	uint32_t alpha_us; /* time in us without a CNP after which alpha decreases */
	uint32_t timer_us; /* time in us between two events of the increase timer */
	uint32_t byte_kb;  /* kB (1000 bytes) sent between two events of the byte counter */
	/* number of events of one kind after which fast recovery ends; F in [Zhu et al.] */
	uint32_t stages;
	uint32_t cnp_us;    /* shortest time in us between two CNPs that a QP sends */
	uint32_t reduce_us; /* shortest time in us between two CNPs that lower the rate of a QP */
	uint32_t cnp_dscp;  /* DSCP of the CNPs that a QP sends */
	/* kB (1000 bytes) that a QP may send at once if it could not send in time */
	uint32_t burst_kb;
};

/**
 * A parameter of congestion control that users can set. Its key in the configuration is "cc_"
 * followed by the name.
 */
struct uroce_cc_param {
	const char *name;
	/* offset of the parameter's field in struct uroce_cc_conf; the field is a uint32_t */
	uint32_t offset;
	uint32_t min;
	uint32_t max;
	uint32_t value;   /* default value of the parameter */
	const char *text; /* description of the parameter for users, with the unit */
};

#define UROCE_CC_PARAMS 13
extern const struct uroce_cc_param uroce_cc_params[UROCE_CC_PARAMS];

/** The integer that represents alpha = 1.0. Alpha estimates how congested the path is. */
#define UROCE_CC_ALPHA_ONE (1u << 20)

/**
 * The state of congestion control of a QP. If all fields except the deadlines are 0, the rate of
 * the QP is not limited. The first 16 bytes are read for every packet, the last 16 for every
 * request.
 */
struct uroce_cc {
	/*
	 * the rate of the QP is below that of the port; the rates and counts in this struct are
	 * valid only while this is set
	 */
	bool is_limited;
	bool is_begun; /* a CNP has been received at least once, so alpha is valid */
	bool has_cnp;  /* a CNP to the peer is pending */
	/* estimate of how congested the path is, in units of 1 / UROCE_CC_ALPHA_ONE */
	uint32_t alpha;
	/* time at which a delayed CNP becomes pending; UROCE_NEVER: no CNP is delayed */
	uint64_t cnp_deadline;
	/*
	 * The fields from `conf` to `cnp_ns` are used while the QP is limited, or receives marked
	 * packets.
	 */
	/*
	 * configuration of congestion control, which must outlive the QP; NULL: no congestion
	 * control
	 */
	const struct uroce_cc_conf *conf;
	uint32_t bytes_left; /* number of bytes until the next event of the byte counter */
	/* number of events of the increase timer since the last CNP, saturated */
	uint16_t nb_timer;
	uint16_t nb_bytes; /* number of events of the byte counter since the last CNP, saturated */
	uint64_t rate_bps; /* present rate of the QP */
	uint64_t target_bps; /* the rate to which rate_bps increases step by step */
	uint64_t alpha_ns;   /* time at which alpha changed last */
	uint64_t timer_ns;   /* time at which the present period of the increase timer began */
	uint64_t next_ns;    /* time at which the pacer allows the next packet */
	uint64_t cnp_ns;     /* time before which no CNP is sent to the peer */
	/* from this time on, the next packet that is sent requests an ACK */
	uint64_t ask_ns;
	/*
	 * time at which a packet that waits for the pacer may be sent; UROCE_NEVER: no packet waits
	 */
	uint64_t pace_deadline;
};

/**
 * A congestion control algorithm: the functions of the reaction point, which is the sender that
 * slows down.
 */
struct uroce_cc_ops {
	const char *name;
	/* function that returns whether the reaction point accepts a CNP that arrives now */
	bool (*may_react)(const struct uroce_cc *cc, uint64_t now_ns);
	/* function that lowers the rate, because a CNP was accepted */
	void (*notified)(struct uroce_cc *cc, uint64_t now_ns);
	/*
	 * function that processes the timer periods that have passed; it is called only while
	 * is_limited is set
	 */
	void (*advance)(struct uroce_cc *cc, uint64_t now_ns);
	/*
	 * function that counts `len` bytes that were sent; it is called only while is_limited is
	 * set
	 */
	void (*sent)(struct uroce_cc *cc, uint32_t len);
};

/**
 * Find a congestion control algorithm by its name. For "none", `*ops` becomes NULL.
 * @return false: there is no algorithm of this name
 */
bool uroce_cc_find(const char *name, const struct uroce_cc_ops **ops);

/** Get the names of all congestion control algorithms as text for users: "none or dcqcn". */
const char *uroce_cc_names(void);

/**
 * Initialise a configuration: each parameter gets its default value, and no algorithm is chosen.
 */
void uroce_cc_conf_init(struct uroce_cc_conf *conf);

/** Set a parameter of a configuration to a value, which must be in the range of the parameter. */
void uroce_cc_conf_set(struct uroce_cc_conf *conf, const struct uroce_cc_param *param,
		       uint32_t value);

/**
 * Check the values of a configuration.
 * @return NULL: all values are valid; otherwise a text with the wrong value, the reason why it is
 *	wrong, and the allowed values
 */
const char *uroce_cc_conf_check(const struct uroce_cc_conf *conf);

/**
 * Initialise congestion control of a QP at its full rate.
 * @param conf  the configuration; if it or its field `ops` is NULL, there is no congestion control
 */
void uroce_cc_init(struct uroce_cc *cc, const struct uroce_cc_conf *conf);

/**
 * Reset congestion control of a QP that sends nothing more: its rate is not limited, and no packet
 * waits for the pacer.
 */
void uroce_cc_stop(struct uroce_cc *cc);

/**
 * Process a CNP that the QP has received.
 * @return whether the algorithm has accepted the CNP
 */
bool uroce_cc_notified(struct uroce_cc *cc, uint64_t now_ns);

/** Schedule a CNP to the peer, because a packet arrived with a congestion mark (CE). */
void uroce_cc_marked(struct uroce_cc *cc, uint64_t now_ns);

/** Record that the pending CNP was sent. */
void uroce_cc_cnp_sent(struct uroce_cc *cc, uint64_t now_ns);

/**
 * Arm pace_deadline, because a packet waits for the pacer. The deadline is no later than the next
 * rate increase, because a higher rate may allow the packet earlier.
 */
void uroce_cc_wait(struct uroce_cc *cc);

/** Process the deadlines of the pacer and of delayed CNPs that have passed. */
void uroce_cc_expire(struct uroce_cc *cc, uint64_t now_ns);

/**
 * Prepare the transmission of a burst: process the timer periods that have passed, and limit how
 * far next_ns, the time of the pacer's next packet, is behind the clock. The function may be called
 * only while is_limited is set.
 */
void uroce_cc_begin(struct uroce_cc *cc, uint64_t now_ns);

/**
 * Advance the pacer and the byte counter by a frame of `len` bytes that is being sent. The function
 * may be called only while is_limited is set.
 */
void uroce_cc_charge(struct uroce_cc *cc, uint32_t len, uint64_t now_ns);

/** Whether the pacer allows another packet now. */
static inline bool
uroce_cc_may_send(const struct uroce_cc *cc, uint64_t now_ns)
{
	return !cc->is_limited || cc->next_ns <= now_ns;
}

/**
 * Whether the QP reacts to CNPs. If it does, its packets are ECN-capable, so that switches may mark
 * them.
 */
static inline bool
uroce_cc_is_reacting(const struct uroce_cc *cc)
{
	return cc->conf != NULL;
}

#endif /* UROCE_TRANSPORT_CC_H */
