// For a simulator that keeps time itself and asks its network to go on, as ATLAHS' interpreter of GOAL asks htsim: run
// until a time, or until a message has arrived, whichever is first.
#pragma once

#include "packetloom.h"

#include <cstdint>
#include <optional>
#include <stdexcept>

namespace packetloom {

class UntilNetwork {
public:
    /// What has arrived: the caller's own number, and when.
    struct Arrival {
        std::uint64_t user;
        std::uint64_t at_ps;
    };

    explicit UntilNetwork(const char* scenario_path) { check(packetloom_open_file(scenario_path, 0, &network_)); }
    ~UntilNetwork() { packetloom_close(network_); }
    UntilNetwork(const UntilNetwork&) = delete;
    UntilNetwork& operator=(const UntilNetwork&) = delete;

    /// Sends a message at a time, which has not passed.
    void send(std::uint32_t src, std::uint32_t dst, std::uint64_t bytes, std::uint64_t user, std::uint64_t start_ps) {
        std::uint64_t now_ps = 0;
        check(packetloom_now(network_, &now_ps));
        if (start_ps < now_ps)
            throw std::runtime_error("a message starts before the present time");
        packetloom_message message = {};
        message.src = src;
        message.dst = dst;
        message.bytes = bytes;
        message.user = user;
        message.delay_ps = start_ps - now_ps;
        check(packetloom_send(network_, &message, 1, nullptr));
    }

    /// Goes on until `until_ps`, or until a message has arrived. Where nothing is under way, time does not go on.
    std::optional<Arrival> simulate_until(std::uint64_t until_ps) {
        packetloom_event event;
        for (;;) {
            const int kind = packetloom_next(network_, until_ps, &event);
            check(kind);
            if (kind == PACKETLOOM_RECEIVED)
                return Arrival{event.user, event.at_ps};
            if (kind == PACKETLOOM_STALLED)
                throw std::runtime_error(packetloom_error());
            if (kind >= PACKETLOOM_REACHED)
                return std::nullopt;
        }
    }

private:
    static void check(int code) {
        if (code < 0)
            throw std::runtime_error(packetloom_error());
    }

    packetloom_network network_ = 0;
};

}  // namespace packetloom
