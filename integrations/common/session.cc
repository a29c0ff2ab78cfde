#include "session.hh"

#include <stdexcept>
#include <utility>

namespace packetloom {

namespace {

void check(int code) {
    if (code < 0)
        throw std::runtime_error(packetloom_error());
}

}  // namespace

Session::Session(const std::string& scenario_path, std::uint32_t flags) {
    if (packetloom_abi() != PACKETLOOM_ABI)
        throw std::runtime_error("libpacketloom has interface " + std::to_string(packetloom_abi()) +
                                 ", and this program was compiled for " + std::to_string(PACKETLOOM_ABI));
    check(packetloom_open_file(scenario_path.c_str(), flags, &network_));
    check(packetloom_hosts(network_, &hosts_));
}

Session::~Session() {
    if (network_ != 0)
        packetloom_close(network_);
}

bool Session::refuse(const std::string& why) {
    if (mistake_.empty())
        mistake_ = why;
    return false;
}

bool Session::send(const Message& message, Call sent, Label label) {
    packetloom_message out = {};
    out.src = message.src;
    out.dst = message.dst;
    out.bytes = message.bytes;
    out.tag = message.tag;
    out.channel = message.channel;
    out.delay_ps = message.delay_ps;
    out.user = outgoing_.put({std::move(sent), std::move(label), false});
    if (packetloom_send(network_, &out, 1, nullptr) < 0) {
        const std::string why = packetloom_error();
        outgoing_.take(out.user);
        return refuse("a message from " + std::to_string(out.src) + " to " + std::to_string(out.dst) + ": " + why);
    }
    return true;
}

bool Session::receive(const Key& key, std::uint64_t bytes, Received received) {
    if (key.src >= hosts_ || key.dst >= hosts_)
        return refuse("rank " + std::to_string(key.dst) + " receives from rank " + std::to_string(key.src) +
                      ", but the network has " + std::to_string(hosts_) + " hosts");
    const auto label = matching_.receive(key, bytes, received);
    if (!label)
        return true;
    return schedule(0, [received = std::move(received), label = *label] { received(label); });
}

bool Session::schedule(std::uint64_t delay_ps, Call call) {
    const std::uint64_t slot = timers_.put(std::move(call));
    const std::uint64_t at_ps = delay_ps > PACKETLOOM_FOREVER - now_ps_ ? PACKETLOOM_FOREVER : now_ps_ + delay_ps;
    if (packetloom_timer(network_, at_ps, slot, nullptr) < 0) {
        const std::string why = packetloom_error();
        timers_.take(slot);
        return refuse(why);
    }
    return true;
}

Session::End Session::run() {
    stopped_ = false;
    for (;;) {
        if (!mistake_.empty())
            throw std::runtime_error(std::exchange(mistake_, {}));
        if (stopped_)
            return End::stopped;
        packetloom_event event;
        const int kind = packetloom_next(network_, PACKETLOOM_FOREVER, &event);
        check(kind);
        if (kind < PACKETLOOM_REACHED) {
            now_ps_ = event.at_ps;
            handle(event);
            continue;
        }
        check(packetloom_now(network_, &now_ps_));
        if (kind != PACKETLOOM_STALLED)
            return End::idle;
        reason_ = packetloom_error();
        return End::stalled;
    }
}

void Session::handle(const packetloom_event& event) {
    if (event.kind == PACKETLOOM_TIMER) {
        timers_.take(event.user)();
    } else if (event.kind == PACKETLOOM_SENT) {
        const Call sent = std::exchange(outgoing_.at(event.user).sent, nullptr);
        over(event.user);
        if (sent)
            sent();
    } else {
        const Label label = outgoing_.at(event.user).label;
        over(event.user);
        completed_.clear();
        matching_.arrive({event.tag, event.src, event.dst}, event.bytes, label, completed_);
        for (const auto& [received, whose] : completed_)
            received(whose);
    }
}

/// A message is forgotten once it was received and its sender is done; which is first depends on the transport.
void Session::over(std::uint64_t slot) {
    if (std::exchange(outgoing_.at(slot).one_is_over, true))
        outgoing_.take(slot);
}

void Session::finish(const std::string& path) {
    check(packetloom_finish(std::exchange(network_, 0), path.empty() ? nullptr : path.c_str()));
}

}  // namespace packetloom
