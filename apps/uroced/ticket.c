/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * SipHash-2-4, and the file of its key.
 */

#include "ticket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t
rotl(uint64_t word, unsigned nb)
{
	return word << nb | word >> (64 - nb);
}

static void
sip_rounds(uint64_t v[4], unsigned nb)
{
	while (nb-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] = rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] = rotl(v[2], 32);
	}
}

static uint64_t
load_le(const uint8_t *bytes, size_t nb)
{
	uint64_t word = 0;

	for (size_t i = 0; i < nb; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

static void
absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
}

uint64_t
ticket_siphash(const struct ticket_key *key, const void *data, size_t len)
{
	const uint64_t k0 = load_le(key->bytes, 8), k1 = load_le(key->bytes + 8, 8);
	uint64_t v[4] = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
			  k1 ^ 0x7465646279746573 };
	const uint8_t *at = data;
	size_t left = len;

	for (; left >= 8; left -= 8, at += 8)
		absorb(v, load_le(at, 8));
	absorb(v, (uint64_t)len << 56 | load_le(at, left));
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t
ticket_make(const struct ticket_key *key, uint32_t block, uint64_t number)
{
	const uint64_t words[2] = { block, number };

	return ticket_siphash(key, words, sizeof(words));
}

static const char *
read_key(int fd, struct ticket_key *key)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return "it is no file";
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return "others than uroced may get at it";
	if (st.st_size != sizeof(*key) || read(fd, key, sizeof(*key)) != sizeof(*key))
		return "it does not hold 16 bytes";
	return NULL;
}

/* Whole or not at all: under another name until it is. */
static const char *
write_key(const char *path, struct ticket_key *key)
{
	char name[4096];
	bool is_whole = false;
	int fd;

	if ((size_t)snprintf(name, sizeof(name), "%s.new", path) >= sizeof(name))
		return strerror(ENAMETOOLONG);
	if (getrandom(key, sizeof(*key), 0) != sizeof(*key))
		return strerror(errno);
	(void)unlink(name);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return strerror(errno);
	is_whole = write(fd, key, sizeof(*key)) == sizeof(*key);
	is_whole &= close(fd) == 0;
	if (is_whole && rename(name, path) == 0)
		return NULL;
	(void)unlink(name);
	return "it cannot be written";
}

const char *
ticket_key_load(const char *path, struct ticket_key *key, bool *is_new)
{
	const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	const char *wrong;

	*is_new = fd < 0 && errno == ENOENT;
	if (*is_new)
		return write_key(path, key);
	if (fd < 0)
		return errno == ELOOP ? "it is a link" : strerror(errno);
	wrong = read_key(fd, key);
	(void)close(fd);
	return wrong;
}
