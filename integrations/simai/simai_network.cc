#include "simai_network.hh"

#include "astra.hh"
#include "send_delay.hh"

#include "astra-sim/system/RecvPacketEventHadndlerData.hh"
#include "astra-sim/system/SendPacketEventHandlerData.hh"

#include <memory>
#include <string>

namespace packetloom {

namespace {

using AstraSim::ncclFlowTag;
using AstraSim::RecvPacketEventHadndlerData;
using AstraSim::SendPacketEventHandlerData;

/// The number by which SimAI has messages find their receives.
std::uint64_t tag_of(const ncclFlowTag& tag) { return static_cast<std::uint32_t>(tag.tag_id); }

}  // namespace

bool SimAiNetwork::is_between_gpus(int src, int dst) {
    if (src < job_.gpus && dst < job_.gpus)
        return true;
    return job_.session.refuse("a message from rank " + std::to_string(src) + " to " + std::to_string(dst) +
                               ": NVLS is not supported, and ranks from " + std::to_string(job_.gpus) +
                               " on are NVSwitches");
}

int SimAiNetwork::sim_send(void*, std::uint64_t count, int, int dst, int, AstraSim::sim_request* request,
                           void (*msg_handler)(void*), void* fun_arg) {
    const auto label = std::make_shared<const ncclFlowTag>(request->flowTag);
    const int src = sim_comm_get_rank();
    if (!is_between_gpus(src, dst))
        return 1;
    Message message;
    message.src = host_of(src);
    message.dst = host_of(dst);
    message.bytes = count;
    message.tag = tag_of(*label);
    message.channel = static_cast<std::uint32_t>(label->channel_id);
    message.delay_ps = 1000 * job_.send_delay_ns.value_or(flow_delay_ns(*label, src, dst));
    const auto sent = [msg_handler, fun_arg, label] {
        static_cast<SendPacketEventHandlerData*>(fun_arg)->flowTag = *label;
        msg_handler(fun_arg);
    };
    return job_.session.send(message, sent, label) ? 0 : 1;
}

int SimAiNetwork::sim_recv(void*, std::uint64_t count, int, int src, int, AstraSim::sim_request*,
                           void (*msg_handler)(void*), void* fun_arg) {
    if (!is_between_gpus(src, sim_comm_get_rank()))
        return 1;
    auto* const data = static_cast<RecvPacketEventHadndlerData*>(fun_arg);
    const Key key = {tag_of(data->flowTag), host_of(src), host_of(sim_comm_get_rank())};
    const auto received = [msg_handler, data](const Label& label) {
        data->flowTag = *static_cast<const ncclFlowTag*>(label.get());
        msg_handler(data);
    };
    return job_.session.receive(key, count, received) ? 0 : 1;
}

void SimAiNetwork::sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void*), void* fun_arg) {
    schedule_after(job_.session, delta, fun_ptr, fun_arg);
}

AstraSim::timespec_t SimAiNetwork::sim_get_time() {
    return {AstraSim::NS, static_cast<double>(job_.session.now_ps() / 1000)};
}

int SimAiNetwork::sim_comm_size(AstraSim::sim_comm, int* size) {
    *size = job_.ranks;
    return 0;
}

int SimAiNetwork::sim_finish() {
    job_.finished = true;
    job_.session.stop();
    return 0;
}

}  // namespace packetloom
