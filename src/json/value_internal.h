// json/value_internal.h
//
// The Boost.JSON value inside a Value. Only for the .cc files of this room that need it.
#pragma once

#include <boost/json/value.hpp>

#include "json/value.h"

namespace mainspring::json {

struct Inside {
  static boost::json::value& of(Value& value) noexcept {
    return *reinterpret_cast<boost::json::value*>(value.storage_);
  }
  static const boost::json::value& of(const Value& value) noexcept {
    return *reinterpret_cast<const boost::json::value*>(value.storage_);
  }
  // A Value is nothing but the Boost value, so the elements of a container can be seen as Values.
  static Value& around(boost::json::value& value) noexcept {
    return reinterpret_cast<Value&>(value);
  }
  static const Value& around(const boost::json::value& value) noexcept {
    return reinterpret_cast<const Value&>(value);
  }
};

}  // namespace mainspring::json
