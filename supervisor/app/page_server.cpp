#include "supervisor/app/page_server.h"

#include <algorithm>
#include <cctype>
#include <exception>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace fireboss::app {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr std::size_t kMaxConnections = 16;
constexpr std::uint32_t kMaxHeader = 8 * 1024;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

// "host", "host:port", "[v6]:port" without the port; "" if it is none of them.
std::string_view without_port(std::string_view host) {
  const auto colon = host.rfind(':');
  if (colon == std::string_view::npos || host.ends_with(']'))
    return host;
  const auto port = host.substr(colon + 1);
  const bool digits =
      port.size() <= 5 && std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? host.substr(0, colon) : std::string_view();
}

Response text(http::status status, std::string body) {
  Response response{status, 11};
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.body() = std::move(body);
  return response;
}

Response too_large() {
  return text(http::status::payload_too_large, "A request has no body here.\n");
}

// What a request is answered. Pure but for the page's own rendering.
Response answer(const Request& request, const std::vector<PageServer::Page>& pages,
                const std::vector<std::string>& hosts) {
  if (request.count(http::field::host) != 1 || !host_may_ask(request[http::field::host], hosts))
    return text(
        http::status::misdirected_request,
        "This Host header may not ask here; metrics.hosts of the configuration names further ones.\n");
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    auto refused = text(http::status::method_not_allowed, "Nothing can be changed here.\n");
    refused.set(http::field::allow, "GET, HEAD");
    return refused;
  }
  const std::string_view target = request.target();
  const auto path = target.substr(0, target.find('?'));
  for (const auto& page : pages)
    if (page.path == path) {
      auto found = text(http::status::ok, page.render());
      found.set(http::field::content_type, page.content_type);
      return found;
    }
  std::string known;
  for (const auto& page : pages)
    known += page.path + "\n";
  return text(http::status::not_found, "There is:\n" + known);
}

ErrorCode code_of(const boost::system::error_code& error) {
  if (error == asio::error::address_in_use)
    return ErrorCode::kBusy;
  return error == asio::error::access_denied || error == asio::error::no_permission ? ErrorCode::kDenied
                                                                                    : ErrorCode::kUnavailable;
}

}  // namespace

bool host_may_ask(std::string_view host, const std::vector<std::string>& names) {
  auto name = without_port(host);
  if (name.ends_with('.'))
    name.remove_suffix(1);
  if (name.empty())
    return false;
  auto literal = name;
  if (literal.starts_with('[') && literal.ends_with(']'))
    literal = literal.substr(1, literal.size() - 2);
  boost::system::error_code no_address;
  asio::ip::make_address(std::string(literal), no_address);
  return !no_address || same_name(name, "localhost") ||
         std::any_of(names.begin(), names.end(),
                     [name](const auto& known) { return same_name(name, known); });
}

struct PageServer::Impl : std::enable_shared_from_this<Impl> {
  Impl(asio::any_io_executor executor, std::vector<Page> all, std::vector<std::string> names, Millis bound)
      : acceptor(std::move(executor)), pages(std::move(all)), hosts(std::move(names)), patience(bound) {}

  asio::awaitable<void> serve(tcp::socket socket) {
    const auto self = shared_from_this();
    beast::tcp_stream stream(std::move(socket));
    stream.expires_after(patience);
    beast::flat_buffer buffer(kMaxHeader);  // a longer header overflows it
    http::request_parser<http::empty_body> parser;
    parser.body_limit(std::uint64_t{0});
    const auto [error, got] = co_await http::async_read_header(stream, buffer, parser, kTuple);
    Response response;
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      response = text(http::status::request_header_fields_too_large, "The header is longer than 8 KiB.\n");
    else if (error == http::error::body_limit)
      response = too_large();
    else if (error && error.category() == boost::system::error_code(http::error::bad_method).category() &&
             error != http::error::end_of_stream && error != http::error::partial_message)
      response = text(http::status::bad_request, "No HTTP request.\n");
    else if (error)
      co_return;  // gone, or too slow
    else if (parser.chunked() || parser.content_length().value_or(0) > 0)
      response = too_large();
    else
      response = answer(parser.get(), pages, hosts);
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    response.keep_alive(false);
    response.prepare_payload();
    if (!error && parser.get().method() == http::verb::head)
      response.body().clear();  // the length stays what it would be
    co_await http::async_write(stream, response, kTuple);
    boost::system::error_code ignored;
    stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  asio::awaitable<void> accept_loop() {
    const auto self = shared_from_this();
    while (acceptor.is_open()) {
      auto [error, socket] = co_await acceptor.async_accept(kTuple);
      if (error == asio::error::operation_aborted || !acceptor.is_open())
        co_return;
      if (error || connections >= kMaxConnections) {
        // Out of descriptors or too many clients: let some time pass instead of spinning on the same error.
        asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(100));
        co_await pause.async_wait(kTuple);
        continue;
      }
      ++connections;
      asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)),
                     [self](const std::exception_ptr& trouble) {
                       --self->connections;
                       // A bug of ours: dying loudly lets systemd start us again from the record.
                       if (trouble)
                         std::rethrow_exception(trouble);
                     });
    }
  }

  tcp::acceptor acceptor;
  std::vector<Page> pages;
  std::vector<std::string> hosts;
  Millis patience;
  std::size_t connections = 0;
};

PageServer::PageServer(asio::any_io_executor executor, std::vector<Page> pages,
                       std::vector<std::string> hosts, Millis patience)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(pages), std::move(hosts), patience)) {}

PageServer::~PageServer() {
  close();
}

Result<void> PageServer::listen(const std::string& address, std::uint16_t port) {
  boost::system::error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  if (error)
    return fail(ErrorCode::kInvalid, address + ": not an IP address");
  const tcp::endpoint endpoint(parsed, port);
  auto& acceptor = impl_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error)
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error)
    acceptor.bind(endpoint, error);
  if (!error)
    acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    return fail(code_of(error),
                "cannot listen on " + address + " port " + std::to_string(port) + ": " + error.message());
  }
  asio::co_spawn(acceptor.get_executor(), impl_->accept_loop(), [](const std::exception_ptr& trouble) {
    if (trouble)
      std::rethrow_exception(trouble);
  });
  return {};
}

std::uint16_t PageServer::port() const {
  boost::system::error_code ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

void PageServer::close() {
  boost::system::error_code ignored;
  impl_->acceptor.close(ignored);
}

}  // namespace fireboss::app
