#pragma once
// An io_context with its thread. What is made on it is destroyed on it: run() does things there and
// waits for them.

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>

namespace outlierd::test {

class NetThread {
 public:
  NetThread() : work_(io.get_executor()), thread_([this] { io.run(); }) {}
  ~NetThread() {
    work_.reset();
    io.stop();
    thread_.join();
  }

  template <class Act>
  auto run(Act act) {
    std::packaged_task<decltype(act())()> task(std::move(act));
    auto result = task.get_future();
    boost::asio::post(io, [&task] { task(); });
    return result.get();
  }

  boost::asio::io_context io{1};

 private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace outlierd::test
