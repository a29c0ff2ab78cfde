// Matching by itself: no network, no library.
#include "check.hh"
#include "matching.hh"

#include <optional>
#include <string>
#include <vector>

using packetloom::Key;
using Matching = packetloom::Matching<std::string, int>;

namespace {

/// A matching that writes down which receives are over, and by which message.
struct Table {
    Matching matching;
    std::string over;

    void receive(const Key& key, std::uint64_t bytes, std::string name) {
        const std::optional<int> label = matching.receive(key, bytes, name);
        if (label)
            over += name + std::to_string(*label) + " ";
    }
    void arrive(const Key& key, std::uint64_t bytes, int label) {
        std::vector<Matching::Completed> completed;
        matching.arrive(key, bytes, label, completed);
        for (const auto& [name, whose] : completed)
            over += name + std::to_string(whose) + " ";
    }
};

constexpr Key from_1_to_2 = {7, 1, 2};

void receives_before_and_after() {
    Table table;
    table.receive(from_1_to_2, 10, "a");
    CHECK(table.over.empty() && table.matching.waiting() == 1);
    table.arrive(from_1_to_2, 10, 1);
    CHECK(table.over == "a1 ");
    table.arrive(from_1_to_2, 10, 2);
    table.receive(from_1_to_2, 10, "b");
    CHECK(table.over == "a1 b2 " && table.matching.waiting() == 0);
}

void sums_count_and_not_messages() {
    Table table;
    table.receive(from_1_to_2, 30, "whole");
    table.arrive(from_1_to_2, 10, 1);
    table.arrive(from_1_to_2, 15, 2);
    CHECK(table.over.empty());
    table.arrive(from_1_to_2, 25, 3);
    CHECK(table.over == "whole3 ");
    table.receive(from_1_to_2, 5, "x");
    table.receive(from_1_to_2, 20, "y");
    CHECK(table.over == "whole3 x3 " && table.matching.waiting() == 1);
    table.arrive(from_1_to_2, 5, 4);
    CHECK(table.over == "whole3 x3 y4 " && table.matching.waiting() == 0);
}

void several_receives_at_once_in_their_order() {
    Table table;
    for (const char* name : {"a", "b", "c"})
        table.receive(from_1_to_2, 4, name);
    table.arrive(from_1_to_2, 9, 1);
    CHECK(table.over == "a1 b1 ");
    table.arrive(from_1_to_2, 3, 2);
    CHECK(table.over == "a1 b1 c2 ");
}

void keys_are_apart() {
    Table table;
    table.receive({7, 1, 2}, 1, "a");
    table.receive({7, 2, 1}, 1, "b");
    table.receive({8, 1, 2}, 1, "c");
    table.arrive({7, 1, 3}, 1, 0);
    table.arrive({9, 1, 2}, 1, 0);
    CHECK(table.over.empty());
    table.arrive({8, 1, 2}, 1, 1);
    table.arrive({7, 2, 1}, 1, 2);
    CHECK(table.over == "c1 b2 ");
    CHECK(table.matching.describe_waiting(8) == "rank 2 waits for 1 bytes from rank 1, tag 7");
}

void nothing_is_received_once_nothing_was_sent() {
    Table table;
    table.receive(from_1_to_2, 0, "a");
    table.arrive(from_1_to_2, 100, 1);
    CHECK(table.over.empty());
    table.arrive(from_1_to_2, 0, 2);
    table.arrive(from_1_to_2, 0, 3);
    table.receive(from_1_to_2, 0, "b");
    table.receive(from_1_to_2, 100, "c");
    CHECK(table.over == "a2 b3 c1 ");
}

void more_than_32_bits() {
    Table table;
    constexpr std::uint64_t gib = 1ull << 30;
    table.receive(from_1_to_2, 6 * gib, "a");
    table.arrive(from_1_to_2, 3 * gib, 1);
    CHECK(table.over.empty());
    table.arrive(from_1_to_2, 3 * gib - 1, 2);
    CHECK(table.over.empty());
    table.arrive(from_1_to_2, 1, 3);
    CHECK(table.over == "a3 ");
    for (int message = 0; message < 4; message++)
        table.arrive(from_1_to_2, UINT64_MAX, message);
    table.receive(from_1_to_2, UINT64_MAX, "b");
    CHECK(table.over == "a3 b0 ");
}

/// Each of a pseudo-random series of sends and receives of the same sum, in any order.
void any_order_ends_with_nothing_left() {
    Table table;
    std::uint64_t state = 1, sent = 0, asked = 0;
    constexpr std::uint64_t all = 100000;
    const auto next = [&state] { return (state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33; };
    while (sent < all || asked < all) {
        std::uint64_t& side = next() % 2 == 0 ? sent : asked;
        const std::uint64_t bytes = std::min(all - side, 1 + next() % 100);
        if (bytes == 0)
            continue;
        side += bytes;
        if (&side == &sent)
            table.arrive(from_1_to_2, bytes, 0);
        else
            table.receive(from_1_to_2, bytes, "r");
        CHECK(sent < asked || table.matching.waiting() == 0);
    }
    CHECK(table.matching.waiting() == 0);
}

}  // namespace

int main() {
    receives_before_and_after();
    sums_count_and_not_messages();
    several_receives_at_once_in_their_order();
    keys_are_apart();
    nothing_is_received_once_nothing_was_sent();
    more_than_32_bits();
    any_order_ends_with_nothing_left();
}
