// SimAI's network interface over packetloom. A GPU has an object, and so has an NVSwitch, which sends nothing here.
#pragma once

#include "session.hh"

#include "astra-sim/system/AstraNetworkAPI.hh"

#include <cstdint>
#include <optional>

namespace packetloom {

/// What the ranks of a job share.
struct SimAiJob {
    Session& session;
    int gpus;
    int ranks;                                  ///< GPUs, and the NVSwitches after them
    std::optional<std::uint64_t> send_delay_ns; ///< of every message; without it, by NCCL's tables
    bool finished = false;                      ///< whether SimAI said that all is over
};

class SimAiNetwork : public AstraSim::AstraNetworkAPI {
public:
    SimAiNetwork(int number, SimAiJob& job) : AstraNetworkAPI(number), job_(job) {}

    /// The message has the flow tag of `request`, which the handlers of both its ends find in their data.
    int sim_send(void* buffer, std::uint64_t count, int type, int dst, int tag, AstraSim::sim_request* request,
                 void (*msg_handler)(void* fun_arg), void* fun_arg) override;

    /// Waits for messages of the tag in the flow tag of `fun_arg`, a RecvPacketEventHadndlerData.
    int sim_recv(void* buffer, std::uint64_t count, int type, int src, int tag, AstraSim::sim_request* request,
                 void (*msg_handler)(void* fun_arg), void* fun_arg) override;

    void sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void* fun_arg), void* fun_arg) override;
    AstraSim::timespec_t sim_get_time() override;

    int sim_comm_size(AstraSim::sim_comm comm, int* size) override;
    double sim_time_resolution() override { return 1; }
    int sim_init(AstraSim::AstraMemoryAPI*) override { return 0; }

    /// SimAI calls this once, when all GPUs are done.
    int sim_finish() override;

private:
    /// Messages of NVLS end at NVSwitches, which are part of the fabric here.
    bool is_between_gpus(int src, int dst);

    SimAiJob& job_;
};

}  // namespace packetloom
