// net/asio_internal.h
//
// The one header that names Boost.Asio. Included by the few .cc files of this room that wait for
// the operating system, and by no header: it costs seconds to compile.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "net/event_loop.h"
#include "net/timer_queue.h"
#include "net/worker_pool.h"

namespace mainspring::net {

namespace asio = boost::asio;

struct EventLoop::Impl {
  explicit Impl(std::size_t worker_threads)
      : work(asio::make_work_guard(io)), alarm(io), workers(worker_threads) {}

  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work;
  // One system timer for all: set for the earliest, or for one dropped since, which is harmless.
  asio::steady_timer alarm;
  std::optional<TimePoint> alarm_due;
  TimerQueue timers;
  // Last, so that its threads have ended before anything they post to is gone.
  WorkerPool workers;
};

}  // namespace mainspring::net
