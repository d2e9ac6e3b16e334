#pragma once
// A bus with systemd on it, as far as a Session asks: one client, on a thread of its own, by the protocol of
// the real one. What systemd says of a unit is what the test has it say.
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <systemd/sd-bus.h>

namespace fireboss::sdbus {

class FakeBus {
 public:
  FakeBus() {
    std::array<char, 32> folder{"/tmp/fireboss-bus-XXXXXX"};
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder.data();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    listening_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listening_, 1), 0);
    thread_ = std::thread([this] { serve(); });
  }
  // The client has closed by then: that is what ends the thread.
  ~FakeBus() {
    shutdown(listening_, SHUT_RDWR);
    thread_.join();
    close(listening_);
    std::filesystem::remove_all(folder_);
  }
  FakeBus(const FakeBus&) = delete;
  FakeBus& operator=(const FakeBus&) = delete;

  std::string address() const { return "unix:path=" + path(); }
  // The next so many questions about a unit are answered with an error.
  void refuse(int questions) { refusals_ = questions; }
  // Has it say, as systemd does, that engine.service changed.
  void announce_change() { announce_ = true; }
  int asked() const { return asked_; }

 private:
  static constexpr const char* kOwner = ":1.0";

  std::string path() const { return folder_ + "/bus"; }

  void serve() {
    const int client = accept(listening_, nullptr, nullptr);
    if (client < 0)
      return;
    sd_bus* bus = nullptr;
    sd_bus_new(&bus);
    sd_bus_set_fd(bus, client, client);
    sd_id128_t id{};
    sd_id128_randomize(&id);
    sd_bus_set_server(bus, 1, id);
    sd_bus_set_anonymous(bus, 1);
    sd_bus_add_filter(bus, nullptr, &FakeBus::answer, this);
    constexpr std::uint64_t kUsec = 5'000;  // what announce_change() may have to wait
    for (int r = sd_bus_start(bus); r >= 0;) {
      while ((r = sd_bus_process(bus, nullptr)) > 0) {
      }
      if (r >= 0 && announce_.exchange(false))
        r = say_changed(bus);
      if (r >= 0)
        r = sd_bus_wait(bus, kUsec);
    }
    sd_bus_unref(bus);
  }

  static int say_changed(sd_bus* bus) {
    sd_bus_message* signal = nullptr;
    int r = sd_bus_message_new_signal(bus, &signal, "/org/freedesktop/systemd1/unit/engine_2eservice",
                                      "org.freedesktop.DBus.Properties", "PropertiesChanged");
    if (r >= 0)
      r = sd_bus_message_append(signal, "sa{sv}as", "org.freedesktop.systemd1.Unit", 0, 0);
    if (r >= 0)
      r = sd_bus_message_set_sender(signal, kOwner);
    if (r >= 0)
      r = sd_bus_send(bus, signal, nullptr);
    sd_bus_message_unref(signal);
    return r;
  }

  static int answer(sd_bus_message* call, void* self, sd_bus_error*) {
    return static_cast<FakeBus*>(self)->answer(call);
  }
  int answer(sd_bus_message* call) {
    if (sd_bus_message_is_method_call(call, nullptr, nullptr) <= 0)
      return 0;
    const std::string_view member = sd_bus_message_get_member(call);
    if (member == "Hello")
      return sd_bus_reply_method_return(call, "s", ":1.1");
    if (member == "GetNameOwner")
      return sd_bus_reply_method_return(call, "s", kOwner);
    if (member != "GetAll")
      return sd_bus_reply_method_return(call, nullptr);
    ++asked_;
    if (refusals_ > 0) {
      --refusals_;
      return sd_bus_reply_method_errorf(call, SD_BUS_ERROR_NO_REPLY, "busy elsewhere");
    }
    return sd_bus_reply_method_return(call, "a{sv}", 2, "LoadState", "s", "loaded", "ActiveState", "s",
                                      "active");
  }

  std::string folder_;
  int listening_ = -1;
  std::atomic<bool> announce_ = false;
  std::atomic<int> refusals_ = 0, asked_ = 0;
  std::thread thread_;
};

}  // namespace fireboss::sdbus
