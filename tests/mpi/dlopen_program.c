/* dlopen_program LIBRARY [ARGUMENTS]: runs the main function of an MPI program that is a library,
 * as Python does with its extensions: MPI is loaded late, and by nobody's search path. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
    void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "dlopen_program: %s\n", argc > 1 ? dlerror() : "no library");
        return 1;
    }
    int (*const run)(int, char**) = __extension__(int (*)(int, char**)) dlsym(library, "main");
    return run(argc - 1, argv + 1);
}
