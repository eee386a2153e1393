package groundtruth

// request identifies one request among those of all clients.
type request struct {
	clientGID      string
	sequenceNumber int64
}

// serviceSteps checks that every step of a request follows from the one before, that no step happened
// twice, and that callbacks serve requests that were taken. Only steps within the process are known, which is
// where both ends of every call are.
func (v *validator) serviceSteps(t *Truth) {
	order := []ServiceStepKind{StepSendRequest, StepTakeRequest, StepSendResponse, StepTakeResponse}
	steps := make(map[ServiceStepKind]map[request]*ServiceStep)
	for _, kind := range order {
		steps[kind] = make(map[request]*ServiceStep)
	}
	for i := range t.ServiceSteps {
		step := &t.ServiceSteps[i]
		v.check(steps[step.Step] != nil, "service step %+v: unknown", *step)
		v.check(step.Bracket.Happened() && step.Bracket.Before <= step.Bracket.After, "service step %+v: bracket", *step)
		v.inside(step.TID, step.Callback, step.CallbackStart, step.Bracket)
		takes := step.Step == StepTakeRequest || step.Step == StepTakeResponse
		if steps[step.Step] == nil || takes && !step.Taken {
			continue
		}
		key := request{step.ClientGID, step.SequenceNumber}
		v.check(len(step.ClientGID) == 32 && step.SourceTimestamp != 0, "service step %+v: incomplete", *step)
		v.check(steps[step.Step][key] == nil, "service step %+v: twice", *step)
		steps[step.Step][key] = step
	}
	for i, kind := range order[1:] {
		for key, step := range steps[kind] {
			before := steps[order[i]][key]
			v.check(before != nil && before.Bracket.Before <= step.Bracket.After,
				"service step %+v: nothing came before", *step)
		}
	}
	for i := range t.Callbacks {
		callback := &t.Callbacks[i]
		if callback.Kind == KindService {
			taken := steps[StepTakeRequest][request{callback.ClientGID, callback.SequenceNumber}]
			v.check(taken != nil && taken.TID == callback.TID && taken.Bracket.After <= callback.Start.Before,
				"callback %+v: serves no request", *callback)
		}
	}
}
