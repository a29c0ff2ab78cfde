// ASTRA-sim with packetloom as its network: reads what ASTRA-sim's other front ends read, runs, and says when all is
// over. Exit codes: 0 all ranks have finished; 1 they can't; 2 the input is wrong.
#include "options.hh"
#include "packetloom_network.hh"

#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"

#include <json/json.hpp>

#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

using packetloom::Job;
using packetloom::Options;
using packetloom::PacketloomNetwork;
using packetloom::Session;

Options read_options(int argc, char** argv) {
    return Options(
        {
            {"workload-configuration", nullptr, "prefix of the Chakra traces"},
            {"system-configuration", nullptr, "ASTRA-sim's system, JSON"},
            {"network-configuration", nullptr, "packetloom's scenario without workload, TOML or JSON"},
            {"remote-memory-configuration", nullptr, "ASTRA-sim's remote memory, JSON"},
            {"comm-group-configuration", "empty", "communicator groups, JSON"},
            {"logical-topology-configuration", "", "the dimensions, JSON; one of all hosts without it"},
            {"bandwidth-per-dimension", "", "GB/s of each dimension, with commas, for schedulers that ask"},
            {"logging-configuration", "empty", "ASTRA-sim's logging"},
            {"logging-folder", "log", "where ASTRA-sim's logs go"},
            {"num-queues-per-dim", "1", "queues of each dimension"},
            {"comm-scale", "1", "scales the sizes of collectives"},
            {"injection-scale", "1", "scales ASTRA-sim's endpoint delays"},
            {"rendezvous-protocol", "false", "messages wait for their receivers"},
            {"flows", "", "a CSV file for the table of messages"},
            {"audit", "false", "check the invariants of packetloom's run"},
        },
        argc, argv);
}

/// ns-3's format: { "logical-dims": ["8", "4"] }.
std::vector<int> read_dimensions(const std::string& path, std::uint32_t hosts) {
    std::vector<int> dimensions;
    if (path.empty())
        return {static_cast<int>(hosts)};
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error(path + ": cannot read this file");
    const auto read = nlohmann::json::parse(file);
    std::uint64_t ranks = 1;
    for (const auto& dimension : read.at("logical-dims")) {
        dimensions.push_back(dimension.is_string() ? std::stoi(dimension.get<std::string>()) : dimension.get<int>());
        if (dimensions.back() < 1 || (ranks *= static_cast<std::uint64_t>(dimensions.back())) > hosts)
            throw std::runtime_error(path + ": logical-dims: the network has " + std::to_string(hosts) + " hosts");
    }
    return dimensions;
}

std::vector<double> read_bandwidths(const std::string& text) {
    std::vector<double> bandwidths;
    std::stringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');)
        bandwidths.push_back(std::stod(part));
    return bandwidths;
}

/// The ranks of a job, each with its network and its system.
class Ranks {
public:
    Ranks(const Options& options, const std::vector<int>& dimensions, int count, Job& job)
        : memory_(options.text("remote-memory-configuration")) {
        const std::vector<int> queues(dimensions.size(), options.whole("num-queues-per-dim"));
        for (int rank = 0; rank < count; rank++) {
            networks_.push_back(std::make_unique<PacketloomNetwork>(rank, job));
            systems_.push_back(new AstraSim::Sys(
                rank, options.text("workload-configuration"), options.text("comm-group-configuration"),
                options.text("system-configuration"), &memory_, networks_.back().get(), dimensions, queues,
                options.number("injection-scale"), options.number("comm-scale"), options.flag("rendezvous-protocol")));
        }
    }

    void fire() {
        for (AstraSim::Sys* system : systems_)
            system->workload->fire();
    }

    /// Ranks with nodes that wait or are being executed. ASTRA-sim's statistics refuse a trace with nodes without a
    /// type, and then a rank that is done does not notify.
    int unfinished() const {
        int count = 0;
        for (const AstraSim::Sys* system : systems_) {
            const auto& nodes = system->workload->et_feeder->getDependancyResolver();
            count += !nodes.get_dependancy_free_nodes().empty() || !nodes.get_ongoing_nodes().empty();
        }
        return count;
    }

private:
    Analytical::AnalyticalRemoteMemory memory_;
    std::vector<std::unique_ptr<PacketloomNetwork>> networks_;
    /// Never deleted: ASTRA-sim would free the plan of a communicator group twice.
    std::vector<AstraSim::Sys*> systems_;
};

int run(const Options& options) {
    AstraSim::LoggerFactory::init(options.text("logging-configuration"), options.text("logging-folder"));
    Session session(options.text("network-configuration"), options.flag("audit") ? PACKETLOOM_AUDIT : 0);
    const auto dimensions = read_dimensions(options.text("logical-topology-configuration"), session.hosts());
    int count = 1;
    for (const int dimension : dimensions)
        count *= dimension;
    Job job = {session, count, read_bandwidths(options.text("bandwidth-per-dimension"))};
    Ranks ranks(options, dimensions, count, job);
    ranks.fire();
    const Session::End end = session.run();
    const int unfinished = end == Session::End::stopped ? 0 : ranks.unfinished();
    if (unfinished > 0)
        std::cerr << unfinished << " of " << count << " ranks have not finished at " << session.now_ps() / 1000
                  << " ns. " << (end == Session::End::stalled ? session.reason() : session.describe_waiting()) << "\n";
    session.finish(options.text("flows"));
    AstraSim::LoggerFactory::shutdown();
    return unfinished == 0 ? 0 : 1;
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
