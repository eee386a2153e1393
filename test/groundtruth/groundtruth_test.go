package groundtruth

import (
	"errors"
	"strings"
	"testing"
)

const header = "header\tpid=12\tdistro=jazzy\trmw=rmw_fastrtps_cpp\tversion=1\n"

func TestParse(t *testing.T) {
	truth, err := Parse(strings.NewReader(header +
		"timer\ttimer=0x10\tnode=0x20\tperiod=-5\tcallback=0x30\ttime=40\n" +
		"callback\ttid=13\tseq=0\tcallback=0x30\tkind=timer\tbefore_start=50\tafter_start=51" +
		"\tbefore_end=58\tafter_end=59\tleft=60\tdepth=0\toutcome=returned\n" +
		"publish\ttid=13\tseq=1\tpublish_number=0\tpublisher=0x40\trmw_publisher=0x50\tmessage=0x60" +
		"\ttopic=/a\tlayers=rclcpp\tbefore_rclcpp=52\tafter_rclcpp=53\tenqueues=0\tdepth=1" +
		"\tcallback=0x30\tcallback_start=50\n" +
		"take\ttid=13\tseq=2\trmw_subscription=0x70\tmessage=0x80\tsource_timestamp=-1\tbefore=54" +
		"\tafter=55\tpolled=1\tcallback=0x30\tcallback_start=50\n" +
		"take\ttid=13\tse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := truth.Validate(); err != nil {
		t.Error(err)
	}
	if got, want := truth.Header, (Header{12, "jazzy", "rmw_fastrtps_cpp", 1}); got != want {
		t.Errorf("header %+v, want %+v", got, want)
	}
	if got, want := truth.Timers[0], (Timer{0x10, 0x20, -5, 0x30, 40}); got != want {
		t.Errorf("timer %+v, want %+v", got, want)
	}
	callback := truth.Callbacks[0]
	if callback.Start != (Bracket{50, 51}) || callback.End != (Bracket{58, 59}) || callback.Kind != KindTimer {
		t.Errorf("callback %+v", callback)
	}
	if publish := truth.Publishes[0]; publish.RCLCPP != (Bracket{52, 53}) || publish.RCL.Happened() {
		t.Errorf("publish %+v", publish)
	}
	if take := truth.Takes[0]; !take.Polled || take.SourceTimestamp != -1 {
		t.Errorf("take %+v", take)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no header":      "",
		"other version":  "header\tversion=2\n",
		"unknown record": header + "dance\ttid=1\n",
		"unknown field":  header + "node\tcolour=red\n",
		"no number":      header + "node\tnode=red\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(strings.NewReader(text)); !errors.Is(err, ErrFormat) {
				t.Errorf("error %v, want ErrFormat", err)
			}
		})
	}
}

const clientGID = "000102030405060708090a0b0c0d0e0f"

func TestValidateFindsContradictions(t *testing.T) {
	outer := Callback{TID: 1, Callback: 2, Start: Bracket{10, 11}, End: Bracket{90, 91}, Left: 92,
		Kind: KindTimer, Outcome: OutcomeReturned}
	inside := Publish{TID: 1, Callback: 2, CallbackStart: 10, Depth: 1, RCL: Bracket{20, 21}}
	tests := map[string]func(*Truth){
		"late layer":           func(t *Truth) { t.Publishes[0].RCL = Bracket{95, 96} },
		"layers out of order":  func(t *Truth) { t.Publishes[0].RMW = Bracket{12, 13} },
		"stampless write":      func(t *Truth) { t.Publishes[0].Stamp = Bracket{30, 31} },
		"no such callback":     func(t *Truth) { t.Publishes[0].CallbackStart = 9 },
		"missing publish":      func(t *Truth) { t.Publishes[0].Number = 1 },
		"missing enqueue":      func(t *Truth) { t.Publishes[0].Enqueues = 1 },
		"enqueue of nothing":   func(t *Truth) { t.Enqueues = []Enqueue{{TID: 3}} },
		"return without end":   func(t *Truth) { t.Callbacks[0].End = Bracket{} },
		"subscription not fed": func(t *Truth) { t.Callbacks[0].Kind = KindSubscription },
		"response to nothing": func(t *Truth) {
			t.ServiceSteps = []ServiceStep{{Step: StepSendResponse, ClientGID: clientGID, SourceTimestamp: 1, Bracket: Bracket{1, 2}}}
		},
		"request taken twice": func(t *Truth) {
			request := ServiceStep{ClientGID: clientGID, SourceTimestamp: 1, Bracket: Bracket{1, 2}, Taken: true}
			for _, step := range []ServiceStepKind{StepSendRequest, StepTakeRequest, StepTakeRequest} {
				request.Step = step
				t.ServiceSteps = append(t.ServiceSteps, request)
			}
		},
		"intra-process half of nothing": func(t *Truth) { t.IntraPublishes = []IntraPublish{{TID: 3}} },
		"enqueue outside": func(t *Truth) {
			t.Publishes[0].Enqueues = 1
			t.IntraPublishes = []IntraPublish{{TID: 1, Bracket: Bracket{12, 13}}}
			t.Enqueues = []Enqueue{{TID: 1, Bracket: Bracket{13, 14}}}
		},
		"end without beginning": func(t *Truth) {
			t.EntityFinis = []EntityFini{{Kind: EntityTimer, Handle: 1, Bracket: Bracket{1, 2}}}
		},
		"two at one address": func(t *Truth) {
			timer := EntityInit{Kind: EntityTimer, Handle: 1, Bracket: Bracket{1, 2}}
			t.EntityInits = []EntityInit{timer, timer}
		},
		"raw publish outside": func(t *Truth) {
			t.RawPublishes = []RawPublish{{TID: 1, Bracket: Bracket{22, 23}}}
		},
		"group of nobody": func(t *Truth) {
			t.AddCallbackGroups = []AddCallbackGroup{{Executor: 1, Group: 2, Bracket: Bracket{1, 2}}}
		},
		"entity of no group": func(t *Truth) {
			t.CallbackGroupAdds = []CallbackGroupAdd{{Group: 1, Handle: 2, Bracket: Bracket{1, 2}}}
		},
		"serves no request": func(t *Truth) { t.Callbacks[0].Kind = KindService },
		"polled too late":   func(t *Truth) { t.Takes = []Take{{TID: 1, Callback: 2, CallbackStart: 10}} },
	}
	for name, contradict := range tests {
		t.Run(name, func(t *testing.T) {
			truth := &Truth{Callbacks: []Callback{outer}, Publishes: []Publish{inside}}
			if err := truth.Validate(); err != nil {
				t.Fatalf("before: %v", err)
			}
			contradict(truth)
			if err := truth.Validate(); !errors.Is(err, ErrInconsistent) {
				t.Errorf("error %v, want ErrInconsistent", err)
			}
		})
	}
}
