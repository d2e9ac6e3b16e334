#include "supervisor/adapters/alert/http_post.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <boost/asio/ssl/context.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include "base/one_line.h"
#include "base/os/credential.h"
#include "supervisor/adapters/alert/notice_text.h"

namespace fireboss::alert {
namespace asio = boost::asio;
namespace {

constexpr Millis kConnect{5'000}, kBetween{5'000};
constexpr canary::Limits kLimits{.header_bytes = 16 * 1024, .body_bytes = 64 * 1024};
constexpr std::size_t kExcerpt = 200;
constexpr std::int64_t kMostRetryAfterSeconds = 3600;

ports::NotDelivered not_delivered(ErrorCode code, std::string message) {
  ports::NotDelivered out;
  out.code = code;
  out.message = std::move(message);
  return out;
}

// Whole seconds; a date is not read.
std::optional<Millis> retry_after(const std::string& header) {
  std::int64_t seconds = 0;
  const auto [end, wrong] = std::from_chars(header.data(), header.data() + header.size(), seconds);
  if (wrong != std::errc{} || end != header.data() + header.size() || seconds < 0)
    return std::nullopt;
  return Millis{std::min(seconds, kMostRetryAfterSeconds) * 1000};
}

// What the transport met, and what may be done about it.
ports::NotDelivered of_fault(const canary::Response& response) {
  switch (response.fault) {  // no default: a new fault must be told here
    case canary::Fault::kTimeout:
      return not_delivered(ErrorCode::kTimeout, response.error + ": no answer in time");
    case canary::Fault::kDns:
    case canary::Fault::kUnreachable:
      return not_delivered(ErrorCode::kUnavailable,
                           response.error +
                               " (does the unit's IPAddressAllow= let it out, and to the DNS "
                               "server? see [alerts.sink.NAME] in docs/configuration.md)");
    case canary::Fault::kTls:
      return not_delivered(ErrorCode::kInvalid,
                           response.error + " (a certificate authority of your own is named by ca_file)");
    case canary::Fault::kRefused:
      return not_delivered(ErrorCode::kUnavailable, response.error + " (does it listen on this port?)");
    case canary::Fault::kNotHttp:
    case canary::Fault::kTooLarge:
      return not_delivered(ErrorCode::kInvalid,
                           response.error + " (is that an HTTP server, and not one for https only?)");
    case canary::Fault::kNone:
    case canary::Fault::kReset:
    case canary::Fault::kPortInUse:
    case canary::Fault::kUnchecked:
    case canary::Fault::kNotSent:
    case canary::Fault::kCanceled:
      return not_delivered(ErrorCode::kUnavailable, response.error);
  }
  return not_delivered(ErrorCode::kUnavailable, response.error);
}

ports::NotDelivered of_status(int status, const canary::CallResult& result, const std::string& where,
                              bool may_quote) {
  auto message = where + " answered " + std::to_string(status);
  if (status / 100 == 3)
    return not_delivered(ErrorCode::kInvalid,
                         message + ", a redirect, which is not followed: write the final URL instead");
  // What a server says of a request may quote the request.
  if (const auto& body = result.response.body; may_quote && !body.empty())
    message += ": " + one_line(clean(body, kExcerpt), kExcerpt);
  if (status == 401 || status == 403)
    return not_delivered(ErrorCode::kDenied, message + " (is the token right?)");
  if (status == 404 || status == 410)
    return not_delivered(ErrorCode::kNotFound, message + " (is the URL's path right?)");
  auto out = not_delivered(ErrorCode::kUnavailable, message);
  if (status == 429 || status == 503)
    out.retry_after = retry_after(result.retry_after);
  return out;
}

}  // namespace

Result<PostTarget> parse_target(const std::string& text) {
  const auto parsed = boost::urls::parse_uri(text);
  if (!parsed || (parsed->scheme() != "http" && parsed->scheme() != "https") || parsed->has_userinfo())
    return fail(ErrorCode::kInvalid, "is no URL that begins with http:// or https://");
  PostTarget target;
  target.tls = parsed->scheme() == "https";
  target.endpoint.host = parsed->host_address();
  target.endpoint.port = target.tls ? 443 : 80;
  if (parsed->has_port()) {
    const std::string digits(parsed->port());
    std::uint32_t port = 0;
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (wrong != std::errc{} || end != digits.data() + digits.size() || port < 1 || port > 65535)
      return fail(ErrorCode::kInvalid, "has a port that is out of range");
    target.endpoint.port = static_cast<std::uint16_t>(port);
  }
  target.path = std::string(parsed->encoded_path());
  target.query = std::string(parsed->encoded_query());
  if (target.endpoint.host.empty())
    return fail(ErrorCode::kInvalid, "is a URL without a host");
  return target;
}

HttpPoster::HttpPoster(config::HttpTarget target, std::string token_credential, std::string unit,
                       std::string engine, Millis deadline)
    : target_(std::move(target)),
      token_credential_(std::move(token_credential)),
      unit_(std::move(unit)),
      engine_(std::move(engine)),
      deadline_(deadline) {}

Result<std::string> HttpPoster::url() const {
  auto url = target_.url;
  if (!target_.url_credential.empty()) {
    auto secret = read_credential(target_.url_credential, unit_);
    if (!secret)
      return secret;
    url = std::move(*secret);
  }
  for (auto at = std::string::npos; (at = url.find(config::kEnginePlaceholder)) != std::string::npos;)
    url.replace(at, config::kEnginePlaceholder.size(), engine_);
  return url;
}

Result<std::shared_ptr<asio::ssl::context>> HttpPoster::tls() {
  if (tls_)
    return tls_;
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  boost::system::error_code error;
  context->set_options(
      asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1,
      error);
  if (target_.ca_file.empty())
    context->set_default_verify_paths(error);
  else
    context->load_verify_file(target_.ca_file, error);
  if (error)
    return fail(ErrorCode::kInvalid,
                "certificate authorities" +
                    (target_.ca_file.empty() ? std::string() : " of " + target_.ca_file) + ": " +
                    error.message());
  tls_ = std::move(context);
  return tls_;
}

asio::awaitable<ports::Delivered> HttpPoster::post(std::string below, std::string query,
                                                   std::string content_type, std::string body) {
  const auto failed = [](const Error& error) {
    return ports::Delivered(tl::unexpect, not_delivered(error.code, error.message));
  };
  const auto whole = url();
  if (!whole)
    co_return failed(whole.error());
  auto target = parse_target(*whole);
  if (!target)
    co_return failed(target.error().in(
        target_.url_credential.empty() ? std::string("url") : "credential '" + target_.url_credential + "'"));
  if (target->tls) {
    auto context = tls();
    if (!context)
      co_return failed(context.error());
    target->endpoint.tls = std::move(*context);
  }
  canary::Request request;
  if (!token_credential_.empty()) {
    auto token = read_credential(token_credential_, unit_);
    if (!token)
      co_return failed(token.error());
    request.api_key = std::move(*token);
  }
  auto path = target->path;
  while (!below.empty() && path.ends_with('/'))
    path.pop_back();
  path += below;
  if (!path.starts_with('/'))
    path.insert(0, "/");
  auto parameters = target->query + (target->query.empty() || query.empty() ? "" : "&") + query;
  request.endpoint = target->endpoint;
  request.target = path + (parameters.empty() ? "" : "?" + parameters);
  request.headers = {{"Content-Type", std::move(content_type)}};
  request.deadlines = {.connect = kConnect,
                       .first_byte = deadline_,
                       .between = kBetween,
                       .total = deadline_,
                       .after_done = Millis{0}};
  request.limits = kLimits;
  request.calls.push_back({std::move(body), false});
  const bool v6 = target->endpoint.host.find(':') != std::string::npos;
  const auto where = (v6 ? "[" + target->endpoint.host + "]" : target->endpoint.host) + ":" +
                     std::to_string(target->endpoint.port);
  const auto answered = co_await canary::run(std::move(request));
  const auto& result = answered.calls.front();
  const auto status = result.response.http_status;
  if (status && *status / 100 == 2)
    co_return ports::Delivered();
  const bool may_quote = target_.url_credential.empty() && token_credential_.empty();
  if (status)
    co_return ports::Delivered(tl::unexpect, of_status(*status, result, where, may_quote));
  co_return ports::Delivered(tl::unexpect, of_fault(result.response));
}

}  // namespace fireboss::alert
