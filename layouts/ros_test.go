package layouts

import (
	"debug/elf"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/elffile"
)

// TestOffsetsOfRealROS compares the layouts with the debugging information of each distribution that is installed with
// it.
func TestOffsetsOfRealROS(t *testing.T) {
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	for _, distro := range released() {
		t.Run(distro, func(t *testing.T) {
			prefix := filepath.Join("/opt/ros", distro)
			if _, err := os.Stat(filepath.Join(prefix, "READY")); err != nil {
				t.Skipf("no ROS 2 in %s", prefix)
			}
			layout, err := For(distro, machine, nil)
			if err != nil {
				t.Fatal(err)
			}
			compareOffsets(t, filepath.Join(prefix, "lib", "librcl.so"), map[string]uint64{
				member("struct rcl_node_s", "impl"):                              layout.Node.Impl,
				member("struct rcl_node_impl_s", "rmw_node_handle"):              layout.Node.RMWHandle,
				member("struct rcl_publisher_s", "impl"):                         layout.Publisher.Impl,
				member("struct rcl_publisher_impl_s", "rmw_handle"):              layout.Publisher.RMWHandle,
				member("struct rcl_publisher_impl_s", "actual_qos.depth"):        layout.Publisher.Depth,
				member("struct rcl_subscription_s", "impl"):                      layout.Subscription.Impl,
				member("struct rcl_subscription_impl_s", "rmw_handle"):           layout.Subscription.RMWHandle,
				member("struct rcl_subscription_impl_s", "actual_qos.depth"):     layout.Subscription.Depth,
				member("struct rcl_service_s", "impl"):                           layout.Service.Impl,
				member("struct rcl_service_impl_s", "rmw_handle"):                layout.Service.RMWHandle,
				member("struct rcl_timer_s", "impl"):                             layout.Timer.Impl,
				member("struct rcl_timer_impl_s", "period"):                      layout.Timer.Period,
				member("struct rmw_node_s", "name"):                              layout.RMWNode.Name,
				member("struct rmw_node_s", "implementation_identifier"):         layout.RMWIdentifier,
				member("struct rmw_publisher_s", "implementation_identifier"):    layout.RMWIdentifier,
				member("struct rmw_subscription_s", "implementation_identifier"): layout.RMWIdentifier,
				member("struct rmw_service_s", "implementation_identifier"):      layout.RMWIdentifier,
				member("struct rmw_client_s", "implementation_identifier"):       layout.RMWIdentifier,
				member("struct rmw_message_info_s", "source_timestamp"):          layout.MessageInfo.SourceTimestamp,
				member("struct rmw_message_info_s", "publisher_gid.data"):        layout.MessageInfo.PublisherGID,
				member("struct rcutils_uint8_array_s", "buffer"):                 layout.SerializedMessage.Buffer,
				member("struct rmw_node_s", "namespace_"):                        layout.RMWNode.Namespace,
				member("struct rmw_publisher_s", "topic_name"):                   layout.RMWTopicName.Publisher,
				member("struct rmw_subscription_s", "topic_name"):                layout.RMWTopicName.Subscription,
				member("struct rmw_service_s", "service_name"):                   layout.RMWTopicName.Service,
				member("struct rcl_client_s", "impl"):                            layout.Client.Impl,
				member("struct rcl_client_impl_s", "rmw_handle"):                 layout.Client.RMWHandle,
				member("struct rmw_client_s", "service_name"):                    layout.RMWTopicName.Client,
				member("struct rmw_client_s", "data"):                            layout.GID.ClientData,
				member("struct rmw_publisher_s", "data"):                         layout.GID.PublisherData,
				// bpf/src/service_probes.h has these as structs: they are public types of rmw.
				member("struct rmw_service_info_s", "source_timestamp"):           0,
				member("struct rmw_service_info_s", "received_timestamp"):         8,
				member("struct rmw_service_info_s", "request_id.writer_guid"):     16,
				member("struct rmw_service_info_s", "request_id.sequence_number"): 32,
				member("rosout_map_entry_t", "node"):                              layout.RosoutEntry.Node,
				member("rosout_map_entry_t", "publisher"):                         layout.RosoutEntry.Publisher,
			})
			compareOffsets(t, filepath.Join(prefix, "lib", "librmw_fastrtps_shared_cpp.so"), map[string]uint64{
				member("CustomPublisherInfo", "publisher_gid"): layout.GID.FastDDSPublisher,
				member("CustomClientInfo", "writer_guid_"):     layout.GID.FastDDSClient,
			})
			compareOffsets(t, filepath.Join(prefix, "lib", "librmw_cyclonedds_cpp.so"), map[string]uint64{
				member("CddsPublisher", "gid"):     layout.GID.CyclonePublisher,
				member("CddsClient", "client.pub"): layout.GID.CycloneClient,
				member("CddsPublisher", "pubiid"):  layout.GID.CycloneHandle,
			})
			compareOffsets(t, filepath.Join(prefix, "lib", "librcl_lifecycle.so"), map[string]uint64{
				member("struct rcl_lifecycle_state_machine_s", "com_interface.pub_transition_event"): layout.StateMachine.TransitionEvent,
				member("struct rcl_lifecycle_state_machine_s", "com_interface.srv_change_state"):     layout.StateMachine.ChangeState,
			})
			callbacks := make(map[OwnerKind]uint64)
			for _, owner := range layout.Owners {
				callbacks[owner.Kind] = owner.Callback
			}
			compareOffsets(t, filepath.Join(prefix, "lib", "librclcpp.so"), map[string]uint64{
				member("rclcpp::SubscriptionBase", "node_handle_"):                          layout.SubscriptionBase.NodeHandle,
				member("rclcpp::SubscriptionBase", "subscription_handle_"):                  layout.SubscriptionBase.SubscriptionHandle,
				member("rclcpp::experimental::SubscriptionIntraProcessBase", "topic_name_"): layout.SubscriptionIntraProcess.TopicName,
				member("rclcpp::TimerBase", "timer_handle_"):                                layout.TimerBase.TimerHandle,
				member("rclcpp::ServiceBase", "node_handle_"):                               layout.ServiceBase.NodeHandle,
				member("rclcpp::ServiceBase", "service_handle_"):                            layout.ServiceBase.ServiceHandle,
				member("rclcpp::Context", "rcl_context_"):                                   layout.Context.RCLContext,
				member("rclcpp::node_interfaces::NodeBase", "node_handle_"):                 layout.NodeBase.NodeHandle,
				member("rclcpp::node_interfaces::NodeBase", "default_callback_group_"):      layout.NodeBase.DefaultCallbackGroup,
				member("rclcpp::node_interfaces::NodeBase", "callback_groups_"):             layout.NodeBase.CallbackGroups,
				member("rclcpp::CallbackGroup", "type_"):                                    layout.CallbackGroup.Type,
				member("rclcpp::CallbackGroup", "subscription_ptrs_"):                       layout.CallbackGroup.Subscriptions,
				member("rclcpp::CallbackGroup", "timer_ptrs_"):                              layout.CallbackGroup.Timers,
				member("rclcpp::CallbackGroup", "service_ptrs_"):                            layout.CallbackGroup.Services,
				member("rclcpp::CallbackGroup", "client_ptrs_"):                             layout.CallbackGroup.Clients,
				member("rclcpp::PublisherBase", "rcl_node_handle_"):                         layout.PublisherBase.NodeHandle,
				member("rclcpp::PublisherBase", "publisher_handle_"):                        layout.PublisherBase.PublisherHandle,
				member("rclcpp::PublisherBase", "type_support_"):                            layout.PublisherBase.TypeSupport,
				member("rclcpp::PublisherBase", "rmw_gid_"):                                 layout.GID.AnyPublisherBase,
				member("rclcpp::SubscriptionBase", "subscription_intra_process_"):           layout.SubscriptionBase.IntraProcess,
				member("rclcpp::SubscriptionBase", "type_support_"):                         layout.SubscriptionBase.TypeSupport,
				member("rclcpp::ClientBase", "node_handle_"):                                layout.ClientBase.NodeHandle,
				member("rclcpp::ClientBase", "client_handle_"):                              layout.ClientBase.ClientHandle,
				member("rclcpp::Executor", "context_"):                                      layout.Executor.Context,
				member("rclcpp::executors::MultiThreadedExecutor", "number_of_threads_"):    layout.Executor.Threads,
				// The callback is the first member of the derived classes.
				"sizeof(rclcpp::SubscriptionBase)": callbacks[OwnerSubscription],
				"sizeof(rclcpp::TimerBase)":        callbacks[OwnerTimer],
			})
			compareOffsets(t, filepath.Join(prefix, "lib", "librclcpp.so"), executorMembers(layout.Executor))
		})
	}
}

