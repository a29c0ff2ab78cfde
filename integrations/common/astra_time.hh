// Times as ASTRA-sim and its kin write them, a number and a unit, as picoseconds.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace packetloom {

/// Picoseconds in a unit, of the enumeration SE, MS, US, NS, FS; 0 of another.
inline long double picoseconds_of_unit(int unit) {
    constexpr long double units[] = {1e12L, 1e9L, 1e6L, 1e3L, 1e-3L};
    return unit >= 0 && unit < 5 ? units[unit] : 0;
}

/// A time as whole picoseconds; nothing if it is negative, no number, of no unit, or longer than 2^63 ps.
template <typename Timespec>
std::optional<std::uint64_t> picoseconds(const Timespec& time) {
    const long double unit = picoseconds_of_unit(static_cast<int>(time.time_res));
    const long double ps = static_cast<long double>(time.time_val) * unit;
    if (unit == 0 || !(ps >= 0) || ps >= 0x1p63L)
        return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(ps));
}

}  // namespace packetloom
