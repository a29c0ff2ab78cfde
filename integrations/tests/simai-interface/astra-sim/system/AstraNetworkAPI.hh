// The signatures of SimAI's network interface, as far as the front end uses them, for the tests: written for them.
#pragma once

#include <cstdint>
#include <vector>

namespace AstraSim {

class AstraMemoryAPI;
struct sim_comm {};

enum time_type_e { SE, MS, US, NS, FS };

struct timespec_t {
    time_type_e time_res;
    double time_val;
};

struct ncclFlowTag {
    int channel_id = -1;
    int current_flow_id = -1;
    int tag_id = -1;
    std::vector<int> tree_flow_list;
#ifndef BEFORE_SIMAI_1_7
    int algorithm = -1;
    int protocol = -1;
    int gpus_per_node = -1;
#endif
};

struct sim_request {
    ncclFlowTag flowTag;
};

class AstraNetworkAPI {
public:
    explicit AstraNetworkAPI(int number) : rank(number) {}
    virtual ~AstraNetworkAPI() = default;

    using Handler = void (*)(void*);
    virtual int sim_send(void*, std::uint64_t, int, int, int, sim_request*, Handler, void*) = 0;
    virtual int sim_recv(void*, std::uint64_t, int, int, int, sim_request*, Handler, void*) = 0;
    virtual void sim_schedule(timespec_t, Handler, void*) = 0;
    virtual timespec_t sim_get_time() = 0;
    virtual int sim_comm_size(sim_comm, int*) = 0;
    virtual double sim_time_resolution() = 0;
    virtual int sim_init(AstraMemoryAPI*) = 0;
    virtual int sim_finish() = 0;
    virtual int sim_comm_get_rank() { return rank; }

protected:
    int rank;
};

}  // namespace AstraSim
