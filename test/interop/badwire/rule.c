/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Parses rules, and applies them to frames. A rule is parsed word by word into a temporary rule,
 * which is added to the list when it is complete.
 */

#include "rule.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cm/message.h"
#include "wire/opcode.h"

#define NS_PER_MS 1000000ull
#define TEXT_MAX  4096 /* size of the memory for the text of a rule */
#define CM                                                                                         \
	"cm" /* the word, or the start of the word, of rules for CM messages: cm, or cm:REQ etc. */

static_assert(UROCE_CM_ATTR_END <= 32, "a rule has a bit for each attribute");

static const char grammar[] = "a rule is DIRECTION OPCODES FAULT [AMOUNT] HOW";

/* --- parsing the words of a rule --------------------------------------------------------------- */

static bool
set_direction(struct rule *rule, const char *word, struct reason *why)
{
	rule->is_on[A_TO_B] = strcmp(word, "b>a") != 0;
	rule->is_on[B_TO_A] = strcmp(word, "a>b") != 0;
	if (rule->is_on[A_TO_B] && rule->is_on[B_TO_A] && strcmp(word, "both") != 0)
		return refuse(why, "%s: no direction: allowed are a>b, b>a, both", word);
	return true;
}

static bool
is_in_class(const struct uroce_opcode *op, const char *word)
{
	if (strcmp(word, "all") == 0)
		return op->flags & UROCE_OPF_VALID;
	if (strcmp(word, "request") == 0)
		return op->flags & UROCE_OPF_REQUEST;
	if (strcmp(word, "ack") == 0)
		return op->operation == UROCE_OPERATION_ACK;
	if (strcmp(word, "response") == 0)
		return op->operation == UROCE_OPERATION_READ_RESPONSE ||
		       op->operation == UROCE_OPERATION_ATOMIC_ACK;
	return op->flags & UROCE_OPF_VALID && strcasecmp(op->name, word) == 0;
}

/*
 * Parse the text behind `cm` in a word of a rule. An empty text matches all messages. A colon and a
 * name, such as :REQ, match one message.
 */
static bool
set_messages(struct rule *rule, const char *word, struct reason *why)
{
	for (unsigned attr = UROCE_CM_ATTR_FIRST; attr < UROCE_CM_ATTR_END; attr++)
		if (word[0] == '\0' || strcasecmp(word + 1, uroce_cm_attr_name(attr)) == 0)
			rule->attrs |= 1u << attr;
	return rule->attrs != 0 ||
	       refuse(why,
		      CM "%s: no message: allowed are cm, or cm: and a name such as REQ, MRA, REJ, "
			 "REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP",
		      word);
}

static bool
set_opcodes(struct rule *rule, const char *word, struct reason *why)
{
	const size_t len = strlen(CM);
	bool is_any = false;

	if (strncmp(word, CM, len) == 0 && (word[len] == ':' || word[len] == '\0'))
		return set_messages(rule, word + len, why);
	for (unsigned opcode = 0; opcode < OPCODE_NB; opcode++) {
		rule->opcodes[opcode] = is_in_class(&uroce_opcode_table[opcode], word);
		is_any |= rule->opcodes[opcode];
	}
	return is_any || refuse(why,
				"%s: no opcode: allowed are all, request, ack, response, cm, "
				"cm:REQ, or a name "
				"such as RC_SEND_ONLY, UD_SEND_ONLY, CNP",
				word);
}

static bool
set_fault(struct rule *rule, const char *word, struct reason *why)
{
	for (rule->fault = FAULT_NONE + 1; rule->fault < FAULT_NB; rule->fault++)
		if (strcmp(word, fault_table[rule->fault].name) == 0)
			return true;
	return refuse(why,
		      "%s: no fault: allowed are drop, duplicate, corrupt, delay US, reorder N, "
		      "blackout MS",
		      word);
}

/*
 * Parse a number from 1 to `max`.
 * @param[out] end the first byte behind the digits, which may be the comma of a list
 */
static bool
read_number(const char *text, const char **end, uint64_t max, uint64_t *number)
{
	char *behind;

	errno = 0;
	*number = strtoull(text, &behind, 10);
	*end = behind;
	return text[0] >= '0' && text[0] <= '9' && errno == 0 && *number >= 1 && *number <= max;
}

static bool
set_amount(struct rule *rule, const char *word, struct reason *why)
{
	const struct fault_facts *facts = &fault_table[rule->fault];
	const char *end;
	uint64_t amount;

	if (!read_number(word, &end, facts->max, &amount) || *end != '\0')
		return refuse(why, "%s %s: no number of %s: allowed are 1 to %u", facts->name, word,
			      facts->unit, facts->max);
	rule->amount = (uint32_t)amount;
	return true;
}

static bool
set_probability(struct rule *rule, const char *word, struct reason *why)
{
	char *end;

	rule->probability = strtod(word, &end);
	if (word[0] < '0' || word[0] > '9' || *end != '\0' || !(rule->probability <= 1.0))
		return refuse(why,
			      "%s: no probability: allowed is a number from 0 to 1, or script LIST",
			      word);
	return true;
}

