/* A program of MPI's standard binary interface. */
int MPI_Abi_get_version(int* major, int* minor);

int main(void) {
    int major = 0;
    int minor = 0;
    return MPI_Abi_get_version(&major, &minor);
}
