// The front end of ASTRA-sim as ASTRA-sim would use it, and as it would not: astra_sim SCENARIO TABLE
// Prints when a ring all-reduce of 1 MiB ends, in ns, twice.
#include "check.hh"
#include "packetloom_network.hh"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using packetloom::Job;
using packetloom::PacketloomNetwork;
using packetloom::Session;
using Time = AstraSim::timespec_t;

std::string scenario;

/// A job of some ranks, and functions for what ASTRA-sim does with pointers.
struct Ranks {
    Session session;
    Job job;
    std::vector<std::unique_ptr<PacketloomNetwork>> networks;
    std::vector<std::unique_ptr<std::function<void()>>> calls;

    explicit Ranks(int count) : session(scenario, PACKETLOOM_AUDIT), job{session, count, {}} {
        for (int rank = 0; rank < count; rank++)
            networks.push_back(std::make_unique<PacketloomNetwork>(rank, job));
    }

    static void call(void* argument) { (*static_cast<std::function<void()>*>(argument))(); }
    void* keep(std::function<void()> function) {
        calls.push_back(std::make_unique<std::function<void()>>(std::move(function)));
        return calls.back().get();
    }
    int send(int src, int dst, std::uint64_t bytes, int tag, std::function<void()> then = [] {}) {
        return at(src).sim_send(nullptr, bytes, 0, dst, tag, nullptr, &call, keep(std::move(then)));
    }
    int receive(int dst, int src, std::uint64_t bytes, int tag, std::function<void()> then) {
        return at(dst).sim_recv(nullptr, bytes, 0, src, tag, nullptr, &call, keep(std::move(then)));
    }
    void schedule(Time delta, std::function<void()> then) { at(0).sim_schedule(delta, &call, keep(std::move(then))); }
    long double now_ns() { return at(0).sim_get_time().time_val; }
    PacketloomNetwork& at(int rank) { return *networks.at(static_cast<std::size_t>(rank)); }
};

/// Each rank passes 2 (n - 1) parts on, each once the one before has come.
void ring(const std::string& table) {
    constexpr int ranks = 8;
    constexpr std::uint64_t part = (1u << 20) / ranks;
    Ranks job(ranks);
    std::function<void(int, int)> step = [&](int rank, int number) {
        if (number == 2 * (ranks - 1))
            return job.at(rank).sim_notify_finished();
        job.send(rank, (rank + 1) % ranks, part, number);
        job.receive(rank, (rank + ranks - 1) % ranks, part, number, [&step, rank, number] { step(rank, number + 1); });
    };
    for (int rank = 0; rank < ranks; rank++)
        step(rank, 0);
    CHECK(job.session.run() == Session::End::stopped && job.job.unfinished == 0);
    std::cout << static_cast<std::uint64_t>(job.now_ns()) << "\n";
    job.session.finish(table);
}

void any_order_of_send_and_receive() {
    Ranks job(2);
    std::string said;
    job.receive(1, 0, 1000, 5, [&] { said += "before "; });
    job.send(0, 1, 1000, 5);
    job.send(0, 1, 500, 6, [&] {
        CHECK(said == "before ");
        job.receive(1, 0, 500, 6, [&] { said += "after "; });
        CHECK(said == "before ");
    });
    CHECK(job.session.run() == Session::End::idle && said == "before after ");
}

void parts_and_wholes() {
    Ranks job(2);
    int received = 0;
    const auto count = [&] { received++; };
    job.send(0, 1, 3000, 1);
    job.receive(1, 0, 1000, 1, count);
    job.receive(1, 0, 2000, 1, count);
    job.send(0, 1, 1500, 2);
    job.send(0, 1, 1500, 2);
    job.receive(1, 0, 3000, 2, count);
    CHECK(job.session.run() == Session::End::idle && received == 3);
}

void nothing_and_oneself() {
    Ranks job(2);
    std::string said;
    job.receive(1, 0, 0, 1, [&] { said += "nothing "; });
    job.receive(0, 0, 4000, 1, [&] { said += "oneself "; });
    job.send(0, 1, 0, 1, [&] { said += "sent "; });
    job.send(0, 0, 4000, 1);
    CHECK(said.empty());
    CHECK(job.session.run() == Session::End::idle && said == "nothing sent oneself " && job.now_ns() == 0);
}

