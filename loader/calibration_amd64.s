#include "textflag.h"

// Each of these functions begins with the instruction that its name tells, and does nothing. None uses memory below the stack pointer.

TEXT stubPush<>(SB), NOSPLIT, $0-0
	PUSHQ AX
	POPQ  AX
	RET

TEXT stubCall<>(SB), NOSPLIT|NOFRAME, $0-0
	CALL called<>(SB)
	RET

TEXT called<>(SB), NOSPLIT, $0-0
	RET

TEXT stubJump<>(SB), NOSPLIT, $0-0
	BYTE $0xeb; BYTE $0x00 // jmp to the next instruction
	RET

TEXT stubConditionalJump<>(SB), NOSPLIT, $0-0
	BYTE $0x74; BYTE $0x00 // je to the next instruction
	RET

TEXT stubNop<>(SB), NOSPLIT, $0-0
	BYTE $0x90
	RET

TEXT stubOtherNop<>(SB), NOSPLIT, $0-0
	BYTE $0x90
	RET

TEXT stubEndbr64<>(SB), NOSPLIT, $0-0
	BYTE $0xf3; BYTE $0x0f; BYTE $0x1e; BYTE $0xfa
	RET

TEXT stubMove<>(SB), NOSPLIT, $0-0
	BYTE $0x48; BYTE $0x89; BYTE $0xf8 // mov %rdi,%rax
	RET

TEXT stubSub<>(SB), NOSPLIT, $0-0
	SUBQ $8, SP
	ADDQ $8, SP
	RET

TEXT stubRet<>(SB), NOSPLIT, $0-0
	RET

// func runStub(address uintptr, times int)
TEXT ·runStub(SB), NOSPLIT, $0-16
	MOVQ address+0(FP), BX
	MOVQ times+8(FP), CX
	XORL SI, SI            // is_intra_process of callback_start: false
	MOVL $1, DI            // the callback

again:
	CALL BX
	DECQ CX
	JNZ  again
	RET

// func stubAddresses(table *[10]uintptr)
TEXT ·stubAddresses(SB), NOSPLIT, $0-8
	MOVQ table+0(FP), DI
	LEAQ stubPush<>(SB), AX
	MOVQ AX, 0(DI)
	LEAQ stubCall<>(SB), AX
	MOVQ AX, 8(DI)
	LEAQ stubJump<>(SB), AX
	MOVQ AX, 16(DI)
	LEAQ stubConditionalJump<>(SB), AX
	MOVQ AX, 24(DI)
	LEAQ stubNop<>(SB), AX
	MOVQ AX, 32(DI)
	LEAQ stubOtherNop<>(SB), AX
	MOVQ AX, 40(DI)
	LEAQ stubEndbr64<>(SB), AX
	MOVQ AX, 48(DI)
	LEAQ stubMove<>(SB), AX
	MOVQ AX, 56(DI)
	LEAQ stubSub<>(SB), AX
	MOVQ AX, 64(DI)
	LEAQ stubRet<>(SB), AX
	MOVQ AX, 72(DI)
	RET
