package probes

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/distros"
)

// The libraries in this file have what the releases of a distribution export, written down from their sources and not
// from the catalogue, so that a plan for a distribution that is not installed shows whether the catalogue's names are
// found in it.

// shape is what the libraries of a distribution export, as far as it matters.
type shape struct {
	tracepoints, rcl, rclcpp []string
	// fastDDS is the library that rmw_fastrtps uses. Cyclone DDS's has the same functions everywhere.
	fastDDS fixture
	// environment tells the distribution where its libraries are those of another, too.
	environment []string
	// missing are the events that it does not show.
	missing []abi.Event
	// stamped says that the source timestamp is read in the DDS library, for Fast DDS at an offset in its change.
	stamped   bool
	fastDDSAt uint16
	// parameters are offsets that events' sites carry, on x86-64.
	parameters map[abi.Event]uint16
}

// tracepointsOfIron are Iron's and Jazzy's.
var tracepointsOfIron = strings.Fields(`
	rcl_init rcl_node_init rcl_publisher_init rcl_subscription_init rcl_service_init rcl_client_init rcl_timer_init rcl_publish rcl_take
	rcl_lifecycle_state_machine_init rcl_lifecycle_transition
	rmw_publisher_init rmw_subscription_init rmw_publish rmw_take
	rclcpp_publish rclcpp_intra_publish rclcpp_subscription_init rclcpp_subscription_callback_added rclcpp_service_callback_added
	rclcpp_timer_callback_added rclcpp_timer_link_node rclcpp_callback_register callback_start callback_end rclcpp_take
	rclcpp_executor_get_next_ready rclcpp_executor_wait_for_work rclcpp_executor_execute
	rclcpp_ipb_to_subscription rclcpp_buffer_to_ipb rclcpp_construct_ring_buffer rclcpp_ring_buffer_enqueue rclcpp_ring_buffer_dequeue
	rclcpp_ring_buffer_clear
`)

// tracepointsOfKilted were added with Kilted.
var tracepointsOfKilted = strings.Fields("rmw_client_init rmw_send_request rmw_take_request rmw_send_response rmw_take_response")

// tracepointsOfLyrical were added with Lyrical.
var tracepointsOfLyrical = strings.Fields("message_link_periodic_async message_link_partial_sync")

// rclFunctions are every distribution's. Those after a colon are called by the function before it.
var rclFunctions = strings.Fields(`
	rcl_publish rcl_publish_serialized_message rcl_publish_loaned_message rcl_take
	rcl_take_serialized_message:rmw_take_serialized_message_with_info rcl_take_loaned_message:rmw_take_loaned_message_with_info
	rcl_send_request:rmw_send_request rcl_take_request rcl_take_request_with_info:rmw_take_request rcl_send_response
	rcl_take_response rcl_take_response_with_info:rmw_take_response rcl_set_ros_time_override
	rcl_publisher_fini rcl_subscription_fini rcl_timer_fini rcl_service_fini rcl_client_fini rcl_node_fini
`)

// rclcppFunctions are every distribution's.
var rclcppFunctions = strings.Fields(`
	_ZN6rclcpp8ExecutorC2ERKNS_15ExecutorOptionsE _ZN6rclcpp8ExecutorD2Ev
	_ZN6rclcpp9executors22SingleThreadedExecutorC2ERKNS_15ExecutorOptionsE
	_ZN6rclcpp9executors21MultiThreadedExecutorC2ERKNS_15ExecutorOptionsEmbNSt6chrono8durationIlSt5ratioILl1ELl1000000000EEEE
	_ZN6rclcpp8Executor22execute_any_executableERNS_13AnyExecutableE
	_ZN6rclcpp15node_interfaces10NodeTimers9add_timerESt10shared_ptrINS_9TimerBaseEES2_INS_13CallbackGroupEE
	_ZN6rclcpp15node_interfaces10NodeTopics13add_publisherESt10shared_ptrINS_13PublisherBaseEES2_INS_13CallbackGroupEE
	_ZNK6rclcpp13PublisherBase22get_subscription_countEv _ZN6rclcpp14GuardCondition7triggerEv
`)

