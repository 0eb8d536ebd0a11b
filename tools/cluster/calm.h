// Shared by the source files of libcalm.so.
#pragma once

#define CALM_EXPORT __attribute__((visibility("default")))

// The function that a call would reach if this library were not there; NULL if there is none.
// Cast it to its true type.
typedef void (*CalmFunction)(void);
CalmFunction calm_next(const char* name);

// The UCX worker of MPICH; NULL if the program has none.
void* calm_ucp_worker(void);
