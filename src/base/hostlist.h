// base/hostlist.h
//
// Slurm's short form for many host names: "node[1-3,07-10],login" and back.
//
// Expanding follows `scontrol show hostnames`: several brackets in one name multiply, the last one
// varies fastest ("r[0-1]n[0-1]" is r0n0 r0n1 r1n0 r1n1); the width of a range is that of its first
// number ("[008-10]" is 008 009 010, "[8-010]" is 8 9 10); commas, spaces, tabs and newlines
// separate names; order and duplicates are kept. What Slurm would refuse or guess at is an error
// here: text after the last bracket, empty or reversed ranges, brackets that do not pair, blanks
// inside them.
//
// Pure functions, safe against hostile input: nothing is allocated for a list over the limit.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainspring {

// A longer name cannot be a host's.
inline constexpr std::size_t kHostNameMax = 255;

inline constexpr std::size_t kDefaultMaxHosts = 1'000'000;

// kInvalid where the text is not a hostlist, kTooLarge where it names more than `max_hosts`.
Result<std::vector<std::string>> expand_hostlist(std::string_view text,
                                                 std::size_t max_hosts = kDefaultMaxHosts);

// The canonical form of a set of names: sorted as people count (n2 before n10, rack2-n1 before
// rack10-n1), each name once. Numbers padded with zeros stand after those that are not, by width,
// so that both can form ranges. The same set gives the same text, whatever order it came in.
Result<std::string> compress_hostlist(std::span<const std::string> names);

// Keeps order and duplicates, as Slurm does when it reports a job's nodes: "node[3,2]". Expanding
// gives exactly `names` again, so index i is still rank i.
Result<std::string> compress_hostlist_in_order(std::span<const std::string> names);

}  // namespace mainspring
