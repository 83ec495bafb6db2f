/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A ring: a message of each size passes through all processes, and each process adds one to every
 * word. So the first process knows the final value of each word. The messages pass in both
 * directions. Blocking and non-blocking calls alternate.
 */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST  (1 << 18) /* number of words of the longest message: 1 MiB */
#define TURNS 20

static int rank, nb;
static uint32_t words[MOST], others[MOST];

static uint32_t
word_of(int turn, int i)
{
	return (uint32_t)turn * 2654435761u + (uint32_t)i;
}

static void
pass_on(int count, int from, int to, int turn)
{
	MPI_Recv(words, count, MPI_UINT32_T, from, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < count; i++)
		words[i]++;
	MPI_Send(words, count, MPI_UINT32_T, to, turn, MPI_COMM_WORLD);
}

/*
 * Send a message around the ring, and check the message that returns. Only the first process calls
 * this function.
 * @return number of wrong words
 */
static long
send_round(int count, int from, int to, int turn)
{
	MPI_Request requests[2];
	long wrong = 0;

	for (int i = 0; i < count; i++)
		words[i] = word_of(turn, i);
	MPI_Irecv(others, count, MPI_UINT32_T, from, turn, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(words, count, MPI_UINT32_T, to, turn, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < count; i++)
		wrong += others[i] != word_of(turn, i) + (uint32_t)nb - 1;
	return wrong;
}

int
main(int argc, char **argv)
{
	long wrong = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nb);
	for (int count = 1; count <= MOST; count *= 8) {
		for (int turn = 0; turn < TURNS; turn++) {
			const int ahead = turn & 1 ? nb - 1 : 1;
			const int to = (rank + ahead) % nb, from = (rank + nb - ahead) % nb;

			if (rank == 0)
				wrong += send_round(count, from, to, turn);
			else
				pass_on(count, from, to, turn);
		}
	}
	if (rank == 0)
		printf("ring of %d: 1 to %d words, %d turns each: %ld wrong\n", nb, MOST, TURNS,
		       wrong);
	MPI_Finalize();
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
