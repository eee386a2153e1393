package standin

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

// stepsOf counts the service steps of a kind that sent or took something, and the takes that found nothing.
func stepsOf(truth *groundtruth.Truth, kind groundtruth.ServiceStepKind) (steps, empty int) {
	for _, step := range truth.ServiceSteps {
		switch {
		case step.Step != kind:
		case step.ClientGID == "":
			empty++
		default:
			steps++
		}
	}
	return steps, empty
}

func outcomes(truth *groundtruth.Truth) map[groundtruth.Outcome]int {
	counts := make(map[groundtruth.Outcome]int)
	for _, callback := range truth.Callbacks {
		counts[callback.Outcome]++
	}
	return counts
}

func TestServiceCallsOfSeveralClients(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--service-rate 20 --service-clients 3")
		clients := make(map[uint64]string)
		for _, step := range truth.ServiceSteps {
			if step.Step == groundtruth.StepSendRequest {
				if gid := clients[step.Client]; gid != "" && gid != step.ClientGID {
					t.Errorf("client %#x changed from %s to %s", step.Client, gid, step.ClientGID)
				}
				clients[step.Client] = step.ClientGID
			}
			if step.Step == groundtruth.StepTakeResponse && step.ClientGID != clients[step.Client] {
				t.Errorf("client %#x took the response to %s", step.Client, step.ClientGID)
			}
		}
		if sent, _ := stepsOf(truth, groundtruth.StepSendRequest); len(clients) != 3 || sent < 3 {
			t.Errorf("%d requests of %d clients, want some of 3", sent, len(clients))
		}
		if taken, _ := stepsOf(truth, groundtruth.StepTakeResponse); taken == 0 {
			t.Error("no response was taken")
		}
	})
}

func TestDeferredResponses(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--deferred-service-rate 50")
		if outcomes(truth)[groundtruth.OutcomeDeferred] == 0 {
			t.Errorf("outcomes %v", outcomes(truth))
		}
		server, responses := 0, 0
		for _, step := range truth.ServiceSteps {
			switch step.Step {
			case groundtruth.StepTakeRequest:
				server = step.TID
			case groundtruth.StepSendResponse:
				responses++
				if step.TID == server || step.Callback != 0 {
					t.Errorf("thread %d, which takes the requests, responded: %+v", server, step)
				}
			}
		}
		if responses == 0 {
			t.Error("no responses")
		}
	})
}

func TestResponsesThatNobodyTakes(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--untaken-response-rate 50")
		sent, _ := stepsOf(truth, groundtruth.StepSendResponse)
		taken, _ := stepsOf(truth, groundtruth.StepTakeResponse)
		if sent == 0 || taken != 0 {
			t.Errorf("%d responses, %d of them taken", sent, taken)
		}
	})
}

func TestTakesThatFindNothing(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--empty-take-rate 50")
		for _, kind := range []groundtruth.ServiceStepKind{groundtruth.StepTakeRequest, groundtruth.StepTakeResponse} {
			if found, empty := stepsOf(truth, kind); found != 0 || empty == 0 {
				t.Errorf("%s: %d found something, %d nothing", kind, found, empty)
			}
		}
	})
}