static int
compare_ordinals(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static bool
set_script(struct rule *rule, const char *list, struct reason *why)
{
	const char *at = list, *end;

	for (;; at = end + 1) {
		if (rule->nb_script == SCRIPT_MAX)
			return refuse(why, "script: too long: allowed are %u ordinals", SCRIPT_MAX);
		if (!read_number(at, &end, UINT64_MAX, &rule->script[rule->nb_script]) ||
		    (*end != ',' && *end != '\0'))
			return refuse(why,
				      "script %s: no list: allowed are ordinals from 1 with commas "
				      "between them, as in 3,7,8",
				      list);
		rule->nb_script++;
		if (*end == '\0')
			break;
	}
	qsort(rule->script, rule->nb_script, sizeof(rule->script[0]), compare_ordinals);
	return true;
}

/* --- parsing a whole rule ---------------------------------------------------------------------- */

typedef bool set_word(struct rule *rule, const char *word, struct reason *why);

/* Parse the next word of a rule by `set`. `what` is the name of the word in error messages. */
static bool
take(struct rule *rule, char **rest, const char *what, set_word *set, struct reason *why)
{
	const char *word = strtok_r(NULL, " \t", rest);

	if (!word)
		return refuse(why, "%s is missing: %s", what, grammar);
	return set(rule, word, why);
}

static bool
set_how(struct rule *rule, char **rest, struct reason *why)
{
	const char *word = strtok_r(NULL, " \t", rest);

	if (!word)
		return refuse(why, "HOW is missing: a probability from 0 to 1, or script LIST: %s",
			      grammar);
	if (strcmp(word, "script") == 0)
		return take(rule, rest, "LIST", set_script, why);
	return set_probability(rule, word, why);
}

static bool
read_rule(struct rule *rule, char *text, struct reason *why)
{
	char *rest = text;
	const char *more;

	if (!take(rule, &rest, "DIRECTION", set_direction, why) ||
	    !take(rule, &rest, "OPCODES", set_opcodes, why) ||
	    !take(rule, &rest, "FAULT", set_fault, why) ||
	    (fault_table[rule->fault].unit && !take(rule, &rest, "AMOUNT", set_amount, why)) ||
	    !set_how(rule, &rest, why))
		return false;
	more = strtok_r(NULL, " \t", &rest);
	return !more || refuse(why, "%s: too much: %s", more, grammar);
}

bool
rules_add(struct rules *rules, const char *text, struct reason *why)
{
	static struct rule rule; /* static, because the rule is too large for a stack */
	char copy[TEXT_MAX];

	rule = (struct rule){ .fault = FAULT_NONE };
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return refuse(why, "rule: too long: allowed are %zu characters", sizeof(copy) - 1);
	if (rules->nb == RULES_MAX)
		return refuse(why,
			      "rule: there are %u, and no more are allowed: clear removes them",
			      RULES_MAX);
	if (!read_rule(&rule, copy, why))
		return false;
	rules->rule[rules->nb++] = rule;
	return true;
}

void
rules_clear(struct rules *rules)
{
	rules->nb = 0;
}

/* --- choosing the frames to which a rule applies its fault ------------------------------------- */

/* Mix the bits of a number as SplitMix64 does, so that the result is a hash of the number. */
static uint64_t
mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static bool
is_in_script(const struct rule *rule, uint64_t ordinal)
{
	return bsearch(&ordinal, rule->script, rule->nb_script, sizeof(ordinal), compare_ordinals);
}

/* Whether a rule applies its fault to the frame that it has just counted. */
static bool
strikes(struct rule *rule, uint64_t random, uint64_t now_ns)
{
	const bool is_drawn = rule->nb_script > 0
				      ? is_in_script(rule, rule->nb_matched)
				      : (double)(random >> 11) * 0x1p-53 < rule->probability;

	if (rule->fault != FAULT_BLACKOUT)
		return is_drawn;
	if (is_drawn && now_ns >= rule->dark_until_ns)
		rule->dark_until_ns = now_ns + rule->amount * NS_PER_MS;
	return now_ns < rule->dark_until_ns;
}

static bool
matches(const struct rule *rule, enum direction direction, struct traits traits)
{
	return rule->is_on[direction] &&
	       (rule->opcodes[traits.opcode] || (rule->attrs & 1u << traits.attr) != 0);
}

struct verdict
rules_classify(struct rules *rules, enum direction direction, struct traits traits, uint64_t now_ns)
{
	struct verdict verdict = { .fault = FAULT_NONE };

	for (unsigned i = 0; i < rules->nb; i++) {
		struct rule *rule = &rules->rule[i];

		if (!matches(rule, direction, traits))
			continue;
		rule->nb_matched++;
		if (verdict.fault != FAULT_NONE)
			continue;
		const uint64_t random = mix(mix(mix(rules->seed) ^ i) ^ rule->nb_matched);

		if (!strikes(rule, random, now_ns))
			continue;
		rule->nb_struck++;
		verdict.fault = rule->fault == FAULT_BLACKOUT ? FAULT_DROP : rule->fault;
		verdict.amount = rule->amount;
		verdict.random = mix(random);
	}
	return verdict;
}
