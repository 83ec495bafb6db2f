/* SPDX-License-Identifier: BSD-3-Clause */

/* Runs uroced as a child. Telemetry is read by the protocol of dpdk-telemetry.py. */

#include "daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "mux/message.h"
#include "now_ms.h"

/* Limits that only a hang exceeds. A thread that has not slept for TIMEOUT_MS counts as spinning. */
#define TIMEOUT_MS 300000
#define START_MS   300000

const char *daemon_program;

void
daemon_make(struct daemon *daemon)
{
	*daemon = (struct daemon){ .pid = 0 };
	(void)snprintf(daemon->folder, sizeof(daemon->folder), "/tmp/uroced-test-XXXXXX");
	assert_non_null(mkdtemp(daemon->folder));
	(void)snprintf(daemon->socket, sizeof(daemon->socket), "%s/s", daemon->folder);
	(void)snprintf(daemon->log, sizeof(daemon->log), "%s/log", daemon->folder);
}

void
daemon_remove(struct daemon *daemon)
{
	char command[128];

	if (daemon->pid > 0)
		daemon_kill(daemon);
	(void)snprintf(command, sizeof(command), "rm -rf %s", daemon->folder);
	assert_int_equal(system(command), 0);
}

/*
 * Check whether uroced has to run without its sandbox. A user who is not root cannot read the files
 * in /proc of a process in the sandbox. The leak check of a sanitizer traces uroced, which the
 * sandbox forbids.
 */
static bool
is_looked_into(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return true;
#endif
#endif
	return geteuid() != 0;
}

static void
become(const struct daemon *daemon, const char *vdev, const char *spec, bool is_confined)
{
	char device[256], socket[128], memif[96];
	const char *argv[20] = { "uroced", "--no-huge", "--no-pci", "-m",
				 "256",    device,      "--",       socket };
	unsigned argc = 9;

	if (daemon->has_log)
		(void)dup2(open(daemon->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600),
			   STDERR_FILENO);
	(void)setenv("RUNTIME_DIRECTORY", daemon->folder, 1);
	/* remove the socket of memif, which the driver leaves when uroced is killed */
	(void)snprintf(memif, sizeof(memif), "%s/memif", daemon->folder);
	(void)unlink(memif);
	(void)snprintf(device, sizeof(device), "--vdev=%s", vdev ? vdev : "");
	if (!vdev)
		(void)snprintf(device, sizeof(device),
			       "--vdev=net_memif0,role=server,mac=02:00:00:00:00:01,bsize=4400,"
			       "socket-abstract=no,socket=%s",
			       memif);
	(void)snprintf(socket, sizeof(socket), "--socket=%s", daemon->socket);
	if (daemon->uid != 0 && (setgid(daemon->uid) != 0 || setuid(daemon->uid) != 0))
		_exit(126);
	/* no leak check with the sandbox, because the check would trace uroced */
	if (is_confined)
		(void)setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
	/* a signal of the terminal goes to the test, and not to uroced */
	(void)setpgid(0, 0);
	/* set the parent-death signal after setuid(), which clears it */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	argv[8] = spec;
	for (unsigned i = 0; i < 4 && daemon->options[i]; i++)
		argv[argc++] = daemon->options[i];
	if (!is_confined)
		argv[argc++] = "--no-sandbox";
	if (!daemon->has_cm)
		argv[argc++] = "--no-cm";
	(void)execv(daemon_program, (char *const *)(uintptr_t)argv);
	_exit(127);
}

/*
 * Hang up, and wait until uroced has done so, too. A connection that uroced has not accepted yet does
 * not count as a client, and would take the place of one later.
 */
static void
hang_up(int socket)
{
	struct pollfd fd = { socket, POLLIN, 0 };
	char byte;

	assert_int_equal(shutdown(socket, SHUT_WR), 0);
	assert_int_equal(poll(&fd, 1, TIMEOUT_MS), 1);
	assert_true(recv(socket, &byte, sizeof(byte), 0) <= 0);
	(void)close(socket);
}

static void
start(struct daemon *daemon, const char *vdev, const char *spec, bool is_confined)
{
	int socket = -1;

	daemon->pid = fork();
	assert_true(daemon->pid >= 0);
	if (daemon->pid == 0)
		become(daemon, vdev, spec, is_confined);
	for (int i = 0; i < START_MS && socket < 0; i++) {
		(void)usleep(1000);
		socket = uroce_mux_connect(daemon->socket);
		if (waitpid(daemon->pid, NULL, WNOHANG) != 0) {
			daemon->pid = 0;
			fail_msg("uroced ended at once");
		}
	}
	assert_true(socket >= 0);
	hang_up(socket);
}

