package programs

import "fmt"

// executorKinds are rclcpp's executors by distribution. What some of them cannot do themselves is spared: Humble's
// StaticSingleThreadedExecutor crashes when entities are made while it spins, or after their node came to it, and
// Jazzy's EventsExecutor hangs when a callback resets a timer. Of a MultiThreadedExecutor's threads only one is the
// caller's, so nobody can catch what callbacks throw.
var executorKinds = map[string][]executor{
	Humble: {
		{kind: "SingleThreadedExecutor", exclusive: true, throwing: true, making: true, resetting: true},
		{kind: "MultiThreadedExecutor", making: true, resetting: true},
		{kind: "StaticSingleThreadedExecutor", exclusive: true, resetting: true, complete: true},
	},
	Jazzy: {
		{kind: "SingleThreadedExecutor", exclusive: true, throwing: true, making: true, resetting: true},
		{kind: "MultiThreadedExecutor", making: true, resetting: true},
		{kind: "EventsExecutor", exclusive: true, making: true},
	},
}

func (g *generator) chooseExecutors() {
	for range 1 + g.IntN(3) {
		e := pick(g, executorKinds[g.distro])
		g.addExecutor(&e)
		spin := "spin()"
		if e.kind == "SingleThreadedExecutor" {
			spin = pick(g, []string{"spin()", "spin()", "spin_once(100ms)", "spin_some(10ms), std::this_thread::sleep_for(1ms)", "spin_all(10ms), std::this_thread::sleep_for(1ms)"})
		}
		g.feature("spin: " + e.kind + "::" + spin)
		fmt.Fprintf(&g.declarations, "Spinner spinner%d;\n", e.id)
		fmt.Fprintf(&g.spinning, "  spinner%d.begin(*executor%d, [] { executor%d->%s; });\n", e.id, e.id, e.id, spin)
		fmt.Fprintf(&g.stopping, "  spinner%d.end();\n", e.id)
	}
}

func (g *generator) addExecutor(e *executor) {
	e.id = g.next()
	class, arguments := "rclcpp::executors::"+e.kind, ""
	switch e.kind {
	case "EventsExecutor":
		class = "rclcpp::experimental::executors::" + e.kind
	case "MultiThreadedExecutor":
		arguments = fmt.Sprintf("rclcpp::ExecutorOptions(), %d", 2+g.IntN(3))
	}
	g.executors = append(g.executors, e)
	fmt.Fprintf(&g.declarations, "std::unique_ptr<%s> executor%d;\n", class, e.id)
	fmt.Fprintf(&g.making, "  executor%d = std::make_unique<%s>(%s);\n", e.id, class, arguments)
}

func (g *generator) chooseNodes() {
	spinning := len(g.executors)
	for range 2 + g.IntN(3) {
		g.addNode(g.executors[g.IntN(spinning)])
	}
	if g.chance(30) {
		g.feature("nested spinning")
		nested := &executor{kind: "SingleThreadedExecutor", nested: true, exclusive: true, throwing: true}
		g.addExecutor(nested)
		g.addNode(nested)
	}
}

func (g *generator) addNode(e *executor) {
	n := &node{id: g.next(), executor: e, managed: g.chance(20)}
	n.name = fmt.Sprintf("node%d", n.id)
	class := "rclcpp::Node"
	if n.managed {
		g.feature("node: with a life cycle")
		class = "ManagedNode"
	}
	options := "rclcpp::NodeOptions()"
	if g.chance(50) {
		g.feature("node: with intra-process communication")
		options += ".use_intra_process_comms(true)"
	}
	for _, choice := range []string{".start_parameter_services(false)", ".start_parameter_event_publisher(false)", ".enable_rosout(false)", ".use_clock_thread(false)"} {
		if g.chance(25) {
			g.feature("node: " + choice)
			options += choice
		}
	}
	space := pick(g, []string{"", "/space", "/space/inner"})
	g.feature("namespace: " + space)
	fmt.Fprintf(&g.declarations, "std::shared_ptr<%s> %s;\n", class, n.name)
	fmt.Fprintf(&g.making, "  %s = std::make_shared<%s>(\"node%d\", \"%s\", %s);\n  log_node(%d, *%s);\n", n.name, class, n.id, space, options, n.id, n.name)
	add := fmt.Sprintf("  executor%d->add_node(%s->get_node_base_interface());\n", e.id, n.name)
	if early := g.chance(50); early && !e.complete {
		g.feature("node: comes to its executor before it has entities")
		g.making.WriteString(add)
	} else {
		g.beginning.WriteString(add)
	}
	n.groups = append(n.groups, &group{"nullptr", true, e})
	for range g.IntN(3) {
		g.addGroup(n)
	}
	g.nodes = append(g.nodes, n)
}

func (g *generator) addGroup(n *node) {
	kind := pick(g, []string{"MutuallyExclusive", "Reentrant"})
	g.feature("group: " + kind)
	added := &group{fmt.Sprintf("group%d", g.next()), kind == "MutuallyExclusive", n.executor}
	fmt.Fprintf(&g.declarations, "rclcpp::CallbackGroup::SharedPtr %s;\n", added.variable)
	own := !n.executor.nested && g.chance(30)
	fmt.Fprintf(&g.making, "  %s = %s->create_callback_group(rclcpp::CallbackGroupType::%s, %t);\n", added.variable, n.name, kind, !own)
	if own {
		g.feature("group: in an executor of its own")
		for added.executor = pick(g, g.executors); added.executor.nested; added.executor = pick(g, g.executors) {
		}
		fmt.Fprintf(&g.beginning, "  executor%d->add_callback_group(%s, %s->get_node_base_interface());\n", added.executor.id, added.variable, n.name)
	}
	fmt.Fprintf(&g.ending, "  %s.reset();\n", added.variable)
	n.groups = append(n.groups, added)
}

// place chooses where an entity belongs. What comes and goes needs an executor that can stand it.
func (g *generator) place(passing bool) (*node, *group, bool) {
	for _, e := range g.executors {
		// A node may have groups in several executors, which all look at it again when something is made.
		if passing && !e.making && !e.nested {
			return nil, nil, false
		}
	}
	for range 50 {
		n := pick(g, g.nodes)
		in := pick(g, n.groups)
		if !passing || in.executor.making && !in.executor.nested && n.executor.making {
			return n, in, true
		}
	}
	return nil, nil, false
}

func (g *generator) chooseTopics() {
	messages := []struct{ message, kind string }{{"Integer", "std_msgs/msg/UInt64"}, {"String", "std_msgs/msg/String"}, {"Stamped", "std_msgs/msg/Header"}}
	for rank := range 2 + g.IntN(4) {
		of := pick(g, messages)
		t := &topic{rank: rank, message: of.message, kind: of.kind, intra: true, name: fmt.Sprintf("/topic%d", g.next())}
		g.feature("message: " + t.message)
		t.qos = fmt.Sprintf("rclcpp::QoS(%d)", 1+g.IntN(20))
		if g.chance(25) {
			g.feature("qos: best effort")
			t.qos += ".best_effort()"
		} else if g.chance(25) {
			g.feature("qos: transient local")
			t.qos += ".transient_local()"
			t.intra = false
		}
		if g.chance(20) {
			g.feature("qos: deadline")
			t.qos += ".deadline(rclcpp::Duration(300ms))"
		}
		g.topics = append(g.topics, t)
	}
}
