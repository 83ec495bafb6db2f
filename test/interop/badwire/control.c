/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The control socket. The wire never waits for a client: a client whose socket has no room for a
 * response is disconnected.
 */

#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool
control_open(struct control *control, const char *path, struct reason *why)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	*control = (struct control){ .listener = -1, .path = path };
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++)
		control->client[i].fd = -1;
	if (!path)
		return true;
	if (path[0] == '\0' || strlen(path) >= sizeof(at.sun_path))
		return refuse(why,
			      "--control %s: no path of a socket: allowed are 1 to %zu characters",
			      path, sizeof(at.sun_path) - 1);
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (control->listener >= 0 &&
	    bind(control->listener, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    listen(control->listener, CONTROL_CLIENTS_MAX) == 0)
		return true;
	(void)refuse(why,
		     "--control %s: %s: allowed is a path where nothing is, in a folder that can "
		     "be written",
		     path, strerror(errno));
	if (control->listener >= 0)
		(void)close(control->listener);
	control->listener = -1;
	return false;
}

static void
send_away(struct client *client)
{
	(void)close(client->fd);
	client->fd = -1;
}

void
control_close(struct control *control)
{
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (control->client[i].fd >= 0)
			send_away(&control->client[i]);
	if (control->listener < 0)
		return;
	(void)close(control->listener);
	(void)unlink(control->path);
	control->listener = -1;
}

void
control_poll(const struct control *control, struct pollfd *fds)
{
	fds[0] = (struct pollfd){ .fd = control->listener, .events = POLLIN };
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++)
		fds[1 + i] = (struct pollfd){ .fd = control->client[i].fd, .events = POLLIN };
}

/* --- commands of a client ---------------------------------------------------------------------- */

/*
 * If the first word of a line is `word`, return the rest of the line, without the blanks before it;
 * otherwise NULL.
 */
static const char *
behind(const char *line, const char *word)
{
	const size_t len = strlen(word);

	if (strncmp(line, word, len) != 0 || (line[len] != ' ' && line[len] != '\0'))
		return NULL;
	return line + len + strspn(line + len, " ");
}

static bool
do_pcap(struct wire *wire, const char *path, struct reason *why)
{
	return strcmp(path, "off") == 0 ? capture_end(&wire->capture, why)
					: capture_begin(&wire->capture, path, why);
}

static bool
obey(struct control *control, const char *line, struct wire *wire, struct reason *why)
{
	const char *rest;

	if ((rest = behind(line, "rule")))
		return rules_add(&wire->rules, rest, why);
	if ((rest = behind(line, "pcap")))
		return do_pcap(wire, rest, why);
	if (strcmp(line, "clear") == 0) {
		rules_clear(&wire->rules);
		return true;
	}
	if (strcmp(line, "quit") == 0) {
		control->is_over = true;
		return true;
	}
	return refuse(
		why,
		"%s: no command: allowed are rule ..., clear, pcap FILE, pcap off, stats, quit",
		line);
}

static void
answer(struct control *control, const char *line, struct wire *wire, FILE *out)
{
	struct reason why;

	if (strcmp(line, "stats") == 0)
		wire_print(wire, out);
	else if (obey(control, line, wire, &why))
		fputs("ok", out);
	else
		fprintf(out, "error: %s", why.text);
	fputc('\n', out);
}

/* --- connections of clients -------------------------------------------------------------------- */

/*
 * Execute a line, and send the response to the client.
 * @return false: the response could not be sent
 */
static bool
do_line(struct control *control, struct client *client, const char *line, struct wire *wire)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool is_well;

	if (!out)
		return false;
	answer(control, line, wire, out);
	is_well = fclose(out) == 0 && send(client->fd, text, len, MSG_NOSIGNAL) == (ssize_t)len;
	free(text);
	return is_well;
}

/*
 * Execute the complete lines of a client.
 * @return false: the client must be disconnected
 */
static bool
do_lines(struct control *control, struct client *client, struct wire *wire)
{
	char *line = client->line, *end;

	while ((end = memchr(line, '\n', (size_t)(client->line + client->len - line)))) {
		*end = '\0';
		if (!do_line(control, client, line, wire))
			return false;
		line = end + 1;
	}
	client->len -= (unsigned)(line - client->line);
	memmove(client->line, line, client->len);
	return client->len < sizeof(client->line);
}

static void
hear(struct control *control, struct client *client, struct wire *wire)
{
	const ssize_t len =
		recv(client->fd, client->line + client->len, sizeof(client->line) - client->len, 0);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len > 0)
		client->len += (unsigned)len;
	if (len <= 0 || !do_lines(control, client, wire))
		send_away(client);
}

static void
welcome(struct control *control)
{
	const int fd = accept4(control->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		if (control->client[i].fd < 0) {
			control->client[i].fd = fd;
			control->client[i].len = 0;
			return;
		}
	}
	(void)close(fd);
}

void
control_serve(struct control *control, const struct pollfd *fds, struct wire *wire)
{
	for (unsigned i = 0; i < CONTROL_CLIENTS_MAX && !control->is_over; i++)
		if (fds[1 + i].revents)
			hear(control, &control->client[i], wire);
	if (fds[0].revents)
		welcome(control);
}
