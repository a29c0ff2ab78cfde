#include "packetloom_network.hh"

#include "astra.hh"

namespace packetloom {

namespace {

/// Tags are any `int` of ASTRA-sim's.
std::uint64_t tag_of(int tag) { return static_cast<std::uint32_t>(tag); }

}  // namespace

int PacketloomNetwork::sim_send(void*, std::uint64_t count, int, int dst, int tag, AstraSim::sim_request*,
                                void (*msg_handler)(void*), void* fun_arg) {
    Message message;
    message.src = host_of(sim_comm_get_rank());
    message.dst = host_of(dst);
    message.bytes = count;
    message.tag = tag_of(tag);
    return job_.session.send(message, [msg_handler, fun_arg] { msg_handler(fun_arg); }) ? 0 : 1;
}

int PacketloomNetwork::sim_recv(void*, std::uint64_t count, int, int src, int tag, AstraSim::sim_request*,
                                void (*msg_handler)(void*), void* fun_arg) {
    const Key key = {tag_of(tag), host_of(src), host_of(sim_comm_get_rank())};
    const auto received = [msg_handler, fun_arg](const Label&) { msg_handler(fun_arg); };
    return job_.session.receive(key, count, received) ? 0 : 1;
}

void PacketloomNetwork::sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void*), void* fun_arg) {
    schedule_after(job_.session, delta, fun_ptr, fun_arg);
}

AstraSim::timespec_t PacketloomNetwork::sim_get_time() {
    return {AstraSim::NS, static_cast<long double>(job_.session.now_ps() / 1000)};
}

double PacketloomNetwork::get_BW_at_dimension(int dim) {
    const auto& known = job_.dimension_bandwidths;
    const bool is_known = dim >= 0 && static_cast<std::size_t>(dim) < known.size();
    return is_known ? known[static_cast<std::size_t>(dim)] : AstraNetworkAPI::get_BW_at_dimension(dim);
}

void PacketloomNetwork::sim_notify_finished() {
    if (!finished_ && --job_.unfinished == 0)
        job_.session.stop();
    finished_ = true;
}

}  // namespace packetloom
