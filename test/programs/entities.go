package programs

import (
	"fmt"
	"strings"
)

func (g *generator) addCallback(c *callback) *callback {
	g.callbacks = append(g.callbacks, c)
	return c
}

// add declares an entity with a callback, whose function entityN_make takes the number that it logs. What is there from
// the beginning is made by main, what comes and goes by a toggle.
func (g *generator) add(id int, variable, kind, make string, passing bool, e *executor) {
	fmt.Fprintf(&g.declarations, "%s %s;\n", kind, variable)
	fmt.Fprintf(&g.definitions, "void entity%d_make([[maybe_unused]] int self) {\n%s}\n", id, make)
	if !passing {
		fmt.Fprintf(&g.making, "  entity%d_make(%d);\n", id, id)
		fmt.Fprintf(&g.ending, "  Log::instance().ended(%d);\n  %s.reset();\n", id, variable)
		return
	}
	// Numbers of what comes and goes begin with that of the callback.
	fmt.Fprintf(&g.declarations, "int entity%d_count = 0;\n", id)
	fmt.Fprintf(&g.definitions, "void entity%d_toggle() {\n  if (%s == nullptr) {\n    entity%d_make(%d000 + ++entity%d_count);\n  } else {\n"+
		"    Log::instance().ended(%d000 + entity%d_count);\n    %s.reset();\n  }\n}\n", id, variable, id, id, id, id, id, variable)
	fmt.Fprintf(&g.ending, "  %s.reset();\n", variable)
	g.toggles = append(g.toggles, &toggle{fmt.Sprintf("entity%d_toggle();", id), e})
}

func (g *generator) chooseTimer(passing bool) {
	n, in, ok := g.place(passing)
	if !ok {
		return
	}
	id := g.next()
	milliseconds := 10 + g.IntN(90)
	c := g.addCallback(&callback{id: id, node: n, traced: true, rank: -1, rate: 1000 / float64(milliseconds), exclusive: in.exclusive || in.executor.exclusive, executor: in.executor})
	s := signature{body: fmt.Sprintf("entity%d_body(self, 0);", id), moved: true}
	if g.chance(25) {
		g.feature("timer: callback is given the timer")
		s.parameters = []parameter{{"rclcpp::TimerBase &", ""}}
	}
	expression := func() string {
		if passing {
			return g.passingCallable(id, s)
		}
		return g.callable(id, s)
	}
	clock := fmt.Sprintf("std::make_shared<rclcpp::Clock>(%s)", pick(g, []string{"RCL_STEADY_TIME", "RCL_SYSTEM_TIME", "RCL_ROS_TIME"}))
	ways := []string{"wall", "wall", "wall", "clock", "clock", "own class", "own class with a clock"}
	if !passing {
		ways = append(ways, "of a reference", "of a reference with a clock")
	}
	if g.distro == Jazzy {
		ways = append(ways, "node's clock")
	}
	way := pick(g, ways)
	g.feature("timer: " + way)
	var statements string
	switch way {
	case "wall":
		statements = fmt.Sprintf("return %s->create_wall_timer(period, %s, %s);", n.name, expression(), in.variable)
	case "clock":
		statements = fmt.Sprintf("return rclcpp::create_timer(%s, %s, rclcpp::Duration(period), %s, %s);", n.name, clock, expression(), in.variable)
	case "node's clock":
		statements = fmt.Sprintf("return %s->create_timer(period, %s, %s);", n.name, expression(), in.variable)
	case "own class":
		statements = fmt.Sprintf("auto callable = %s;\n    return add_timer<OwnTimer<decltype(callable)>>(*%s, %s, period, std::move(callable));", expression(), n.name, in.variable)
	case "own class with a clock":
		statements = fmt.Sprintf("auto callable = %s;\n    return add_timer<rclcpp::GenericTimer<decltype(callable)>>(*%s, %s, %s, period, std::move(callable));", expression(), n.name, in.variable, clock)
	case "of a reference", "of a reference with a clock":
		functor := g.functor(fmt.Sprintf("entity%d", id), "", pick(g, []string{"", "Bytes<12> held;"}), s.list(), fmt.Sprintf("constexpr int self = %d; %s", id, s.body))
		fmt.Fprintf(&g.definitions, "auto entity%d_variable = %s;\n", id, functor)
		// A WallTimer moves what it is given, so the reference must be one to a constant.
		template, constness, first := "WallTimer", "const ", ""
		if way == "of a reference with a clock" {
			template, constness, first = "GenericTimer", "", clock+", "
		}
		statements = fmt.Sprintf("return add_timer<rclcpp::%s<%sdecltype(entity%d_variable) &>>(*%s, %s, %speriod, entity%d_variable);", template, constness, id, n.name, in.variable, first, id)
	}
	variable := fmt.Sprintf("timer%d", id)
	// No two timers have one period, so a row's period tells whose it is.
	make := fmt.Sprintf("  %s = make_timer(self, *%s, %d000000 + self * 10, [&](std::chrono::nanoseconds period) -> rclcpp::TimerBase::SharedPtr {\n    %s\n  });\n",
		variable, n.name, milliseconds, statements)
	g.add(id, variable, "rclcpp::TimerBase::SharedPtr", make, passing, in.executor)
	if !passing && in.executor.resetting {
		g.resets = append(g.resets, c)
	}
}

