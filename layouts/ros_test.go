package layouts

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestOffsetsOfRealROS compares the layouts with the debugging information of each distribution that is installed with it.
func TestOffsetsOfRealROS(t *testing.T) {
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	for _, distro := range Distros() {
		t.Run(distro, func(t *testing.T) {
			prefix := filepath.Join("/opt/ros", distro)
			if _, err := os.Stat(filepath.Join(prefix, "READY")); err != nil {
				t.Skipf("no ROS 2 in %s", prefix)
			}
			layout, err := For(distro, machine)
			if err != nil {
				t.Fatal(err)
			}
			compareOffsets(t, filepath.Join(prefix, "lib", "librcl.so"), map[string]uint64{
				member("struct rcl_node_s", "impl"):                          layout.Node.Impl,
				member("struct rcl_node_impl_s", "rmw_node_handle"):          layout.Node.RMWHandle,
				member("struct rcl_publisher_s", "impl"):                     layout.Publisher.Impl,
				member("struct rcl_publisher_impl_s", "rmw_handle"):          layout.Publisher.RMWHandle,
				member("struct rcl_publisher_impl_s", "actual_qos.depth"):    layout.Publisher.Depth,
				member("struct rcl_subscription_s", "impl"):                  layout.Subscription.Impl,
				member("struct rcl_subscription_impl_s", "rmw_handle"):       layout.Subscription.RMWHandle,
				member("struct rcl_subscription_impl_s", "actual_qos.depth"): layout.Subscription.Depth,
				member("struct rcl_service_s", "impl"):                       layout.Service.Impl,
				member("struct rcl_service_impl_s", "rmw_handle"):            layout.Service.RMWHandle,
				member("struct rcl_timer_s", "impl"):                         layout.Timer.Impl,
				member("struct rcl_timer_impl_s", "period"):                  layout.Timer.Period,
				member("struct rmw_node_s", "name"):                          layout.RMWNode.Name,
				member("struct rmw_node_s", "namespace_"):                    layout.RMWNode.Namespace,
				member("struct rmw_publisher_s", "topic_name"):               layout.RMWTopicName.Publisher,
				member("struct rmw_subscription_s", "topic_name"):            layout.RMWTopicName.Subscription,
				member("struct rmw_service_s", "service_name"):               layout.RMWTopicName.Service,
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
				// The callback is the first member of the derived classes.
				"sizeof(rclcpp::SubscriptionBase)": callbacks[OwnerSubscription],
				"sizeof(rclcpp::TimerBase)":        callbacks[OwnerTimer],
			})
		})
	}
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
	if len(lines) != len(expressions) {
		t.Fatalf("%s: gdb answers %d of %d questions: %s", library, len(lines), len(expressions), output)
	}
	for i, expression := range expressions {
		if got, err := strconv.ParseUint(lines[i], 10, 64); err != nil || got != wanted[expression] {
			t.Errorf("%s = %s, the table has %d", expression, lines[i], wanted[expression])
		}
	}
}
