// A simulator that keeps time itself: simulate_until SCENARIO
#include "check.hh"
#include "simulate_until.hh"

#include <string>

namespace {

/// Three messages and their answers, as an interpreter would: it goes on until its own next step or an arrival.
std::string run(const char* scenario, std::uint64_t step_ps) {
    packetloom::UntilNetwork network(scenario);
    std::string told;
    std::uint64_t until_ps = 0;
    for (std::uint32_t src = 1; src <= 3; src++)
        network.send(src, 0, 100000 * src, src, 1000000 * src);
    for (int answers = 0; answers < 3;) {
        until_ps += step_ps;
        while (const auto arrival = network.simulate_until(until_ps)) {
            told += std::to_string(arrival->user) + " at " + std::to_string(arrival->at_ps) + "; ";
            if (arrival->user < 10)
                network.send(0, static_cast<std::uint32_t>(arrival->user), 5000, 10 * arrival->user,
                             arrival->at_ps + 500000);
            else
                answers++;
        }
    }
    return told;
}

}  // namespace

int main(int count, char** arguments) {
    CHECK(count == 2);
    const std::string told = run(arguments[1], 1000000000);
    CHECK(told.find("30 at ") != std::string::npos);
    CHECK(told == run(arguments[1], 1000000) && told == run(arguments[1], 777));
    std::cout << told << "\n";
}