// messageForms are the ways in which a callback may be given a message; %s is the message's type.
var messageForms = []struct{ kind, number string }{
	{"const %s &", "number_in(message)"},
	{"std::unique_ptr<%s>", "number_in(*message)"},
	{"std::shared_ptr<const %s>", "number_in(*message)"},
	{"const std::shared_ptr<const %s> &", "number_in(*message)"},
	{"std::shared_ptr<%s>", "number_in(*message)"},
}

// serializedForms are the same for serialized messages; %s is the type that the number is read from.
var serializedForms = []struct{ kind, number string }{
	{"const rclcpp::SerializedMessage &", "number_in_serialized<%s>(message)"},
	{"std::unique_ptr<rclcpp::SerializedMessage>", "number_in_serialized<%s>(*message)"},
	{"std::shared_ptr<const rclcpp::SerializedMessage>", "number_in_serialized<%s>(*message)"},
	{"std::shared_ptr<rclcpp::SerializedMessage>", "number_in_serialized<%s>(*message)"},
}

// oneGenericForm reports whether a node's generic subscriptions take callbacks of one form only: with a shared pointer
// to the message. So do Humble's, and those of managed nodes.
func (g *generator) oneGenericForm(n *node) bool { return g.distro == Humble || n.managed }

func (g *generator) chooseSubscription(t *topic, passing bool) {
	n, in, ok := g.place(passing)
	if !ok {
		return
	}
	id := g.next()
	c := g.addCallback(&callback{id: id, node: n, traced: true, rank: t.rank, exclusive: in.exclusive || in.executor.exclusive, executor: in.executor})
	t.consumers = append(t.consumers, c)
	s := signature{}
	message, intra, generic := t.message, t.intra, false
	var number string
	switch {
	case g.chance(20):
		generic = true
		form := serializedForms[3]
		if !g.oneGenericForm(n) {
			form = pick(g, serializedForms)
		}
		g.feature("generic subscription: " + form.kind)
		s.parameters = append(s.parameters, parameter{form.kind, "message"})
		number = fmt.Sprintf(form.number, t.message)
	case g.chance(20):
		form := pick(g, serializedForms)
		g.feature("subscription: " + form.kind)
		s.parameters = append(s.parameters, parameter{form.kind, "message"})
		number, intra = fmt.Sprintf(form.number, t.message), false
	default:
		form := pick(g, messageForms)
		content := message
		if message == "String" && g.chance(40) {
			// rclcpp of Humble cannot pass what is not adapted to buffers of what is.
			g.feature("subscription: type adapter")
			message, content, intra = "AdaptedText", pick(g, []string{"Text", "String"}), false
		}
		g.feature("subscription: " + form.kind)
		s.parameters = append(s.parameters, parameter{fmt.Sprintf(form.kind, content), "message"})
		number = form.number
	}
	if (!generic || !g.oneGenericForm(n)) && g.chance(30) {
		g.feature("subscription: with message info")
		s.parameters = append(s.parameters, parameter{"const rclcpp::MessageInfo &", ""})
	}
	s.body = fmt.Sprintf("entity%d_body(self, %s);", id, number)
	expression := ""
	if passing {
		expression = g.passingCallable(id, s)
	} else {
		expression = g.callable(id, s)
	}
	var options strings.Builder
	fmt.Fprintf(&options, "  rclcpp::SubscriptionOptions options;\n  options.callback_group = %s;\n", in.variable)
	switch {
	case !intra:
		options.WriteString("  options.use_intra_process_comm = rclcpp::IntraProcessSetting::Disable;\n")
	case generic:
	case g.chance(30):
		setting := pick(g, []string{"Enable", "Disable"})
		g.feature("subscription: intra-process " + setting)
		fmt.Fprintf(&options, "  options.use_intra_process_comm = rclcpp::IntraProcessSetting::%s;\n", setting)
		if g.chance(50) {
			g.feature("subscription: buffer of unique pointers")
			options.WriteString("  options.intra_process_buffer_type = rclcpp::IntraProcessBufferType::UniquePtr;\n")
		}
	}
	if strings.Contains(t.qos, "deadline") && g.chance(70) {
		event := g.addCallback(&callback{id: g.next(), node: n, rank: t.rank, rate: 4, executor: in.executor})
		g.feature("event callback")
		fmt.Fprintf(&options, "  options.event_callbacks.deadline_callback = [](rclcpp::QOSDeadlineRequestedInfo &) { entity%d_body(%d, 0); };\n", event.id, event.id)
	}
	create, kind, class := fmt.Sprintf("%s->create_subscription<%s>(\"%s\", ", n.name, message, t.name), "subscription", fmt.Sprintf("rclcpp::Subscription<%s>", message)
	if generic {
		create, kind, class = fmt.Sprintf("%s->create_generic_subscription(\"%s\", \"%s\", ", n.name, t.name, t.kind), "generic_subscription", "rclcpp::GenericSubscription"
	}
	variable := fmt.Sprintf("subscription%d", id)
	make := fmt.Sprintf("%s  %s = make_subscription(self, \"%s\", *%s, [&] { return %s%s, %s, options); });\n", options.String(), variable, kind, n.name, create, t.qos, expression)
	g.add(id, variable, class+"::SharedPtr", make, passing, in.executor)
}

