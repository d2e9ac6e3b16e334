# INPUT -> OUTPUT: a header with the text as a constant, in raw literals of one line each (a compiler need not take a
# literal of more than 64 KiB).
file(READ "${INPUT}" text)
string(REPLACE "\n" "\n)signatures\"\nR\"signatures(" text "${text}")
file(WRITE "${OUTPUT}"
     "#pragma once\n#include <string_view>\n\nnamespace fireboss::probes {\n\ninline constexpr std::string_view "
     "kBuiltinSignatures =\nR\"signatures(${text})signatures\";\n\n}  // namespace fireboss::probes\n")
