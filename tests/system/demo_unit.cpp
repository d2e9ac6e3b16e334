// A unit's main process for the tests. Its arguments are steps, done in order; then it waits for SIGTERM and
// exits 0.
//   ready           READY=1               log=TEXT     a line on stdout      notify=TEXT  any other state
//   text wait=MS         (SIGTERM ends it)     exit=CODE    at once               abort listen=PORT     on
//   127.0.0.1          no-ping      stop feeding the watchdog ignore-term     only SIGKILL ends it from here
//   on
// While it waits it sends WATCHDOG=1 every 20 ms, and a line "usr1" to stdout at each SIGUSR1. stderr says
// what is wrong with a step.
#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <sys/socket.h>

#include <systemd/sd-daemon.h>

namespace {

bool feed = true;

// True when SIGTERM came. `ms` below 0: for ever.
bool wait_for_term(long ms) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGUSR1);
  for (long left = ms; ms < 0 || left > 0; left -= 20) {
    if (feed)
      sd_notify(0, "WATCHDOG=1");
    const timespec slice{0, 20'000'000};
    const int got = sigtimedwait(&awaited, nullptr, &slice);
    if (got == SIGTERM)
      return true;
    if (got == SIGUSR1)
      std::puts("usr1");
  }
  return false;
}

bool listen_on(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(fd, 8) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigaddset(&term, SIGUSR1);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  for (int i = 1; i < argc; ++i) {
    const std::string_view step = argv[i];
    const auto value = [&] { return argv[i] + step.find('=') + 1; };
    if (step == "ready") {
      sd_notify(0, "READY=1");
    } else if (step.starts_with("log=")) {
      std::puts(value());
    } else if (step.starts_with("notify=")) {
      sd_notify(0, value());
    } else if (step.starts_with("wait=")) {
      if (wait_for_term(std::atol(value())))
        return 0;
    } else if (step.starts_with("exit=")) {
      return std::atoi(value());
    } else if (step == "abort") {
      std::abort();
    } else if (step.starts_with("listen=")) {
      if (!listen_on(std::atoi(value()))) {
        std::perror("listen");
        return 98;
      }
    } else if (step == "no-ping") {
      feed = false;
    } else if (step == "ignore-term") {
      for (;;) {
        const timespec slice{1, 0};
        sigtimedwait(&term, nullptr, &slice);  // taken and forgotten
      }
    } else {
      std::fprintf(stderr, "demo_unit: unknown step '%s'\n", argv[i]);
      return 64;
    }
  }
  wait_for_term(-1);
  return 0;
}
