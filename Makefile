# What the README promises. Everything else is CMake: see CMakePresets.json.
PRESET ?= release
# The preset asan+ubsan builds in build/asan-ubsan: a plus sign in a path confuses too many tools.
BUILD := build/$(subst +,-,$(PRESET))
JOBS ?= $(shell nproc)
export CTEST_PARALLEL_LEVEL ?= $(JOBS)

.PHONY: deps build demo test test-long tidy format bench install clean

deps:
	cmake/deps

build: deps
	cmake --preset $(PRESET)
	cmake --build $(BUILD) -j $(JOBS)

demo: build
	tests/demo/run $(BUILD)

test: build
	ctest --test-dir $(BUILD) --output-on-failure -LE long

# clang-tidy, real engines, and the fuzzers of the preset of that name, with sanitizers and coverage.
test-long: build
	ctest --test-dir $(BUILD) --output-on-failure -L long
	cmake --preset fuzz
	cmake --build build/fuzz -j $(JOBS) --target fuzzers
	ctest --test-dir build/fuzz --output-on-failure -L fuzz_long

tidy: build
	tests/sources/tidy $(BUILD)

format:
	tests/sources/format -i

bench: build
	tests/bench/run $(BUILD)

install: build
	cmake --install $(BUILD)

clean:
	rm -rf build
