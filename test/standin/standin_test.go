package standin

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

// forEach runs a test for every distribution and rmw, a few at a time.
func forEach(t *testing.T, test func(t *testing.T, config Config)) {
	for _, distro := range Distros() {
		for _, rmw := range RMWs() {
			t.Run(distro+"/"+strings.TrimSuffix(rmw, "_cpp"), func(t *testing.T) {
				t.Parallel()
				test(t, Config{Distro: distro, RMW: rmw})
			})
		}
	}
}

func run(t *testing.T, config Config, arguments string) *groundtruth.Truth {
	t.Helper()
	config.Arguments = append(strings.Fields(arguments), "--duration", "1", "--expect-all")
	truth := StartReady(t, config).Wait()
	if err := truth.Validate(); err != nil {
		t.Errorf("%.2000v", err)
	}
	return truth
}

func kinds(truth *groundtruth.Truth) map[groundtruth.Kind]int {
	counts := make(map[groundtruth.Kind]int)
	for _, callback := range truth.Callbacks {
		counts[callback.Kind]++
	}
	return counts
}

func layers(truth *groundtruth.Truth) map[string]int {
	counts := make(map[string]int)
	for _, publish := range truth.Publishes {
		counts[publish.Layers]++
	}
	return counts
}

func TestEveryMessageIsReceivedWithItsStamp(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--rate 50 --nodes 2 --topics 2 --threads 2 --chain")
		topics := make(map[uint64]string)
		for _, subscription := range truth.Subscriptions {
			topics[subscription.RMWSubscription] = subscription.Topic
		}
		type sample struct {
			topic         string
			stamp, header int64
		}
		published := make(map[sample]int)
		for _, publish := range truth.Publishes {
			published[sample{publish.Topic, publish.SourceTimestamp, publish.HeaderStamp}]++
			if publish.HeaderStamp <= 0 || publish.HeaderStamp > publish.SourceTimestamp {
				t.Errorf("header stamp %d of the message with source timestamp %d", publish.HeaderStamp, publish.SourceTimestamp)
			}
		}
		received := 0
		for _, callback := range truth.Callbacks {
			if callback.Kind != groundtruth.KindSubscription {
				continue
			}
			received++
			key := sample{topics[callback.RMWSubscription], callback.SourceTimestamp, callback.HeaderStamp}
			if published[key] != 1 {
				t.Errorf("%d publishes of %+v", published[key], key)
			}
		}
		if received == 0 || received != len(truth.Publishes) {
			t.Errorf("%d publishes, %d receptions", len(truth.Publishes), received)
		}
	})
}

func TestIntraProcess(t *testing.T) {
	for _, form := range []string{"reference", "unique", "shared"} {
		t.Run(form, func(t *testing.T) {
			forEach(t, func(t *testing.T, config Config) {
				truth := run(t, config, "--intra-process --callback-form "+form)
				if len(truth.Enqueues) == 0 || len(truth.Enqueues) != len(truth.Dequeues) ||
					len(truth.Dequeues) != kinds(truth)[groundtruth.KindIntraSubscription] {
					t.Errorf("%d enqueues, %d dequeues, callbacks %v", len(truth.Enqueues),
						len(truth.Dequeues), kinds(truth))
				}
				traced := map[string]string{Humble: "", Jazzy: "intra"}[config.Distro]
				if got := layers(truth); got[traced] != len(truth.Publishes) {
					t.Errorf("layers %v", got)
				}
			})
		})
	}
}

func TestIrregularBehaviour(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--rate 50 --nested-depth 9 --polled-rate 20 --polled-then-spin "+
			"--service-rate 20 --throw-every 23 --outside-rate 20 --fail-every 7 --fail-at rmw "+
			"--churn-rate 20 --exit-in-callback")
		outcomes := make(map[groundtruth.Outcome]int)
		deepest := 0
		for _, callback := range truth.Callbacks {
			outcomes[callback.Outcome]++
			deepest = max(deepest, callback.Depth)
		}
		if outcomes[groundtruth.OutcomeThrew] == 0 || outcomes[groundtruth.OutcomeExited] == 0 {
			t.Errorf("outcomes %v", outcomes)
		}
		if deepest != 8 {
			t.Errorf("deepest callback at depth %d, want 8", deepest)
		}
		if kinds(truth)[groundtruth.KindService] == 0 || len(truth.Takes) == 0 || len(truth.ThreadExits) == 0 {
			t.Errorf("callbacks %v, %d takes, %d thread exits", kinds(truth), len(truth.Takes),
				len(truth.ThreadExits))
		}
		outside := 0
		for _, publish := range truth.Publishes {
			if publish.Depth == 0 {
				outside++
			}
		}
		if outside == 0 {
			t.Error("no publish outside callbacks")
		}
	})
}

