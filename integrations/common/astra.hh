// What the interfaces of ASTRA-sim and SimAI have in common: ranks, and times with units.
#pragma once

#include "session.hh"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace packetloom {

/// A rank is the host of its number. One that is none becomes a host that is none, which the session refuses.
inline std::uint32_t host_of(int rank) { return static_cast<std::uint32_t>(rank); }

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

/// `sim_schedule`: calls a function after a time.
template <typename Timespec>
void schedule_after(Session& session, const Timespec& delta, void (*function)(void*), void* argument) {
    const auto delay_ps = picoseconds(delta);
    if (delay_ps)
        session.schedule(*delay_ps, [function, argument] { function(argument); });
    else
        session.refuse("sim_schedule: a delay of " + std::to_string(delta.time_val) + " of unit " +
                       std::to_string(static_cast<int>(delta.time_res)));
}

}  // namespace packetloom
