package programs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestGeneratedProgramsAreReproducible(t *testing.T) {
	for _, distro := range []string{Humble, Jazzy} {
		for seed := range uint64(20) {
			if first, second := Generate(seed, distro), Generate(seed, distro); first.Source != second.Source || !slices.Equal(first.Features, second.Features) {
				t.Errorf("seed %d for %s gives two programs", seed, distro)
			}
		}
		if Generate(1, distro).Source == Generate(2, distro).Source {
			t.Errorf("two seeds give one program for %s", distro)
		}
	}
}

// TestGeneratedProgramsVary demands that a hundred programs have every shape, each of them more than once.
func TestGeneratedProgramsVary(t *testing.T) {
	const rare = 2
	common := []string{
		"action", "client: callback", "client: future only", "entity that comes and goes", "event callback", "exception",
		"generic publisher", "group: MutuallyExclusive", "group: Reentrant", "group: in an executor of its own",
		"message: Integer", "message: Stamped", "message: String", "namespace: /space",
		"nested spinning", "nested spinning: exceptions are caught around it", "no symbol table", "node: with a life cycle",
		"node: with intra-process communication", "node that comes and goes", "node: comes to its executor before it has entities", "polled subscription",
		"publish: in a callback", "publisher: serialized and loaned messages", "publisher: type adapter",
		"qos: best effort", "qos: deadline", "qos: transient local",
		"service: deferred", "service: deferred with service", "service: plain", "service: with request header",
		"service: answers what it deferred in its own callback", "spin: MultiThreadedExecutor::spin()", "spin: SingleThreadedExecutor::spin()",
		"subscription: buffer of unique pointers", "subscription: intra-process Disable", "subscription: intra-process Enable",
		"subscription: type adapter", "subscription: with message info",
		"thread that runs no callbacks", "timer that is reset", "timer: callback is given the timer", "timer: clock", "timer: of a reference",
		"loaded as a component", "timer: of a reference with a clock", "timer: own class", "timer: own class with a clock", "timer: wall", "waitable",
		"callable: function pointer", "callable: functor that was bound to a variable", "callable: functor without members",
		"callable: lambda of what comes and goes", "callable: lambda of what comes and goes with more",
		"callable: std::function of what comes and goes", "callable: functor of what comes and goes",
		"callable: lambda that cannot be copied", "callable: lambda that captures nothing", "callable: lambda with a value and a reference",
		"callable: lambda with a reference", "callable: lambda with this", "callable: polymorphic functor", "callable: std::bind of a method",
		"callable: std::function of a lambda",
	}
	for _, h := range holdings {
		common = append(common, "callable: lambda with "+h.name)
	}
	for _, form := range slices.Concat(messageForms, serializedForms) {
		common = append(common, "subscription: "+form.kind)
	}
	own := map[string][]string{
		Humble: {"spin: StaticSingleThreadedExecutor::spin()", "generic subscription: std::shared_ptr<rclcpp::SerializedMessage>"},
		Jazzy:  {"spin: EventsExecutor::spin()", "generic subscription: const rclcpp::SerializedMessage &", "timer: node's clock"},
	}
	for distro, special := range own {
		counts := map[string]int{}
		for seed := range uint64(100) {
			for _, feature := range Generate(seed, distro).Features {
				counts[feature]++
			}
		}
		for _, feature := range slices.Concat(common, special) {
			if counts[feature] < rare {
				t.Errorf("%s: %d of 100 programs have %q", distro, counts[feature], feature)
			}
		}
	}
}

var passing = regexp.MustCompile(`Log::instance\(\)\.ended\(\d+000 \+ entity\d+_count\);\n    `)

var resetTimer = regexp.MustCompile(`timer\d+->reset\(\)`)

var definedBody = regexp.MustCompile(`(?s)void entity(\d+)_body\(int self, std::uint64_t number\) \{\n(.*?)\n\}`)

// TestGeneratedProgramsSpareWhatDistributionsCannot looks for what would crash or hang ROS 2 by itself.
func TestGeneratedProgramsSpareWhatDistributionsCannot(t *testing.T) {
	for seed := range uint64(300) {
		humble, jazzy := Generate(seed, Humble), Generate(seed, Jazzy)
		if strings.Contains(humble.Source, "EventsExecutor") || strings.Contains(jazzy.Source, "StaticSingleThreadedExecutor") {
			t.Errorf("seed %d: has an executor of the other distribution", seed)
		}
		if strings.Contains(humble.Source, "StaticSingleThreadedExecutor") && passing.MatchString(humble.Source) {
			t.Errorf("seed %d: entities come and go beside a StaticSingleThreadedExecutor", seed)
		}
		for _, p := range []Program{humble, jazzy} {
			if only := regexp.MustCompile(`executor\d+ = std::make_unique<rclcpp::(\S+)>`).FindAllStringSubmatch(p.Source, -1); len(only) == 1 {
				switch kind := only[0][1]; {
				case strings.HasSuffix(kind, "StaticSingleThreadedExecutor") && strings.Contains(p.Source, "_toggle() {"):
					t.Errorf("seed %d for %s: entities come and go in a %s", seed, p.Distro, kind)
				case strings.HasSuffix(kind, "EventsExecutor") && resetTimer.MatchString(p.Source):
					t.Errorf("seed %d for %s: a timer is reset in a %s", seed, p.Distro, kind)
				case !strings.HasSuffix(kind, "SingleThreadedExecutor") && strings.Contains(p.Source, "throw Thrown()"):
					t.Errorf("seed %d for %s: a callback throws in a %s", seed, p.Distro, kind)
				}
			}
		}
	}
}

// TestGeneratedCallbacksAreDefinedOnce reads sources as a compiler would not: every callback has one body, and no
// callback publishes what would come back to it.
func TestGeneratedCallbacksAreDefinedOnce(t *testing.T) {
	for seed := range uint64(50) {
		p := Generate(seed, Jazzy)
		seen := map[string]bool{}
		for _, match := range definedBody.FindAllStringSubmatch(p.Source, -1) {
			if seen[match[1]] {
				t.Errorf("seed %d: entity %s has two bodies", seed, match[1])
			}
			seen[match[1]] = true
		}
		if len(seen) < 6 {
			t.Errorf("seed %d: has only %d callbacks", seed, len(seen))
		}
		for id := range seen {
			if calls := strings.Count(p.Source, fmt.Sprintf("entity%s_body(", id)); calls < 3 { // declaration, definition, call
				t.Errorf("seed %d: nobody calls entity %s", seed, id)
			}
		}
	}
}
