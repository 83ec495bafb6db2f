/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts the codes of InfiniBand rates (enum ibv_rate) to multiples of 2.5 Gb/s and to Mb/s, and
 * back [IBA 9.11.1; verbs.h].
 */

#include <stddef.h>
#include <infiniband/verbs.h>

static const struct rate {
	enum ibv_rate code;
	/* the rate as a multiple of 2.5 Gb/s; -1: verbs.h defines no multiple for this rate */
	int mult;
	int mbps;
} rates[] = {
	{ IBV_RATE_2_5_GBPS, 1, 2500 },       { IBV_RATE_5_GBPS, 2, 5000 },
	{ IBV_RATE_10_GBPS, 4, 10000 },       { IBV_RATE_20_GBPS, 8, 20000 },
	{ IBV_RATE_30_GBPS, 12, 30000 },      { IBV_RATE_40_GBPS, 16, 40000 },
	{ IBV_RATE_60_GBPS, 24, 60000 },      { IBV_RATE_80_GBPS, 32, 80000 },
	{ IBV_RATE_120_GBPS, 48, 120000 },    { IBV_RATE_14_GBPS, -1, 14062 },
	{ IBV_RATE_56_GBPS, -1, 56250 },      { IBV_RATE_112_GBPS, -1, 112500 },
	{ IBV_RATE_168_GBPS, -1, 168750 },    { IBV_RATE_25_GBPS, -1, 25781 },
	{ IBV_RATE_100_GBPS, -1, 103125 },    { IBV_RATE_200_GBPS, -1, 206250 },
	{ IBV_RATE_300_GBPS, -1, 309375 },    { IBV_RATE_28_GBPS, 11, 28125 },
	{ IBV_RATE_50_GBPS, 20, 53125 },      { IBV_RATE_400_GBPS, 160, 425000 },
	{ IBV_RATE_600_GBPS, 240, 637500 },   { IBV_RATE_800_GBPS, 320, 850000 },
	{ IBV_RATE_1200_GBPS, 480, 1275000 },
};

static const struct rate *const rates_end = rates + sizeof(rates) / sizeof(rates[0]);

static const struct rate *
find(enum ibv_rate code)
{
	const struct rate *rate = rates;

	while (rate < rates_end && rate->code != code)
		rate++;
	return rate < rates_end ? rate : NULL;
}

int
ibv_rate_to_mult(enum ibv_rate code)
{
	const struct rate *const rate = find(code);

	return rate != NULL ? rate->mult : -1;
}

enum ibv_rate
mult_to_ibv_rate(int mult)
{
	for (const struct rate *rate = rates; rate < rates_end && mult > 0; rate++)
		if (rate->mult == mult)
			return rate->code;
	return IBV_RATE_MAX;
}

int
ibv_rate_to_mbps(enum ibv_rate code)
{
	const struct rate *const rate = find(code);

	return rate != NULL ? rate->mbps : -1;
}

enum ibv_rate
mbps_to_ibv_rate(int mbps)
{
	for (const struct rate *rate = rates; rate < rates_end; rate++)
		if (rate->mbps == mbps)
			return rate->code;
	return IBV_RATE_MAX;
}
