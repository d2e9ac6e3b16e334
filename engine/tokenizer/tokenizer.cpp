#include "engine/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <utility>

#include <fmt/format.h>

namespace fireboss::engine {
namespace {

constexpr std::int64_t kControlType = 3;
constexpr std::int64_t kUserDefinedType = 4;

// GPT-2's printable stand-in for every byte, as a code point: printable Latin-1 stands for itself, the rest
// follows from U+0100 on.
std::array<std::uint32_t, 256> byte_alphabet() {
  std::array<std::uint32_t, 256> table{};
  std::uint32_t next = 256;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    table[byte] = printable ? byte : next++;
  }
  return table;
}

// All stand-ins are below U+0800: one or two bytes of UTF-8.
std::string utf8_below_800(std::uint32_t point) {
  std::string text;
  if (point < 0x80) {
    text.push_back(static_cast<char>(point));
  } else {
    text.push_back(static_cast<char>(0xC0 | (point >> 6)));
    text.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  }
  return text;
}

// The bytes behind a token's text; nullopt when a character is no stand-in.
std::optional<std::string> real_bytes(std::string_view text,
                                      const std::unordered_map<std::string, char>& bytes_of) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = (static_cast<unsigned char>(text[i]) & 0x80) == 0 ? 1 : 2;
    const auto found = bytes_of.find(std::string(text.substr(i, size)));
    if (found == bytes_of.end()) {
      return std::nullopt;
    }
    out.push_back(found->second);
    i += size;
  }
  return out;
}

std::uint64_t pair_key(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

}  // namespace

Result<Tokenizer> Tokenizer::load(const Gguf& file) {
  auto model = file.text("tokenizer.ggml.model");
  if (!model) {
    return fail(std::move(model.error()));
  }
  if (*model != "gpt2") {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: its tokenizer is '{}'; this engine reads byte-level BPE ('gpt2') only",
                            file.name(), *model));
  }
  if (file.has("tokenizer.ggml.pre")) {
    auto pre = file.text("tokenizer.ggml.pre");
    if (!pre) {
      return fail(std::move(pre.error()));
    }
    if (*pre != "gpt-2") {
      return fail(
          ErrorCode::kUnsupported,
          fmt::format("{}: its pre-tokenizer is '{}'; this engine knows 'gpt-2' only", file.name(), *pre));
    }
  }
  Tokenizer tokenizer;
  if (auto done = tokenizer.load_tokens(file); !done) {
    return fail(std::move(done.error()));
  }
  if (auto done = tokenizer.load_merges(file); !done) {
    return fail(std::move(done.error()));
  }
  return tokenizer;
}

Result<> Tokenizer::load_tokens(const Gguf& file) {
  auto tokens = file.texts("tokenizer.ggml.tokens");
  if (!tokens) {
    return fail(std::move(tokens.error()));
  }
  auto types = file.integers("tokenizer.ggml.token_type");
  if (!types) {
    return fail(std::move(types.error()));
  }
  if (tokens->empty() || tokens->size() > std::numeric_limits<TokenId>::max() / 2 ||
      types->size() != tokens->size()) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("{}: {} tokens but {} token types", file.name(), tokens->size(), types->size()));
  }
  const auto alphabet = byte_alphabet();
  std::unordered_map<std::string, char> bytes_of;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    bytes_of.emplace(utf8_below_800(alphabet[byte]), static_cast<char>(byte));
  }
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    const auto& text = (*tokens)[i];
    const auto id = static_cast<TokenId>(i);
    const bool control = (*types)[i] == kControlType;
    const bool user_defined = (*types)[i] == kUserDefinedType;
    if (text.empty() || !ids_.emplace(text, id).second) {
      return fail(ErrorCode::kCorrupt, fmt::format("{}: token {} is empty or occurs twice", file.name(), i));
    }
    control_.push_back(control);
    if (control || user_defined) {
      specials_.emplace(text, id);
      bytes_.push_back(text);
      if (user_defined) {
        in_text_.emplace_back(text, id);
      }
      continue;
    }
    auto real = real_bytes(text, bytes_of);
    if (!real) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("{}: token {} is not written in the byte alphabet", file.name(), i));
    }
    bytes_.push_back(std::move(*real));
  }
  std::ranges::stable_sort(in_text_,
                           [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto found = ids_.find(utf8_below_800(alphabet[byte]));
    if (found == ids_.end()) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("{}: the vocabulary has no token for byte {:#04x}", file.name(), byte));
    }
    if (is_control(found->second) || bytes(found->second) != std::string(1, static_cast<char>(byte))) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("{}: token {}, of byte {:#04x}, is a control token or stands for "
                              "something else",
                              file.name(), found->second, byte));
    }
    byte_tokens_.push_back(found->second);
  }
  auto eos = file.integer("tokenizer.ggml.eos_token_id");
  if (!eos) {
    return fail(std::move(eos.error()));
  }
  auto eot = file.has("tokenizer.ggml.eot_token_id") ? file.integer("tokenizer.ggml.eot_token_id") : eos;
  if (!eot) {
    return fail(std::move(eot.error()));
  }
  const auto count = static_cast<std::int64_t>(tokens->size());
  if (*eos < 0 || *eos >= count || *eot < 0 || *eot >= count) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("{}: end tokens {} and {} are outside the vocabulary", file.name(), *eos, *eot));
  }
  eos_ = static_cast<TokenId>(*eos);
  eot_ = static_cast<TokenId>(*eot);
  return {};
}

