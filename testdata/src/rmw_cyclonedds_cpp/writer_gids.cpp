#include "writer_gids.hpp"

#include "standin/gid_truth.hpp"

namespace rmw_cyclonedds_cpp {

ground_truth::Gid WriterGids::find(dds_entity_t reader, dds_instance_handle_t writer) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(writer);
  if (found != known_.end()) return found->second;
  dds_builtintopic_endpoint_t *const endpoint = dds_get_matched_publication_data(reader, writer);
  if (endpoint == nullptr) return {};
  const ground_truth::Gid gid = ground_truth::gid_of(endpoint->key);
  dds_builtintopic_free_endpoint(endpoint);
  known_[writer] = gid;
  return gid;
}

}  // namespace rmw_cyclonedds_cpp
