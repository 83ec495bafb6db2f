/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_CC_H
#define UROCE_TRANSPORT_CC_H

/**
 * @file
 * Congestion control: how fast a QP may send, and what it tells its peer.
 *
 * An algorithm is a row of functions. There are two: `none`, and `dcqcn` [Zhu et al., "Congestion
 * Control for Large-Scale RDMA Deployments", SIGCOMM 2015; IBA A17.9]. A switch marks packets (CE)
 * when its queue grows; the QP that receives them is the notification point and sends a CNP, not more
 * often than every `cnp_us`; the QP that sent them is the reaction point and slows down. It knows by
 * how much from alpha, its estimate of how congested the path is:
 *
 *	CNP            target = rate, rate -= rate * alpha / 2, alpha += (1 - alpha) / gain
 *	no CNP for `alpha_us`                                   alpha -= alpha / gain
 *	every `timer_us`, and every `byte_kb` sent:  an event. The first `stages` - 1 of either kind
 *	               rate = (target + rate) / 2                          fast recovery
 *	then           target += ai_mbps,     rate as above                additive increase
 *	and, when more than `stages` of both came, by the i-th of the lesser kind
 *	               target += i * hai_mbps, rate as above               hyper increase
 *
 * A CNP is not authenticated: whoever knows the addresses and the QPN can forge one. So the rate is lowered at most
 * once every `reduce_us`, which is half of what notification points keep to, since two of their CNPs may
 * come closer together than they left; and a QP that is limited reacts only if it has sent something since the last
 * time. So a forger lowers a rate as fast as a congested path does, and no faster than packets leave.
 *
 * A QP that has its full rate is not limited: no clock runs for it, and no byte is counted. Timers are
 * caught up with when somebody asks, so that a QP which says nothing costs nothing. All of it is
 * arithmetic of integers, the same on every machine.
 *
 * The pacer: packet after packet, `next_ns` moves on by the time that the packet takes at the present
 * rate, and nothing is sent before. It lags behind the clock by no more than what `burst` bytes take:
 * what was not sent in time may follow at once, but no more than that.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** How an algorithm is known, and what every QP of a device has in common. */
struct uroce_cc_conf {
	const struct uroce_cc_ops *ops; /* NULL: none */
	uint32_t rate_mbps;             /* full rate, of the port; 0: not known, 100 Gb/s */
	uint32_t min_mbps;              /* never slower */
	uint32_t ai_mbps;               /* additive increase, per event */
	uint32_t hai_mbps;              /* hyper increase, per event, times i */
	uint32_t gain;                  /* 1/g of the paper */
	uint32_t alpha_us;              /* alpha sinks after so long without a CNP */
	uint32_t timer_us;              /* time between two events of the timer */
	uint32_t byte_kb;               /* 1000 bytes sent between two events of the byte counter */
	uint32_t stages;                /* F of the paper */
	uint32_t cnp_us;                /* least time between two CNPs of a QP */
	uint32_t reduce_us; /* least time between two CNPs that lower the rate of a QP */
	uint32_t cnp_dscp;  /* DSCP of CNPs */
	uint32_t burst_kb;  /* 1000 bytes that may be caught up with at once */
};

/** A parameter of the configuration: its key is "cc_" and the name. */
struct uroce_cc_param {
	const char *name;
	uint32_t offset; /* of its field, a uint32_t */
	uint32_t min;
	uint32_t max;
	uint32_t value;   /* by default */
	const char *text; /* what it is, for people, unit included */
};

#define UROCE_CC_PARAMS 13
extern const struct uroce_cc_param uroce_cc_params[UROCE_CC_PARAMS];

/** 1.0 of alpha. */
#define UROCE_CC_ALPHA_ONE (1u << 20)

/**
 * Congestion control of a QP. All zero but for the deadlines: not limited, nothing noted. The first 16
 * bytes are what every packet looks at, the last 16 what every request does.
 */
