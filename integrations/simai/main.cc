// SimAI with packetloom as its network. Exit codes: 0 all GPUs are done; 1 they can't be; 2 the input is wrong.
#include "options.hh"
#include "simai_network.hh"

#include "astra-sim/system/Sys.hh"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace {

using packetloom::Options;
using packetloom::Session;
using packetloom::SimAiJob;
using packetloom::SimAiNetwork;

Options read_options(int argc, char** argv) {
    return Options(
        {
            {"workload", nullptr, "SimAI's workload"},
            {"network", nullptr, "packetloom's scenario without workload, TOML or JSON; its hosts are the GPUs"},
            {"gpus", "0", "how many of the hosts; 0: all"},
            {"gpus-per-server", "8", "GPUs of a server"},
            {"gpu-type", "H100", "A100, A800, H100, H800 or H20"},
            {"send-delay", "", "ns before each message; without it AS_SEND_LAT, and else NCCL's tables"},
            {"results", "./ncclFlowModel_", "how the paths of SimAI's own results begin"},
            {"flows", "", "a CSV file for the table of messages"},
            {"audit", "false", "check the invariants of packetloom's run"},
        },
        argc, argv);
}

GPUType read_gpu_type(const std::string& name) {
    const std::map<std::string, GPUType> types = {{"A100", GPUType::A100},
                                                  {"A800", GPUType::A800},
                                                  {"H100", GPUType::H100},
                                                  {"H800", GPUType::H800},
                                                  {"H20", GPUType::H20}};
    const auto found = types.find(name);
    if (found == types.end())
        throw std::runtime_error("--gpu-type: there is no " + name);
    return found->second;
}

std::optional<std::uint64_t> read_send_delay(const Options& options) {
    const char* set = std::getenv("AS_SEND_LAT");
    std::string text = options.text("send-delay");
    if (text.empty() && set != nullptr)
        text = set;
    if (text.empty())
        return std::nullopt;
    if (text.find_first_not_of("0123456789") != std::string::npos || text.size() > 12)
        throw std::runtime_error("--send-delay or AS_SEND_LAT: " + text + " is no number of ns");
    return std::stoull(text);
}

/// SimAI counts the NVSwitches, one a server, as ranks after the GPUs. Systems delete themselves when they are done.
void fire(const Options& options, int gpus, SimAiJob& job, std::vector<std::unique_ptr<SimAiNetwork>>& networks) {
    const int per_server = options.whole("gpus-per-server");
    const GPUType type = read_gpu_type(options.text("gpu-type"));
    std::vector<int> nvswitches(static_cast<std::size_t>(job.ranks - gpus));
    std::iota(nvswitches.begin(), nvswitches.end(), gpus);
    std::vector<AstraSim::Sys*> systems;
    for (int rank = 0; rank < job.ranks; rank++) {
        networks.push_back(std::make_unique<SimAiNetwork>(rank, job));
        systems.push_back(new AstraSim::Sys(networks.back().get(), nullptr, rank, 0, 1, {job.ranks}, {1}, "",
                                            options.text("workload"), 1, 1, 1, 1, 0, options.text("results"),
                                            "packetloom", true, false, type, {gpus}, nvswitches, per_server));
        systems.back()->nvswitch_id = rank < gpus ? gpus + rank / per_server : rank;
        systems.back()->num_gpus = gpus;
    }
    for (AstraSim::Sys* system : systems)
        system->workload->fire();
}

int run(const Options& options) {
    Session session(options.text("network"), options.flag("audit") ? PACKETLOOM_AUDIT : 0);
    const int gpus = options.whole("gpus") > 0 ? options.whole("gpus") : static_cast<int>(session.hosts());
    const int per_server = options.whole("gpus-per-server");
    if (static_cast<std::uint32_t>(gpus) > session.hosts() || per_server < 1 || gpus % per_server != 0)
        throw std::runtime_error(std::to_string(gpus) + " GPUs, " + std::to_string(per_server) +
                                 " a server, on a network of " + std::to_string(session.hosts()) + " hosts");
    SimAiJob job = {session, gpus, gpus + gpus / per_server, read_send_delay(options)};
    std::vector<std::unique_ptr<SimAiNetwork>> networks;
    fire(options, gpus, job, networks);
    const Session::End end = session.run();
    if (!job.finished)
        std::cerr << "not all GPUs are done at " << session.now_ps() / 1000 << " ns. "
                  << (end == Session::End::stalled ? session.reason() : session.describe_waiting()) << "\n";
    session.finish(options.text("flows"));
    return job.finished ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(read_options(argc, argv));
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 2;
    }
}
