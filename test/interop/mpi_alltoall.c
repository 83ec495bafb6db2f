/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * All to all: every process sends words of its own to every other process, in messages of each
 * size, and checks each received word. Then the one-sided operations: every process puts a word
 * into the window of every process, and adds to a counter of the first process.
 */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST  (1 << 16) /* maximum number of words for each process: 256 KiB */
#define TURNS 10
#define ADDS  1000

static int rank, nb;

static uint32_t
word_of(int from, int to, int turn, int i)
{
	return (uint32_t)(((from * 31 + to) * 31 + turn) * 7919 + i);
}

static long
exchange(uint32_t *out, uint32_t *in, int count, int turn)
{
	long wrong = 0;

	for (int to = 0; to < nb; to++) {
		for (int i = 0; i < count; i++)
			out[to * count + i] = word_of(rank, to, turn, i);
	}
	MPI_Alltoall(out, count, MPI_UINT32_T, in, count, MPI_UINT32_T, MPI_COMM_WORLD);
	for (int from = 0; from < nb; from++) {
		for (int i = 0; i < count; i++)
			wrong += in[from * count + i] != word_of(from, rank, turn, i);
	}
	return wrong;
}

/*
 * Each process puts its number into its place in every window, and adds to a counter in the window
 * of process 0. Then the windows are checked.
 * @return number of wrong words
 */
static long
reach_over(void)
{
	uint64_t *window, one = 1, before, mine = (uint64_t)rank + 1;
	long wrong = 0;
	MPI_Win win;

	MPI_Win_allocate((MPI_Aint)((nb + 1) * sizeof(*window)), sizeof(*window), MPI_INFO_NULL,
			 MPI_COMM_WORLD, &window, &win);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i <= nb; i++)
		window[i] = 0;
	MPI_Win_sync(win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int to = 0; to < nb; to++)
		MPI_Put(&mine, 1, MPI_UINT64_T, to, rank, 1, MPI_UINT64_T, win);
	for (int i = 0; i < ADDS; i++) {
		MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 0, nb, MPI_SUM, win);
		MPI_Win_flush(0, win);
	}
	MPI_Win_flush_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(win);
	for (int i = 0; i < nb; i++)
		wrong += window[i] != (uint64_t)i + 1;
	wrong += rank == 0 && window[nb] != (uint64_t)nb * ADDS;
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	return wrong;
}

int
main(int argc, char **argv)
{
	long wrong = 0, all = 0;
	uint32_t *out, *in;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nb);
	out = calloc((size_t)nb * MOST, sizeof(*out));
	in = calloc((size_t)nb * MOST, sizeof(*in));
	if (!out || !in)
		MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
	for (int count = 1; count <= MOST; count *= 16) {
		for (int turn = 0; turn < TURNS; turn++)
			wrong += exchange(out, in, count, turn);
	}
	wrong += reach_over();
	MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("all to all of %d: 1 to %d words, %d turns each; %d sums each: %ld wrong\n",
		       nb, MOST, TURNS, ADDS, all);
	free(out);
	free(in);
	MPI_Finalize();
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
