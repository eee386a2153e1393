#include "textflag.h"

// Each of these functions begins with the instruction that its name tells, and does nothing. They return to x10, because a call is among
// them that overwrites the link register.

#define RETURN WORD $0xd65f0140 // ret x10

TEXT stubCall<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0x94000001 // bl to the next instruction
	RETURN

TEXT stubJump<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0x14000001 // b to the next instruction
	RETURN

TEXT stubConditionalJump<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0x54000020 // b.eq to the next instruction
	RETURN

TEXT stubReturn<>(SB), NOSPLIT|NOFRAME, $0-0
	RETURN

TEXT stubIndirectCall<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0xd63f01a0 // blr x13, which returns
	RETURN

TEXT stubIndirectJump<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0xd61f0140 // br x10
	RETURN

TEXT stubAddress<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0x1000000e // adr x14, here
	RETURN

TEXT stubNop<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0xd503201f
	RETURN

TEXT stubOtherNop<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0xd503201f
	RETURN

TEXT stubBTI<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0xd503245f // bti c
	RETURN

TEXT stubMove<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0xaa0003e2 // mov x2, x0
	RETURN

TEXT stubSub<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0xd10043ff // sub sp, sp, #16
	WORD $0x910043ff // add sp, sp, #16
	RETURN

// What stubIndirectCall calls.
TEXT called<>(SB), NOSPLIT|NOFRAME, $0-0
	WORD $0xd65f03c0 // ret

// func runStub(address uintptr, times int)
TEXT ·runStub(SB), NOSPLIT|NOFRAME, $0-16
	MOVD R30, R12
	MOVD address+0(FP), R9
	MOVD times+8(FP), R11
	MOVD $called<>(SB), R13
	MOVD $1, R0            // the callback
	MOVD ZR, R1            // is_intra_process of callback_start: false

again:
	WORD $0x1000004a // adr x10, behind the next instruction
	JMP  (R9)
	SUBS $1, R11
	BNE  again
	MOVD R12, R30
	RET

// func stubAddresses(table *[12]uintptr)
TEXT ·stubAddresses(SB), NOSPLIT|NOFRAME, $0-8
	MOVD table+0(FP), R1
	MOVD $stubCall<>(SB), R0
	MOVD R0, 0(R1)
	MOVD $stubJump<>(SB), R0
	MOVD R0, 8(R1)
	MOVD $stubConditionalJump<>(SB), R0
	MOVD R0, 16(R1)
	MOVD $stubReturn<>(SB), R0
	MOVD R0, 24(R1)
	MOVD $stubIndirectCall<>(SB), R0
	MOVD R0, 32(R1)
	MOVD $stubIndirectJump<>(SB), R0
	MOVD R0, 40(R1)
	MOVD $stubAddress<>(SB), R0
	MOVD R0, 48(R1)
	MOVD $stubNop<>(SB), R0
	MOVD R0, 56(R1)
	MOVD $stubOtherNop<>(SB), R0
	MOVD R0, 64(R1)
	MOVD $stubBTI<>(SB), R0
	MOVD R0, 72(R1)
	MOVD $stubMove<>(SB), R0
	MOVD R0, 80(R1)
	MOVD $stubSub<>(SB), R0
	MOVD R0, 88(R1)
	RET
