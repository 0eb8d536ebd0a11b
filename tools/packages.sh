# shellcheck shell=bash
# shellcheck disable=SC2034 # the lists are for the scripts that source this
# What the project needs from Debian 12, in groups, and how it gets there.
#     source tools/packages.sh; install_packages "${packages_build[@]}" "${packages_check[@]}"

# To build for both MPIs, with all tests.
packages_build=(
    cmake ninja-build g++ gfortran pkg-config
    openmpi-bin libopenmpi-dev mpich libmpich-dev
    libhwloc-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev libgtest-dev
    libzstd-dev libmetis-dev libeigen3-dev
)
# To run the emulated cluster and to read what the benchmarks and the library write.
packages_run=(iproute2 procps util-linux jq zstd)
# For the checks: stacks of ranks that hang, format and lint; what both MPIs compile alike is
# compiled once; what makes the text of the kernel for GPUs.
packages_check=(gdb ccache shellcheck clang-format clang-tidy clang)
# Unmodified applications that run with the library preloaded; FFTW is needed before it is built.
packages_apps=(
    libfftw3-dev libfftw3-mpi-dev lammps hpcc quantum-espresso quantum-espresso-data
    python3-petsc4py python3-mpi4py
)

# For jobs in virtual time (nodeaware simulate, the preset smpi).
packages_simulate=(libsimgrid-dev)

# A browser that opens the page of `nodeaware analyze --html`.
packages_browser=(chromium)

is_installed() {
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Installs those of the packages that are missing. Without any it asks for no privilege and no
# network. Fails if the machine has no apt, or the user may not install.
install_packages() {
    local package missing=() as_root=(env DEBIAN_FRONTEND=noninteractive) log
    if ! command -v apt-get >/dev/null; then
        echo "packages: this is no Debian; needed are: $*" >&2
        return 1
    fi
    for package in "$@"; do is_installed "$package" || missing+=("$package"); done
    ((${#missing[@]} > 0)) || return 0
    echo "packages: installing ${missing[*]}" >&2
    if ((UID != 0)); then
        if ! command -v sudo >/dev/null; then
            echo "packages: run as root, or: apt-get install ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo "${as_root[@]}")
    fi
    log=$(mktemp)
    # Fresh containers have no package lists, old ones have lists that are out of date.
    if "${as_root[@]}" apt-get update >"$log" 2>&1 &&
        "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1
    then
        rm -f "$log"
    else
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo 'packages: apt-get failed' >&2
        return 1
    fi
}
