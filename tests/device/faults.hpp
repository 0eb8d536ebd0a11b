#pragma once

/// The rank in the job, as launchers tell it; nullptr: there is none.
const char* rank_of_this();

/// Whether this call of a function is the one that GPU_STAND_IN_FAIL names: see cuda_stand_in.cpp.
bool is_to_fail(const char* function);
