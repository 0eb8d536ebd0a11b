// A triangular solve by virtual GPUs, which are parts of a device, or threads of the host.
#pragma once

#include "plan.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench::sptrsv_gpu {

// There is no device, or it cannot do what it should.
class DeviceError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct SolverSettings {
    int blocks = 0;   // of SOLVE, of each virtual GPU at most; 0: as many as there is room for
    double limit = 5; // s that a block waits at most
    int lost = -1;    // as in Machine
};

struct Outcome {
    double us = 0;
    Failure failure;
    std::int64_t puts = 0;
    int elsewhere = 0; // blocks that ran outside their virtual GPU's part of the multiprocessors
    std::vector<double> solution; // not numbers where nothing has been computed
};

class Solver {
  public:
    Solver() = default;
    virtual ~Solver() = default;
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;

    virtual Outcome solve() = 0;
    // Of SOLVE, of each virtual GPU.
    virtual int blocks() const = 0;
};

// The plan must stay.
std::unique_ptr<Solver> solver_on_host(const Plan& plan, const SolverSettings& settings);
// Throws DeviceError, also where blocks of so many virtual GPUs would not all run at the same time:
// they wait for each other.
std::unique_ptr<Solver> solver_on_device(const Plan& plan, const SolverSettings& settings);

struct DeviceFacts {
    std::string name;
    std::string capability; // such as 9.0
    int multiprocessors = 0;
    int driver_version = 0; // as CUDA numbers them: 13000
};
// Of the first device. Throws DeviceError where there is none.
DeviceFacts find_device();

} // namespace bench::sptrsv_gpu
