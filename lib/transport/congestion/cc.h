/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_TRANSPORT_CC_H
#define UROCE_TRANSPORT_CC_H

/**
 * @file
 * Congestion control: limits the rate of a QP, and notifies its peer of congestion.
 *
 * An algorithm is a table of functions. There are two: `none`, and `dcqcn` [Zhu et al., "Congestion
 * Control for Large-Scale RDMA Deployments", SIGCOMM 2015; IBA A17.9]. A switch marks packets (CE)
 * when its queue grows. The QP that receives marked packets is the notification point: it sends a
 * CNP, at most one in `cnp_us`. The QP that sent the packets is the reaction point: it lowers its
 * rate. How much depends on alpha, its estimate of how congested the path is:
 *
 *	CNP            target = rate, rate -= rate * alpha / 2, alpha += (1 - alpha) / gain
 *	no CNP for `alpha_us`                                   alpha -= alpha / gain
 *	every `timer_us`, and every `byte_kb` sent:  an event. The first `stages` - 1 of either kind
 *	               rate = (target + rate) / 2                          fast recovery
 *	then           target += ai_mbps,     rate as above                additive increase
 *	and, if i > 0, where i is the smaller of the two numbers of events, minus `stages`
 *	               target += i * hai_mbps, rate as above               hyper increase
 *
 * A CNP is not authenticated: whoever knows the addresses and the QPN can forge one. So the rate is
 * lowered at most once in `reduce_us`. The default is half of the default interval of notification
 * points (`cnp_us`), because two CNPs may arrive closer together than they were sent. A limited QP
 * reacts only if it has sent something since the last CNP. So forged CNPs lower a rate no faster
 * than a congested path does, and no faster than packets leave.
 *
 * A QP at its full rate is not limited: no timer runs for it, and no byte is counted. Periods of
 * timers that have passed are processed when the QP sends or receives a CNP, so an idle QP costs
 * nothing. All computations are integer, so that results are equal on every machine.
 *
 * The pacer advances `next_ns` with each packet by the time that the packet takes at the present
 * rate. Nothing is sent before `next_ns`. `next_ns` lags behind the clock by no more than the time
 * that `burst_kb` takes. So what could not be sent in time may follow at once, up to that volume.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Configuration of an algorithm, shared by the QPs of a device. */
struct uroce_cc_conf {
	const struct uroce_cc_ops *ops; /* NULL: no congestion control */
	uint32_t rate_mbps; /* full rate, that of the port; 0: not known, 100 Gb/s is assumed */
	uint32_t min_mbps;  /* the lowest rate */
	uint32_t ai_mbps;   /* additive increase of the target, per event */
	uint32_t hai_mbps;  /* hyper increase of the target, per event, times i */
	uint32_t gain;      /* 1 / g, where g is the weight of a change of alpha [Zhu et al.] */
	uint32_t alpha_us;  /* alpha decreases after this time without a CNP */
	uint32_t timer_us;  /* time between two events of the timer */
	uint32_t byte_kb;   /* kB (1000 bytes) sent between two events of the byte counter */
	uint32_t stages;    /* events of one kind that end fast recovery: F in [Zhu et al.] */
	uint32_t cnp_us;    /* shortest time between two CNPs that a QP sends */
	uint32_t reduce_us; /* shortest time between two CNPs that lower the rate of a QP */
	uint32_t cnp_dscp;  /* DSCP of CNPs */
	uint32_t burst_kb;  /* kB (1000 bytes) that may be sent at once when sending was late */
};

/**
 * A parameter of congestion control. Its key in the configuration is "cc_" followed by the name.
 */
struct uroce_cc_param {
	const char *name;
	uint32_t offset; /* offset of the field in struct uroce_cc_conf, a uint32_t */
	uint32_t min;
	uint32_t max;
	uint32_t value;   /* default value */
	const char *text; /* description for users, with the unit */
};

#define UROCE_CC_PARAMS 13
extern const struct uroce_cc_param uroce_cc_params[UROCE_CC_PARAMS];

/** The value 1.0 of alpha. */
#define UROCE_CC_ALPHA_ONE (1u << 20)

/**
 * Congestion control of a QP. With all fields 0, except for the deadlines, the QP is not limited.
 * Every packet reads the first 16 bytes, every request the last 16.
 */