// TestAccessorsOfRealROS: what the accessor functions of a build of the known releases prove is what is known of these.
func TestAccessorsOfRealROS(t *testing.T) {
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	for _, distro := range released() {
		for _, suffix := range []string{"", "-stripped"} {
			t.Run(distro+suffix, func(t *testing.T) {
				prefix := filepath.Join("/opt/ros", distro+suffix)
				if _, err := os.Stat(filepath.Join(prefix, "READY")); err != nil {
					t.Skipf("no ROS 2 in %s", prefix)
				}
				learned := make(Learned)
				for _, name := range AccessorLibraries() {
					library, err := elffile.Open(filepath.Join(prefix, "lib", name))
					if err != nil {
						t.Fatal(err)
					}
					defer library.Close()
					maps.Copy(learned, Learn(name, library))
				}
				layout, err := For(distro, machine, learned)
				if err != nil {
					t.Fatal(err)
				}
				if len(layout.Differences) > 0 {
					t.Errorf("differences: %v", layout.Differences)
				}
				for _, a := range accessors() {
					for _, member := range a.members {
						if _, known := learned[member.name]; !known {
							t.Errorf("%s taught nothing of %s", a.function, member.name)
						}
					}
				}
			})
		}
	}
}

// executorMembers returns the expressions for the members that lead from executors to callback groups and that the
// distribution has.
func executorMembers(layout Executor) map[string]uint64 {
	wanted := map[string]uint64{
		member("rclcpp::Executor", "weak_groups_to_nodes_"):                              layout.Groups,
		member("rclcpp::Executor", "collector_"):                                         layout.Collector,
		member("rclcpp::executors::StaticSingleThreadedExecutor", "entities_collector_"): layout.StaticCollector,
		member("rclcpp::experimental::executors::EventsExecutor", "entities_collector_"): layout.EventsCollector,
	}
	static, collector := "rclcpp::executors::StaticExecutorEntitiesCollector", "rclcpp::executors::ExecutorEntitiesCollector"
	wanted[member(static, "weak_groups_associated_with_executor_to_nodes_")] = layout.StaticCollectorGroups[0]
	wanted[member(static, "weak_groups_to_nodes_associated_with_executor_")] = layout.StaticCollectorGroups[1]
	wanted[member(collector, "manually_added_groups_")] = layout.CollectorGroups[0]
	wanted[member(collector, "automatically_added_groups_")] = layout.CollectorGroups[1]
	wanted[member(collector, "pending_manually_added_groups_")] = layout.CollectorGroups[2]
	maps.DeleteFunc(wanted, func(_ string, offset uint64) bool { return offset == 0 })
	return wanted
}

