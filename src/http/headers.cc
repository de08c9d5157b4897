#include "http/headers.h"

#include "base/text.h"

namespace mainspring::http {

Headers::Headers(std::initializer_list<Field> fields) {
  for (const Field& field : fields) add(field.name, field.value);
}

void Headers::add(std::string_view name, std::string_view value) {
  entries_.push_back({static_cast<std::uint32_t>(text_.size()),
                      static_cast<std::uint32_t>(name.size()),
                      static_cast<std::uint32_t>(value.size())});
  text_.append(name);
  text_.append(value);
}

void Headers::set(std::string_view name, std::string_view value) {
  // The arguments may be views of this object's own text.
  const std::string name_copy(name);
  const std::string value_copy(value);
  remove(name_copy);
  add(name_copy, value_copy);
}

void Headers::remove(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& entry) {
    return equals_ignore_case({text_.data() + entry.name, entry.name_size}, name);
  });
}

void Headers::clear() {
  text_.clear();
  entries_.clear();
}

void Headers::reserve(std::size_t fields, std::size_t bytes) {
  entries_.reserve(fields);
  text_.reserve(bytes);
}

Field Headers::operator[](std::size_t index) const {
  const Entry& entry = entries_[index];
  const char* name = text_.data() + entry.name;
  return {{name, entry.name_size}, {name + entry.name_size, entry.value_size}};
}

std::optional<std::string_view> Headers::get(std::string_view name) const {
  for (const Field field : *this) {
    if (equals_ignore_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Field field : *this) {
    if (equals_ignore_case(field.name, name)) values.push_back(field.value);
  }
  return values;
}

std::size_t Headers::count(std::string_view name) const {
  std::size_t found = 0;
  for (const Field field : *this) found += equals_ignore_case(field.name, name) ? 1 : 0;
  return found;
}

bool Headers::has_token(std::string_view name, std::string_view token) const {
  for (const Field field : *this) {
    if (!equals_ignore_case(field.name, name)) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const auto comma = rest.find(',');
      if (equals_ignore_case(trim(rest.substr(0, comma)), token)) return true;
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
  }
  return false;
}

bool Headers::operator==(const Headers& other) const {
  if (size() != other.size()) return false;
  for (std::size_t i = 0; i < size(); ++i) {
    const Field mine = (*this)[i];
    const Field theirs = other[i];
    if (!equals_ignore_case(mine.name, theirs.name) || mine.value != theirs.value) return false;
  }
  return true;
}

}  // namespace mainspring::http
