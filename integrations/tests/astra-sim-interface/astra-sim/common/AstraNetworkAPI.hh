// The signatures of ASTRA-sim's network interface, as far as the front end uses them, for the tests: written for them.
#pragma once

#include <cstdint>

namespace AstraSim {

enum time_type_e { SE, MS, US, NS, FS };

struct timespec_t {
    time_type_e time_res;
    long double time_val;
};

struct sim_request {};

class AstraNetworkAPI {
public:
    explicit AstraNetworkAPI(int number) : rank(number) {}
    virtual ~AstraNetworkAPI() = default;

    using Handler = void (*)(void*);
    virtual int sim_send(void*, std::uint64_t, int, int, int, sim_request*, Handler, void*) = 0;
    virtual int sim_recv(void*, std::uint64_t, int, int, int, sim_request*, Handler, void*) = 0;
    virtual void sim_schedule(timespec_t, Handler, void*) = 0;
    virtual timespec_t sim_get_time() = 0;
    virtual int sim_comm_get_rank() { return rank; }
    virtual double get_BW_at_dimension(int) { return -1; }
    virtual void sim_notify_finished() {}

    int rank;
};

}  // namespace AstraSim