// returningFunctions are every distribution's functions of rclcpp that its executors call and go on after.
var returningFunctions = strings.Fields(`
	_ZN6rclcpp8Executor15execute_serviceESt10shared_ptrINS_11ServiceBaseEE
	_ZN6rclcpp8Executor13wait_for_workENSt6chrono8durationIlSt5ratioILl1ELl1000000000EEEE
`)

const (
	staticExecutor = "_ZN6rclcpp9executors28StaticSingleThreadedExecutorC2ERKNS_15ExecutorOptionsE"
	eventsExecutor = "_ZN6rclcpp12experimental9executors14EventsExecutorC2ESt10unique_ptrINS1_11EventsQueueESt14default_deleteIS4_EEbRKNS_15ExecutorOptionsE"
	addTimer       = "_ZN6rclcpp13CallbackGroup9add_timerESt10shared_ptrINS_9TimerBaseEE"
	addSubscriber  = "_ZN6rclcpp13CallbackGroup16add_subscriptionESt10shared_ptrINS_16SubscriptionBaseEE"
	addService     = "_ZN6rclcpp13CallbackGroup11add_serviceESt10shared_ptrINS_11ServiceBaseEE"
	addClient      = "_ZN6rclcpp13CallbackGroup10add_clientESt10shared_ptrINS_10ClientBaseEE"
	addWaitable    = "_ZN6rclcpp13CallbackGroup12add_waitableESt10shared_ptrINS_8WaitableEE"
	addToCollector = "_ZN6rclcpp9executors25ExecutorEntitiesCollector32add_callback_group_to_collectionESt10shared_ptrINS_13CallbackGroupEERSt3setISt8weak_ptrIS3_ESt10owner_lessIS7_ESaIS7_EE"
	executeTimer   = "_ZN6rclcpp8Executor13execute_timerESt10shared_ptrINS_9TimerBaseEE"
	genericService = "_ZN6rclcpp14GenericService14create_requestEv"
)

// fromIronToKilted are functions that take what they share by value.
var fromIronToKilted = []string{staticExecutor, eventsExecutor, addTimer, addSubscriber, addService, addClient, addWaitable, addToCollector}

// byReference are the symbols of functions whose shared pointers Lyrical passes by reference.
func byReference(symbols ...string) []string {
	var changed []string
	for _, symbol := range symbols {
		changed = append(changed, strings.Replace(symbol, "ESt10shared_ptr", "ERKSt10shared_ptr", 1))
	}
	return changed
}

