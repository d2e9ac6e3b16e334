#include "canary/grade/schema.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace fireboss::canary {
namespace {

namespace json = boost::json;

bool is_whole_number(const json::value& value) {
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && std::trunc(value.get_double()) == value.get_double());
}

bool has_type(const json::value& value, std::string_view type) {
  if (type == "object") {
    return value.is_object();
  }
  if (type == "array") {
    return value.is_array();
  }
  if (type == "string") {
    return value.is_string();
  }
  if (type == "boolean") {
    return value.is_bool();
  }
  if (type == "null") {
    return value.is_null();
  }
  if (type == "number") {
    return value.is_number();
  }
  return type != "integer" || is_whole_number(value);
}

std::string_view view(const json::string& text) {
  return {text.data(), text.size()};
}

bool has_one_of(const json::value& value, const json::value& types) {
  if (types.is_string()) {
    return has_type(value, view(types.get_string()));
  }
  return !types.is_array() ||
         std::any_of(types.get_array().begin(), types.get_array().end(), [&](const json::value& type) {
           return type.is_string() && has_type(value, view(type.get_string()));
         });
}

class Checker {
 public:
  std::optional<std::string> check(const json::value& value, const json::value& schema,
                                   const std::string& place) {
    if (!schema.is_object()) {
      return std::nullopt;
    }
    const json::object& rules = schema.get_object();
    if (const json::value* types = rules.if_contains("type");
        types != nullptr && !has_one_of(value, *types)) {
      return place + " has the wrong type";
    }
    if (const json::value* constant = rules.if_contains("const"); constant != nullptr && value != *constant) {
      return place + " is not the constant";
    }
    if (const json::value* choices = rules.if_contains("enum"); choices != nullptr && choices->is_array()) {
      const json::array& list = choices->get_array();
      if (std::find(list.begin(), list.end(), value) == list.end()) {
        return place + " is none of the enum";
      }
    }
    if (value.is_object()) {
      return object(value.get_object(), rules, place);
    }
    if (value.is_array()) {
      return array(value.get_array(), rules, place);
    }
    if (value.is_number()) {
      return number(value, rules, place);
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> object(const json::object& value, const json::object& rules,
                                    const std::string& place) {
    const json::value* required = rules.if_contains("required");
    const json::value* properties = rules.if_contains("properties");
    const json::value* additional = rules.if_contains("additionalProperties");
    const auto is_required = [&](json::string_view key) {
      return required != nullptr && required->is_array() &&
             std::any_of(
                 required->get_array().begin(), required->get_array().end(),
                 [&](const json::value& name) { return name.is_string() && name.get_string() == key; });
    };
    if (required != nullptr && required->is_array()) {
      for (const json::value& name : required->get_array()) {
        if (name.is_string() && !value.contains(name.get_string())) {
          return place + " lacks " + std::string(view(name.get_string()));
        }
      }
    }
    for (const auto& [key, member] : value) {
      const json::value* rule = properties != nullptr && properties->is_object()
                                    ? properties->get_object().if_contains(key)
                                    : nullptr;
      const std::string where = place + "." + std::string(key.data(), key.size());
      if (rule != nullptr) {
        if (auto mismatch = check(member, *rule, where)) {
          return mismatch;
        }
      } else if (additional != nullptr && additional->is_bool() && !additional->get_bool() &&
                 !is_required(key)) {
        return where + " is not in the schema";
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> array(const json::array& value, const json::object& rules,
                                   const std::string& place) {
    const auto bound = [&](json::string_view key) -> std::optional<std::uint64_t> {
      const json::value* number = rules.if_contains(key);
      if (number == nullptr || !number->is_int64() || number->get_int64() < 0) {
        return std::nullopt;
      }
      return static_cast<std::uint64_t>(number->get_int64());
    };
    if (const auto least = bound("minItems"); least && value.size() < *least) {
      return place + " is too short";
    }
    if (const auto most = bound("maxItems"); most && value.size() > *most) {
      return place + " is too long";
    }
    if (const json::value* items = rules.if_contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (auto mismatch = check(value[i], *items, place + "[" + std::to_string(i) + "]")) {
          return mismatch;
        }
      }
    }
    return std::nullopt;
  }

  static std::optional<std::string> number(const json::value& value, const json::object& rules,
                                           const std::string& place) {
    const auto at = [](const json::value& number) { return number.to_number<double>(); };
    if (const json::value* least = rules.if_contains("minimum");
        least != nullptr && least->is_number() && at(value) < at(*least)) {
      return place + " is too small";
    }
    if (const json::value* most = rules.if_contains("maximum");
        most != nullptr && most->is_number() && at(value) > at(*most)) {
      return place + " is too large";
    }
    return std::nullopt;
  }
};

}  // namespace

std::optional<std::string> schema_mismatch(const json::value& value, const json::value& schema) {
  return Checker().check(value, schema, "$");
}

bool same_shape(const json::value& value, const json::value& expected) {
  if (value.is_object() && expected.is_object()) {
    const json::object& a = value.get_object();
    const json::object& b = expected.get_object();
    return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const json::key_value_pair& member) {
             const json::value* other = b.if_contains(member.key());
             return other != nullptr && same_shape(member.value(), *other);
           });
  }
  if (value.is_array() && expected.is_array()) {
    const json::array& a = value.get_array();
    const json::array& b = expected.get_array();
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_shape);
  }
  return (value.is_number() && expected.is_number()) || value.kind() == expected.kind();
}

}  // namespace fireboss::canary