Result<> Tokenizer::load_merges(const Gguf& file) {
  auto merges = file.texts("tokenizer.ggml.merges");
  if (!merges) {
    return fail(std::move(merges.error()));
  }
  for (std::size_t rank = 0; rank < merges->size(); ++rank) {
    const auto& merge = (*merges)[rank];
    const auto space = merge.find(' ');
    if (space == std::string::npos) {
      return fail(ErrorCode::kCorrupt, fmt::format("{}: merge {} has no space in it", file.name(), rank));
    }
    const auto left = ids_.find(merge.substr(0, space));
    const auto right = ids_.find(merge.substr(space + 1));
    const auto whole = ids_.find(merge.substr(0, space) + merge.substr(space + 1));
    if (left == ids_.end() || right == ids_.end() || whole == ids_.end()) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("{}: merge {} ('{}') names a token that the vocabulary does not have",
                              file.name(), rank, merge));
    }
    // Else a text could become a control token, or tokens that stand for another text.
    if (is_control(whole->second) || bytes(whole->second) != bytes(left->second) + bytes(right->second)) {
      return fail(ErrorCode::kCorrupt,
                  fmt::format("{}: merge {} ('{}') makes a token that stands for something else", file.name(),
                              rank, merge));
    }
    merges_.emplace(pair_key(left->second, right->second),
                    Merge{static_cast<std::int32_t>(rank), whole->second});
  }
  return {};
}

std::optional<TokenId> Tokenizer::special(std::string_view name) const {
  const auto found = specials_.find(std::string(name));
  return found == specials_.end() ? std::nullopt : std::optional(found->second);
}

const Tokenizer::Merge* Tokenizer::merge_of(TokenId left, TokenId right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  std::vector<TokenId> out;
  std::size_t plain_from = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = text.substr(i);
    const auto found =
        std::ranges::find_if(in_text_, [&](const auto& entry) { return rest.starts_with(entry.first); });
    if (found == in_text_.end()) {
      ++i;
      continue;
    }
    encode_plain(text.substr(plain_from, i - plain_from), out);
    out.push_back(found->second);
    i += found->first.size();
    plain_from = i;
  }
  encode_plain(text.substr(plain_from), out);
  return out;
}

void Tokenizer::encode_plain(std::string_view text, std::vector<TokenId>& out) const {
  while (!text.empty()) {
    const auto piece = pretokenizer_.first_piece(text);
    encode_piece(piece, out);
    text.remove_prefix(piece.size());
  }
}

// Lowest rank first, leftmost first among equals. A heap of candidate pairs over a linked list keeps a piece
// of n bytes at n log n: a megabyte of one letter is one piece.
void Tokenizer::encode_piece(std::string_view piece, std::vector<TokenId>& out) const {
  struct Symbol {
    TokenId id;  // -1: merged into its left neighbour
    std::ptrdiff_t previous;
    std::ptrdiff_t next;
  };
  struct Candidate {
    std::int32_t rank;
    std::ptrdiff_t left;
    TokenId left_id;  // to notice that one of the two has changed since
    TokenId right_id;
    TokenId result;
  };
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  };
  const auto size = static_cast<std::ptrdiff_t>(piece.size());
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(piece[static_cast<std::size_t>(i)]);
    symbols.push_back({byte_tokens_[byte], i - 1, i + 1 < size ? i + 1 : -1});
  }
  const auto at = [&](std::ptrdiff_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(later)> queue(later);
  const auto offer = [&](std::ptrdiff_t left) {
    if (left < 0 || at(left).next < 0) {
      return;
    }
    const auto right_id = at(at(left).next).id;
    if (const auto* merge = merge_of(at(left).id, right_id)) {
      queue.push({merge->rank, left, at(left).id, right_id, merge->result});
    }
  };
  for (std::ptrdiff_t i = 0; i + 1 < size; ++i) {
    offer(i);
  }
  while (!queue.empty()) {
    const auto best = queue.top();
    queue.pop();
    auto& left = at(best.left);
    if (left.id != best.left_id || left.next < 0 || at(left.next).id != best.right_id) {
      continue;
    }
    auto& right = at(left.next);
    left.id = best.result;
    right.id = -1;
    left.next = right.next;
    if (right.next >= 0) {
      at(right.next).previous = best.left;
    }
    offer(left.previous);
    offer(best.left);
  }
  for (std::ptrdiff_t i = 0; i >= 0 && i < size; i = at(i).next) {
    out.push_back(at(i).id);
  }
}

}  // namespace fireboss::engine
