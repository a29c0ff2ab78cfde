// ASTRA-sim's network interface over packetloom. A rank has an object; all ranks of a job share a session.
#pragma once

#include "session.hh"

#include "astra-sim/common/AstraNetworkAPI.hh"

#include <cstdint>
#include <vector>

namespace packetloom {

/// What the ranks of a job share.
struct Job {
    Session& session;
    int unfinished;                           ///< ranks that have not notified
    std::vector<double> dimension_bandwidths; ///< for ASTRA-sim's schedulers that ask, in GB/s; may be empty
};

class PacketloomNetwork : public AstraSim::AstraNetworkAPI {
public:
    PacketloomNetwork(int number, Job& job) : AstraNetworkAPI(number), job_(job) {}

    /// `msg_handler` is called when the sender is done with the message.
    int sim_send(void* buffer, std::uint64_t count, int type, int dst, int tag, AstraSim::sim_request* request,
                 void (*msg_handler)(void* fun_arg), void* fun_arg) override;

    /// `msg_handler` is called when `count` bytes of this source and tag have arrived.
    int sim_recv(void* buffer, std::uint64_t count, int type, int src, int tag, AstraSim::sim_request* request,
                 void (*msg_handler)(void* fun_arg), void* fun_arg) override;

    void sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void* fun_arg), void* fun_arg) override;

    /// Whole nanoseconds, as ASTRA-sim counts.
    AstraSim::timespec_t sim_get_time() override;

    double get_BW_at_dimension(int dim) override;

    /// The run stops when the last rank has notified, whatever the network still has to do.
    void sim_notify_finished() override;

private:
    Job& job_;
    bool finished_ = false;
};

}  // namespace packetloom
