#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// MPI libraries with a binary interface of their own. MPICH stands for all that share its
/// interface (Intel MPI, MVAPICH, Cray MPICH).
enum class MpiFlavor { openmpi, mpich };

const char* name_of(MpiFlavor flavor);

/// The file that a shell would run for this word, or an empty path.
std::filesystem::path find_program(const std::string& word);

/// What the dynamic section of an ELF file says.
struct DynamicSection {
    std::vector<std::string> needed;
    std::vector<std::string> search_path; ///< RPATH and RUNPATH, with $ORIGIN replaced
};

/// Nothing if the file is not a dynamically linked ELF file of this machine's word size and byte
/// order, or cannot be read.
std::optional<DynamicSection> read_dynamic_section(const std::filesystem::path& file);

/// Whether this is an ELF file of this machine's word size that no dynamic linker starts.
bool is_statically_linked(const std::filesystem::path& file);

/// The newest version of the GNU C library of which the file needs anything: "2.34". Empty where it
/// needs none, or cannot be read.
std::string needed_glibc(const std::filesystem::path& file);

/// A library of MPI.
struct NeededMpi {
    MpiFlavor flavor;
    std::filesystem::path file; ///< empty: not found
};

/// What a program or one of its libraries needs of MPI, if anything.
std::optional<NeededMpi> needed_mpi(const std::filesystem::path& program);
std::optional<MpiFlavor> mpi_of(const std::filesystem::path& program);

/// Whether it needs MPI by the standard's own binary interface (MPI 5.0, chapter 20), whichever MPI
/// that is.
bool needs_standard_mpi(const std::filesystem::path& program);

} // namespace nodeaware::tool