struct uroce_cc {
	bool is_limited; /* the rate is below the port's; the fields below are valid */
	bool is_begun;   /* a CNP came at least once: alpha is valid */
	bool has_cnp;    /* a CNP is pending */
	uint32_t alpha;  /* in units of 1 / UROCE_CC_ALPHA_ONE */
	/* when a CNP that was delayed becomes pending; UROCE_NEVER: there is none */
	uint64_t cnp_deadline;
	/* The following fields are used while the QP is limited, or receives marked packets. */
	const struct uroce_cc_conf *conf; /* must outlive the QP; NULL: no congestion control */
	uint32_t bytes_left;              /* bytes until the next event of the byte counter */
	/* number of events of the increase timer since the last CNP, saturated */
	uint16_t nb_timer;
	uint16_t nb_bytes; /* number of events of the byte counter since the last CNP, saturated */
	uint64_t rate_bps; /* present rate */
	uint64_t target_bps; /* the rate to which rate_bps returns step by step */
	uint64_t alpha_ns;   /* when alpha changed last */
	uint64_t timer_ns;   /* when the present period of the increase timer began */
	uint64_t next_ns;    /* when the next packet may be sent */
	uint64_t cnp_ns;     /* no CNP is sent before this time */
	uint64_t ask_ns;     /* the first packet from this time on asks for an ACK */
	/* when a packet that waits for the pacer may be sent; UROCE_NEVER: none waits */
	uint64_t pace_deadline;
};

/** An algorithm: the functions of the reaction point. */
struct uroce_cc_ops {
	const char *name;
	/* whether the reaction point accepts a CNP that comes now */
	bool (*may_react)(const struct uroce_cc *cc, uint64_t now_ns);
	/* a CNP was accepted: lower the rate */
	void (*notified)(struct uroce_cc *cc, uint64_t now_ns);
	/* process the time that has passed; only called while is_limited */
	void (*advance)(struct uroce_cc *cc, uint64_t now_ns);
	/* count `len` bytes that were sent; only called while is_limited */
	void (*sent)(struct uroce_cc *cc, uint32_t len);
};

/**
 * Find an algorithm by its name. For "none", `ops` becomes NULL.
 * @return false: there is no such name
 */
bool uroce_cc_find(const char *name, const struct uroce_cc_ops **ops);

/** The names of the algorithms as text for users: "none or dcqcn". */
const char *uroce_cc_names(void);

/** Initialise a configuration: each parameter has its default, and there is no algorithm. */
void uroce_cc_conf_init(struct uroce_cc_conf *conf);

/** Set a parameter to a value, which must be in its range. */
void uroce_cc_conf_set(struct uroce_cc_conf *conf, const struct uroce_cc_param *param,
		       uint32_t value);

/**
 * Check a configuration.
 * @return NULL, or a text that says which value is wrong, why, and what is allowed
 */
const char *uroce_cc_conf_check(const struct uroce_cc_conf *conf);

/**
 * Initialise congestion control of a QP at its full rate.
 * @param conf  NULL, or a configuration with `ops` NULL: no congestion control
 */
void uroce_cc_init(struct uroce_cc *cc, const struct uroce_cc_conf *conf);

/**
 * Reset the state when the QP sends no more: the QP is not limited, and nothing waits for the
 * pacer.
 */
void uroce_cc_stop(struct uroce_cc *cc);

/** Process a CNP. @return whether it was accepted */
bool uroce_cc_notified(struct uroce_cc *cc, uint64_t now_ns);

/** Process a packet that arrived with CE: schedule a CNP. */
void uroce_cc_marked(struct uroce_cc *cc, uint64_t now_ns);

/** Record that the pending CNP was sent. */
void uroce_cc_cnp_sent(struct uroce_cc *cc, uint64_t now_ns);

/**
 * Arm pace_deadline, because a packet waits for the pacer. An increase of the rate may make the
 * packet's time earlier.
 */
void uroce_cc_wait(struct uroce_cc *cc);

/** Process the deadlines that have passed. */
void uroce_cc_expire(struct uroce_cc *cc, uint64_t now_ns);

/**
 * Prepare a burst, while is_limited: process the timer periods that have passed, and limit how far
 * next_ns lags behind.
 */
void uroce_cc_begin(struct uroce_cc *cc, uint64_t now_ns);

/** Charge a frame of `len` bytes that is being sent, while is_limited. */
void uroce_cc_charge(struct uroce_cc *cc, uint32_t len, uint64_t now_ns);

/** Whether the pacer allows another packet now. */
static inline bool
uroce_cc_may_send(const struct uroce_cc *cc, uint64_t now_ns)
{
	return !cc->is_limited || cc->next_ns <= now_ns;
}

/** Whether the QP reacts to CNPs. Then its packets allow switches to mark them. */
static inline bool
uroce_cc_is_reacting(const struct uroce_cc *cc)
{
	return cc->conf != NULL;
}

#endif /* UROCE_TRANSPORT_CC_H */
