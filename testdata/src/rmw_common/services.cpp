// Services and clients of both rmws: requests and responses travel through queues inside the
// process, not over DDS. The only service type is example_interfaces/srv/AddTwoInts.
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "example_interfaces/srv/add_two_ints.hpp"
#include "rmw/rmw.h"

namespace {

using example_interfaces::srv::AddTwoInts;

template <typename Message>
struct Queue {
  struct Entry {
    rmw_request_id_t id;
    Message message;
  };
  std::deque<Entry> entries;
  rmw_event_callback_t on_new = nullptr;
  const void *user_data = nullptr;

  void push(const rmw_request_id_t &id, const Message &message) {
    entries.push_back({id, message});
    if (on_new != nullptr) on_new(user_data, 1);
  }

  bool pop(rmw_request_id_t &id, Message &message) {
    if (entries.empty()) return false;
    id = entries.front().id;
    message = entries.front().message;
    entries.pop_front();
    return true;
  }
};

struct Server {
  Queue<AddTwoInts::Request> requests;
};

struct Client {
  std::string service;
  std::int64_t sequence = 0;
  Queue<AddTwoInts::Response> responses;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, Server *> servers;
  std::set<Client *> clients;
};

Registry &registry() {
  static Registry instance;
  return instance;
}

const char *copy_name(const char *name) { return strdup(name); }

}  // namespace

rmw_service_t *rmw_create_service(const rmw_node_t *node, const char *name) {
  auto *const server = new Server;
  const std::lock_guard lock(registry().mutex);
  registry().servers[name] = server;
  return new rmw_service_t{node->implementation_identifier, server, copy_name(name)};
}

rmw_ret_t rmw_destroy_service(rmw_node_t *, rmw_service_t *service) {
  const std::lock_guard lock(registry().mutex);
  registry().servers.erase(service->service_name);
  delete static_cast<Server *>(service->data);
  std::free(const_cast<char *>(service->service_name));
  delete service;
  return RMW_RET_OK;
}

rmw_client_t *rmw_create_client(const rmw_node_t *node, const char *name) {
  auto *const client = new Client{name, 0, {}};
  const std::lock_guard lock(registry().mutex);
  registry().clients.insert(client);
  return new rmw_client_t{node->implementation_identifier, client, copy_name(name)};
}

rmw_ret_t rmw_destroy_client(rmw_node_t *, rmw_client_t *client) {
  const std::lock_guard lock(registry().mutex);
  auto *const data = static_cast<Client *>(client->data);
  registry().clients.erase(data);
  delete data;
  std::free(const_cast<char *>(client->service_name));
  delete client;
  return RMW_RET_OK;
}

rmw_ret_t rmw_send_request(const rmw_client_t *client, const void *request,
                           std::int64_t *sequence) {
  auto *const data = static_cast<Client *>(client->data);
  const std::lock_guard lock(registry().mutex);
  *sequence = ++data->sequence;
  const auto server = registry().servers.find(data->service);
  if (server == registry().servers.end()) return RMW_RET_OK;
  rmw_request_id_t id{};
  std::memcpy(id.writer_guid, &data, sizeof data);
  id.sequence_number = *sequence;
  server->second->requests.push(id, *static_cast<const AddTwoInts::Request *>(request));
  return RMW_RET_OK;
}

rmw_ret_t rmw_take_request(const rmw_service_t *service, rmw_service_info_t *info, void *request,
                           bool *taken) {
  auto *const server = static_cast<Server *>(service->data);
  const std::lock_guard lock(registry().mutex);
  *taken = server->requests.pop(info->request_id, *static_cast<AddTwoInts::Request *>(request));
  return RMW_RET_OK;
}

rmw_ret_t rmw_send_response(const rmw_service_t *, rmw_request_id_t *header, void *response) {
  Client *client = nullptr;
  std::memcpy(&client, header->writer_guid, sizeof client);
  const std::lock_guard lock(registry().mutex);
  if (registry().clients.count(client) == 0) return RMW_RET_ERROR;
  client->responses.push(*header, *static_cast<AddTwoInts::Response *>(response));
  return RMW_RET_OK;
}

rmw_ret_t rmw_take_response(const rmw_client_t *client, rmw_service_info_t *info, void *response,
                            bool *taken) {
  auto *const data = static_cast<Client *>(client->data);
  const std::lock_guard lock(registry().mutex);
  *taken = data->responses.pop(info->request_id, *static_cast<AddTwoInts::Response *>(response));
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
  auto *const data = static_cast<Client *>(client->data);
  const std::lock_guard lock(registry().mutex);
  data->responses.on_new = callback;
  data->responses.user_data = user_data;
  return RMW_RET_OK;
}

bool standin_has_request(const rmw_service_t *service) {
  const std::lock_guard lock(registry().mutex);
  return !static_cast<Server *>(service->data)->requests.entries.empty();
}

bool standin_has_response(const rmw_client_t *client) {
  const std::lock_guard lock(registry().mutex);
  return !static_cast<Client *>(client->data)->responses.entries.empty();
}
