#pragma once
// Byte-level BPE as GPT-2 does it, read from a GGUF's tokenizer metadata. Three sorts of tokens:
//   normal        made of bytes, written in the file with GPT-2's printable stand-ins;
//   user defined  recognised in any text and shown as text, e.g. <tool_call>;
//   control       placed by the chat template only: a user who types "<|end|>" gets its letters, not the
//   token.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/gguf/gguf.h"
#include "engine/tokenizer/pretokenizer.h"

namespace fireboss::engine {

using TokenId = std::int32_t;

class Tokenizer {
 public:
  // kUnsupported for any other tokenizer model or pre-tokenizer, kCorrupt for tables that do not fit
  // together.
  [[nodiscard]] static Result<Tokenizer> load(const Gguf& file);

  // Token ids of a text; control tokens are never produced. Thread-safe.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text) const;

  // The bytes a token stands for; of a control token, its name. `id` must be below size().
  [[nodiscard]] const std::string& bytes(TokenId id) const { return bytes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] bool is_control(TokenId id) const { return control_[static_cast<std::size_t>(id)]; }
  // The control or user-defined token of that name.
  [[nodiscard]] std::optional<TokenId> special(std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  // Whether a reply ends with this token (eos or end of turn).
  [[nodiscard]] bool ends_turn(TokenId id) const { return id == eos_ || id == eot_; }

 private:
  struct Merge {
    std::int32_t rank;  // lower merges first
    TokenId result;
  };

  Tokenizer() = default;
  [[nodiscard]] Result<> load_tokens(const Gguf& file);
  [[nodiscard]] Result<> load_merges(const Gguf& file);
  void encode_plain(std::string_view text, std::vector<TokenId>& out) const;
  void encode_piece(std::string_view piece, std::vector<TokenId>& out) const;
  [[nodiscard]] const Merge* merge_of(TokenId left, TokenId right) const;

  Pretokenizer pretokenizer_;
  std::vector<std::string> bytes_;
  std::vector<bool> control_;
  std::vector<TokenId> byte_tokens_;                      // 256 entries
  std::unordered_map<std::string, TokenId> ids_;          // by the token's text in the file
  std::unordered_map<std::uint64_t, Merge> merges_;       // by (left << 32 | right)
  std::unordered_map<std::string, TokenId> specials_;     // control and user defined
  std::vector<std::pair<std::string, TokenId>> in_text_;  // user defined, longest first
  TokenId eos_ = -1;
  TokenId eot_ = -1;
};

}  // namespace fireboss::engine
