/* Stands for a library that has something in place of MPI, as sequential MUMPS has: nothing here is
 * known to MPI, and its sum is that of one process. */
void mpi_allreduce_(const int* sent, int* received, const int* count, const int* type,
                    const int* op, const int* comm, int* error) {
    *received = *count == 1 && *type == 77 && *op == 78 && *comm == 79 ? *sent : -1;
    *error = 0;
}

int sum_of_one_process(int number) {
    const int one = 1, type = 77, op = 78, comm = 79;
    int sum = 0;
    int error = 1;
    mpi_allreduce_(&number, &sum, &one, &type, &op, &comm, &error);
    return error == 0 ? sum : -1;
}
