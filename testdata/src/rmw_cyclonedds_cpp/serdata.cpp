#include "serdata.hpp"

#if __has_include(<dds/ddsi/ddsi_radmin.h>)  // newer than 0.10
#include <dds/ddsi/ddsi_radmin.h>
#define NN_RMSG_PAYLOADOFF DDSI_RMSG_PAYLOADOFF
#define NN_RDATA_PAYLOAD_OFF DDSI_RDATA_PAYLOAD_OFF
using nn_rdata = ddsi_rdata;
#else
#include <dds/ddsi/q_radmin.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "../rmw_common/names.hpp"
#include "standin/failure.hpp"

namespace rmw_cyclonedds_cpp {

void remember(ddsi_serdata *sample);

namespace {
thread_local WrittenSample *written = nullptr;

struct Type : ddsi_sertype {
  const message_type_support_callbacks_t *callbacks;
};

// The serialized message, encapsulation included.
struct Sample : ddsi_serdata {
  std::vector<std::uint8_t> bytes;

  Sample(const ddsi_sertype *sertype, ddsi_serdata_kind sample_kind) {
    ddsi_serdata_init(this, sertype, sample_kind);
    hash = sertype->serdata_basehash;
  }
  void resize_padded(std::size_t size) { bytes.resize((size + 3) & ~std::size_t{3}); }
};

constexpr std::uint8_t kEncapsulation[] = {0, 1, 0, 0};

const Type *type_of(const ddsi_sertype *sertype) { return static_cast<const Type *>(sertype); }
Sample *sample_of(ddsi_serdata *serdata) { return static_cast<Sample *>(serdata); }
const Sample *sample_of(const ddsi_serdata *serdata) {
  return static_cast<const Sample *>(serdata);
}

// Topics have no keys: all samples belong to one instance.
bool equal_keys(const ddsi_serdata *, const ddsi_serdata *) { return true; }

std::uint32_t get_size(const ddsi_serdata *serdata) {
  return static_cast<std::uint32_t>(sample_of(serdata)->bytes.size());
}

ddsi_serdata *from_network(const ddsi_sertype *sertype, ddsi_serdata_kind kind,
                           const nn_rdata *fragments, std::size_t size) {
  auto sample = std::make_unique<Sample>(sertype, kind);
  sample->resize_padded(size);
  std::uint32_t offset = 0;
  for (const nn_rdata *fragment = fragments; fragment != nullptr; fragment = fragment->nextfrag) {
    if (fragment->maxp1 <= offset) continue;
    const std::uint8_t *const payload =
        NN_RMSG_PAYLOADOFF(fragment->rmsg, NN_RDATA_PAYLOAD_OFF(fragment));
    std::memcpy(sample->bytes.data() + offset, payload + offset - fragment->min,
                fragment->maxp1 - offset);
    offset = fragment->maxp1;
  }
  return sample.release();
}

ddsi_serdata *from_vector(const ddsi_sertype *sertype, ddsi_serdata_kind kind,
                          ddsrt_msg_iovlen_t count, const ddsrt_iovec_t *parts, std::size_t size) {
  auto sample = std::make_unique<Sample>(sertype, kind);
  sample->resize_padded(size);
  std::size_t offset = 0;
  for (ddsrt_msg_iovlen_t part = 0; part < count; ++part) {
    std::memcpy(sample->bytes.data() + offset, parts[part].iov_base, parts[part].iov_len);
    offset += parts[part].iov_len;
  }
  return sample.release();
}

ddsi_serdata *from_keyhash(const ddsi_sertype *sertype, const ddsi_keyhash *) {
  return new Sample(sertype, SDK_KEY);
}

ddsi_serdata *from_message(const ddsi_sertype *sertype, ddsi_serdata_kind kind,
                           const void *message) {
  if (failure::due(failure::Point::dds)) return nullptr;
  auto sample = std::make_unique<Sample>(sertype, kind);
  sample->bytes.assign(std::begin(kEncapsulation), std::end(kEncapsulation));
  if (kind == SDK_DATA) type_of(sertype)->callbacks->cdr_serialize(message, sample->bytes);
  sample->resize_padded(sample->bytes.size());
  if (written != nullptr) remember(sample.get());
  return sample.release();
}

void to_bytes(const ddsi_serdata *serdata, std::size_t offset, std::size_t size, void *buffer) {
  std::memcpy(buffer, sample_of(serdata)->bytes.data() + offset, size);
}

ddsi_serdata *to_reference(const ddsi_serdata *serdata, std::size_t offset, std::size_t size,
                           ddsrt_iovec_t *reference) {
  reference->iov_base = const_cast<std::uint8_t *>(sample_of(serdata)->bytes.data()) + offset;
  reference->iov_len = size;
  return ddsi_serdata_ref(serdata);
}

void release_reference(ddsi_serdata *serdata, const ddsrt_iovec_t *) {
  ddsi_serdata_unref(serdata);
}

bool to_message(const ddsi_serdata *serdata, void *message, void **, void *) {
  const std::vector<std::uint8_t> &bytes = sample_of(serdata)->bytes;
  if (bytes.size() < sizeof kEncapsulation) return false;
  return type_of(serdata->type)
      ->callbacks->cdr_deserialize(bytes.data() + sizeof kEncapsulation,
                                   bytes.size() - sizeof kEncapsulation, message);
}

ddsi_serdata *to_untyped(const ddsi_serdata *serdata) {
  auto *const key = new Sample(serdata->type, SDK_KEY);
  key->type = nullptr;
  return key;
}

bool untyped_to_message(const ddsi_sertype *, const ddsi_serdata *, void *, void **, void *) {
  return true;
}

void free_sample(ddsi_serdata *serdata) { delete sample_of(serdata); }

std::size_t print(const ddsi_sertype *, const ddsi_serdata *, char *text, std::size_t size) {
  return static_cast<std::size_t>(std::snprintf(text, size, "(message)"));
}

void get_keyhash(const ddsi_serdata *, ddsi_keyhash *hash, bool) {
  std::memset(hash, 0, sizeof *hash);
}

constexpr ddsi_serdata_ops kSampleOperations = [] {
  ddsi_serdata_ops operations{};
  operations.eqkey = equal_keys;
  operations.get_size = get_size;
  operations.from_ser = from_network;
  operations.from_ser_iov = from_vector;
  operations.from_keyhash = from_keyhash;
  operations.from_sample = from_message;
  operations.to_ser = to_bytes;
  operations.to_ser_ref = to_reference;
  operations.to_ser_unref = release_reference;
  operations.to_sample = to_message;
  operations.to_untyped = to_untyped;
  operations.untyped_to_sample = untyped_to_message;
  operations.free = free_sample;
  operations.print = print;
  operations.get_keyhash = get_keyhash;
  return operations;
}();

void free_type(ddsi_sertype *sertype) {
  ddsi_sertype_fini(sertype);
  delete static_cast<Type *>(sertype);
}
void zero_samples(const ddsi_sertype *, void *, std::size_t) {}
void reallocate_samples(void **, const ddsi_sertype *, void *, std::size_t, std::size_t) {
  std::abort();  // only for loans, which are not used
}
void free_samples(const ddsi_sertype *, void **, std::size_t, dds_free_op_t) {}
bool equal_types(const ddsi_sertype *a, const ddsi_sertype *b) {
  return type_of(a)->callbacks == type_of(b)->callbacks;
}
std::uint32_t hash_type(const ddsi_sertype *) { return 0; }

constexpr ddsi_sertype_ops kTypeOperations = [] {
  ddsi_sertype_ops operations{};
  operations.version = ddsi_sertype_v0;
  operations.free = free_type;
  operations.zero_samples = zero_samples;
  operations.realloc_samples = reallocate_samples;
  operations.free_samples = free_samples;
  operations.equal = equal_types;
  operations.hash = hash_type;
  return operations;
}();

}  // namespace

void remember(ddsi_serdata *sample) { written->sample_ = ddsi_serdata_ref(sample); }

ddsi_sertype *make_sertype(const message_type_support_callbacks_t &type) {
  auto *const sertype = new Type{};
  ddsi_sertype_init(sertype, rmw_common::dds_type(type).c_str(), &kTypeOperations,
                    &kSampleOperations, true);
  sertype->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
  sertype->callbacks = &type;
  return sertype;
}

ddsi_serdata *serdata_from_bytes(const ddsi_sertype *sertype, const void *bytes, std::size_t size) {
  auto sample = std::make_unique<Sample>(sertype, SDK_DATA);
  sample->resize_padded(size);
  std::memcpy(sample->bytes.data(), bytes, size);
  return sample.release();
}

ddsi_serdata *serdata_from_message(const ddsi_sertype *sertype, const void *message) {
  return from_message(sertype, SDK_DATA, message);
}

WrittenSample::WrittenSample() { written = this; }

WrittenSample::~WrittenSample() {
  written = nullptr;
  if (sample_ != nullptr) ddsi_serdata_unref(sample_);
}

std::int64_t WrittenSample::source_timestamp() const {
  return sample_ == nullptr ? 0 : sample_->timestamp.v;
}

}  // namespace rmw_cyclonedds_cpp
