// A packetloom network that calls functions when messages have come or gone, for simulators that expect callbacks.
//
// Callbacks are called by `run` alone, one after the other: never by the function that asked for them, even if what is
// asked for has happened already. Those of one moment are called in the order in which messages and timers were made.
#pragma once

#include "matching.hh"
#include "packetloom.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace packetloom {

/// What a sender has its receiver know of a message, beside its bytes.
using Label = std::shared_ptr<const void>;

/// A message to be sent.
struct Message {
    std::uint32_t src = 0;
    std::uint32_t dst = 0;
    std::uint64_t bytes = 0;
    std::uint64_t tag = 0;
    std::uint32_t channel = 0;
    std::uint64_t delay_ps = 0;
};

/// Things by number; numbers of what was taken are given again, so that memory is of what is under way.
template <typename T>
class Slots {
public:
    std::uint64_t put(T thing) {
        if (free_.empty()) {
            things_.push_back(std::move(thing));
            return things_.size() - 1;
        }
        const std::uint64_t slot = free_.back();
        free_.pop_back();
        things_[slot] = std::move(thing);
        return slot;
    }
    T& at(std::uint64_t slot) { return things_.at(slot); }
    T take(std::uint64_t slot) {
        T thing = std::move(things_.at(slot));
        things_[slot] = T{};
        free_.push_back(slot);
        return thing;
    }

private:
    std::vector<T> things_;
    std::vector<std::uint64_t> free_;
};

class Session {
public:
    using Call = std::function<void()>;
    using Received = std::function<void(const Label&)>;

    /// How a run ended.
    enum class End {
        stopped,  ///< `stop` was called
        idle,     ///< nothing is left to happen, or the scenario's max_time is reached
        stalled,  ///< messages can never arrive; `reason` says why
    };

    /// Opens the network of a scenario without traffic. Throws std::runtime_error if the scenario is wrong.
    explicit Session(const std::string& scenario_path, std::uint32_t flags = 0);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    std::uint32_t hosts() const { return hosts_; }
    std::uint64_t now_ps() const { return now_ps_; }

    /// Sends a message; calls `sent` when its sender is done. These three return false if what is asked for can't be;
    /// then `run` throws std::runtime_error, so that a caller's caller which ignores this does not go on unnoticed.
    bool send(const Message& message, Call sent, Label label = nullptr);

    /// Calls `received` when `bytes` of messages of this key have arrived.
    bool receive(const Key& key, std::uint64_t bytes, Received received);

    /// Calls something after a time.
    bool schedule(std::uint64_t delay_ps, Call call);

    /// Notes a mistake that `run` throws. Returns false.
    bool refuse(const std::string& why);

    /// Calls what was asked for at its time, until nothing is left.
    End run();

    /// Has `run` return after the present callback.
    void stop() { stopped_ = true; }

    const std::string& reason() const { return reason_; }
    std::size_t waiting_receives() const { return matching_.waiting(); }
    std::string describe_waiting() const { return matching_.describe_waiting(8); }

    /// Ends the run, and writes the table of messages to a file if `path` is not empty.
    void finish(const std::string& path);

private:
    struct Outgoing {
        Call sent;
        Label label;
        bool one_is_over = false;
    };

    void handle(const packetloom_event& event);
    void over(std::uint64_t slot);

    packetloom_network network_ = 0;
    std::uint32_t hosts_ = 0;
    std::uint64_t now_ps_ = 0;
    bool stopped_ = false;
    std::string mistake_;
    std::string reason_;
    Slots<Outgoing> outgoing_;
    Slots<Call> timers_;
    Matching<Received, Label> matching_;
    std::vector<Matching<Received, Label>::Completed> completed_;
};

}  // namespace packetloom
