#pragma once

#include <mpi.h>

#include <cstddef>
#include <deque>

namespace nodeaware::handover_test {

inline constexpr int source = 1; ///< the only sender

/// What MPI has on the receiving rank: receives in the order of their posting, messages likewise.
struct Network {
    struct Request {
        int* memory = nullptr;
        int tag = 0; ///< or MPI_ANY_TAG
        bool is_over = false;
        bool is_cancelled = false;
        bool is_gone = false;
        int matched_tag = 0;
    };
    struct Message {
        int number = 0;
        int tag = 0;
    };
    std::deque<Request> requests; ///< a handle is a position plus 1
    std::deque<Message> unexpected;

    static bool accepts(const Request& request, int tag) {
        return !request.is_over && (request.tag == MPI_ANY_TAG || request.tag == tag);
    }
    static void match(Request& request, const Message& message) {
        request.is_over = true;
        request.matched_tag = message.tag;
        *request.memory = message.number;
    }
    void arrive(const Message& message) {
        for (Request& request : requests) {
            if (accepts(request, message.tag)) { return match(request, message); }
        }
        unexpected.push_back(message);
    }
    size_t post(int* memory, int tag) {
        requests.push_back({memory, tag, false, false, false, 0});
        for (auto at = unexpected.begin(); at != unexpected.end(); ++at) {
            if (!accepts(requests.back(), at->tag)) { continue; }
            match(requests.back(), *at);
            unexpected.erase(at);
            break;
        }
        return requests.size();
    }
};

/// Whose requests the functions of MPI stand for.
inline Network* network = nullptr;
/// What a handle stands for.
Network::Request& request_of(MPI_Request handle);
/// Lets the library call these functions.
void use_network();

} // namespace nodeaware::handover_test