func (g *generator) choosePublisher() {
	n := pick(g, g.nodes)
	id := g.next()
	t := pick(g, g.topics)
	name := fmt.Sprintf("publisher%d", id)
	p := &publisher{topic: t}
	if g.chance(20) {
		g.feature("generic publisher")
		p.statements = []string{name + ".serialized();"}
		fmt.Fprintf(&g.declarations, "GenericPublisher<%s> %s;\n", t.message, name)
		fmt.Fprintf(&g.making, "  %s.make(%d, *%s, \"%s\", \"%s\", %s);\n", name, id, n.name, t.name, t.kind, t.qos)
	} else {
		p.statements = []string{name + ".by_reference();", name + ".by_unique_pointer();"}
		class, options := fmt.Sprintf("Publisher<%s>", t.message), ""
		switch {
		case t.message == "String" && !n.managed && g.chance(30): // a LifecyclePublisher cannot adapt types
			g.feature("publisher: type adapter")
			class, options = "Publisher<AdaptedText, Text>", "Disable"
		case !t.intra || g.chance(20):
			options = "Disable"
			// Neither serialized nor loaned messages may go through buffers.
			g.feature("publisher: serialized and loaned messages")
			p.statements = append(p.statements, name+".serialized();", name+".loaned();")
		}
		fmt.Fprintf(&g.declarations, "%s %s;\n", class, name)
		if options != "" {
			fmt.Fprintf(&g.making, "  {\n    rclcpp::PublisherOptions options;\n    options.use_intra_process_comm = rclcpp::IntraProcessSetting::%s;\n"+
				"    %s.make(%d, *%s, \"%s\", %s, options);\n  }\n", options, name, id, n.name, t.name, t.qos)
		} else {
			fmt.Fprintf(&g.making, "  %s.make(%d, *%s, \"%s\", %s);\n", name, id, n.name, t.name, t.qos)
		}
	}
	fmt.Fprintf(&g.ending, "  %s.end();\n", name)
	g.publishers = append(g.publishers, p)
}