// member returns the expression for the offset of a member.
func member(class, name string) string {
	if !strings.HasPrefix(class, "struct ") {
		class = "'" + class + "'" // as gdb wants it for a name with a scope
	}
	return "(unsigned long)&((" + class + " *)0)->" + name
}

// compareOffsets lets gdb evaluate expressions with the types of a library.
func compareOffsets(t *testing.T, library string, wanted map[string]uint64) {
	t.Helper()
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip("no gdb")
	}
	arguments := []string{"-nx", "-batch"}
	var expressions []string
	for expression := range wanted {
		expressions = append(expressions, expression)
		arguments = append(arguments, "-ex", "output "+expression, "-ex", `echo \n`)
	}
	output, err := exec.Command(gdb, append(arguments, library)...).Output()
	if err != nil {
		t.Fatalf("gdb: %v", err)
	}
	lines := strings.Fields(string(output))
	if len(lines) == 0 {
		t.Skipf("%s has no debugging information of types", library)
	}
	if len(lines) != len(expressions) {
		t.Fatalf("%s: gdb answers %d of %d questions: %s", library, len(lines), len(expressions), output)
	}
	for i, expression := range expressions {
		if got, err := strconv.ParseUint(lines[i], 10, 64); err != nil || got != wanted[expression] {
			t.Errorf("%s = %s, the table has %d", expression, lines[i], wanted[expression])
		}
	}
}