var shapes = map[distros.Distro]shape{
	distros.Iron: {
		tracepoints: tracepointsOfIron,
		rcl:         append(slices.Clone(rclFunctions), "rcl_timer_init"),
		rclcpp: slices.Concat(rclcppFunctions, fromIronToKilted, []string{
			executeTimer,
			"_ZN6rclcpp8Executor25add_callback_group_to_mapESt10shared_ptrINS_13CallbackGroupEES1_INS_15node_interfaces17NodeBaseInterfaceEERSt3mapISt8weak_ptrIS2_ES8_IS5_ESt10owner_lessIS9_ESaISt4pairIKS9_SA_EEEb",
			"_ZN6rclcpp9executors31StaticExecutorEntitiesCollector18add_callback_groupESt10shared_ptrINS_13CallbackGroupEES2_INS_15node_interfaces17NodeBaseInterfaceEERSt3mapISt8weak_ptrIS3_ES9_IS6_ESt10owner_lessISA_ESaISt4pairIKSA_SB_EEE",
		}),
		fastDDS: fixture{"libfastrtps.so.2.10", fastDDS.source},
		missing: []abi.Event{abi.EventRclcppCallbackRegister},
		stamped: true, fastDDSAt: 108,
		parameters: map[abi.Event]uint16{
			abi.EventRclPublish: 248, abi.EventCallbackGroupAddTimer: 96, abi.EventCallbackGroupAddSubscription: 48, abi.EventCallbackGroupAddService: 24,
			abi.EventCallbackGroupAddClient: 88, abi.EventAddPublisher: 40,
		},
	},
	distros.Kilted: {
		tracepoints: slices.Concat(tracepointsOfIron, tracepointsOfKilted),
		rcl:         append(slices.Clone(rclFunctions), "rcl_timer_init2"),
		rclcpp:      slices.Concat(rclcppFunctions, fromIronToKilted, []string{executeTimer + "RKS1_IvE", genericService}),
		fastDDS: fixture{
			"libfastdds.so.3.2", "void _ZN8eprosima7fastdds4rtps13WriterHistory13set_fragmentsEPNS1_13CacheChange_tE(void *h, void *c) {}\n",
		},
		missing: []abi.Event{abi.EventRclcppCallbackRegister, abi.EventAddCallbackGroup, abi.EventAddCallbackGroupStaticExecutor},
		parameters: map[abi.Event]uint16{
			abi.EventRclPublish: 248, abi.EventCallbackGroupAddTimer: 96, abi.EventCallbackGroupAddSubscription: 120, abi.EventCallbackGroupAddService: 96,
			abi.EventCallbackGroupAddClient: 160, abi.EventAddPublisher: 40,
		},
	},
	distros.Lyrical: {
		tracepoints: slices.Concat(tracepointsOfIron, tracepointsOfKilted, tracepointsOfLyrical),
		rcl:         append(slices.Clone(rclFunctions), "rcl_timer_init2"),
		rclcpp: slices.Concat(rclcppFunctions, []string{
			// The parameters of its constructor come in another order.
			"_ZN6rclcpp12experimental9executors14EventsExecutorC2ERKNS_15ExecutorOptionsESt10unique_ptrINS1_11EventsQueueESt14default_deleteIS7_EEb",
			genericService,
		}, byReference(addTimer, addSubscriber, addService, addClient, addWaitable, addToCollector, executeTimer+"RKS1_IvE")),
		fastDDS: fixture{
			"libfastdds.so.3.6", "void _ZN8eprosima7fastdds4rtps13WriterHistory13set_fragmentsEPNS1_13CacheChange_tE(void *h, void *c) {}\n",
		},
		environment: []string{"ROS_DISTRO=lyrical"}, // Rolling's libraries are like it
		missing:     []abi.Event{abi.EventRclcppCallbackRegister, abi.EventAddCallbackGroup, abi.EventAddCallbackGroupStaticExecutor},
		parameters: map[abi.Event]uint16{
			abi.EventRclPublish: 248, abi.EventCallbackGroupAddTimer: 96, abi.EventCallbackGroupAddSubscription: 120, abi.EventCallbackGroupAddService: 96,
			abi.EventCallbackGroupAddClient: 160, abi.EventAddPublisher: 40,
		},
	},
}

// libraries are the shape's libraries as C sources.
func (s shape) libraries() []fixture {
	var tracepoints, rcl, rclcpp strings.Builder
	for _, name := range s.tracepoints {
		// As tracetools built with LTTng: nothing happens unless a session has the event on.
		fmt.Fprintf(&tracepoints, `
static volatile int state_of_%[1]s;
_Bool ros_trace_enabled_%[1]s(void) { return state_of_%[1]s != 0; }
void ros_trace_do_%[1]s(void *a, void *b, void *c, void *d, void *e) { __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e)); }
void ros_trace_%[1]s(void *a, void *b, void *c, void *d, void *e) { if (state_of_%[1]s) ros_trace_do_%[1]s(a, b, c, d, e); }
`, name)
	}
	for _, function := range s.rcl {
		name, callee, calls := strings.Cut(function, ":")
		if calls {
			fmt.Fprintf(&rcl, "int %[1]s(void) { return 0; }\nint %[2]s(void) { int result = %[1]s(); __asm__ volatile(\"\" : \"+r\"(result)); return result; }\n",
				callee, name)
			continue
		}
		fmt.Fprintf(&rcl, "int %s(void) { return 0; }\n", name)
	}
	for _, name := range returningFunctions {
		fmt.Fprintf(&rclcpp, "int %[1]s(void) { return 0; }\nint calls%[1]s(void) { return %[1]s() + 1; }\n", name)
	}
	for _, name := range s.rclcpp {
		fmt.Fprintf(&rclcpp, "void %s(void) {}\n", name)
		// The variant for complete objects shares the code.
		for variant, complete := range map[string]string{"C2E": "C1E", "D2E": "D1E"} {
			if strings.Contains(name, variant) {
				fmt.Fprintf(&rclcpp, "void %s(void) __attribute__((alias(%q)));\n", strings.Replace(name, variant, complete, 1), name)
			}
		}
	}
	return []fixture{{"libtracetools.so", tracepoints.String()}, {"librcl.so", rcl.String()}, {"librclcpp.so", rclcpp.String()}}
}

