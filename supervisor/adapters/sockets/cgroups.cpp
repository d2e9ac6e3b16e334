#include "supervisor/adapters/sockets/cgroups.h"

#include <optional>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace fireboss::sockets {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxDirectories = 4'096;

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find(by);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      break;
    text.remove_prefix(end + 1);
  }
  return out;
}

// mountinfo writes blanks and backslashes as \ooo.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<std::uint64_t> inode_of(const fs::path& directory) {
  struct stat s {};
  if (lstat(directory.c_str(), &s) != 0 || !S_ISDIR(s.st_mode))
    return std::nullopt;
  return s.st_ino;
}

struct Search {
  std::optional<fs::path> found;
  bool whole = true;  // everything was looked at
};

// Breadth first: an engine's listener is near the top of its unit.
Search find_below(const fs::path& top, std::uint64_t id) {
  std::vector<fs::path> level{top};
  std::size_t looked_at = 0;
  while (!level.empty()) {
    std::vector<fs::path> next;
    for (const auto& directory : level) {
      const auto inode = inode_of(directory);
      if (inode == id)
        return {.found = directory};
      if (!inode)
        continue;
      if (++looked_at > kMaxDirectories)
        return {.found = std::nullopt, .whole = false};
      std::error_code error;  // groups come and go while we look
      for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
           entry.increment(error)) {
        std::error_code ignored;
        if (entry->is_directory(ignored) && !entry->is_symlink(ignored))
          next.push_back(entry->path());
      }
    }
    level = std::move(next);
  }
  return {};
}

bool is_plain_path(const std::string& control_group) {
  if (control_group.size() < 2 || control_group.front() != '/')
    return false;
  for (const auto part : split(std::string_view(control_group).substr(1), '/'))
    if (part.empty() || part == "." || part == "..")
      return false;
  return true;
}

}  // namespace

Result<fs::path> find_cgroup2(std::string_view mountinfo) {
  for (const auto line : split(mountinfo, '\n')) {
    // 30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw: proc(5)
    const auto dash = line.find(" - cgroup2 ");
    if (dash == std::string_view::npos)
      continue;
    const auto fields = split(line.substr(0, dash), ' ');
    if (fields.size() >= 5 && fields[3] == "/")
      return fs::path(unescape(fields[4]));
  }
  return fail(ErrorCode::kUnsupported,
              "no cgroup2 hierarchy is mounted: whose listener it is cannot be told (listener = \"any\" goes "
              "without)");
}

Result<bool> is_within(const fs::path& root, const std::string& control_group, std::uint64_t id) {
  if (!is_plain_path(control_group))
    return fail(ErrorCode::kInvalid, "'" + control_group + "' is not the path of a unit's control group");
  const auto top = root / control_group.substr(1);
  if (!inode_of(top))
    return fail(ErrorCode::kNotFound,
                "control group " + control_group + " does not exist: the unit has no process");
  const auto search = find_below(top, id);
  if (!search.found && !search.whole)
    return fail(ErrorCode::kUnsupported,
                "control group " + control_group + " has more than " + std::to_string(kMaxDirectories) +
                    " groups below it: whose listener it is cannot be told (listener "
                    "= \"any\" goes without)");
  return search.found.has_value();
}

std::string path_of(const fs::path& root, std::uint64_t id) {
  const auto found = find_below(root, id).found;
  if (!found)
    return {};
  return *found == root ? "/" : "/" + found->lexically_relative(root).string();
}

}  // namespace fireboss::sockets
