// outlierd_api_demo [port]: serves the API over made-up live data, so that wrk and schemathesis can
// be run against it: 12 nodes, 288 slices, 200 events of 7 cells, some anomalies. A slice is added
// each second. Prints the port; SIGINT or SIGTERM ends it.

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "daemon/api/api.h"
#include "daemon/api/http_server.h"
#include "tests/support/api_sample.h"

namespace {

using namespace outlierd;

void add_slice(api::Api& api, const Network& network, EpochSeconds time, int number) {
  SliceReport report = test::sample_report(network, time);
  if (number % 2 == 0) {
    Event event = test::sample_event("demo" + std::to_string(100000 + number), time, 7);
    event.open = number % 20 == 0;
    if (!event.open) event.closed = time + 900;
    report.events.push_back({EventChange::kOpened, event});
    report.anomalies.push_back(test::sample_anomaly(time, number % 12, 3, 5.0 + number % 7));
  }
  report.open_events = number / 20;
  api.on_report(network.name, std::move(report));
}

// The daemon's own function decodes the body; here any will do, so that every answer can be had.
void take(const api::IngestRequest& request, const std::function<void(api::IngestAnswer)>& done) {
  if (request.body.find("\"time\"") == std::string::npos) return done({422, "time is needed"});
  done({202, "{\"ok\":true,\"network\":\"" + std::string("abilene") + "\",\"cells\":0}"});
}

}  // namespace

int main(int argc, char** argv) {
  boost::asio::io_context io(1);
  const auto now = [] { return EpochSeconds(std::time(nullptr)); };
  api::LiveState live({}, now);
  const auto tokens = api::Tokens::load({});
  api::ApiPorts ports;
  ports.version = "demo";
  ports.slices = ports.flows = take;
  ports.metrics = [] { return std::string("# TYPE outlierd_up gauge\noutlierd_up 1\n"); };
  ports.reload = [](const auto& done) { done({}); };
  api::Api api(io, live, *tokens, ports);
  api.recover([](const auto&) {});

  const Network network = test::sample_network("abilene", 12);
  live.add_network(network, {});
  EpochSeconds time = now() / 300 * 300 - 400 * 300;
  int number = 0;
  for (; number < 400; ++number) add_slice(api, network, time += 300, number);

  api::HttpOptions options;
  options.port = argc > 1 ? std::uint16_t(std::atoi(argv[1])) : std::uint16_t(0);
  api::HttpServer server(io, options, api.dispatch(),
                         [](std::string_view what) { std::cerr << "error: " << what << '\n'; });
  if (const auto started = server.start(); !started) {
    std::cerr << started.error() << '\n';
    return 1;
  }
  std::cout << "http://127.0.0.1:" << server.port() << std::endl;

  boost::asio::steady_timer timer(io);
  std::function<void()> tick = [&] {
    timer.expires_after(std::chrono::seconds(1));
    timer.async_wait([&](const boost::system::error_code& error) {
      if (error) return;
      add_slice(api, network, time += 300, number++);
      tick();
    });
  };
  tick();
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait(
      [&](const auto&, int) { server.stop(std::chrono::seconds(2), [&] { io.stop(); }); });
  io.run();
}