func (g *generator) chooseService() {
	n, in, _ := g.place(false)
	id := g.next()
	c := g.addCallback(&callback{id: id, node: n, traced: true, rank: -1, rate: 20, exclusive: in.exclusive || in.executor.exclusive, executor: in.executor})
	header, request, response := parameter{"const Header", "header"}, parameter{"const Request", "request"}, parameter{"Response", "response"}
	way := pick(g, []string{"plain", "plain", "with request header", "deferred", "deferred with service"})
	g.feature("service: " + way)
	kind := "service"
	s := signature{body: fmt.Sprintf("response->sum = request->a; entity%d_body(self, number_in(request));", id)}
	switch way {
	case "plain":
		s.parameters = []parameter{request, response}
	case "with request header":
		s.parameters = []parameter{{header.kind, ""}, request, response}
	default:
		kind = "deferring_service"
		s.parameters = []parameter{header, request}
		if way == "deferred with service" {
			s.parameters = append([]parameter{{"std::shared_ptr<rclcpp::Service<AddTwoInts>>", ""}}, s.parameters...)
		}
		s.body = fmt.Sprintf("service%d.defer(header, request); entity%d_body(self, number_in(request));", id, id)
		respond := fmt.Sprintf("service%d.respond();", id)
		if g.chance(50) {
			g.feature("service: answers what it deferred in its own callback")
			c.steps = append(c.steps, fmt.Sprintf("if (turn %% 2 == 0) %s", respond))
		}
		g.responders = append(g.responders, respond)
	}
	// Callables that may refer to the service come after it.
	fmt.Fprintf(&g.declarations, "Service service%d;\n", id)
	fmt.Fprintf(&g.definitions, "void entity%d_make() {\n  service%d.make(%d, \"%s\", *%s, \"/service%d\", %s, %s);\n}\n", id, id, id, kind, n.name, id, g.callable(id, s), in.variable)
	fmt.Fprintf(&g.making, "  entity%d_make();\n", id)
	fmt.Fprintf(&g.ending, "  service%d.end();\n", id)
	for range 1 + g.IntN(2) {
		g.chooseClient(id)
	}
}

func (g *generator) chooseClient(service int) {
	n, in, _ := g.place(false)
	id := g.next()
	fmt.Fprintf(&g.declarations, "Client client%d;\n", id)
	fmt.Fprintf(&g.making, "  client%d.make(%d, *%s, \"/service%d\", %s);\n", id, id, n.name, service, in.variable)
	fmt.Fprintf(&g.ending, "  client%d.end();\n", id)
	if g.chance(40) {
		g.feature("client: future only")
		g.callers = append(g.callers, fmt.Sprintf("client%d.call();", id))
		return
	}
	g.feature("client: callback")
	c := g.addCallback(&callback{id: g.next(), node: n, rank: -1, rate: 10, executor: in.executor})
	s := signature{parameters: []parameter{{"Client::Future", "future"}}, body: fmt.Sprintf("entity%d_body(self, number_in(future));", c.id)}
	fmt.Fprintf(&g.definitions, "void entity%d_call() {\n  client%d.call(%s);\n}\n", id, id, g.callable(c.id, s))
	g.callers = append(g.callers, fmt.Sprintf("entity%d_call();", id))
}

func (g *generator) chooseAction() {
	g.feature("action")
	id := g.next()
	server, in, _ := g.place(false)
	client, clientIn, _ := g.place(false)
	accepted := g.addCallback(&callback{id: g.next(), node: server, rank: -1, rate: 10, executor: in.executor})
	done := g.addCallback(&callback{id: g.next(), node: client, rank: -1, rate: 10, executor: clientIn.executor})
	fmt.Fprintf(&g.declarations, "ActionServer server%d;\nActionClient action%d;\n", id, id)
	fmt.Fprintf(&g.making, "  server%d.make(%s, \"/action%d\", [] { entity%d_body(%d, 0); }, %s);\n", id, server.name, id, accepted.id, accepted.id, in.variable)
	fmt.Fprintf(&g.making, "  action%d.make(%s, \"/action%d\", [] { entity%d_body(%d, 0); }, %s);\n", id, client.name, id, done.id, done.id, clientIn.variable)
	fmt.Fprintf(&g.ending, "  action%d.end();\n  server%d.end();\n", id, id)
	g.callers = append(g.callers, fmt.Sprintf("action%d.send();", id))
}

func (g *generator) chooseWaitable() {
	n, in, _ := g.place(false)
	id := g.next()
	g.feature("waitable")
	g.addCallback(&callback{id: id, node: n, rank: -1, rate: 20, executor: in.executor})
	fmt.Fprintf(&g.declarations, "std::shared_ptr<Waitable> waitable%d;\n", id)
	fmt.Fprintf(&g.making, "  waitable%d = std::make_shared<Waitable>([] { entity%d_body(%d, 0); });\n"+
		"  %s->get_node_waitables_interface()->add_waitable(waitable%d, %s);\n", id, id, id, n.name, id, in.variable)
	fmt.Fprintf(&g.ending, "  waitable%d.reset();\n", id)
	g.triggers = append(g.triggers, fmt.Sprintf("waitable%d->trigger();", id))
}