func TestFailingPublishesEndAtTheirLayer(t *testing.T) {
	for at, want := range map[string]string{"rcl": "rclcpp", "rmw": "rclcpp,rcl", "dds": "rclcpp,rcl,rmw"} {
		t.Run(at, func(t *testing.T) {
			forEach(t, func(t *testing.T, config Config) {
				got := layers(run(t, config, "--rate 50 --fail-every 5 --fail-at "+at))
				if len(got) != 2 || got[want] == 0 || got["rclcpp,rcl,rmw,stamp"] == 0 {
					t.Errorf("layers %v", got)
				}
			})
		})
	}
}

func TestTwoProcesses(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		config.Domain = Domain(t)
		config.Arguments = strings.Fields(
			"--publish-only --wait-subscribers 1 --rate 100 --count 50 --expect-all")
		talker := StartReady(t, config)
		config.Stripped = true
		config.Arguments = strings.Fields("--subscribe-only --expect-all")
		listener := StartReady(t, config)
		time.Sleep(2 * time.Second)
		sent, received := talker.Stop(), listener.Stop()
		stamps := make(map[int64]bool)
		for _, publish := range sent.Publishes {
			stamps[publish.SourceTimestamp] = true
		}
		for _, callback := range received.Callbacks {
			if !stamps[callback.SourceTimestamp] {
				t.Errorf("nobody published stamp %d", callback.SourceTimestamp)
			}
		}
		if len(received.Callbacks) == 0 || len(received.Callbacks) != len(sent.Publishes) {
			t.Errorf("%d publishes, %d receptions", len(sent.Publishes), len(received.Callbacks))
		}
	})
}

func TestChildren(t *testing.T) {
	for _, flag := range []string{"--fork", "--spawn-after 0.1"} {
		t.Run(strings.Fields(flag)[0], func(t *testing.T) {
			config := Config{Distro: Jazzy, RMW: CycloneDDS, Arguments: strings.Fields("--duration 2 " + flag)}
			process := StartReady(t, config)
			parent, child := process.Wait(), process.Child()
			if parent.Header.PID == child.Header.PID || len(child.Callbacks) == 0 {
				t.Errorf("parent %+v, child %+v with %d callbacks", parent.Header, child.Header,
					len(child.Callbacks))
			}
		})
	}
}

func TestComponentIsLoadedOnSignal(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		config.Arguments = []string{"--component", "default", "--intra-process"}
		process := StartReady(t, config)
		time.Sleep(500 * time.Millisecond)
		process.Signal(syscall.SIGUSR1)
		time.Sleep(500 * time.Millisecond)
		truth := process.Stop()
		if len(truth.Nodes) != 2 || truth.Nodes[1].Name != "component" {
			t.Errorf("nodes %+v", truth.Nodes)
		}
	})
}

func TestKilledProcessLeavesItsGroundTruth(t *testing.T) {
	config := Config{Distro: Humble, RMW: FastDDS}
	config.Arguments = strings.Fields("--rate 200 --ground-truth-sync 10")
	process := StartReady(t, config)
	time.Sleep(time.Second)
	process.Kill()
	truth, err := groundtruth.ParseFile(process.GroundTruthFile())
	if err != nil {
		t.Fatal(err)
	}
	if len(truth.Callbacks) == 0 {
		t.Error("no callbacks")
	}
}

func TestRandomScenarios(t *testing.T) {
	for _, seed := range []string{"1", "2", "3"} {
		t.Run(seed, func(t *testing.T) {
			forEach(t, func(t *testing.T, config Config) {
				if truth := run(t, config, "--random "+seed); len(truth.Callbacks) == 0 {
					t.Error("no callbacks")
				}
			})
		})
	}
}

func TestRedZone(t *testing.T) {
	for _, distro := range Distros() {
		program := filepath.Join(Directory(t, distro, false), "red_zone")
		if output, err := exec.Command(program, "0.1").CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", distro, err, output)
		}
	}
}
