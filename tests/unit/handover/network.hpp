#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <deque>

namespace nodeaware::handover_test {

/// What a receive or probe may take.
struct Pattern {
    int source = 1; ///< or MPI_ANY_SOURCE
    int tag = 0;    ///< or MPI_ANY_TAG

    bool accepts(int from, int with) const {
        return (source == MPI_ANY_SOURCE || source == from) && (tag == MPI_ANY_TAG || tag == with);
    }
    bool has_wildcards() const { return source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG; }
};

/// What MPI has on the receiving rank: receives in the order of their posting, messages likewise.
struct Network {
    struct Request {
        int* memory = nullptr;
        Pattern pattern;
        bool is_over = false;
        bool is_cancelled = false;
        bool is_gone = false;
        int matched_source = 0;
        int matched_tag = 0;
    };
    struct Message {
        int number = 0; ///< another for each message, whoever sends it
        int source = 0;
        int tag = 0;
    };
    std::deque<Request> requests; ///< a handle is a position plus 1
    std::deque<Message> unexpected;

    static bool accepts(const Request& request, const Message& message) {
        return !request.is_over && request.pattern.accepts(message.source, message.tag);
    }
    static void match(Request& request, const Message& message) {
        request.is_over = true;
        request.matched_source = message.source;
        request.matched_tag = message.tag;
        *request.memory = message.number;
    }
    void arrive(const Message& message) {
        for (Request& request : requests) {
            if (accepts(request, message)) { return match(request, message); }
        }
        unexpected.push_back(message);
    }
    size_t post(int* memory, const Pattern& pattern) {
        requests.push_back({memory, pattern, false, false, false, 0, 0});
        const auto first = probe(pattern);
        if (first == unexpected.end()) { return requests.size(); }
        match(requests.back(), *first);
        unexpected.erase(first);
        return requests.size();
    }
    /// The first message that has come for such a receive.
    std::deque<Message>::iterator probe(const Pattern& pattern) {
        return std::find_if(unexpected.begin(), unexpected.end(), [&](const Message& message) {
            return pattern.accepts(message.source, message.tag);
        });
    }
};

/// Whose requests the functions of MPI stand for.
inline Network* network = nullptr;
/// What a handle stands for.
Network::Request& request_of(MPI_Request handle);
/// Lets the library call these functions.
void use_network();

} // namespace nodeaware::handover_test