// choosePoll makes a subscription that no executor knows of.
func (g *generator) choosePoll() {
	n := pick(g, g.nodes)
	id, t := g.next(), pick(g, g.topics)
	g.feature("polled subscription")
	variable := fmt.Sprintf("subscription%d", id)
	fmt.Fprintf(&g.declarations, "rclcpp::CallbackGroup::SharedPtr group%d;\n", id)
	make := fmt.Sprintf("  group%d = %s->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, false);\n"+
		"  rclcpp::SubscriptionOptions options;\n  options.callback_group = group%d;\n  options.use_intra_process_comm = rclcpp::IntraProcessSetting::Disable;\n"+
		"  %s = make_subscription(self, \"polled_subscription\", *%s, [&] { return %s->create_subscription<%s>(\"%s\", %s, [](const %s &) {}, options); });\n",
		id, n.name, id, variable, n.name, n.name, t.message, t.name, t.qos, t.message)
	g.add(id, variable, fmt.Sprintf("rclcpp::Subscription<%s>::SharedPtr", t.message), make, false, n.executor)
	fmt.Fprintf(&g.ending, "  group%d.reset();\n", id)
	g.polls = append(g.polls, &poll{fmt.Sprintf("poll(%d, *%s);", id, variable), n})
}

// chooseWorker makes a thread that publishes outside of callbacks.
func (g *generator) chooseWorker() {
	id := g.next()
	g.feature("thread that runs no callbacks")
	milliseconds := 10 + g.IntN(50)
	c := g.addCallback(&callback{id: id, rank: -1, rate: 1000 / float64(milliseconds)})
	fmt.Fprintf(&g.declarations, "Worker worker%d;\n", id)
	fmt.Fprintf(&g.beginning, "  worker%d.begin(%dms, [] { entity%d_body(%d, 0); });\n", id, milliseconds, id, id)
	fmt.Fprintf(&g.stopping, "  worker%d.end();\n", id)
	g.workers = append(g.workers, c)
}

// choosePassingNode makes a thread that makes and destroys a node with a timer, in turn, while the node's executor
// spins.
func (g *generator) choosePassingNode() {
	var suitable []*executor
	for _, e := range g.executors {
		if e.making && !e.nested {
			suitable = append(suitable, e)
		}
	}
	if len(suitable) == 0 {
		return
	}
	g.feature("node that comes and goes")
	e, id, timer, milliseconds := pick(g, suitable), g.next(), g.next(), 10+g.IntN(30)
	n := &node{id: id, name: fmt.Sprintf("node%d", id), executor: e}
	g.addCallback(&callback{id: timer, node: n, traced: true, rank: -1, rate: 1000 / float64(milliseconds), executor: e})
	s := signature{body: fmt.Sprintf("entity%d_body(self, 0);", timer), moved: true}
	fmt.Fprintf(&g.declarations, "std::shared_ptr<rclcpp::Node> %s;\nrclcpp::TimerBase::SharedPtr timer%d;\nint entity%d_count = 0;\nWorker worker%d;\n", n.name, timer, id, id)
	fmt.Fprintf(&g.definitions, "void entity%d_make(int self) {\n  timer%d = make_timer(self, *%s, %d000000 + self * 10, [&](std::chrono::nanoseconds period) { return %s->create_wall_timer(period, %s); });\n}\n",
		timer, timer, n.name, milliseconds, n.name, g.passingCallable(timer, s))
	fmt.Fprintf(&g.definitions, `void entity%[1]d_destroy() {
  Log::instance().ended(%[2]d000 + entity%[1]d_count);
  Log::instance().ended(%[1]d000 + entity%[1]d_count);
  executor%[3]d->remove_node(%[4]s);
  timer%[2]d.reset();
  %[4]s.reset();
}
void entity%[1]d_toggle() {
  if (%[4]s != nullptr) return entity%[1]d_destroy();
  %[4]s = std::make_shared<rclcpp::Node>("node%[1]d", "/passing");
  entity%[1]d_count++;
  log_node(%[1]d000 + entity%[1]d_count, *%[4]s);
  entity%[2]d_make(%[2]d000 + entity%[1]d_count);
  executor%[3]d->add_node(%[4]s);
}
`, id, timer, e.id, n.name)
	fmt.Fprintf(&g.beginning, "  worker%d.begin(%dms, [] { entity%d_toggle(); });\n", id, 150+g.IntN(400), id)
	fmt.Fprintf(&g.stopping, "  worker%d.end();\n", id)
	fmt.Fprintf(&g.ending, "  if (%s != nullptr) entity%d_destroy();\n", n.name, id)
}