// TestPlanOfDistrosThatAreNotInstalled: a plan has a site of every event that the catalogue says the distribution
// shows, and says of the others why they are missing.
func TestPlanOfDistrosThatAreNotInstalled(t *testing.T) {
	for distro, shape := range shapes {
		for name, dds := range map[string][]fixture{"Fast DDS": {rmwFastDDS, shape.fastDDS}, "Cyclone DDS": {rmwCyclone, cycloneDDS}} {
			t.Run(string(distro)+" with "+name, func(t *testing.T) {
				p := startIn(t, t.TempDir(), shape.environment, slices.Concat(shape.libraries(), dds)...)
				if p.process.Distro != distro {
					t.Fatalf("taken for %v: %s", p.process.Distro, p.process.DistroEvidence)
				}
				plan, err := NewPlan(t.Context(), p.process, Options{Profile: ProfileFull})
				if err != nil {
					t.Fatal(err)
				}
				checkSites(t, p.process, plan.Sites)
				requireWhole(t, plan, shape.missing)
				requireEverySource(t, plan)
				if last := slices.Compact(lastLayers(plan)); shape.stamped != slices.Equal(last, []abi.Event{abi.EventDDSBindAddrToStamp}) || len(last) != 1 {
					t.Errorf("last layers %v", last)
				}
				if shape.stamped && name == "Fast DDS" {
					if site := siteOf(t, plan, abi.EventDDSBindAddrToStamp); site.Form != abi.FormFastDDS || site.Parameter != shape.fastDDSAt {
						t.Errorf("stamp at %+v", site)
					}
				}
				for event, want := range shape.parameters {
					if got := siteOf(t, plan, event).Parameter; got != want && runtime.GOARCH == "amd64" {
						t.Errorf("%s: parameter %d, want %d", event, got, want)
					}
				}
			})
		}
	}
}

// requireWhole demands a site of every event but those that are missing for a reason and those that another event
// carries.
func requireWhole(t *testing.T, plan *Plan, missing []abi.Event) {
	t.Helper()
	without := slices.Clone(missing)
	for _, entry := range catalogue {
		for _, source := range entry.sources(plan.Distro) {
			if source.CarriedBy != 0 {
				without = append(without, entry.Event)
			}
		}
	}
	if got, want := eventsOf(plan.Sites), allEvents(without...); !slices.Equal(got, want) {
		t.Errorf("sites of %v\nwant     %v\nmissing  %v", got, want, missingOf(plan))
	}
	var absent []abi.Event
	for _, m := range plan.Missing {
		absent = append(absent, m.Event)
		if m.Reason == "" || m.Consequence == "" || m.Partial {
			t.Errorf("missing %+v", m)
		}
	}
	slices.Sort(absent)
	if want := slices.Sorted(slices.Values(missing)); !slices.Equal(absent, want) {
		t.Errorf("missing %v, want %v", absent, want)
	}
}

// requireEverySource demands a site of every source that is used besides others.
func requireEverySource(t *testing.T, plan *Plan) {
	t.Helper()
	for _, entry := range catalogue {
		for _, source := range entry.sources(plan.Distro) {
			if source.Besides && plan.serves(source) && !slices.ContainsFunc(plan.Sites, func(site Site) bool {
				return site.Event == entry.Event && site.Form == source.Form && (site.Role == abi.RoleReturn) == source.Returns && strings.HasPrefix(site.Symbol, source.Symbol)
			}) {
				t.Errorf("%s: no site in %s", entry.Name, source.Symbol)
			}
		}
	}
}
