// Times collectives of the MPI library for collectives.py --mpi:
//   mpi_collectives KIND ELEMENTS EXECUTIONS
// prints the seconds of the fastest of EXECUTIONS, each measured on its slowest process behind a barrier, so
// that other programs on the machine count little. ELEMENTS are the floats of an operand. `exchange` is a
// message of two processes to each other.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void Execute(const char* kind, float* in, float* out, const int* parts, int count, int rank,
                    int size) {
  const int part = count / size;
  if (strcmp(kind, "exchange") == 0)
    MPI_Sendrecv(in, count, MPI_FLOAT, 1 - rank, 0, out, count, MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  else if (strcmp(kind, "all-reduce") == 0)
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  else if (strcmp(kind, "all-gather") == 0)
    MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD);
  else if (strcmp(kind, "reduce-scatter") == 0)
    MPI_Reduce_scatter(in, out, parts, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  else if (strcmp(kind, "all-to-all") == 0)
    MPI_Alltoall(in, part, MPI_FLOAT, out, part, MPI_FLOAT, MPI_COMM_WORLD);
  else
    MPI_Bcast(in, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int count = atoi(argv[2]), executions = atoi(argv[3]);
  float* in = calloc((size_t)count, sizeof(float));
  float* out = calloc((size_t)count * (size_t)size, sizeof(float));
  int* parts = calloc((size_t)size, sizeof(int));
  for (int i = 0; i < size; ++i) parts[i] = count / size;
  for (int warm = 0; warm < 2; ++warm) Execute(argv[1], in, out, parts, count, rank, size);
  double best = 1e9;
  for (int i = 0; i < executions; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    Execute(argv[1], in, out, parts, count, rank, size);
    double seconds = MPI_Wtime() - start, slowest = 0;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (slowest < best) best = slowest;
  }
  if (rank == 0) printf("%.9g\n", best);
  free(in);
  free(out);
  free(parts);
  MPI_Finalize();
  return 0;
}
