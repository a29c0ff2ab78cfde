// Which receive gets which bytes. ASTRA-sim, SimAI and MPI-like traces receive by (tag, source, destination); a
// simulator of a network knows messages alone.
//
// Sums of bytes count, not messages: a receive may take a part of a message, or several. Receives of the same key are
// served in the order in which they were asked for, and bytes in the order in which they arrived. A receive of zero
// bytes waits for a message of zero bytes, so that it is not over before anything was sent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace packetloom {

/// What a message and its receive have in common.
struct Key {
    std::uint64_t tag = 0;
    std::uint32_t src = 0;
    std::uint32_t dst = 0;

    bool operator==(const Key& other) const {
        return tag == other.tag && src == other.src && dst == other.dst;
    }
};

/// Receives that wait for bytes, and bytes that wait for a receive. `Callback` is the caller's, of a receive; `Label`
/// is the sender's, of a message.
template <typename Callback, typename Label>
class Matching {
public:
    /// A receive that is over, and the label of the message that completed it.
    using Completed = std::pair<Callback, Label>;

    /// Asks for bytes. If they are there, the label of the last message that they came with is returned, and `callback`
    /// is the caller's to call; else it is kept until `arrive` returns it.
    std::optional<Label> receive(const Key& key, std::uint64_t bytes, Callback& callback) {
        Lane& lane = lane_of(key, bytes);
        std::uint64_t missing = units(bytes);
        std::optional<Label> label;
        while (missing > 0 && !lane.early.empty()) {
            Early& first = lane.early.front();
            const std::uint64_t taken = std::min(missing, first.units);
            missing -= taken;
            first.units -= taken;
            label = first.label;
            if (first.units == 0)
                lane.early.pop_front();
        }
        if (missing > 0) {
            lane.waiting.push_back({missing, std::move(callback)});
            return std::nullopt;
        }
        forget_if_empty(key, bytes);
        return label;
    }

    /// Notes that a message has arrived; appends the receives that are over by it to `completed`.
    void arrive(const Key& key, std::uint64_t bytes, const Label& label, std::vector<Completed>& completed) {
        Lane& lane = lane_of(key, bytes);
        std::uint64_t left = units(bytes);
        while (left > 0 && !lane.waiting.empty()) {
            Waiting& first = lane.waiting.front();
            const std::uint64_t taken = std::min(left, first.missing);
            left -= taken;
            first.missing -= taken;
            if (first.missing == 0) {
                completed.emplace_back(std::move(first.callback), label);
                lane.waiting.pop_front();
            }
        }
        if (left > 0)
            lane.early.push_back({left, label});
        forget_if_empty(key, bytes);
    }

    /// How many receives are not over.
    std::size_t waiting() const {
        std::size_t count = 0;
        for (const auto& [place, lane] : lanes_)
            count += lane.waiting.size();
        return count;
    }

    /// Names the first receives that are not over, in the order of their keys.
    std::string describe_waiting(std::size_t most) const {
        std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>> found;
        for (const auto& [place, lane] : lanes_)
            for (const Waiting& wait : lane.waiting)
                found.emplace_back(place.key.dst, place.key.src, place.key.tag, place.empty ? 0 : wait.missing);
        std::sort(found.begin(), found.end());
        std::string text;
        for (std::size_t i = 0; i < std::min(most, found.size()); i++) {
            const auto& [dst, src, tag, bytes] = found[i];
            text += (i == 0 ? "rank " : "; rank ") + std::to_string(dst) + " waits for " + std::to_string(bytes) +
                    " bytes from rank " + std::to_string(src) + ", tag " + std::to_string(tag);
        }
        return text + (found.size() > most ? "; ..." : "");
    }

private:
    struct Waiting {
        std::uint64_t missing;
        Callback callback;
    };
    struct Early {
        std::uint64_t units;
        Label label;
    };
    struct Lane {
        std::deque<Waiting> waiting;
        std::deque<Early> early;
    };
    struct Place {
        Key key;
        bool empty;

        bool operator==(const Place& other) const { return key == other.key && empty == other.empty; }
    };
    struct Hash {
        std::size_t operator()(const Place& place) const {
            const std::uint64_t ends = (std::uint64_t{place.key.src} << 32) | place.key.dst;
            std::uint64_t mixed = (place.key.tag * 2 + place.empty) * 0x9E3779B97F4A7C15ull;
            mixed = (mixed ^ (mixed >> 29) ^ ends) * 0xBF58476D1CE4E5B9ull;
            return static_cast<std::size_t>(mixed ^ (mixed >> 32));
        }
    };

    /// A message of zero bytes counts as one, among those of zero bytes.
    static std::uint64_t units(std::uint64_t bytes) { return bytes == 0 ? 1 : bytes; }

    Lane& lane_of(const Key& key, std::uint64_t bytes) { return lanes_[Place{key, bytes == 0}]; }

    void forget_if_empty(const Key& key, std::uint64_t bytes) {
        const auto found = lanes_.find(Place{key, bytes == 0});
        if (found != lanes_.end() && found->second.waiting.empty() && found->second.early.empty())
            lanes_.erase(found);
    }

    std::unordered_map<Place, Lane, Hash> lanes_;
};

}  // namespace packetloom
