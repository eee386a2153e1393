package system_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// drawn builds an architecture by hand: "a>/x" means that node a publishes /x in a timer, "/x>b>/y" that b publishes
// /y in the callback of /x, "/x>b~/y" that it publishes it elsewhere, "/x>b" that it only subscribes.
type drawn struct {
	system.Architecture
}

func (s *drawn) node(name string) *system.Node {
	if nodes := s.FindNodes(name); len(nodes) > 0 {
		return nodes[0]
	}
	n := &system.Node{Name: name}
	s.Nodes = append(s.Nodes, n)
	return n
}

func (s *drawn) publisher(n *system.Node, topic string) *system.Publisher {
	for _, p := range n.Publishers {
		if p.TopicName == topic {
			return p
		}
	}
	p := &system.Publisher{Node: n, TopicName: topic}
	n.Publishers = append(n.Publishers, p)
	return p
}

func (s *drawn) subscription(n *system.Node, topic string) *system.Subscription {
	for _, sub := range n.Subscriptions {
		if sub.TopicName == topic {
			return sub
		}
	}
	sub := &system.Subscription{Node: n, TopicName: topic}
	sub.Callback = &system.Callback{Node: n, Kind: trace.KindSubscription, Subscription: sub, Name: fmt.Sprintf("%s/callback_%d", n.Name, len(n.Callbacks))}
	n.Subscriptions = append(n.Subscriptions, sub)
	n.Callbacks = append(n.Callbacks, sub.Callback)
	return sub
}

func (s *drawn) timer(name, topic string) {
	n := s.node(name)
	c := &system.Callback{Node: n, Kind: trace.KindTimer, Name: fmt.Sprintf("%s/callback_%d", n.Name, len(n.Callbacks))}
	n.Callbacks = append(n.Callbacks, c)
	p := s.publisher(n, topic)
	p.Callbacks = append(p.Callbacks, c)
}

func (s *drawn) handOn(from, name, to string) {
	n := s.node(name)
	p, sub := s.publisher(n, to), s.subscription(n, from)
	p.Callbacks = append(p.Callbacks, sub.Callback)
}

func (s *drawn) connect() {
	for _, n := range s.Nodes {
		for _, p := range n.Publishers {
			for _, m := range s.Nodes {
				for _, sub := range m.Subscriptions {
					if sub.TopicName == p.TopicName {
						s.Communications = append(s.Communications, &system.Communication{TopicName: p.TopicName, Publisher: p, Subscription: sub})
					}
				}
			}
		}
	}
}

func TestPaths(t *testing.T) {
	s := new(drawn)
	s.timer("/lidar", "/points")
	s.handOn("/points", "/ground", "/obstacles")
	s.handOn("/points", "/map", "/pose")
	s.subscription(s.node("/planner"), "/obstacles")
	s.subscription(s.node("/planner"), "/pose")
	s.timer("/planner", "/plan")
	s.handOn("/plan", "/control", "/command")
	s.handOn("/command", "/planner", "/feedback") // a cycle:
	s.handOn("/feedback", "/control", "/command")
	s.handOn("/external", "/ground", "/obstacles")
	s.timer("/lidar", "/rosout")
	s.subscription(s.node("/control"), "/rosout")
	s.connect()

	for _, test := range []struct {
		name  string
		query system.PathQuery
		want  []string
	}{
		{"between topics, by what was seen", system.PathQuery{From: "/points", To: "/obstacles"},
			[]string{"[/lidar]-[/points]-[/ground]-[/obstacles]-[/planner]"}},
		{"nothing leads through the planner", system.PathQuery{From: "/points", To: "/plan"}, nil},
		{"through an undefined context", system.PathQuery{From: "/points", To: "/plan", Undefined: true}, []string{
			"[/lidar]-[/points]-[/ground]-[/obstacles]-[/planner]-[/plan]-[/control]",
			"[/lidar]-[/points]-[/map]-[/pose]-[/planner]-[/plan]-[/control]",
			"[/lidar]-[/points]-[/ground]-[/obstacles]-[/planner]-[/feedback]-[/control]-[/command]-[/planner]-[/plan]-[/control]",
			"[/lidar]-[/points]-[/map]-[/pose]-[/planner]-[/feedback]-[/control]-[/command]-[/planner]-[/plan]-[/control]",
		}},
		{"from a topic that nobody publishes", system.PathQuery{From: "/external", To: "/planner"},
			[]string{"[/external]-[/ground]-[/obstacles]-[/planner]"}},
		{"from a node to a node", system.PathQuery{From: "/planner", To: "/control"}, []string{
			"[/planner]-[/plan]-[/control]", "[/planner]-[/feedback]-[/control]",
		}},
		{"a topic that CARET ignores is followed when it is named", system.PathQuery{From: "/rosout", To: "/control"},
			[]string{"[/lidar]-[/rosout]-[/control]"}},
		{"all: from timers to where nothing leads on", system.PathQuery{}, []string{
			"[/lidar]-[/points]-[/ground]-[/obstacles]-[/planner]",
			"[/lidar]-[/points]-[/map]-[/pose]-[/planner]",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			paths, complete, err := s.Paths(t.Context(), test.query)
			if err != nil || !complete {
				t.Fatalf("complete %v, error %v", complete, err)
			}
			var got []string
			for _, p := range paths {
				got = append(got, p.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%q, want\n%q", got, test.want)
			}
		})
	}
}

func TestPathsAreBounded(t *testing.T) {
	s := new(drawn)
	const layers, width = 12, 8
	for layer := range layers {
		for i := range width {
			s.handOn(fmt.Sprintf("/topic_%d", layer), fmt.Sprintf("/node_%d_%d", layer, i), fmt.Sprintf("/topic_%d", layer+1))
		}
	}
	s.connect()
	paths, complete, err := s.Paths(t.Context(), system.PathQuery{From: "/topic_0", To: fmt.Sprintf("/topic_%d", layers), Limit: 10})
	if err != nil || complete || len(paths) != 10 {
		t.Errorf("%d paths, complete %v, error %v; want 10 of more", len(paths), complete, err)
	}
	if _, complete, _ := s.Paths(t.Context(), system.PathQuery{From: "/topic_0", To: "/topic_12", Nodes: 3}); complete {
		t.Error("complete with at most 3 nodes a path")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Paths(cancelled, system.PathQuery{From: "/topic_0"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if _, _, err := s.Paths(t.Context(), system.PathQuery{From: "/nowhere"}); !errors.Is(err, system.ErrNoSuchName) {
		t.Errorf("error %v, want ErrNoSuchName", err)
	}
}

func TestPathsOfADataset(t *testing.T) {
	a := loadArchitecture(t, robotDataset(t))
	paths, _, err := a.Paths(t.Context(), system.PathQuery{From: "/image", To: "/plan"})
	if err != nil || len(paths) != 1 {
		t.Fatalf("%d paths, error %v", len(paths), err)
	}
	// The planner polls /filtered in the timer that publishes /plan.
	if want := "[/camera]-[/image]-[/perception/filter]-[/filtered]-[/planner]-[/plan]-[/planner]"; paths[0].String() != want {
		t.Errorf("path %s, want %s", paths[0], want)
	}
	if context := paths[0].Nodes[2].Context; context != system.ContextCallbackChain {
		t.Errorf("context %s of the node that polls", context)
	}
}
