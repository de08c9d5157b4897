// slurm/written.h
//
// Whether Slurm did what it said yes to: what was sent, against what is read afterwards. slurmctld
// and slurmdbd answer 200 to much that they ignore, so every verb that writes looks. Pure
// functions, used by the verbs only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace mainspring::slurm {

// The first thing that is not as it was sent: "priority.number is 1, not 2". "" where all is so.
// Objects are compared member by member and lists of names as sets. What `is` does not show cannot
// be checked, and neither can lists of changes ("+alice") and of other things than names.
std::string value_difference(const json::Value& sent, const json::Value& is);

// The same for one text: "" where it was not asked for.
std::string text_difference(std::string_view name, const std::optional<std::string>& asked,
                            std::string_view is);

// Whether every name is a plain one, and not a change to a list or a number that comes back as a
// name.
bool plain_names(const std::vector<std::string>& names);
// Whether these are the names of a text such as "alice,bob", in any order.
bool same_names(const std::vector<std::string>& asked, std::string_view is);
// Whether two hostlists name the same hosts.
bool same_hosts(std::string_view a, std::string_view b);

}  // namespace mainspring::slurm
