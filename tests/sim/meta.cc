#include "sim/meta.h"

#include <algorithm>

namespace mainspring::sim {

using json::Value;

bool has_finalizer(const Value& object, std::string_view name) {
  const Value* list = object.at_pointer("/metadata/finalizers");
  return list != nullptr && std::any_of(list->begin(), list->end(),
                                        [&](const Value& item) { return item == Value(name); });
}

void add_finalizer(Value& object, std::string_view name) {
  if (!has_finalizer(object, name)) object["metadata"]["finalizers"].push_back(name);
}

void remove_finalizer(Value& object, std::string_view name) {
  Value* list = object.at_pointer("/metadata/finalizers");
  if (list == nullptr) return;
  for (std::size_t i = list->size(); i-- > 0;) {
    if (list->at(i) == Value(name)) list->erase_at(i);
  }
  if (list->empty()) object["metadata"].erase("finalizers");
}

}  // namespace mainspring::sim
