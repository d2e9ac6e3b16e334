#include "engine/chat/json_text.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace fireboss::engine {
namespace {

std::string written(const char* text) {
  return python_json(boost::json::parse(text));
}

// Expected texts: python3 -c 'import json; print(json.dumps(X, ensure_ascii=False))'
TEST(PythonJson, SeparatesLikePython) {
  EXPECT_EQ(written(R"({"b":[1,-2,18446744073709551615],"a":{},"c":[],"d":[true,null]})"),
            R"({"b": [1, -2, 18446744073709551615], "a": {}, "c": [], "d": [true, null]})");
}

TEST(PythonJson, EscapesLikePython) {
  EXPECT_EQ(written(R"("q\" \\ \/ \n\r\t\b\f \u0001 \u007f é")"),
            "\"q\\\" \\\\ / \\n\\r\\t\\b\\f \\u0001 \x7f é\"");
}

TEST(PythonJson, WritesFloatsLikePython) {
  EXPECT_EQ(written("[1.0, 0.1, 1e15, 1e16, 1.5e300, 0.0001, 0.00001, -0.0]"),
            "[1.0, 0.1, 1000000000000000.0, 1e+16, 1.5e+300, 0.0001, 1e-05, -0.0]");
  EXPECT_EQ(written("[1e400, -1e400]"), "[Infinity, -Infinity]");
}

}  // namespace
}  // namespace fireboss::engine
