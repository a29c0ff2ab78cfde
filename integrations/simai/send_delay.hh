// How long after a request a message starts: what SimAI's ns-3 back end adds for NCCL's work at both ends.
#pragma once

#include <cstdint>
#include <type_traits>

namespace packetloom {

/// NCCL's algorithms and protocols, in its order.
enum class Algorithm { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat, count };
enum class Protocol { low_latency, low_latency_128, simple, count };

/// What is added where NCCL's tables have nothing, or the message does not say.
constexpr std::uint64_t other_delay_ns = 6000;

/// NCCL's base latency plus that of a hop, in ns; 0 if an algorithm does not use a protocol. Constants: NCCL 2.30,
/// src/graph/tuning.cc, baseLatencies and hwLatencies (NVLink; network).
inline std::uint64_t nccl_delay_ns(Algorithm algorithm, Protocol protocol, bool same_node) {
    struct Row {
        std::uint64_t base[3];
        std::uint64_t nvlink[3];
        std::uint64_t network[3];
    };
    constexpr Row rows[] = {
        {{6800, 14000, 8400}, {600, 1250, 4000}, {5000, 8500, 14000}},
        {{6600, 14000, 8400}, {600, 1900, 3400}, {2700, 4000, 14000}},
        {{0, 0, 0}, {0, 0, 3700}, {0, 0, 31000}},
        {{0, 0, 0}, {0, 0, 2800}, {0, 0, 30000}},
        {{0, 0, 0}, {0, 0, 25000}, {0, 0, 18000}},
        {{0, 0, 0}, {0, 0, 25000}, {0, 0, 20900}},
        {{8000, 8000, 8000}, {0, 0, 4000}, {0, 0, 14000}},
    };
    const Row& row = rows[static_cast<int>(algorithm)];
    const auto at = static_cast<int>(protocol);
    const std::uint64_t hop = same_node ? row.nvlink[at] : row.network[at];
    return hop == 0 ? 0 : row.base[at] + hop;
}

/// Whether flow tags say what NCCL chose, as since SimAI 1.7.
template <typename FlowTag, typename = void>
struct SaysWhatNcclChose : std::false_type {};
template <typename FlowTag>
struct SaysWhatNcclChose<FlowTag, std::void_t<decltype(FlowTag::algorithm), decltype(FlowTag::protocol)>>
    : std::true_type {};

/// The delay of a message by its flow tag.
template <typename FlowTag>
std::uint64_t flow_delay_ns(const FlowTag& tag, int src, int dst) {
    if constexpr (SaysWhatNcclChose<FlowTag>::value) {
        const bool is_known = tag.algorithm >= 0 && tag.algorithm < static_cast<int>(Algorithm::count) &&
                              tag.protocol >= 0 && tag.protocol < static_cast<int>(Protocol::count);
        if (is_known) {
            const int gpus_per_node = tag.gpus_per_node > 0 ? tag.gpus_per_node : 8;
            const bool same_node = src / gpus_per_node == dst / gpus_per_node;
            const auto delay_ns = nccl_delay_ns(static_cast<Algorithm>(tag.algorithm),
                                                static_cast<Protocol>(tag.protocol), same_node);
            if (delay_ns != 0)
                return delay_ns;
        }
    } else {
        (void)tag, (void)src, (void)dst;
    }
    return other_delay_ns;
}

}  // namespace packetloom
