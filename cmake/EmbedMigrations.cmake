# Writes OUT, a .cpp with the text of each file of FILES, in their order. Called as a script.
set(rows "")
set(expected 1)
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME_WE)
  if(NOT name MATCHES "^([0-9][0-9][0-9][0-9])_([a-z0-9_]+)$")
    message(FATAL_ERROR "${file}: a migration is called NNNN_name.sql")
  endif()
  set(title "${CMAKE_MATCH_2}")
  math(EXPR number "1${CMAKE_MATCH_1} - 10000")
  if(NOT number EQUAL expected)
    message(FATAL_ERROR "${file}: expected number ${expected}: migrations have no gaps")
  endif()
  math(EXPR expected "${expected} + 1")
  file(READ "${file}" text)
  string(APPEND rows "    Migration{${number}, \"${title}\", R\"FIREBOSS(${text})FIREBOSS\"},\n")
endforeach()
file(
  WRITE "${OUT}"
  "#include <array>\n\n#include \"supervisor/adapters/sqlite/schema.h\"\n\n"
  "namespace fireboss::sqlite {\nnamespace {\n\nconstexpr std::array kMigrations{\n${rows}};\n\n}  // namespace\n\n"
  "std::span<const Migration> migrations() {\n  return kMigrations;\n}\n\n}  // namespace fireboss::sqlite\n")
