# SPDX-License-Identifier: BSD-3-Clause
"""For Spack 1.0 and later, from the sources that this file lies in:

    spack repo add tools/install/spack_repo/nodeaware
    spack install libnodeaware ^openmpi

Each MPI has an installation of its own. A site that copies this into its own repository gives `git`
an address.
"""

import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Libnodeaware(CMakePackage):
    """Node-aware communication for unmodified MPI applications: a library to be preloaded, and the
    command nodeaware, which runs applications with it and says whether it helps."""

    git = str(pathlib.Path(__file__).resolve().parents[6])
    license("BSD-3-Clause")

    version("develop")

    variant("zstd", default=True, description="Compress traces")
    variant(
        "cuda",
        default=False,
        description="Ranges for Nsight Systems, and a kernel that nvcc has compiled; memory of "
        "GPUs is served without, too, by the driver that a job finds",
    )

    requires("platform=linux", msg="it is preloaded by Linux' loader")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi")
    depends_on("hwloc@2:")
    # Of these, what is used becomes part of the library.
    depends_on("cli11@2:", type="build")
    depends_on("eigen@3.3:", type="build")
    depends_on("fmt@9:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("spdlog@1.10:", type="build")
    depends_on("zstd libs=static", type="build", when="+zstd")
    depends_on("cuda", type="build", when="+cuda")
    depends_on("googletest@1.12:", type="test")

    def cmake_args(self):
        mpi = self.spec["mpi"]
        args = [
            self.define("NODEAWARE_TESTS", self.run_tests),
            self.define("MPI_C_COMPILER", mpi.mpicc),
            # It would be opened at run time, from where the loader finds libraries.
            self.define("NODEAWARE_METIS_INCLUDE_DIR", False),
        ]
        if self.run_tests:
            args.append(self.define("MPI_Fortran_COMPILER", mpi.mpifc))
        if not self.spec.satisfies("+zstd"):
            args.append(self.define("NODEAWARE_ZSTD_LIBRARY", False))
        if self.spec.satisfies("+cuda"):
            cuda = self.spec["cuda"].prefix
            args.append(self.define("NODEAWARE_NVCC", cuda.bin.nvcc))
            args.append(self.define("NODEAWARE_NVTX_INCLUDE_DIR", cuda.include))
        else:
            args.append(self.define("NODEAWARE_NVCC", False))
            args.append(self.define("NODEAWARE_NVTX_INCLUDE_DIR", False))
        return args

    def check(self):
        # The others start jobs, which few machines that build may do.
        with working_dir(self.build_directory):
            ctest("--output-on-failure", "-L", "unit")
