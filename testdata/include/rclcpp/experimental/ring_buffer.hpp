// The intra-process buffers: a ring buffer of shared or unique message pointers and the typed front
// of it.
#pragma once

#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "rosidl/header_stamp.hpp"
#include "standin/ground_truth.hpp"
#include "standin/intra_truth.hpp"
#include "tracetools/tracetools.h"

struct LayoutCheck;

namespace rclcpp::experimental::buffers {

template <typename BufferT>
class BufferImplementationBase {
 public:
  virtual ~BufferImplementationBase() = default;
  virtual BufferT dequeue() = 0;
  virtual void enqueue(BufferT request) = 0;
  virtual bool has_data() const = 0;
};

template <typename BufferT>
class RingBufferImplementation : public BufferImplementationBase<BufferT> {
 public:
  explicit RingBufferImplementation(std::size_t capacity)
      : capacity_(capacity), ring_buffer_(capacity), write_index_(capacity - 1) {
    const ground_truth::Bracket times = ground_truth::bracket([&] {
#ifdef STANDIN_JAZZY
      ros_trace_rclcpp_construct_ring_buffer(this, capacity_);
#endif
    });
    ground_truth::ring_buffer_constructed(this, capacity_, times);
  }

  void enqueue(BufferT request) override {
    const std::lock_guard lock(mutex_);
    write_index_ = next(write_index_);
    ground_truth::BufferOperation operation{
        this, request.get(), write_index_, size_ + 1, is_full(), rosidl::header_stamp(*request),
        {}};
    ring_buffer_[write_index_] = std::move(request);
    operation.bracket = ground_truth::bracket([&] {
#ifdef STANDIN_JAZZY
      ros_trace_rclcpp_ring_buffer_enqueue(this, write_index_, size_ + 1, is_full());
#endif
    });
    if (is_full()) {
      read_index_ = next(read_index_);
    } else {
      ++size_;
    }
    ground_truth::enqueued(operation);
  }

  BufferT dequeue() override {
    const std::lock_guard lock(mutex_);
    if (size_ == 0) return BufferT();
    BufferT request = std::move(ring_buffer_[read_index_]);
    ground_truth::BufferOperation operation{
        this, request.get(), read_index_, size_ - 1, false, rosidl::header_stamp(*request), {}};
    operation.bracket = ground_truth::bracket([&] {
#ifdef STANDIN_JAZZY
      ros_trace_rclcpp_ring_buffer_dequeue(this, read_index_, size_ - 1);
#endif
    });
    read_index_ = next(read_index_);
    --size_;
    ground_truth::dequeued(operation);
    return request;
  }

  bool has_data() const override {
    const std::lock_guard lock(mutex_);
    return size_ != 0;
  }

 private:
  friend struct ::LayoutCheck;

  std::size_t next(std::size_t index) const { return (index + 1) % capacity_; }
  bool is_full() const { return size_ == capacity_; }

  std::size_t capacity_;
  std::vector<BufferT> ring_buffer_;
  std::size_t write_index_;
  std::size_t read_index_ = 0;
  std::size_t size_ = 0;
  mutable std::mutex mutex_;
};

class IntraProcessBufferBase {
 public:
  virtual ~IntraProcessBufferBase() = default;
  virtual bool has_data() const = 0;
  virtual bool use_take_shared_method() const = 0;
};

template <typename MessageT, typename Alloc = std::allocator<void>,
          typename MessageDeleter = std::default_delete<MessageT>>
class IntraProcessBuffer : public IntraProcessBufferBase {
 public:
  using MessageUniquePtr = std::unique_ptr<MessageT, MessageDeleter>;
  using MessageSharedPtr = std::shared_ptr<const MessageT>;

  virtual void add_shared(MessageSharedPtr message) = 0;
  virtual void add_unique(MessageUniquePtr message) = 0;
  virtual MessageSharedPtr consume_shared() = 0;
  virtual MessageUniquePtr consume_unique() = 0;
  // The ring buffer, as in tracepoints.
  virtual const void *ring_buffer() const = 0;
};

template <typename MessageT, typename Alloc = std::allocator<void>,
          typename MessageDeleter = std::default_delete<MessageT>,
          typename BufferT = std::unique_ptr<MessageT>>
class TypedIntraProcessBuffer : public IntraProcessBuffer<MessageT, Alloc, MessageDeleter> {
  using Base = IntraProcessBuffer<MessageT, Alloc, MessageDeleter>;
  static constexpr bool kShared = std::is_same_v<BufferT, typename Base::MessageSharedPtr>;

 public:
  explicit TypedIntraProcessBuffer(std::unique_ptr<BufferImplementationBase<BufferT>> buffer)
      : buffer_(std::move(buffer)), message_allocator_(std::make_shared<Alloc>()) {
    const ground_truth::Bracket times = ground_truth::bracket([&] {
#ifdef STANDIN_JAZZY
      ros_trace_rclcpp_buffer_to_ipb(buffer_.get(), this);
#endif
    });
    ground_truth::buffer_to_ipb(buffer_.get(), this, times);
  }

  void add_shared(typename Base::MessageSharedPtr message) override {
    if constexpr (kShared) {
      buffer_->enqueue(std::move(message));
    } else {
      buffer_->enqueue(std::make_unique<MessageT>(*message));
    }
  }
  void add_unique(typename Base::MessageUniquePtr message) override {
    buffer_->enqueue(std::move(message));
  }
  typename Base::MessageSharedPtr consume_shared() override { return buffer_->dequeue(); }
  typename Base::MessageUniquePtr consume_unique() override {
    if constexpr (kShared) {
      const typename Base::MessageSharedPtr shared = buffer_->dequeue();
      return shared == nullptr ? nullptr : std::make_unique<MessageT>(*shared);
    } else {
      return buffer_->dequeue();
    }
  }
  bool has_data() const override { return buffer_->has_data(); }
  bool use_take_shared_method() const override { return kShared; }
  const void *ring_buffer() const override { return buffer_.get(); }

 private:
  friend struct ::LayoutCheck;

  std::unique_ptr<BufferImplementationBase<BufferT>> buffer_;
  std::shared_ptr<Alloc> message_allocator_;
};

}  // namespace rclcpp::experimental::buffers