void
daemon_start_on(struct daemon *daemon, const char *vdev, const char *spec)
{
	start(daemon, vdev, spec, !is_looked_into());
}

void
daemon_start_confined(struct daemon *daemon)
{
	start(daemon, NULL, DAEMON_PORT, true);
}

void
daemon_start(struct daemon *daemon)
{
	daemon_start_on(daemon, NULL, DAEMON_PORT);
}

static unsigned
count_lines(const char *path, const char *text)
{
	FILE *file = fopen(path, "re");
	char line[1024];
	unsigned nb = 0;

	while (file && fgets(line, sizeof(line), file))
		nb += strstr(line, text) != NULL;
	if (file)
		(void)fclose(file);
	return nb;
}

void
daemon_await_log(const struct daemon *daemon, const char *text, unsigned nb)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;

	while (count_lines(daemon->log, text) < nb) {
		if (now_ms() > until_ms)
			fail_msg("the log has no line with: %s", text);
		(void)usleep(1000);
	}
}

void
daemon_end(struct daemon *daemon)
{
	int status;

	assert_true(daemon->pid > 0);
	assert_int_equal(kill(daemon->pid, SIGTERM), 0);
	assert_int_equal(waitpid(daemon->pid, &status, 0), daemon->pid);
	daemon->pid = 0;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(access(daemon->socket, F_OK), -1);
}

void
daemon_kill(struct daemon *daemon)
{
	int status;

	assert_true(daemon->pid > 0);
	assert_int_equal(kill(daemon->pid, SIGKILL), 0);
	assert_int_equal(waitpid(daemon->pid, &status, 0), daemon->pid);
	daemon->pid = 0;
	/* uroced had not ended before the signal */
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int
daemon_run(char *const argv[], char *said, size_t room)
{
	size_t len = 0;
	ssize_t got;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)dup2(ends[1], STDERR_FILENO);
		(void)execv(daemon_program, argv);
		_exit(127);
	}
	(void)close(ends[1]);
	while (len < room - 1 && (got = read(ends[0], said + len, room - 1 - len)) > 0)
		len += (size_t)got;
	said[len] = '\0';
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Send a request to telemetry, and receive the reply. */
static void
ask(const struct daemon *daemon, const char *command, char *answer, size_t room)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ssize_t len;

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dpdk/rte/dpdk_telemetry.v2",
		       daemon->folder);
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/rte/dpdk_telemetry.v2",
			       daemon->folder);
	/* the telemetry server first sends a description of itself */
	assert_true(recv(fd, answer, room, 0) > 0);
	assert_true(send(fd, command, strlen(command), 0) > 0);
	len = recv(fd, answer, room - 1, 0);
	assert_true(len > 0);
	answer[len] = '\0';
	(void)close(fd);
}

const char *
daemon_query(const struct daemon *daemon, const char *command)
{
	static char answer[65536];

	ask(daemon, command, answer, sizeof(answer));
	return answer;
}

uint64_t
daemon_ask(const struct daemon *daemon, const char *command, const char *name)
{
	const char *const answer = daemon_query(daemon, command);
	char quoted[64];
	const char *at;

	(void)snprintf(quoted, sizeof(quoted), "\"%s\":", name);
	at = strstr(answer, quoted);
	if (!at)
		fail_msg("%s tells no %s: %s", command, name, answer);
	return at ? strtoull(at + strlen(quoted), NULL, 10) : 0;
}

unsigned
daemon_clients(const struct daemon *daemon, unsigned *slots, unsigned room)
{
	static char answer[65536];
	unsigned nb = 0;
	char *at;

	ask(daemon, "/uroced/clients", answer, sizeof(answer));
	at = strchr(answer, '[');
	assert_non_null(at);
	while (*at != ']' && nb < room && at[1] != ']') {
		slots[nb++] = (unsigned)strtoul(at + 1, &at, 10);
		assert_true(*at == ',' || *at == ']');
	}
	return nb;
}

uint64_t
daemon_ask_client(const struct daemon *daemon, unsigned slot, const char *name)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "/uroced/client,%u", slot);
	return daemon_ask(daemon, command, name);
}