struct uroce_cc {
	bool is_limited;       /* slower than the port: the rest is valid */
	bool is_begun;         /* a CNP came once: alpha is valid */
	bool has_cnp;          /* a CNP is to be sent */
	uint32_t alpha;        /* in UROCE_CC_ALPHA_ONE */
	uint64_t cnp_deadline; /* a CNP waits for cnp_ns; UROCE_NEVER: none does */
	/* while it is limited, or packets come marked */
	const struct uroce_cc_conf *conf; /* borrowed; NULL: none */
	uint32_t bytes_left;              /* until the next event of the byte counter */
	uint16_t nb_timer;                /* events of the timer since the last CNP, saturated */
	uint16_t nb_bytes;                /* events of the byte counter */
	uint64_t rate_bps;                /* present rate */
	uint64_t target_bps;              /* where recovery goes to */
	uint64_t alpha_ns;                /* when alpha changed last */
	uint64_t timer_ns;                /* when the timer's present period began */
	uint64_t next_ns;                 /* the next packet's time */
	uint64_t cnp_ns;                  /* no CNP before */
	uint64_t ask_ns;                  /* from then on a packet asks for an ACK */
	uint64_t pace_deadline; /* something waits to be sent; UROCE_NEVER: nothing does */
};

/** An algorithm: the functions of a reaction point. */
struct uroce_cc_ops {
	const char *name;
	/* whether a CNP that comes now is heeded */
	bool (*may_react)(const struct uroce_cc *cc, uint64_t now_ns);
	/* a CNP came, and is heeded */
	void (*notified)(struct uroce_cc *cc, uint64_t now_ns);
	/* time has passed; only called while is_limited */
	void (*advance)(struct uroce_cc *cc, uint64_t now_ns);
	/* so many bytes were sent; only called while is_limited */
	void (*sent)(struct uroce_cc *cc, uint32_t len);
};

/** The row of an algorithm. @return false: there is none of that name. "none": `ops` is NULL */
bool uroce_cc_find(const char *name, const struct uroce_cc_ops **ops);

/** The names, for people: "none or dcqcn". */
const char *uroce_cc_names(void);

/** Every parameter at its default, no algorithm. */
void uroce_cc_conf_init(struct uroce_cc_conf *conf);

/** Set a parameter to a value in its range. */
void uroce_cc_conf_set(struct uroce_cc_conf *conf, const struct uroce_cc_param *param,
		       uint32_t value);

/** @return NULL, or what is wrong with the values, why, and what is allowed */
const char *uroce_cc_conf_check(const struct uroce_cc_conf *conf);

/** Nothing known yet, full rate. @param conf  NULL, or one without `ops`: none */
void uroce_cc_init(struct uroce_cc *cc, const struct uroce_cc_conf *conf);

/** The QP sends no more: not limited, nothing waits. */
void uroce_cc_stop(struct uroce_cc *cc);

/** A CNP came. @return whether it was heeded */
bool uroce_cc_notified(struct uroce_cc *cc, uint64_t now_ns);

/** A packet came with CE. */
void uroce_cc_marked(struct uroce_cc *cc, uint64_t now_ns);

/** The CNP that was due has left. */
void uroce_cc_cnp_sent(struct uroce_cc *cc, uint64_t now_ns);

/** Something waits for its time: until then, or until the rate changes, which makes it sooner. */
void uroce_cc_wait(struct uroce_cc *cc);

/** A deadline may have passed. */
void uroce_cc_expire(struct uroce_cc *cc, uint64_t now_ns);

/** Before a burst, while is_limited: catch up with the timers, and forget what lags too far behind. */
void uroce_cc_begin(struct uroce_cc *cc, uint64_t now_ns);

/** A frame of `len` bytes leaves, while is_limited. */
void uroce_cc_charge(struct uroce_cc *cc, uint32_t len, uint64_t now_ns);

/** Whether another packet may be sent now. */
static inline bool
uroce_cc_may_send(const struct uroce_cc *cc, uint64_t now_ns)
{
	return !cc->is_limited || cc->next_ns <= now_ns;
}

/** Whether the QP reacts to CNPs, so that its packets may be marked. */
static inline bool
uroce_cc_is_reacting(const struct uroce_cc *cc)
{
	return cc->conf != NULL;
}

#endif /* UROCE_TRANSPORT_CC_H */
