package elffile

// resultUseARM64 follows moves of registers between two calls: which arguments of the second hold what the first
// returned, and at which offsets of what arguments point to it has been stored. An instruction whose effect on
// registers is not known ends the proof.
func resultUseARM64(between []Instruction) (arguments []int, stores map[int][]int64) {
	const result machineRegister = 0
	const somethingElse = zeroARM64
	origin := make(map[machineRegister]machineRegister) // of copies, among the registers at the start
	of := func(register machineRegister) machineRegister {
		if register == zeroARM64 {
			return somethingElse
		}
		if from, changed := origin[register]; changed {
			return from
		}
		return register
	}
	stored := make(map[machineRegister][]int64)
	for _, instruction := range between {
		operation := decodeOperationARM64(wordOf(instruction))
		from := somethingElse
		switch operation.kind {
		case operationUnknown, operationLostStack:
			return nil, nil
		case operationStore:
			base, whole := of(operation.base), operation.bytes == wordBytesARM64
			if whole && of(operation.first) == result {
				stored[base] = append(stored[base], operation.displacement)
			}
			if whole && operation.isPair && of(operation.second) == result {
				stored[base] = append(stored[base], operation.displacement+wordBytesARM64)
			}
			operation.first, operation.second = zeroARM64, zeroARM64
		case operationMove:
			if operation.bytes == wordBytesARM64 {
				from = of(operation.base)
			}
		}
		if operation.writeBack != 0 {
			origin[operation.base] = somethingElse
		}
		origin[operation.first] = from
		origin[operation.second] = somethingElse
	}
	delete(stored, somethingElse)
	stores = make(map[int][]int64)
	for i := range machineRegister(argumentRegistersARM64 - 1) {
		if of(i) == result {
			arguments = append(arguments, int(i)+1)
		}
		if offsets := stored[of(i)]; len(offsets) > 0 {
			stores[int(i)+1] = offsets
		}
	}
	return arguments, stores
}
