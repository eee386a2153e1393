package elffile

import (
	"encoding/binary"
	"slices"
	"testing"
)

// Words are as GNU as encodes them.
func TestDecodeOperationARM64(t *testing.T) {
	const sp, zero, q0 = stackARM64, zeroARM64, vectorsARM64
	lost, unknown := operationARM64{kind: operationLostStack}, operationARM64{kind: operationUnknown}
	zeroed := func(register machineRegister) operationARM64 {
		return operationARM64{kind: operationZero, first: register, second: zero}
	}
	load := func(register, base machineRegister, displacement int64, bytes int) operationARM64 {
		return operationARM64{kind: operationLoad, first: register, second: zero, base: base, displacement: displacement, bytes: bytes}
	}
	for name, test := range map[string]struct {
		word uint32
		want operationARM64
	}{
		"mov x19, x0":             {0xaa0003f3, operationARM64{kind: operationMove, first: 19, second: zero, bytes: 8}},
		"mov w2, w0":              {0x2a0003e2, operationARM64{kind: operationMove, first: 2, second: zero, bytes: 4}},
		"mov x1, xzr":             {0xaa1f03e1, zeroed(1)},
		"mov x0, #0":              {0xd2800000, zeroed(0)},
		"mov w0, #0":              {0x52800000, zeroed(0)},
		"mov x0, #1":              {0xd2800020, other(0)},
		"movn x0, #0":             {0x92800000, other(0)},
		"movk x0, #0, lsl #16":    {0xf2a00000, other(0)},
		"mov x29, sp":             {0x910003fd, operationARM64{kind: operationAdd, first: 29, second: zero, base: sp}},
		"mov sp, x29":             {0x910003bf, operationARM64{kind: operationAdd, first: sp, second: zero, base: 29}},
		"add x0, x1, #16":         {0x91004020, operationARM64{kind: operationAdd, second: zero, base: 1, displacement: 16}},
		"sub sp, sp, #32":         {0xd10083ff, operationARM64{kind: operationAdd, first: sp, second: zero, base: sp, displacement: -32}},
		"add x0, x1, #1, lsl #12": {0x91400420, operationARM64{kind: operationAdd, second: zero, base: 1, displacement: 4096}},
		"add w0, w1, #16":         {0x11004020, other(0)},
		"add wsp, wsp, #16":       {0x110043ff, operationARM64{kind: operationLostStack, first: sp, second: zero}},
		"adds x0, x1, #16":        {0xb1004020, other(0)},
		"cmp x0, #0":              {0xf100001f, other(zero)},
		"tst w0, #0xff":           {0x72001c1f, other(zero)},
		"and sp, x0, #-16":        {0x927cec1f, operationARM64{kind: operationLostStack, first: sp, second: zero}},
		"and x0, x1, #-16":        {0x927cec20, other(0)},
		"add sp, sp, x16":         {0x8b3063ff, operationARM64{kind: operationLostStack, first: sp, second: zero}},
		"add x0, x1, x2":          {0x8b020020, other(0)},
		"add x0, x1, w2, sxtw":    {0x8b22c020, other(0)},
		"cmp x0, w2, sxtw":        {0xeb22c01f, other(zero)},
		"csel x0, x1, x2, eq":     {0x9a820020, other(0)},
		"adrp x3, .":              {0x90000003, other(3)},
		"ldr x0, [x1, #24]":       {0xf9400c20, load(0, 1, 24, 8)},
		"ldr w0, [x1, #24]":       {0xb9401820, load(0, 1, 24, 4)},
		"ldrb w0, [x1, #3]":       {0x39400c20, load(0, 1, 3, 1)},
		"ldrsw x0, [x1, #4]":      {0xb9800420, load(0, 1, 4, 4)},
		"ldur x0, [x1, #-8]":      {0xf85f8020, load(0, 1, -8, 8)},
		"ldr x0, [x1], #8":        {0xf8408420, operationARM64{kind: operationLoad, second: zero, base: 1, writeBack: 8, bytes: 8}},
		"ldr x0, [x1, #8]!":       {0xf8408c20, operationARM64{kind: operationLoad, second: zero, base: 1, displacement: 8, writeBack: 8, bytes: 8}},
		"ldr q0, [x0, #48]":       {0x3dc00c00, load(q0, 0, 48, 16)},
		"str q0, [x8]":            {0x3d800100, operationARM64{kind: operationStore, first: q0, second: zero, base: 8, bytes: 16}},
		"str d1, [sp, #16]":       {0xfd000be1, operationARM64{kind: operationStore, first: q0 + 1, second: zero, base: sp, displacement: 16, bytes: 8}},
		"str xzr, [x8]":           {0xf900011f, operationARM64{kind: operationStore, first: zero, second: zero, base: 8, bytes: 8}},
		"ldp x1, x2, [x0, #24]":   {0xa9418801, operationARM64{kind: operationLoad, isPair: true, first: 1, second: 2, displacement: 24, bytes: 8}},
		"ldp w1, w2, [x0, #8]":    {0x29410801, operationARM64{kind: operationLoad, isPair: true, first: 1, second: 2, displacement: 8, bytes: 4}},
		"ldpsw x1, x2, [x0, #8]":  {0x69410801, operationARM64{kind: operationLoad, isPair: true, first: 1, second: 2, displacement: 8, bytes: 4}},
		"ldp q0, q1, [x0]":        {0xad400400, operationARM64{kind: operationLoad, isPair: true, first: q0, second: q0 + 1, bytes: 16}},
		"stp x1, x2, [x8]":        {0xa9000901, operationARM64{kind: operationStore, isPair: true, first: 1, second: 2, base: 8, bytes: 8}},
		"stp x29, x30, [sp, #-32]!": {0xa9be7bfd, operationARM64{
			kind: operationStore, isPair: true, first: 29, second: 30, base: sp, displacement: -32, writeBack: -32, bytes: 8,
		}},
		"ldp x29, x30, [sp], #32": {0xa8c27bfd, operationARM64{
			kind: operationLoad, isPair: true, first: 29, second: 30, base: sp, writeBack: 32, bytes: 8,
		}},
		"stgp x0, x1, [sp]":       {0x690007e0, lost},
		"ldr x0, [x1, x2]":        {0xf8626820, unknown},
		"ldr x0, [sp, x2]":        {0xf8626be0, lost},
		"prfm pldl1keep, [x0]":    {0xf9800000, load(zero, 0, 0, 8)},
		"ldr x3, .+8":             {0x58000043, operationARM64{first: 3, second: q0 + 3}},
		"ldaxr w1, [x0]":          {0x885ffc01, unknown},
		"stlxr w2, w1, [x0]":      {0x8802fc01, unknown},
		"ldaddal w1, w2, [x0]":    {0xb8e10002, unknown},
		"ld1 {v0.16b}, [x0], #16": {0x4cdf7000, unknown},
		"ld1 {v0.16b}, [sp], #16": {0x4cdf73e0, lost},
		"fmov x0, d0":             {0x9e660000, operationARM64{first: 0, second: q0}},
		"movi v31.4s, #0":         {0x4f00041f, operationARM64{first: zero, second: q0 + 31}},
		"mrs x1, tpidr_el0":       {0xd53bd041, other(1)},
		"dmb ish":                 {0xd5033bbf, other(zero)},
		"nop":                     {0xd503201f, other(linkRegisterARM64)},
		"paciasp":                 {0xd503233f, other(linkRegisterARM64)},
		"pacia1716":               {0xd503211f, unknown},
		"svc #0":                  {0xd4000001, unknown},
		"addvl sp, sp, #-1 (SVE)": {0x043f57ff, lost},
		"undefined":               {0x00000001, lost},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decodeOperationARM64(test.word); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// Words are as GNU as encodes them. The first call returned in x0.
func TestResultUseARM64(t *testing.T) {
	const (
		moveToX2, moveToX20, moveX20ToX2 = 0xaa0003e2, 0xaa0003f4, 0xaa1403e2
		moveToW2                         = 0x2a0003e2
		storeAt24, moveX19ToX2           = 0xf9000e60, 0xaa1303e2 // str x0, [x19, #24]
		storePair                        = 0xa9018261             // stp x1, x0, [x19, #24]
		storeBehind                      = 0xf8018660             // str x0, [x19], #24
		storeHalf                        = 0xb9001a60             // str w0, [x19, #24]
		storeX20                         = 0xf9000e74             // str x20, [x19, #24]
		addToX0, loadX0, nop             = 0x91000400, 0xf9400260, 0xd503201f
		loadFromSum                      = 0xf8626820 // ldr x0, [x1, x2]
	)
	for name, test := range map[string]struct {
		words     []uint32
		arguments []int
		stores    map[int]int64
	}{
		"at once":                 {nil, []int{1}, nil},
		"third argument":          {[]uint32{moveToX2}, []int{1, 3}, nil},
		"through another":         {[]uint32{moveToX20, nop, moveX20ToX2, addToX0}, []int{3}, nil},
		"half of it":              {[]uint32{moveToW2, loadX0}, nil, nil},
		"computed with":           {[]uint32{addToX0, moveToX2}, nil, nil},
		"stored":                  {[]uint32{storeAt24, moveX19ToX2, loadX0}, nil, map[int]int64{3: 24}},
		"stored before the move":  {[]uint32{moveX19ToX2, storeAt24, loadX0}, nil, map[int]int64{3: 24}},
		"stored as one of a pair": {[]uint32{storePair, moveX19ToX2, loadX0}, nil, map[int]int64{3: 32}},
		"a copy stored":           {[]uint32{moveToX20, storeX20, moveX19ToX2, loadX0}, nil, map[int]int64{3: 24}},
		"half of it stored":       {[]uint32{storeHalf, moveX19ToX2, loadX0}, nil, nil},
		"another stored":          {[]uint32{loadX0, storeAt24, moveX19ToX2}, nil, nil},
		"stored and moved on":     {[]uint32{storeBehind, moveX19ToX2, loadX0}, nil, nil},
		"unknown instruction":     {[]uint32{moveToX2, loadFromSum}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var between []Instruction
			for _, word := range test.words {
				between = append(between, Instruction{Bytes: binary.LittleEndian.AppendUint32(nil, word)})
			}
			arguments, stores := resultUseARM64(between)
			if !slices.Equal(arguments, test.arguments) || len(stores) != len(test.stores) {
				t.Errorf("arguments %v, stores %v", arguments, stores)
			}
			for argument, offset := range test.stores {
				if !slices.Equal(stores[argument], []int64{offset}) {
					t.Errorf("argument %d: stores %v, want %d", argument, stores[argument], offset)
				}
			}
		})
	}
}
