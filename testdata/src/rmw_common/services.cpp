// Services and clients of both rmws: requests and responses travel through queues inside the
// process, not over DDS. The only service type is example_interfaces/srv/AddTwoInts.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "example_interfaces/srv/add_two_ints.hpp"
#include "rmw/rmw.h"
#include "service_identity.hpp"
#include "standin/service_truth.hpp"

namespace {

using example_interfaces::srv::AddTwoInts;
using ground_truth::Gid;
using ground_truth::ServiceFacts;

template <typename Message>
struct Queue {
  struct Entry {
    ServiceFacts facts;
    Message message;
  };
  std::deque<Entry> entries;
  rmw_event_callback_t on_new = nullptr;
  const void *user_data = nullptr;

  void push(const ServiceFacts &facts, const Message &message) {
    entries.push_back({facts, message});
    if (on_new != nullptr) on_new(user_data, 1);
  }

  // Facts that say "not taken" if there is nothing.
  ServiceFacts pop(Message &message) {
    if (entries.empty()) return {};
    ServiceFacts facts = entries.front().facts;
    facts.taken = true;
    message = entries.front().message;
    entries.pop_front();
    return facts;
  }
};

struct Server {
  Queue<AddTwoInts::Request> requests;
};

struct Client {
  std::string service;
  Gid gid{};
  std::int64_t sequence = 0;
  Queue<AddTwoInts::Response> responses;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Server *> servers;
  std::map<const void *, Client> clients;  // by rmw_client_t::data
};

Registry &registry() {
  static Registry instance;
  return instance;
}

// The caller holds the mutex.
Client &client_of(const rmw_client_t *client) { return registry().clients.at(client->data); }

Client *client_with(const Gid &gid) {
  for (auto &[data, client] : registry().clients) {
    if (client.gid == gid) return &client;
  }
  return nullptr;
}

const char *copy_name(const char *name) { return strdup(name); }

}  // namespace

std::int64_t rmw_common::system_time() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

rmw_service_t *rmw_create_service(const rmw_node_t *node, const char *name) {
  auto *const server = new Server;
  const std::lock_guard lock(registry().mutex);
  registry().servers[name] = server;
  return new rmw_service_t{node->implementation_identifier, server, copy_name(name)};
}

rmw_ret_t rmw_destroy_service(rmw_node_t *, rmw_service_t *service) {
  const std::lock_guard lock(registry().mutex);
  // A new server of that name may exist already.
  const auto found = registry().servers.find(service->service_name);
  if (found != registry().servers.end() && found->second == service->data) {
    registry().servers.erase(found);
  }
  delete static_cast<Server *>(service->data);
  std::free(const_cast<char *>(service->service_name));
  delete service;
  return RMW_RET_OK;
}

rmw_client_t *rmw_create_client(const rmw_node_t *node, const char *name) {
  const rmw_common::ClientIdentity identity = rmw_common::new_client_identity(node);
  const std::lock_guard lock(registry().mutex);
  registry().clients[identity.data] = {name, identity.gid, 0, {}};
  return new rmw_client_t{node->implementation_identifier, identity.data, copy_name(name)};
}

rmw_ret_t rmw_destroy_client(rmw_node_t *, rmw_client_t *client) {
  const std::lock_guard lock(registry().mutex);
  registry().clients.erase(client->data);
  rmw_common::delete_client_data(client->data);
  std::free(const_cast<char *>(client->service_name));
  delete client;
  return RMW_RET_OK;
}

rmw_ret_t rmw_send_request(const rmw_client_t *client, const void *request,
                           std::int64_t *sequence) {
  const std::lock_guard lock(registry().mutex);
  Client &data = client_of(client);
  data.sequence = rmw_common::next_sequence_number(data.sequence);
  *sequence = data.sequence;
  const ServiceFacts facts{data.gid, data.sequence, rmw_common::system_time(), false};
  ground_truth::service_facts(facts);
  const auto server = registry().servers.find(data.service);
  if (server == registry().servers.end()) return RMW_RET_OK;
  server->second->requests.push(facts, *static_cast<const AddTwoInts::Request *>(request));
  return RMW_RET_OK;
}

rmw_ret_t rmw_take_request(const rmw_service_t *service, rmw_service_info_t *info, void *request,
                           bool *taken) {
  auto *const server = static_cast<Server *>(service->data);
  const std::lock_guard lock(registry().mutex);
  const ServiceFacts facts = server->requests.pop(*static_cast<AddTwoInts::Request *>(request));
  *taken = facts.taken;
  ground_truth::service_facts(facts);
  if (!facts.taken) return RMW_RET_OK;
  rmw_common::describe_request(*info, facts.client_gid, facts.source_timestamp);
  info->request_id.sequence_number = facts.sequence_number;
  return RMW_RET_OK;
}

rmw_ret_t rmw_send_response(const rmw_service_t *, rmw_request_id_t *header, void *response) {
  ServiceFacts facts{{}, header->sequence_number, rmw_common::system_time(), false};
  std::memcpy(facts.client_gid.data(), header->writer_guid, facts.client_gid.size());
  ground_truth::service_facts(facts);
  const std::lock_guard lock(registry().mutex);
  Client *const client = client_with(facts.client_gid);
  if (client == nullptr) return RMW_RET_ERROR;
  client->responses.push(facts, *static_cast<AddTwoInts::Response *>(response));
  return RMW_RET_OK;
}

rmw_ret_t rmw_take_response(const rmw_client_t *client, rmw_service_info_t *info, void *response,
                            bool *taken) {
  const std::lock_guard lock(registry().mutex);
  Client &data = client_of(client);
  const ServiceFacts facts = data.responses.pop(*static_cast<AddTwoInts::Response *>(response));
  *taken = facts.taken;
  ground_truth::service_facts(facts);
  if (!facts.taken) return RMW_RET_OK;
  rmw_common::describe_response(*info, facts.client_gid, facts.source_timestamp);
  info->request_id.sequence_number = facts.sequence_number;
  return RMW_RET_OK;
}

rmw_ret_t rmw_service_set_on_new_request_callback(rmw_service_t *service,
                                                  rmw_event_callback_t callback,
                                                  const void *user_data) {
  auto *const server = static_cast<Server *>(service->data);
  const std::lock_guard lock(registry().mutex);
  server->requests.on_new = callback;
  server->requests.user_data = user_data;
  return RMW_RET_OK;
}

rmw_ret_t rmw_client_set_on_new_response_callback(rmw_client_t *client,
                                                  rmw_event_callback_t callback,
                                                  const void *user_data) {
  const std::lock_guard lock(registry().mutex);
  Client &data = client_of(client);
  data.responses.on_new = callback;
  data.responses.user_data = user_data;
  return RMW_RET_OK;
}

bool standin_has_request(const rmw_service_t *service) {
  const std::lock_guard lock(registry().mutex);
  return !static_cast<Server *>(service->data)->requests.entries.empty();
}

bool standin_has_response(const rmw_client_t *client) {
  const std::lock_guard lock(registry().mutex);
  return !client_of(client).responses.entries.empty();
}