unsigned
daemon_nb_fds(const struct daemon *daemon)
{
	char path[64];
	unsigned nb = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", daemon->pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		nb++;
	(void)closedir(dir);
	return nb;
}

unsigned
daemon_kib(const struct daemon *daemon, const char *field)
{
	char path[64], line[128];
	unsigned long kib = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", daemon->pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, field, strlen(field)) == 0)
			kib = strtoul(line + strlen(field) + 1, NULL, 10);
	}
	(void)fclose(file);
	return (unsigned)kib;
}

unsigned
daemon_nb_watched(const struct daemon *daemon)
{
	char path[64 + 256], line[256];
	unsigned nb = 0;
	struct dirent *entry;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo", daemon->pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		FILE *file;

		(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", daemon->pid,
			       entry->d_name);
		file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
		while (file && fgets(line, sizeof(line), file))
			nb += strncmp(line, "tfd:", 4) == 0;
		if (file)
			(void)fclose(file);
	}
	(void)closedir(dir);
	return nb;
}

/* --- threads of uroced --------------------------------------------------------------------------- */

/* Call `read` with /proc/PID/task/TID/`name` of each thread of uroced. */
static void
for_each_thread(const struct daemon *daemon, const char *name, void (*read)(FILE *file, void *arg),
		void *arg)
{
	char path[64 + 256];
	struct dirent *entry;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", daemon->pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		FILE *file;

		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", daemon->pid,
			       entry->d_name, name);
		file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
		if (!file)
			continue;
		read(file, arg);
		(void)fclose(file);
	}
	(void)closedir(dir);
}

struct faults {
	const char *thread;
	bool is_found;
	uint64_t nb;
};

static void
add_faults(FILE *file, void *arg)
{
	struct faults *faults = arg;
	unsigned long long one;
	char name[32];

	if (fscanf(file, "%*d (%31[^)]) %*c %*d %*d %*d %*d %*d %*u %llu", name, &one) != 2 ||
	    strcmp(name, faults->thread) != 0)
		return;
	faults->is_found = true;
	faults->nb += one;
}

uint64_t
daemon_nb_faults(const struct daemon *daemon, const char *thread)
{
	struct faults faults = { .thread = thread };

	for_each_thread(daemon, "stat", add_faults, &faults);
	if (!faults.is_found)
		fail_msg("it has no thread %s", thread);
	return faults.nb;
}

static void
add_cpu_time(FILE *file, void *arg)
{
	unsigned long long one;

	if (fscanf(file, "%llu", &one) == 1)
		*(uint64_t *)arg += one;
}

uint64_t
daemon_cpu_ns(const struct daemon *daemon)
{
	uint64_t ns = 0;

	for_each_thread(daemon, "schedstat", add_cpu_time, &ns);
	return ns;
}

static void
add_sleeps(FILE *file, void *arg)
{
	char line[128];
	unsigned long one;

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "voluntary_ctxt_switches: %lu", &one) == 1)
			*(uint64_t *)arg += one;
	}
}

static uint64_t
nb_sleeps(const struct daemon *daemon)
{
	uint64_t nb = 0;

	for_each_thread(daemon, "status", add_sleeps, &nb);
	return nb;
}

static void
count_awake(FILE *file, void *arg)
{
	char state;

	if (fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state != 'S')
		++*(unsigned *)arg;
}

static void
await_sleep(const struct daemon *daemon)
{
	const uint64_t until_ms = now_ms() + TIMEOUT_MS;
	unsigned nb_awake;

	do {
		if (now_ms() > until_ms)
			fail_msg("a thread of uroced does not sleep");
		(void)usleep(1000);
		nb_awake = 0;
		for_each_thread(daemon, "stat", count_awake, &nb_awake);
	} while (nb_awake > 0);
}

void
daemon_expect_idle(const struct daemon *daemon)
{
	uint64_t begin_ms, ms, nb;

	await_sleep(daemon);
	begin_ms = now_ms();
	nb = nb_sleeps(daemon);
	(void)usleep(1000000);
	await_sleep(daemon);
	nb = nb_sleeps(daemon) - nb;
	ms = now_ms() - begin_ms;
	print_message("# idle: its threads woke up %u times in %u ms\n", (unsigned)nb,
		      (unsigned)ms);
	assert_true(nb < ms);
}
