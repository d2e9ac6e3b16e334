#pragma once
// The two walkers over fields(): one writes a JSON object, one reads it back. Shared by the codecs only.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "base/result.h"
#include "base/time.h"
#include "supervisor/policy/names.h"

namespace fireboss::policy {

// Whatever is counted or measured stays far below; with more, adding two of them could overflow.
[[nodiscard]] constexpr bool in_bounds(std::int64_t number) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  return number >= -kMost && number <= kMost;
}

class ObjectWriter {
 public:
  explicit ObjectWriter(boost::json::object& out) : out_(out) {}

  template <typename T>
  void operator()(const char* name, T& value) const {
    out_[name] = json(value);
  }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) const {
    if (value)
      out_[name] = json(*value);
  }

  template <typename T>
  static boost::json::value json(std::vector<T>& values) {
    boost::json::array out;
    for (auto& value : values)
      out.push_back(json(value));
    return boost::json::value(std::move(out));
  }
  static boost::json::value json(std::set<std::string>& values) {
    boost::json::array out;
    for (const auto& value : values)
      out.emplace_back(value);
    return boost::json::value(std::move(out));
  }
  template <typename K, typename T>
  static boost::json::value json(std::map<K, T>& values) {
    boost::json::object out;
    for (auto& [key, value] : values) {
      if constexpr (std::is_enum_v<K>)
        out[to_string(key)] = json(value);
      else
        out[key] = json(value);
    }
    return boost::json::value(std::move(out));
  }
  template <typename T>
  static boost::json::value json(T& value) {
    if constexpr (std::is_same_v<T, MonoTime>) {
      return value.time_since_epoch().count();
    } else if constexpr (std::is_same_v<T, Millis>) {
      return value.count();
    } else if constexpr (std::is_enum_v<T>) {
      return boost::json::string(to_string(value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      return boost::json::string(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      return value;
    } else if constexpr (std::is_integral_v<T>) {
      return std::int64_t{value};
    } else {
      boost::json::object out;
      fields(value, ObjectWriter(out));
      return boost::json::value(std::move(out));
    }
  }

 private:
  boost::json::object& out_;
};

template <typename T>
boost::json::value to_json(T& value) {
  return ObjectWriter::json(value);
}

// The first mistake found stays; what was read after it means nothing.
class ObjectReader {
 public:
  ObjectReader(const boost::json::object& in, std::string where, std::string& mistake)
      : in_(in), where_(std::move(where)), mistake_(mistake) {}
  ObjectReader(const ObjectReader&) = delete;
  ObjectReader& operator=(const ObjectReader&) = delete;

  template <typename T>
  void operator()(const char* name, T& value) {
    if (const auto* found = in_.if_contains(name)) {
      ++known_;
      read(where_ + name, *found, value);
    }
  }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) {
    if (const auto* found = in_.if_contains(name)) {
      ++known_;
      read(where_ + name, *found, value.emplace());
    }
  }
  // A key that nobody asked for was written by something else.
  void finish() {
    if (known_ != in_.size())
      wrong(where_.empty() ? "the object" : where_, "has keys that are not known");
  }

 private:
  void wrong(const std::string& where, const std::string& what) {
    if (mistake_.empty())
      mistake_ = where + " " + what;
  }

  template <typename T>
  void read(const std::string& where, const boost::json::value& in, std::vector<T>& out) {
    if (!in.is_array())
      return wrong(where, "is not a list");
    for (const auto& item : in.get_array())
      read(where, item, out.emplace_back());
  }
  void read(const std::string& where, const boost::json::value& in, std::set<std::string>& out) {
    std::vector<std::string> items;
    read(where, in, items);
    out.insert(items.begin(), items.end());
  }
  template <typename K, typename T>
  void read(const std::string& where, const boost::json::value& in, std::map<K, T>& out) {
    if (!in.is_object())
      return wrong(where, "is not an object");
    for (const auto& member : in.get_object()) {
      K key{};
      if constexpr (std::is_enum_v<K>)
        read(where, boost::json::value(member.key()), key);
      else
        key = std::string(member.key());
      read(where + "." + std::string(member.key()), member.value(), out[key]);
    }
  }
  template <typename T>
  void read(const std::string& where, const boost::json::value& in, T& out) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!in.is_bool())
        return wrong(where, "is not true or false");
      out = in.get_bool();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!in.is_string())
        return wrong(where, "is not a text");
      out = in.get_string();
    } else if constexpr (std::is_enum_v<T>) {
      const auto word = in.is_string() ? from_word<T>(in.get_string()) : std::nullopt;
      if (!word)
        return wrong(where, "is none of " + words_of<T>());
      out = *word;
    } else if constexpr (std::is_same_v<T, MonoTime> || std::is_same_v<T, Millis> || std::is_integral_v<T>) {
      if (!in.is_int64())
        return wrong(where, "is not a whole number");
      if (!in_bounds(in.get_int64()))
        return wrong(where, "is out of range");
      if constexpr (std::is_integral_v<T>)
        if (!std::in_range<T>(in.get_int64()))
          return wrong(where, "is out of range");
      if constexpr (std::is_same_v<T, MonoTime>)
        out = MonoTime{Millis{in.get_int64()}};
      else if constexpr (std::is_same_v<T, Millis>)
        out = Millis{in.get_int64()};
      else
        out = static_cast<T>(in.get_int64());
    } else {
      if (!in.is_object())
        return wrong(where, "is not an object");
      ObjectReader inner(in.get_object(), where + ".", mistake_);
      fields(out, inner);
      inner.finish();
    }
  }

  const boost::json::object& in_;
  std::string where_;
  std::string& mistake_;
  std::size_t known_ = 0;
};

template <typename T>
Result<T> from_json(const boost::json::object& in) {
  T out;
  std::string mistake;
  ObjectReader reader(in, "", mistake);
  fields(out, reader);
  reader.finish();
  if (!mistake.empty())
    return fail(ErrorCode::kCorrupt, mistake);
  return out;
}

}  // namespace fireboss::policy
