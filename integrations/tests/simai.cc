// The front end of SimAI: flow tags, and delays by message. simai SCENARIO
#include "check.hh"
#include "send_delay.hh"
#include "simai_network.hh"

#include "astra-sim/system/RecvPacketEventHadndlerData.hh"
#include "astra-sim/system/SendPacketEventHandlerData.hh"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using AstraSim::ncclFlowTag;
using AstraSim::RecvPacketEventHadndlerData;
using AstraSim::SendPacketEventHandlerData;
using packetloom::Session;
using packetloom::SimAiJob;
using packetloom::SimAiNetwork;

std::string scenario;
std::string said;

void sent(void* data) {
    said += "sent " + std::to_string(static_cast<SendPacketEventHandlerData*>(data)->flowTag.current_flow_id) + "; ";
}

void received(void* data) {
    const ncclFlowTag& tag = static_cast<RecvPacketEventHadndlerData*>(data)->flowTag;
    said += "received " + std::to_string(tag.current_flow_id) + " before " +
            std::to_string(tag.tree_flow_list.empty() ? -1 : tag.tree_flow_list.front()) + "; ";
}

struct Ranks {
    Session session;
    SimAiJob job;
    SimAiNetwork first;
    SimAiNetwork second;
    std::vector<std::unique_ptr<SendPacketEventHandlerData>> sends;
    std::vector<std::unique_ptr<RecvPacketEventHadndlerData>> receives;

    explicit Ranks(std::optional<std::uint64_t> delay_ns)
        : session(scenario, PACKETLOOM_AUDIT), job{session, 7, 9, delay_ns}, first(0, job), second(1, job) {
        said.clear();
    }

    int send(int flow, int tag_id, std::uint64_t bytes, const ncclFlowTag& chosen = {}) {
        AstraSim::sim_request request;
        request.flowTag = chosen;
        request.flowTag.current_flow_id = flow;
        request.flowTag.tag_id = tag_id;
        request.flowTag.tree_flow_list = {flow + 1};
        sends.push_back(std::make_unique<SendPacketEventHandlerData>());
        // SimAI has the channel, not the flow tag's number, as the tag of a receive.
        return first.sim_send(nullptr, bytes, 0, 1, 99, &request, &sent, sends.back().get());
    }
    int send_to_nvswitch() {
        AstraSim::sim_request request;
        return first.sim_send(nullptr, 1, 0, 7, 99, &request, &sent, nullptr);
    }
    int receive(int tag_id, std::uint64_t bytes) {
        AstraSim::sim_request request;
        receives.push_back(std::make_unique<RecvPacketEventHadndlerData>());
        receives.back()->flowTag.tag_id = tag_id;
        return second.sim_recv(nullptr, bytes, 0, 0, 3, &request, &received, receives.back().get());
    }
};

void flow_tags_come_with_their_messages() {
    Ranks ranks(0);
    CHECK(ranks.receive(5, 1000) == 0);
    CHECK(ranks.send(70, 5, 1000) == 0);
    CHECK(ranks.send(80, 6, 2000) == 0);
    CHECK(ranks.session.run() == Session::End::idle);
    CHECK(said == "received 70 before 71; sent 70; sent 80; ");
    CHECK(ranks.receive(6, 2000) == 0);
    CHECK(ranks.session.run() == Session::End::idle);
    CHECK(said == "received 70 before 71; sent 70; sent 80; received 80 before 81; ");
}

std::uint64_t end_ps(std::optional<std::uint64_t> delay_ns, const ncclFlowTag& chosen = {}) {
    Ranks ranks(delay_ns);
    ranks.send(1, 1, 1000, chosen);
    CHECK(ranks.session.run() == Session::End::idle);
    return ranks.session.now_ps();
}

void messages_start_after_their_delays() {
    const std::uint64_t bare_ps = end_ps(0);
    CHECK(end_ps(1234) == bare_ps + 1234000);
    CHECK(end_ps(std::nullopt) == bare_ps + 6000000);
    ncclFlowTag chosen;
    (void)chosen;
#ifndef BEFORE_SIMAI_1_7
    chosen.algorithm = 1;
    chosen.protocol = 2;
    CHECK(end_ps(std::nullopt, chosen) == bare_ps + 11800000);
    chosen.gpus_per_node = 1;
    CHECK(end_ps(std::nullopt, chosen) == bare_ps + 22400000);
    chosen.algorithm = 4;
    chosen.protocol = 0;
    CHECK(end_ps(std::nullopt, chosen) == bare_ps + 6000000);
    chosen.algorithm = 7;
    CHECK(end_ps(std::nullopt, chosen) == bare_ps + 6000000);
#endif
}

void nvswitches_are_no_ends_of_messages() {
    Ranks ranks(0);
    CHECK(ranks.send_to_nvswitch() != 0);
    try {
        ranks.session.run();
    } catch (const std::runtime_error& error) {
        CHECK(std::string(error.what()).find("from rank 0 to 7: NVLS is not supported") != std::string::npos);
        return;
    }
    CHECK(!"refused");
}

void the_rest_of_the_interface() {
    Ranks ranks(0);
    int size = 0;
    CHECK(ranks.first.sim_comm_size({}, &size) == 0 && size == 9);
    CHECK(ranks.first.sim_init(nullptr) == 0);
    const auto finish = [](void* network) { static_cast<SimAiNetwork*>(network)->sim_finish(); };
    ranks.first.sim_schedule({AstraSim::NS, 2}, finish, &ranks.first);
    ranks.first.sim_schedule({AstraSim::NS, 3}, [](void*) { CHECK(false); }, nullptr);
    CHECK(ranks.session.run() == Session::End::stopped && ranks.job.finished);
    CHECK(ranks.first.sim_get_time().time_val == 2 && ranks.first.sim_get_time().time_res == AstraSim::NS);
}

}  // namespace

int main(int count, char** arguments) {
    CHECK(count == 2);
    scenario = arguments[1];
    flow_tags_come_with_their_messages();
    messages_start_after_their_delays();
    nvswitches_are_no_ends_of_messages();
    the_rest_of_the_interface();
}
