#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// The binary interfaces of MPI libraries. MPICH stands for all that share its own (Intel MPI,
/// MVAPICH, Cray MPICH), `abi` for that of MPI 5.0, chapter 20, whichever MPI has it.
enum class MpiFlavor { openmpi, mpich, abi };
inline constexpr std::array mpi_flavors = {MpiFlavor::openmpi, MpiFlavor::mpich, MpiFlavor::abi};

/// In names of files and on command lines.
const char* name_of(MpiFlavor flavor);
/// In a sentence.
const char* called(MpiFlavor flavor);
/// Nothing for an empty name.
std::optional<MpiFlavor> flavor_named(const std::string& name);
std::vector<std::string> names_of_flavors();

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

} // namespace nodeaware::tool
