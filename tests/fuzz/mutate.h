#pragma once
// Changes to an input: bytes, numbers, tokens, lines, brackets, splices.
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fireboss::fuzz {

class Mutator {
 public:
  Mutator(std::uint64_t seed, std::vector<std::string> tokens, std::size_t max_size);

  // One to some changes to one of `corpus`, the first `seeds` of which (at least one) are taken more often:
  // they are whole. Never longer than max_size.
  [[nodiscard]] std::string next(std::span<const std::string> corpus, std::size_t seeds);

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  const std::string& any(std::span<const std::string> list) { return list[below(list.size())]; }

  void change(std::string& text, std::span<const std::string> corpus);
  void bytes(std::string& text);
  void erase(std::string& text);
  void repeat(std::string& text);
  void stretch(std::string& text);
  void token(std::string& text);
  void decimal(std::string& text);
  void binary(std::string& text);
  void lines(std::string& text);
  void nest(std::string& text);
  void splice(std::string& text, const std::string& other);

  std::mt19937_64 random_;
  std::vector<std::string> tokens_;
  std::size_t max_size_;
};

}  // namespace fireboss::fuzz