void more_than_2_gib() {
    Ranks job(2);
    constexpr std::uint64_t bytes = 3ull << 30;
    bool received = false;
    job.receive(1, 0, 2 * bytes, 1, [&] { received = true; });
    job.send(0, 1, bytes, 1, [&] { CHECK(!received); });
    CHECK(job.session.run() == Session::End::idle && !received && job.session.waiting_receives() == 1);
    CHECK(job.session.describe_waiting() == "rank 1 waits for 3221225472 bytes from rank 0, tag 1");
    job.send(0, 1, bytes, 1);
    CHECK(job.session.run() == Session::End::idle && received);
}

void times_and_their_order() {
    Ranks job(2);
    std::string said;
    job.schedule({AstraSim::NS, 5}, [&] { said += "b"; });
    job.schedule({AstraSim::US, 0.005L}, [&] { said += "c"; });
    job.schedule({AstraSim::NS, 0}, [&] {
        said += "a";
        job.schedule({AstraSim::NS, 5}, [&] { said += "d"; });
    });
    job.schedule({AstraSim::FS, 6e6L}, [&] { said += "e"; });
    CHECK(job.session.run() == Session::End::idle && said == "abcde" && job.now_ns() == 6);
    CHECK(job.at(0).get_BW_at_dimension(0) == -1);
    job.job.dimension_bandwidths = {50};
    CHECK(job.at(0).get_BW_at_dimension(0) == 50 && job.at(0).get_BW_at_dimension(1) == -1);
}

void the_last_rank_stops_the_run() {
    Ranks job(2);
    job.schedule({AstraSim::SE, 1000}, [] { CHECK(false); });
    job.send(0, 1, 1u << 30, 1, [] { CHECK(false); });
    job.schedule({AstraSim::NS, 3}, [&] {
        job.at(1).sim_notify_finished();
        job.at(1).sim_notify_finished();
    });
    job.schedule({AstraSim::NS, 4}, [&] { job.at(0).sim_notify_finished(); });
    CHECK(job.session.run() == Session::End::stopped && job.now_ns() == 4);
}

/// What can't be ends the run with its text, even if the caller does not look at what the call returns.
void refuses(const char* text, const std::function<void(Ranks&)>& act) {
    Ranks job(2);
    job.schedule({AstraSim::NS, 1}, [&] { act(job); });
    job.schedule({AstraSim::NS, 2}, [] { CHECK(false); });
    try {
        job.session.run();
    } catch (const std::runtime_error& error) {
        if (std::string(error.what()).find(text) != std::string::npos)
            return;
        std::cerr << error.what() << "\n";
    }
    CHECK(!"refused");
}

void hostile_callers() {
    const auto nothing = [] {};
    refuses("there is no host 8", [&](Ranks& job) { CHECK(job.send(0, 8, 1, 1) != 0); });
    refuses("there is no host 4294967295", [&](Ranks& job) { CHECK(job.send(0, -1, 1, 1) != 0); });
    refuses("more than a message may have", [&](Ranks& job) { CHECK(job.send(0, 1, 1ull << 63, 1) != 0); });
    refuses("the network has 8 hosts", [&](Ranks& job) { CHECK(job.receive(0, 8, 1, 1, nothing) != 0); });
    refuses("a delay of -1", [&](Ranks& job) { job.schedule({AstraSim::NS, -1}, nothing); });
    refuses("a delay of nan", [&](Ranks& job) { job.schedule({AstraSim::NS, __builtin_nanl("")}, nothing); });
    refuses("a delay of", [&](Ranks& job) { job.schedule({AstraSim::SE, 1e30L}, nothing); });
    refuses("of unit 9", [&](Ranks& job) { job.schedule({static_cast<AstraSim::time_type_e>(9), 1}, nothing); });
    refuses("write a time before", [&](Ranks& job) { job.schedule({AstraSim::SE, 9e6L}, nothing); });
    try {
        Session("/nowhere.toml");
    } catch (const std::runtime_error& error) {
        CHECK(std::string(error.what()).find("cannot read") != std::string::npos);
        return;
    }
    CHECK(!"refused");
}

}  // namespace

int main(int count, char** arguments) {
    CHECK(count == 3);
    scenario = arguments[1];
    ring(arguments[2]);
    ring("");
    any_order_of_send_and_receive();
    parts_and_wholes();
    nothing_and_oneself();
    more_than_2_gib();
    times_and_their_order();
    the_last_rank_stops_the_run();
    hostile_callers();
}
