package groundtruth

// executors checks that what executors and callback groups are made of existed before, and what executors waited.
func (v *validator) executors(t *Truth) {
	constructed := make(map[uint64]uint64) // executors and collectors, by the time their first construction began
	remember := func(address, time uint64) {
		if first, known := constructed[address]; !known || time < first {
			constructed[address] = time
		}
	}
	for _, executor := range t.ConstructExecutors {
		v.check(executor.Bracket.Happened(), "%+v: bracket", executor)
		remember(executor.Executor, executor.Bracket.Before)
		remember(executor.Collector, executor.Bracket.Before)
	}
	groups := make(map[uint64]GroupType)
	for _, group := range t.CallbackGroups {
		groups[group.Group] = group.Type
	}
	for _, added := range t.AddCallbackGroups {
		owner := added.Executor | added.Collector // one of them is zero
		first, known := constructed[owner]
		v.check(known && first <= added.Bracket.Before, "%+v: to no executor", added)
		v.check(groups[added.Group] == added.Type, "%+v: unknown group", added)
	}
	for _, wait := range t.Waits {
		first, known := constructed[wait.Executor]
		v.check(known && first <= wait.Start.Before, "%+v: of no executor", wait)
		v.check(wait.Start.Happened() && wait.End.Happened() && wait.Start.After <= wait.End.Before, "%+v: brackets", wait)
	}
	for _, added := range t.CallbackGroupAdds {
		_, known := groups[added.Group]
		v.check(known && added.Handle != 0 && added.Bracket.Happened(), "%+v: to no group", added)
	}
}
