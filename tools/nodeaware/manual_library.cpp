#include "tools/nodeaware/manual_library.hpp"

#include "runtime/trace/text.hpp"
#include "tuning/table_file.hpp"

namespace nodeaware::tool {

void add_use_elsewhere(Roff& page) {
    page.section("SCRIPTS, MODULES, CONTAINERS");
    page.item("Scripts", "A script that calls the launcher itself must have it hand `LD_PRELOAD` "
                         "and `NODEAWARE_*` on to other nodes (Open MPI: `-x`), or have "
                         "`nodeaware run` in front of the launcher.");
    page.item("Environment modules",
              "After `module use /PREFIX/share/modulefiles`, `module load nodeaware` sets `PATH`, "
              "`PKG_CONFIG_PATH`, `CMAKE_PREFIX_PATH` and, where there is an "
              "`etc/nodeaware.conf`, `NODEAWARE_CONFIG`.");
    page.item("Builds of others", "`pkg-config --variable=preload nodeaware` tells the path of the "
                                  "library, and the CMake package nodeaware has it as the target "
                                  "`nodeaware::preload`. An installed tree can be moved.");
    page.item("Containers", "The library has to be seen inside, and `LD_PRELOAD` set there:");
    page.example("mpirun -n 256 apptainer exec --bind /PREFIX \\\n"
                 "    --env LD_PRELOAD=/PREFIX/lib/libnodeaware.so app.sif ./app\n"
                 "docker run --ipc=host --pid=host -v /PREFIX:/PREFIX:ro \\\n"
                 "    -e LD_PRELOAD=/PREFIX/lib/libnodeaware.so IMAGE mpirun -n 8 ./app");
    page.paragraph("The core has to fit the MPI in the container, and needs `libhwloc.so.15` and "
                   "`libgcc_s.so.1` there. Ranks of a node share memory through /proc/PID/fd or, "
                   "where they cannot look there, as every rank in a container of its own, "
                   "through a file in /dev/shm, whose space is then taken at once: twice "
                   "`NODEAWARE_ARENA` for each communicator and node, and once more for messages "
                   "from point to point. Docker's default of 64 MB is too small for that: "
                   "`--ipc=host` or `--shm-size`, or a smaller arena. Where neither works, calls "
                   "stay with MPI, and the report says so.");
}

namespace {

std::string file_versions() {
    return "Model tables: up to " + std::to_string(tuning::table_version) +
           ". Traces: " + std::to_string(trace::format_version) +
           ". Reports in JSON: 1. They name their format and version. What a version reads, all "
           "later ones with the same first number read as well; what they do not know, they "
           "refuse in a line. Files of `NODEAWARE_TUNING` are of one version of the library.";
}

} // namespace

void add_versions(Roff& page) {
    page.section("VERSIONS");
    page.paragraph("Versions are MAJOR.MINOR.PATCH. As long as MAJOR stays, and before 1.0 MINOR, "
                   "these stay:");
    page.item("Settings",
              "`NODEAWARE_*`, their values and lines of the file of `NODEAWARE_CONFIG`. "
              "What `auto` chooses may change, and so may numbers that are defaults.");
    page.item("Commands", "Of nodeaware(1) the commands, their options, exit statuses, and what "
                          "has a name in what `--json` prints; there may be more. What is printed "
                          "for people may change.");
    page.item("Files", file_versions());
    page.item("Names", "`libnodeaware.so`, which is its SONAME, too, and has the functions of MPI "
                       "and no others; `nodeaware.pc`, `nodeaware::preload`.");
    page.paragraph("An option or a command that is to go says so on stderr, with what replaces it, "
                   "from one MINOR version on, and goes with the next MAJOR one (before 1.0: with "
                   "the next MINOR one).");
    page.paragraph(
        "All else may change at any time: symbols of the cores that nodeaware.h does not "
        "declare, and what these agree on "
        "with `libnodeaware.so`, in shared memory and in messages. All ranks of a job "
        "need one version, and the library and its cores the same sources; where they differ, all "
        "is left to MPI, and a line says so.");
    page.item("MPI", "A core serves the MPI that it was built with, and newer ones and others with "
                     "its binary interface: `libnodeaware-openmpi.so` Open MPI (`libmpi.so.40`), "
                     "`libnodeaware-mpich.so` MPICH and those that took over its interface "
                     "(`libmpi.so.12`: Intel MPI, MVAPICH, Cray MPICH). Functions that are newer "
                     "than the MPI of the build go past it. Tested with Open MPI 4.1 and MPICH "
                     "4.0. Programs of the standard's own interface (MPI 5, `libmpi_abi.so`) are "
                     "served by `libnodeaware-abi.so`, whichever of the two is below it.");
    page.item("C library", "glibc, at least as new as the one of the build; x86-64 is tested.");
}

} // namespace nodeaware::tool
