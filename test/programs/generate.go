package programs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// The distributions that programs are generated for.
const (
	Humble = "humble"
	Jazzy  = "jazzy"
)

// Program is a generated program.
type Program struct {
	Seed   uint64
	Distro string
	// Source is one C++ file, which includes runtime/program.hpp.
	Source string
	// Stripped programs have no symbol table.
	Stripped bool
	// Component programs are libraries, which a process loads that has rclcpp already.
	Component bool
	// Features say what the program has, sorted.
	Features []string
}

// Generate returns the program of a seed. It is the same whenever it is called.
func Generate(seed uint64, distro string) Program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), distro: distro, features: map[string]bool{}}
	g.choose()
	stripped := g.chance(30)
	if stripped {
		g.feature("no symbol table")
	}
	component := seed%componentEvery == componentAt
	if component {
		g.feature("loaded as a component")
	}
	return Program{
		Seed: seed, Distro: distro, Source: g.source(seed), Stripped: stripped, Component: component, Features: slices.Sorted(maps.Keys(g.features)),
	}
}

// One program of so many is loaded as a component.
const componentEvery, componentAt = 10, 3

// generator makes choices and writes them down as parts of the source.
type generator struct {
	*rand.Rand
	distro   string
	last     int // number of the entity that was chosen last
	features map[string]bool

	executors  []*executor
	nodes      []*node
	topics     []*topic
	publishers []*publisher
	callbacks  []*callback
	// callers are the statements that call a service or an action.
	callers []string
	// responders answer what services have deferred.
	responders []string
	triggers   []string
	toggles    []*toggle
	polls      []*poll
	resets     []*callback
	workers    []*callback

	// declarations are variables and functions that everything may use, definitions what callables are made of; making,
	// ending and the others are statements of main.
	declarations, definitions, making, beginning, spinning, stopping, ending strings.Builder
}

// executor spins nodes and groups.
type executor struct {
	id     int
	kind   string
	nested bool // some callback spins it
	// exclusive: runs one callback at a time. throwing: callbacks may throw. making: entities may be made while it spins.
	// resetting: callbacks may reset timers. complete: nodes have to have their entities when they come to it.
	exclusive, throwing, making, resetting, complete bool
}

type node struct {
	id       int
	name     string // variable of a shared pointer
	executor *executor
	managed  bool
	groups   []*group
}

// group is a callback group; variable is what entities are made with.
type group struct {
	variable  string
	exclusive bool // never two callbacks at once
	executor  *executor
}

// topic orders the flow of messages: callbacks of a topic publish only to those of higher rank, so nothing goes in
// circles.
type topic struct {
	rank      int
	name      string
	message   string // C++ type
	kind      string // ROS type
	qos       string
	intra     bool // the quality of service allows intra-process communication
	rate      float64
	consumers []*callback
}

type publisher struct {
	topic *topic
	// statements publish one message, each in its way.
	statements []string
}

// callback is a body that random steps are put into.
type callback struct {
	id     int
	node   *node
	traced bool
	rank   int // of what it is about; messages of higher topics may be published
	rate   float64
	// exclusive: never two executions at once.
	exclusive bool
	executor  *executor
	steps     []string
	last      []string // that leave the body
}

// toggle makes and destroys an entity in turn.
type toggle struct {
	statement string
	executor  *executor
}

type poll struct {
	statement string
	node      *node
}

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// chance is true in so many of 100 cases.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) feature(name string) { g.features[name] = true }

func (g *generator) next() int {
	g.last++
	return g.last
}

// maxRate bounds the messages and calls a second of a topic: programs must not be busy all the time.
const maxRate = 150

func (g *generator) choose() {
	g.chooseExecutors()
	g.chooseNodes()
	g.chooseTopics()
	for range 2 + g.IntN(4) {
		g.choosePublisher()
	}
	for range 3 + g.IntN(5) {
		g.chooseTimer(false)
	}
	// rclcpp does nothing with messages of publishers with intra-process communication that nobody subscribes to.
	for _, t := range g.topics {
		g.chooseSubscription(t, false)
	}
	for range 1 + g.IntN(4) {
		g.chooseSubscription(pick(g, g.topics), false)
	}
	for range 1 + g.IntN(2) {
		g.chooseService()
	}
	if g.chance(30) {
		g.chooseAction()
	}
	if g.chance(30) {
		g.chooseWaitable()
	}
	if g.chance(40) {
		g.choosePoll()
	}
	if g.chance(50) {
		g.chooseWorker()
	}
	for range g.IntN(3) {
		if g.chance(50) {
			g.chooseTimer(true)
		} else {
			g.chooseSubscription(pick(g, g.topics), true)
		}
	}
	if g.chance(20) {
		g.choosePassingNode()
	}
	g.chooseSteps()
	for _, e := range g.executors {
		fmt.Fprintf(&g.ending, "  executor%d.reset();\n", e.id)
	}
	for _, n := range g.nodes {
		fmt.Fprintf(&g.ending, "  %s.reset();\n", n.name)
	}
}

// source puts the parts together.
func (g *generator) source(seed uint64) string {
	var s strings.Builder
	fmt.Fprintf(&s, "// A random program for ROS 2 %s, seed %d.\n#include \"program.hpp\"\n\nnamespace {\n\nusing namespace program;\n\n", g.distro, seed)
	s.WriteString(g.declarations.String())
	for _, c := range g.callbacks {
		fmt.Fprintf(&s, "void entity%d_body(int self, std::uint64_t number);\n", c.id)
	}
	s.WriteString("\n" + g.definitions.String() + "\n")
	for _, c := range g.callbacks {
		s.WriteString(c.definition())
	}
	fmt.Fprintf(&s, "}  // namespace\n\nint main(int argc, char **argv) {\n  begin(argc, argv);\n%s%s%s  run();\n%s%s  return end();\n}\n",
		g.making.String(), g.beginning.String(), g.spinning.String(), g.stopping.String(), g.ending.String())
	return s.String()
}

func (c *callback) definition() string {
	traced := ""
	if !c.traced {
		traced = ", Traced::no"
	}
	text := fmt.Sprintf("void entity%d_body(int self, std::uint64_t number) {\n  Execution execution(self, number%s);\n", c.id, traced)
	if len(c.steps)+len(c.last) > 0 {
		text += "  static std::atomic<unsigned> turns{0};\n  const unsigned turn = ++turns;\n"
	}
	for _, step := range slices.Concat(c.steps, c.last) {
		text += "  " + step + "\n"
	}
	return text + "}\n\n"
}
